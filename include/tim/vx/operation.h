// Operation: base class of everything that a graph computes.
#ifndef TIM_VX_OPERATION_H_
#define TIM_VX_OPERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/graph.h"
#include "tim/vx/tensor.h"
#include "tim/vx/types.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

class OpImpl;

// tim/vx/op_def.h
struct OpDef;
class AnyAttrs;
class AttrMap;

/// One use of an operator in a graph. Made by Graph::CreateOperation, which the graph's BindInput
/// and BindOutput bookkeeping relies on. Threads: as its graph.
class TIMCL_API Operation {
 public:
  Operation();
  virtual ~Operation();

  /// A new operation in `graph` with the same attributes and no tensors.
  virtual std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const = 0;

  /// Appends an operand; the i-th call binds operand i.
  Operation& BindInput(const std::shared_ptr<Tensor>& tensor);
  /// Appends a result; the i-th call binds result i.
  Operation& BindOutput(const std::shared_ptr<Tensor>& tensor);
  /// BindInput for each tensor in order; several calls add up.
  Operation& BindInputs(const std::vector<std::shared_ptr<Tensor>>& tensors);
  /// BindOutput for each tensor in order; several calls add up.
  Operation& BindOutputs(const std::vector<std::shared_ptr<Tensor>>& tensors);

  Operation& SetRoundingPolicy(OverflowPolicy overflow_policy = OverflowPolicy::SATURATE,
                               RoundingPolicy rounding_policy = RoundingPolicy::RTNE,
                               RoundType down_scale_size_rounding = RoundType::FLOOR,
                               uint32_t accumulator_bits = 0);

  std::unique_ptr<OpImpl>& impl();
  const std::unique_ptr<OpImpl>& impl() const;

  /// Number of the operation in its graph, from 1.
  const uint32_t& uid() const;

  /// All operands if each of them is constant, else none.
  virtual const std::vector<std::shared_ptr<Tensor>> ConstantInputsTensor() const;

 protected:
  bool IsAllInputsConst() const;
  std::unique_ptr<OpImpl> impl_;

 private:
  /// Called by BindInput after the operand is recorded.
  virtual void OnBindInputPostProc(const std::shared_ptr<Tensor>& tensor, int32_t input_idx);

  // Additions to the original API.
 public:
  /// A name for messages, reports and pins (CompileOption::Pin).
  Operation& SetName(const std::string& name);
  /// The given name, or "".
  const std::string& Name() const;
  /// Name of the operator, such as "Conv2d".
  const char* Kind() const;
  /// The attributes by name (tim/vx/op_def.h).
  AttrMap Attributes() const;
  /// The operator's definition (tim/vx/op_def.h).
  const OpDef& Def() const;

 protected:
  Operation(Graph* graph, const OpDef& def, AnyAttrs attrs);
  /// For operators whose definition is made at run time; the operation shares its ownership.
  void SetRuntimeDef(Graph* graph, std::shared_ptr<const OpDef> def, AnyAttrs attrs);
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPERATION_H_
