// Fuse: point-wise ops that follow an op whose kernel can apply them as it stores, or that precede
// one whose kernel can apply them as it loads: a reduction, whose input is larger than its result.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "backends/opencl/compile/unit.h"
#include "base/quant.h"
#include "tim/vx/fold_rule.h"

namespace tim::vx::opencl {
namespace {

/// What one store takes along. OpenCL promises 1024 bytes of kernel arguments; a post-op brings at
/// most 44 (three of quantization, four parameters, another tensor with its own), the kernels here
/// up to 250. Sixteen ops in one launch have saved 94 % of the traffic to memory already.
constexpr size_t kMaxPostOps = 16;

bool WidePlainInteger(const TensorType& t) {
  if (t.dtype == DataType::UINT32) return true;  // quantized, too: chains round to int
  return IsInteger(t.dtype) && !t.quantized() && BitsOf(t.dtype) >= 32;
}

/// The value of a constant of one number.
std::optional<float> NumberOf(const TensorView& t) {
  if (!t.is_const() || t.data() == nullptr || t.dtype() != DataType::FLOAT32 ||
      t.shape().count() != 1)
    return std::nullopt;
  return *t.data_as<float>();
}

/// The kernel's form of epilogue can express this op between these types. `input`: the operand that
/// passes through the kernel.
bool CanApply(const OpView& op, size_t input, KernelSpec::Epilogue form, TensorForm lies) {
  const PointwiseRule* rule = op.def().pointwise;
  if (rule == nullptr || rule->expression == nullptr || op.num_inputs() > 2 ||
      op.num_outputs() != 1)
    return false;
  const TensorType &before = op.in(input).type(), &after = op.out(0).type();
  if (op.num_inputs() == 2) {
    const TensorView other = op.in(1 - input);
    if (!other.present() || other.id() == op.in(input).id() || after.shape != before.shape)
      return false;
    if (!NumberOf(other) &&
        (other.shape() != before.shape || WidePlainInteger(other.type()) ||
         FormOf(other, lies) != lies || !kernels::CanRead(InForm(other.type(), lies), form)))
      return false;
  }
  if (before.count() != after.count() || before.per_channel() || after.per_channel()) return false;
  // float holds wide integers only in part; their ops run in exact integer arithmetic of their own.
  if (WidePlainInteger(before) || WidePlainInteger(after)) return false;
  // A bool result is 0 or 1, which the store of a chain does not see to.
  if (after.dtype == DataType::BOOL8) return false;
  if (form == KernelSpec::Epilogue::kScalar) return true;
  return !rule->scalar_only && kernels::CanRead(before, form) && kernels::CanRead(after, form);
}

/// What is left of `range`, the values that the op's input may have, where the op does no more than
/// limit them to fewer: Relu, Relu6, Clip between equal encodings. Exact, since every value is
/// tried by the steps of the kernel.
std::optional<kernels::Range> Limited(const OpView& op, const kernels::Range& range) {
  const PointwiseRule& rule = *op.def().pointwise;
  const TensorType &before = op.in(0).type(), &after = op.out(0).type();
  if (op.num_inputs() != 1 || rule.in_float == nullptr || !SameEncoding(before, after) ||
      BitsOf(before.dtype) != 8 || !before.quantized())
    return std::nullopt;
  float p[4] = {};
  if (rule.params != nullptr) rule.params(op, p);
  const int32_t zero_point = before.zero_point();
  auto result = [&](int32_t q) {
    const float x = base::Dequantize(q, zero_point, before.scale());
    return static_cast<int32_t>(base::Quantize(rule.in_float(x, 0, 0, p),
                                               base::InverseScale(before.scale()), zero_point,
                                               LowestOf(before.dtype), HighestOf(before.dtype)));
  };
  const kernels::Range limited = {result(range.lowest), result(range.highest)};
  for (int32_t q = range.lowest; q <= range.highest; ++q) {
    if (result(q) != std::clamp(q, limited.lowest, std::max(limited.lowest, limited.highest)))
      return std::nullopt;
  }
  return limited;
}

kernels::Range WholeRange(const TensorType& t) {
  return {static_cast<int32_t>(LowestOf(t.dtype)), static_cast<int32_t>(HighestOf(t.dtype))};
}

/// Nothing but arithmetic and comparisons, which cost as little for a number as for a vector's
/// lane.
bool IsPlainArithmetic(std::string_view expression) {
  for (size_t at = 1; at < expression.size(); ++at) {
    const bool name = std::isalnum(static_cast<unsigned char>(expression[at - 1])) != 0;
    if (expression[at] == '(' && name) return false;
  }
  return true;
}

/// The op as the first of a chain; `main`: the input that passes through.
kernels::PostOp First(const OpView& op, size_t main) {
  kernels::PostOp post_op;
  post_op.before = op.in(main).type();
  post_op.expression = op.def().pointwise->expression;
  if (op.def().pointwise->params != nullptr) op.def().pointwise->params(op, post_op.params);
  if (op.num_inputs() < 2) return post_op;
  post_op.other_first = main == 1;
  post_op.constant = NumberOf(op.in(1 - main));
  if (!post_op.constant) post_op.other = op.in(1 - main).type();
  return post_op;
}

/// Whether a result that somebody outside sees is written between the two groups: it may be the
/// memory that an input is read from (the state of a recurrent layer).
bool WritesOutside(const Unit& unit, size_t begin, size_t end) {
  for (size_t g = begin; g < end; ++g) {
    const Group& group = unit.groups[g];
    if (group.gone || group.converts()) continue;
    for (size_t i = 0; i < group.last().num_outputs(); ++i) {
      const TensorView t = group.last().out(i);
      if (t.present() && unit.part.leaves(t)) return true;
    }
  }
  return false;
}

/// How the kernel reads: number by number, or in vectors as well.
KernelSpec::Epilogue FormOfLoads(const Group& group) {
  return group.offer.epilogue == KernelSpec::Epilogue::kLanes ? KernelSpec::Epilogue::kLanes
                                                              : KernelSpec::Epilogue::kScalar;
}

/// Moves the point-wise group `from` into the loads of group `to`, whose input 0 it makes.
void FuseInFront(Unit* unit, size_t from, size_t to) {
  Group &chain = unit->groups[from], &group = unit->groups[to];
  const TensorView x = group.op.in(0);
  const auto readers = unit->part.consumers(x);
  size_t reads = 0;
  for (size_t i = 0; i < group.op.num_inputs(); ++i) reads += group.op.in(i) == x;
  if (chain.gone || chain.converts() || chain.no_launch || chain.op.def().pointwise == nullptr ||
      chain.in != TensorForm::kPlain || chain.out != TensorForm::kPlain ||
      chain.last().out(0) != x || unit->part.leaves(x) || readers.size() != 1 || reads != 1)
    return;
  const auto form = FormOfLoads(group);
  std::vector<OpView> ops = {chain.op};
  ops.insert(ops.end(), chain.fused.begin(), chain.fused.end());
  for (const OpView& op : ops) {
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      if (op.in(i).dtype() != DataType::FLOAT32) return;
    }
    const PointwiseRule* rule = op.def().pointwise;
    if (op.out(0).dtype() != DataType::FLOAT32 || rule == nullptr || rule->expression == nullptr)
      return;
    if (form == KernelSpec::Epilogue::kScalar ? !IsPlainArithmetic(rule->expression)
                                              : rule->scalar_only)
      return;
  }
  const size_t main = chain.op.num_inputs() == 2 && NumberOf(chain.op.in(0)) ? 1 : 0;
  if (!CanApply(chain.op, main, form, TensorForm::kPlain) || chain.op.in(main).is_const()) return;
  std::vector<TensorView> others;
  const kernels::PostOp first = First(chain.op, main);
  if (first.other) others.push_back(chain.op.in(1 - main));
  others.insert(others.end(), chain.others.begin(), chain.others.end());
  bool outside = chain.op.in(main).is_graph_input();
  for (const TensorView& t : others) outside = outside || t.is_graph_input();
  if (outside && WritesOutside(*unit, from, to)) return;
  group.read = chain.op.in(main);
  group.pre_ops = {first};
  group.pre_ops.insert(group.pre_ops.end(), chain.post_ops.begin(), chain.post_ops.end());
  group.before = ops;
  group.pre_others = others;
  chain.gone = true;
}

/// The kernel looks at each element of input 0 once.
bool LoadsOnce(const Group& group) {
  if (group.gone || group.converts() || group.kernel == nullptr || group.op.num_inputs() == 0 ||
      group.in != TensorForm::kPlain)
    return false;
  const FoldRule* const rule = FoldRuleOf(group.op.def());
  return rule != nullptr &&
         std::string_view(rule->loads_once).find(fmt::format(",{},", group.kernel->name)) !=
             std::string_view::npos;
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
    const bool lanes = group.offer.epilogue == KernelSpec::Epilogue::kLanes;
    const auto range_of = [&](const TensorView& t) -> std::optional<kernels::Range> {
      if (!lanes || !t.type().quantized()) return std::nullopt;
      return WholeRange(t.type());
    };
    group.range = range_of(anchor.out(0));
    while (group.post_ops.size() < kMaxPostOps) {
      const TensorView value = group.last().out(0);
      const std::vector<OpView> readers = unit->part.consumers(value);
      if (unit->part.leaves(value) || readers.size() != 1) break;
      const OpView next = readers[0];
      Group& absorbed = unit->groups[group_of.at(next.id())];
      const size_t input = next.num_inputs() == 2 && next.in(1).id() == value.id() ? 1 : 0;
      // Elements correspond by their place in memory.
      const bool same_form = absorbed.in == group.out && absorbed.out == group.out;
      if (absorbed.gone || !same_form || !CanApply(next, input, group.offer.epilogue, group.out))
        break;
      const std::optional<kernels::Range> limited =
          group.range ? Limited(next, *group.range) : std::nullopt;
      if (limited) {
        group.range = limited;
        group.fused.push_back(next);
        absorbed.gone = true;
        continue;
      }
      kernels::PostOp post_op;
      post_op.before = value.type();
      post_op.range = group.range;
      post_op.expression = next.def().pointwise->expression;
      if (next.def().pointwise->params != nullptr)
        next.def().pointwise->params(next, post_op.params);
      if (next.num_inputs() == 2) {
        const TensorView other = next.in(1 - input);
        post_op.constant = NumberOf(other);
        // It must be there when the anchor is launched.
        const OpView* producer = unit->part.producer(other);
        if (producer != nullptr && group_of.at(producer->id()) >= group_of.at(anchor.id())) break;
        post_op.other_first = input == 1;
        if (!post_op.constant) {
          post_op.other = InForm(other.type(), group.out);
          group.others.push_back(other);
        }
      }
      group.post_ops.push_back(std::move(post_op));
      group.fused.push_back(next);
      group.range = range_of(next.out(0));
      absorbed.gone = true;
    }
  }
  std::map<int, size_t> made_by;  // by value
  for (size_t g = 0; g < unit->groups.size(); ++g) {
    const Group& group = unit->groups[g];
    if (!group.gone && !group.converts() && group.last().num_outputs() == 1)
      made_by[group.last().out(0).id()] = g;
  }
  for (size_t g = 0; g < unit->groups.size(); ++g) {
    if (!LoadsOnce(unit->groups[g])) continue;
    const auto from = made_by.find(unit->groups[g].op.in(0).id());
    if (from != made_by.end()) FuseInFront(unit, from->second, g);
  }
}

}  // namespace tim::vx::opencl
