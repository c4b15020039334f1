// Plan: the primitives that compute a slice of ops, in order, and the memory between them.
#ifndef TIMCL_DELEGATES_ONEDNN_PLAN_H_
#define TIMCL_DELEGATES_ONEDNN_PLAN_H_

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tim/vx/backend.h"

namespace tim::vx::onednn {

using dnnl::memory;
using Dims = memory::dims;  // slowest dimension first, unlike ours
using Desc = memory::desc;
using Type = memory::data_type;

/// How far apart neighbours of a dense tensor are.
Dims DenseStrides(const Dims& dims);
inline Desc Dense(const Dims& dims, Type type = Type::f32) {
  return Desc(dims, type, DenseStrides(dims));
}
/// The layout is the primitive's choice.
inline Desc Any(const Dims& dims, Type type = Type::f32) {
  return Desc(dims, type, memory::format_tag::any);
}
/// The dimensions of a shape in oneDNN's order.
Dims DimsOf(const Shape& shape);

/// What a primitive reads of a tensor.
enum class Form {
  kStored,    // its elements
  kReal,      // the real numbers that they stand for, as float32
  kCentered,  // stored number minus zero point, as float32
};

/// Ops are added in order; each asks for its operands and adds the steps that compute its result.
/// All functions may throw dnnl::error.
class Plan {
 public:
  using Args = std::unordered_map<int, memory>;

  /// A trial has no memory but that of constants and cannot run: it tells whether ops can be added.
  explicit Plan(const dnnl::engine& engine) : engine_(engine), trial_(true) {}
  Plan(const dnnl::engine& engine, const std::vector<TensorView>& inputs,
       const std::vector<TensorView>& outputs);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// The steps that follow belong to this op, in profiles.
  void Begin(std::string label) { label_ = std::move(label); }
  bool trial() const { return trial_; }
  const dnnl::engine& engine() const { return engine_; }
  /// For every primitive: scratch memory is the plan's, since oneDNN's own belongs to a thread.
  static dnnl::primitive_attr Attr();

  /// The layout in which the tensor lies by now, seen with the dimensions of `plain`, which is how
  /// its dense elements are seen.
  Desc LayoutOf(const TensorView& tensor, Form form, const Desc& plain);
  /// The tensor in the layout `wanted`, which has the dimensions of `plain`.
  memory Read(const TensorView& tensor, Form form, const Desc& plain, const Desc& wanted);
  memory Read(const TensorView& tensor, Form form, const Desc& plain) {
    return Read(tensor, form, plain, plain);
  }
  /// Where the primitive added next leaves a float32 result in the layout `made`, seen with the
  /// dimensions of `made`.
  memory Write(const TensorView& tensor, const Desc& made);
  /// The stored elements in their own order: to be read, or written by the next step.
  memory Elements(const TensorView& tensor, bool write);
  /// Memory that is no tensor's, for as long as the plan lives.
  memory Temporary(const Desc& desc) {
    return trial_ ? memory(desc, engine_, DNNL_MEMORY_NONE) : memory(desc, engine_);
  }
  /// `from` in another layout, before the steps that follow. `constant`: once and for all.
  memory Reordered(const memory& from, const Desc& wanted, bool constant);

  void Run(const dnnl::primitive_desc_base& pd, Args args);
  /// A loop of ours; `what` names it in profiles. Constant: once, now.
  void Loop(const char* what, std::function<void()> loop, bool constant = false);

  /// Ends the plan: outputs lie as the graph wants them.
  void Finish();
  /// Runs all steps over the memory that the tensors have now. `timings` may be null.
  Status Execute(std::vector<kernel::Timing>* timings);

 private:
  /// A tensor in one form.
  struct Slot {
    TensorView tensor;
    bool input = false, output = false;  // of the slice
    bool constant = false;
    bool dense = false;           // the elements in their own order are valid
    memory own;                   // the slice's, or a constant's; empty for inputs and outputs
    std::vector<memory> views;    // of inputs and outputs: other dimensions over the same bytes
    std::vector<memory> layouts;  // copies in other layouts, valid
  };
  struct Step {
    std::string label, what;
    std::function<void()> run;
  };

  Slot& At(const TensorView& tensor, Form form);
  memory View(Slot* slot, const Desc& desc);
  void MakeDense(Slot* slot, const Desc& plain);
  /// The form of an integer tensor that primitives read as float32.
  void Convert(Slot* slot, Form form);

  dnnl::engine engine_;
  bool trial_ = false;
  std::string label_;
  std::map<std::pair<int, Form>, Slot> slots_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<Step> steps_;
  std::vector<memory> scratch_;  // over one buffer, since steps follow each other
  memory scratch_buffer_;
  std::unique_ptr<dnnl::stream> stream_;
};

}  // namespace tim::vx::onednn
#endif  // TIMCL_DELEGATES_ONEDNN_PLAN_H_
