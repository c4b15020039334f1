// Builds a graph of one op for tests of definitions: verify, infer and reference without a device.
#ifndef TIMCL_TESTS_SUPPORT_IR_BUILDER_H_
#define TIMCL_TESTS_SUPPORT_IR_BUILDER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tim/vx/op_def.h"

namespace tim::vx::ops {
void RegisterBuiltinOps(OpRegistry& registry);
}

namespace tim::vx::testing {

/// The built-in operators.
inline const OpRegistry& Builtin() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry;
    ops::RegisterBuiltinOps(*r);
    return r;
  }();
  return *registry;
}

/// One op with its operands. Inputs of dtype UNKNOWN are left out; an output shape {} is inferred.
class OneOp {
 public:
  OneOp(const OpDef& def, AnyAttrs attrs, const std::vector<TensorType>& inputs,
        const std::vector<TensorType>& outputs)
      : def_(def) {
    ir::Node node;
    node.def = std::make_shared<const OpDef>(def);
    node.attrs = std::move(attrs);
    for (const TensorType& t : inputs) {
      ir::Value v;
      v.type = t;
      v.role = ir::Role::kInput;
      node.inputs.push_back(t.dtype == DataType::UNKNOWN ? -1 : graph_.AddValue(std::move(v)));
    }
    for (const TensorType& t : outputs) {
      ir::Value v;
      v.type = t;
      v.role = ir::Role::kOutput;
      v.infer_shape = t.shape.empty();
      node.outputs.push_back(graph_.AddValue(std::move(v)));
    }
    id_ = graph_.AddNode(std::move(node));
  }
  OneOp(const OneOp&) = delete;

  Status Verify() { return ir::VerifyNode(graph_, id_); }
  OpView view() const { return graph_.view(id_); }

  /// Told of every op whose reference was run; for the notes of the golden tests.
  static inline std::function<void(const OpView&)> on_run;

  /// Runs the reference after Verify; data[i] are the stored bytes of input i.
  Status Run(const std::vector<std::vector<std::byte>>& data,
             std::vector<std::vector<std::byte>>* results) const {
    const OpView op = view();
    ref::Inputs ins;
    for (size_t i = 0; i < data.size(); ++i) {
      ins.push_back(op.in(i).present() ? ref::Input(data[i].data(), op.in(i).type())
                                       : ref::Input());
    }
    ref::Outputs outs;
    results->clear();
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      results->emplace_back(op.out(i).type().bytes());
    }
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      outs.emplace_back((*results)[i].data(), op.out(i).type());
    }
    const Status status = def_.reference(op, ins, outs);
    if (on_run) on_run(op);
    return status;
  }

 private:
  const OpDef& def_;
  ir::Graph graph_;
  int id_ = -1;
};

}  // namespace tim::vx::testing
#endif  // TIMCL_TESTS_SUPPORT_IR_BUILDER_H_
