// What is behind a DelegateModel: the graph's ops in order, the list that the delegate edits, and
// the slices that it replaced.
#ifndef TIMCL_BACKENDS_DELEGATE_MODEL_H_
#define TIMCL_BACKENDS_DELEGATE_MODEL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tim/vx/delegate.h"

namespace tim::vx::delegate {

struct Model {
  /// Ops of `offered` may be replaced; all others of its graph are in the list as well.
  explicit Model(const GraphView& offered);

  /// A run of ops by their positions in `order`.
  struct Run {
    size_t begin, end;
    bool contains(size_t position) const { return begin <= position && position < end; }
  };
  struct Slice {
    Run run;
    std::unique_ptr<kernel::Kernel> kernel;
  };

  /// [from, end) as positions in the list; kInvalidArgument: they are no slice of it.
  Result<Run> InList(KernelIter from, KernelIter end);
  /// The ops behind entries [in_list.begin, in_list.end) of the list.
  Run OpsOf(const Run& in_list) const;
  std::vector<TensorView> InputsOf(const Run& run) const;
  std::vector<TensorView> OutputsOf(const Run& run) const;
  Status Replace(const Run& in_list, kernel::Kernel* graph_kernel);
  /// What went wrong first.
  Status CheckEdits() const;
  /// "Add#1 to Relu#3".
  std::string LabelOf(const Run& run) const;

  GraphView graph;  // keeps alive what the views show
  std::vector<OpView> order;
  // By position.
  std::vector<bool> offered;
  std::vector<std::unique_ptr<Primitive>> primitives;
  std::vector<std::unique_ptr<kernel::Kernel>> op_kernels;
  // By the tensor's id.
  std::unordered_map<int, TensorView> tensors;
  std::unordered_map<int, size_t> writer;
  std::unordered_map<int, std::vector<size_t>> readers;  // ascending
  std::vector<TensorView> inputs, outputs;

  std::vector<kernel::Kernel*> list;  // the delegate may write to it
  std::vector<kernel::Kernel*> kept;  // the same as only Replace made it
  std::unordered_map<const kernel::Kernel*, Run> run_of;
  std::vector<Slice> slices;
  std::unordered_map<size_t, std::string> reasons;  // by position: why the op is not replaced
  Status mistake;

 private:
  /// What a kernel names must be tensors of its run, and all that others look at among its outputs.
  Status CheckOperands(const Run& run, const kernel::Kernel& kernel) const;
  /// "Relu#4 reads", "is an output of the graph": who else looks at the tensor; "": nobody.
  std::string ReaderOutside(const Run& run, const TensorView& tensor) const;
};

}  // namespace tim::vx::delegate
#endif  // TIMCL_BACKENDS_DELEGATE_MODEL_H_
