// Delegate: a third-party framework that takes over parts of any graph, as a C++ class of the
// application. In the form of MindSpore Lite's delegates; docs/delegates.md shows how one is
// ported.
#ifndef TIM_VX_DELEGATE_H_
#define TIM_VX_DELEGATE_H_

#include <memory>
#include <string>
#include <vector>

#include "tim/vx/backend.h"

namespace tim::vx {

namespace delegate {
struct Model;  // what the library keeps behind a DelegateModel
}  // namespace delegate

// MindSpore's words for what callbacks answer.
inline constexpr Code kSuccess = Code::kOk, RET_OK = Code::kOk;
inline constexpr Code kLiteError = Code::kInternal, RET_ERROR = Code::kInternal;
inline constexpr Code kLiteNotSupport = Code::kUnsupported, RET_NOT_SUPPORT = Code::kUnsupported;
inline constexpr Code kLiteNullptr = Code::kInvalidArgument, RET_NULL_PTR = Code::kInvalidArgument;
inline constexpr Code kLiteMemoryFailed = Code::kOutOfMemory,
                      RET_MEMORY_FAILED = Code::kOutOfMemory;
inline bool operator==(const Status& status, Code code) { return status.code() == code; }
inline bool operator!=(const Status& status, Code code) { return status.code() != code; }

using KernelIter = std::vector<kernel::Kernel*>::iterator;

/// The graph that is compiled, as Delegate::Build sees it: a list of kernels in topological order,
/// one per op. Ops that are not to be had (a delegate before took them, or they are pinned to
/// another backend) are in it too, as kernels whose primitive is a "subgraph". So every contiguous
/// slice between those can run as one kernel, and no choice of slices makes a cycle.
/// The kernels of the list, their primitives and their tensors stay as they are for as long as a
/// kernel lives that was given to Replace; those kernels do not run, they only tell.
class TIMCL_API DelegateModel {
 public:
  KernelIter BeginKernelIterator();
  KernelIter EndKernelIterator();
  /// What a kernel of the list does. Null for a kernel that never was in the list.
  const Primitive* GetPrimitive(const kernel::Kernel* kernel) const;

  /// Puts `graph_kernel` in the place of [from, end), which it computes from then on, and owns it.
  /// Returns the position behind it; iterators at and before `from` stay valid.
  /// `from` must stand before `end`, both in the list, with nothing but ops between them that may
  /// be had; the kernel must not be null, nor in the list. It must write every tensor of
  /// SubgraphOutputs(from, end), and name no tensor that the slice does not use. What goes against
  /// these rules changes nothing, becomes the answer of Build, and returns `end`, or the place next
  /// to it from which a loop can go on.
  KernelIter Replace(KernelIter from, KernelIter end, kernel::Kernel* graph_kernel);
  /// What comes into the slice, and what others look at of what it writes; each once, in the order
  /// of first use, constants left out. Empty for what is no slice.
  std::vector<TensorView> SubgraphInputs(KernelIter from, KernelIter end) const;
  std::vector<TensorView> SubgraphOutputs(KernelIter from, KernelIter end) const;

  /// Why an op of the list is not replaced, for the report: "not replaced by delegate 'XXX': why".
  /// Counts for nothing where somebody else runs the op, or it is replaced all the same.
  void Reject(const kernel::Kernel* kernel, std::string why);

  /// Of the graph, in the order in which the list first uses them.
  const std::vector<TensorView>& inputs() const;
  const std::vector<TensorView>& outputs() const;
  /// The list itself, to be changed by Replace alone.
  std::vector<kernel::Kernel*>* nodes();
  /// Of what the kinds and attributes of primitives mean. 1; grows when old ones change.
  int GetVersion() const;

  /// Made by the library.
  explicit DelegateModel(std::shared_ptr<delegate::Model> model);
  ~DelegateModel();
  DelegateModel(const DelegateModel&) = delete;
  DelegateModel& operator=(const DelegateModel&) = delete;

 private:
  std::shared_ptr<delegate::Model> model_;
};

/// Given to Context::SetDelegate. The context and each graph that runs its kernels share its
/// ownership. An exception that leaves one of its functions, or one of its kernels', becomes an
/// error that names it.
/// Threads: Build is called for one graph at a time; kernels of different graphs may run at the
/// same time as each other and as Build.
class TIMCL_API Delegate {
 public:
  virtual ~Delegate();
  /// Once, when it is given to a context. RET_NOT_SUPPORT: it is passed over.
  virtual Status Init() = 0;
  /// Replaces what it takes. Called whenever a graph is compiled, and again on a new model where
  /// composed ops were expanded or another backend gave an op back; kernels of models that count
  /// for nothing any more are destroyed. An error fails Compile(), RET_NOT_SUPPORT too, unless the
  /// graph allows fallbacks (Fallback::kAllow): it is then compiled as if nothing had been
  /// replaced.
  virtual Status Build(DelegateModel* model) = 0;
  /// What reports and pins call it; asked once.
  virtual std::string Name() const { return "delegate"; }
};

extern "C" {
/// The function timcl_create_delegate of a shared library that TIMCL_DELEGATE may name in the
/// environment: puts a delegate into `*delegate` and returns null, else the reason why not. `tag`
/// is TIMCL_CXX_TAG (tim/vx/op_plugin.h) of the library that asks, which must be its own. It throws
/// nothing.
using CreateDelegateFunction = const char* (*)(const char* tag,
                                               std::shared_ptr<Delegate>* delegate);
}

}  // namespace tim::vx
#endif  // TIM_VX_DELEGATE_H_
