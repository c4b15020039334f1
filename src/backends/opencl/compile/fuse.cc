// Fuse: point-wise ops that follow an op whose kernel can apply them as it stores.
#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {
namespace {

bool WidePlainInteger(const TensorType& t) {
  return IsInteger(t.dtype) && !t.quantized() && BitsOf(t.dtype) >= 32;
}

/// The kernel's form of epilogue can express this op between these types.
bool CanApply(const OpView& op, KernelSpec::Epilogue form) {
  const PointwiseRule* rule = op.def().pointwise;
  if (rule == nullptr || rule->expression == nullptr || op.num_inputs() != 1 ||
      op.num_outputs() != 1)
    return false;
  const TensorType &before = op.in(0).type(), &after = op.out(0).type();
  if (before.count() != after.count() || before.per_channel() || after.per_channel()) return false;
  // float holds wide integers only in part; their ops run in exact integer arithmetic of their own.
  if (WidePlainInteger(before) || WidePlainInteger(after)) return false;
  // A bool result is 0 or 1, which the store of a chain does not see to.
  if (after.dtype == DataType::BOOL8) return false;
  if (form == KernelSpec::Epilogue::kScalar) return true;
  return !rule->scalar_only && before.dtype == DataType::FLOAT32 &&
         after.dtype == DataType::FLOAT32;
}

}  // namespace

void Fuse(Unit* unit) {
  std::map<int, size_t> group_of;
  for (size_t g = 0; g < unit->groups.size(); ++g) group_of[unit->groups[g].op.id()] = g;
  for (Group& group : unit->groups) {
    const OpView& anchor = group.op;
    if (group.gone || group.offer.epilogue == KernelSpec::Epilogue::kNone ||
        anchor.num_outputs() != 1 || MovesNothing(anchor))
      continue;
    if (anchor.out(0).type().per_channel() || WidePlainInteger(anchor.out(0).type())) continue;
    while (true) {
      const TensorView value = group.last().out(0);
      const std::vector<OpView> readers = unit->part.consumers(value);
      if (unit->part.leaves(value) || readers.size() != 1) break;
      const OpView next = readers[0];
      if (!CanApply(next, group.offer.epilogue)) break;
      kernels::Stage stage;
      stage.before = value.type();
      stage.expression = next.def().pointwise->expression;
      if (next.def().pointwise->params != nullptr) next.def().pointwise->params(next, stage.params);
      group.stages.push_back(std::move(stage));
      group.fused.push_back(next);
      unit->groups[group_of.at(next.id())].gone = true;
    }
  }
}

}  // namespace tim::vx::opencl
