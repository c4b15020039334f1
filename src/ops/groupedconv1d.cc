// GroupedConv1d: convolution in one dimension, channels in groups.  Source: ONNX Conv-11.
#include "tim/vx/ops/groupedconv1d.h"

#include <string>

#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

struct GroupedConv1dAttrs {
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 2> pad = {0, 0};  // front, rear; used by AUTO and NONE
  uint32_t stride = 1;
  uint32_t dilation = 1;
  uint32_t group = 1;
  DataLayout input_layout = DataLayout::WCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WIcOc;
  TIMCL_FIELDS(padding, pad, stride, dilation, group, input_layout, kernel_layout)
};

Window WindowOf(const OpView& op, PadType padding) {
  const auto& a = op.attrs<GroupedConv1dAttrs>();
  return MakeWindow(op.in(0).shape()[0], op.in(1).shape()[0], a.stride, a.dilation, padding,
                    a.pad[0], a.pad[1]);
}

weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<GroupedConv1dAttrs>();
  weighted_sum::Convolution c = weighted_sum::PlainConvolution(op);
  c.axes[0] = WindowOf(op, a.padding);
  c.used = c.channels / a.group;
  c.group = c.out_channels / a.group;
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<GroupedConv1dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  TIMCL_TRY(op.CheckRank(1, 3, 3));
  TIMCL_TRY(weighted_sum::CheckChannels(op, 2));
  if (a.stride == 0) return op.Error(Code::kInvalidArgument, "attribute stride is 0");
  return weighted_sum::CheckGroup(op, a.group);
}

Result<Shapes> Infer(const OpView& op) {
  // The original counts positions by the given pads, also where SAME moves the windows.
  const PadType padding = op.attrs<GroupedConv1dAttrs>().padding;
  const Window given = WindowOf(op, padding == PadType::SAME ? PadType::AUTO : padding);
  return weighted_sum::ConvolutionShapes(op, ConvolutionOf(op), {given.out()});
}

void Cases(CaseMaker& make) {
  auto add = [&](const GroupedConv1dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    weighted_sum::FormCases(make, {MakeAttrs(a), x, w, w[2], 2, note, declared});
  };
  GroupedConv1dAttrs a;
  add(a, {1, 1, 1}, {1, 1, 1}, "one element");
  a.group = 2;
  add(a, {19, 6, 2}, {3, 3, 4}, "two groups");
  a.stride = 2;
  a.pad = {2, 1};
  add(a, {20, 4, 2}, {3, 2, 16}, "explicit pads, stride, groups of eight channels");
  a.padding = PadType::VALID;
  a.dilation = 3;
  a.group = 3;
  add(a, {20, 6, 1}, {3, 2, 3}, "valid in spite of pads, dilation");
  a.padding = PadType::NONE;
  a.dilation = 0;
  add(a, {20, 6, 1}, {3, 2, 3}, "explicit pads, dilation 0");
  a = {};
  a.pad = {1, 1};
  for (uint32_t group : {2u, 6u}) {
    a.group = group;
    weighted_sum::WindowCases(
        make, {MakeAttrs(a), {101, 12, 2}, {3, 12 / group, 18}, 18, 2, "tiles of each group"});
  }
  a = {};
  weighted_sum::FloatCase(make, {MakeAttrs(a), {37, 48, 2}, {1, 48, 32}, 32, 2, "one group"});
  a.group = 2;
  a.padding = PadType::SAME;
  add(a, {20, 4, 1}, {4, 2, 6}, "same, undeclared: fewer positions");
  add(a, {20, 4, 1}, {4, 2, 6}, "same, declared", {20, 6, 1});
  a.stride = 2;
  add(a, {21, 4, 1}, {6, 2, 6}, "same, declared, stride", {11, 6, 1});
  a = {};
  a.group = 4;
  add(a, {12, 4, 1}, {3, 2, 4}, "a kernel with more channels than a group");
  add(a, {12, 4, 1}, {3, 1, 4}, "positions beyond the input", {13, 4, 1});
  a.group = 2;
  weighted_sum::TypeCases(make, {MakeAttrs(a), {19, 4, 2}, {3, 2, 6}, 6, 2, "types"});
  a.group = 4;
  const weighted_sum::CaseForm bench = {
      MakeAttrs(a), {1000, 64, 1}, {9, 16, 64}, 64, 2, "9 taps, 64 channels in 4 groups"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
}

constexpr OpDef kGroupedConv1d = Op::Define({.name = "GroupedConv1d",
                                             .schema = &kAttrSchema<GroupedConv1dAttrs>,
                                             .verify = Verify,
                                             .infer = Infer,
                                             .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
GroupedConv1d::GroupedConv1d(Graph* graph, PadType padding, std::array<uint32_t, 2> pad,
                             uint32_t stride, uint32_t dilation, uint32_t group,
                             DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kGroupedConv1d,
                MakeAttrs(GroupedConv1dAttrs{padding, pad, stride, dilation, group, input_layout,
                                             kernel_layout}),
                input_layout),
      padding_(padding),
      pad_(pad),
      stride_(stride),
      dilation_(dilation),
      group_(group),
      kernel_layout_(kernel_layout) {}
GroupedConv1d::GroupedConv1d(Graph* graph, PadType padding, const uint32_t stride,
                             const uint32_t dilation, uint32_t group, DataLayout input_layout,
                             DataLayout kernel_layout)
    : GroupedConv1d(graph, padding, {0, 0}, stride, dilation, group, input_layout, kernel_layout) {}

std::shared_ptr<Operation> GroupedConv1d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<GroupedConv1dAttrs>(*this);
  return graph->CreateOperation<GroupedConv1d>(a.padding, a.pad, a.stride, a.dilation, a.group,
                                               a.input_layout, a.kernel_layout);
}

DataLayout GroupedConv1d::KernelDataLayout() {
  return AttrsOf<GroupedConv1dAttrs>(*this).kernel_layout;
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(groupedconv1d) {
  Add(kGroupedConv1d);
  AddFoldRule(kGroupedConv1d, &ConvolutionFolds<ConvolutionOf>::kRule);
}

}  // namespace tim::vx::ops
