// The bodies behind Operation, Tensor, Graph and Context: what the API classes of the user point
// to.
#ifndef TIMCL_API_OP_IMPL_H_
#define TIMCL_API_OP_IMPL_H_

#include <memory>
#include <string>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/operation.h"

namespace tim::vx {

class GraphImpl;

/// What an Operation holds: its definition, attributes and operands in the order of binding.
class OpImpl {
 public:
  OpImpl(Graph* graph, std::shared_ptr<const OpDef> def, AnyAttrs attrs);

  /// The graph, null once it is gone: users may keep operations longer.
  Graph* graph() const { return owner_ != nullptr && alive_.expired() ? nullptr : graph_; }
  /// The same as ours; also null when the graph is of another class (a mock).
  GraphImpl* owner() const { return alive_.expired() ? nullptr : owner_; }

  /// Null: an op code that this library does not know.
  std::shared_ptr<const OpDef> def;
  AnyAttrs attrs;
  uint32_t unknown_kind = 0;
  /// Made by name: what of, and with which attributes. Null: by its class.
  std::shared_ptr<const OpDef> registered;
  AttrMap given;
  /// Made by name, in vain: why. Compile() returns it.
  Status creation;
  std::vector<std::shared_ptr<Tensor>> inputs, outputs;
  std::string name;
  uint32_t uid = 0;

  // Kept for callers; kernels always saturate and round half to even.
  OverflowPolicy overflow_policy = OverflowPolicy::SATURATE;
  RoundingPolicy rounding_policy = RoundingPolicy::RTNE;
  RoundType down_scale_size_rounding = RoundType::FLOOR;
  uint32_t accumulator_bits = 0;

 private:
  Graph* graph_;
  GraphImpl* owner_;
  std::weak_ptr<const void> alive_;
};

}  // namespace tim::vx
#endif  // TIMCL_API_OP_IMPL_H_
