// GroupedConv2d: convolution in two dimensions, channels in groups.  Source: ONNX Conv-11.
#include "tim/vx/ops/groupedconv2d.h"

#include <string>

#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

struct GroupedConv2dAttrs {
  std::array<uint32_t, 2> stride = {1, 1};
  std::array<uint32_t, 2> dilation = {1, 1};
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};  // left, right, top, bottom; used by AUTO and NONE
  int32_t group = 1;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHIcOc;
  TIMCL_FIELDS(stride, dilation, padding, pad, group, input_layout, kernel_layout)
};

weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<GroupedConv2dAttrs>();
  weighted_sum::Convolution c = weighted_sum::PlainConvolution(op);
  weighted_sum::SetWindows(op, a, &c);
  c.used = c.channels / a.group;
  c.group = c.out_channels / a.group;
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<GroupedConv2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  TIMCL_TRY(op.CheckRank(1, 4, 4));
  TIMCL_TRY(weighted_sum::CheckChannels(op, 3));
  TIMCL_TRY(weighted_sum::CheckStride(op, a.stride));
  return weighted_sum::CheckGroup(op, a.group);
}

void Cases(CaseMaker& make) {
  auto add = [&](const GroupedConv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    weighted_sum::FormCases(make, {MakeAttrs(a), x, w, w[3], 3, note, declared});
  };
  GroupedConv2dAttrs a;
  add(a, {1, 1, 1, 1}, {1, 1, 1, 1}, "one element");
  add(a, {7, 5, 37, 2}, {1, 1, 37, 32}, "pixels alone, one group");
  a.group = 2;
  add(a, {11, 7, 6, 2}, {3, 2, 3, 4}, "two groups");
  a.group = 3;
  a.padding = PadType::SAME;
  a.stride = {2, 3};
  add(a, {20, 11, 6, 1}, {5, 3, 2, 9}, "same, strides");
  a.dilation = {3, 2};
  add(a, {20, 11, 6, 1}, {3, 3, 2, 3}, "same, strides, dilation");
  a = {};
  a.group = 4;
  a.pad = {2, 1, 0, 3};
  add(a, {10, 6, 8, 1}, {3, 3, 2, 32}, "explicit pads, groups of eight channels");
  a.padding = PadType::VALID;
  add(a, {19, 6, 4, 2}, {3, 3, 1, 4}, "valid in spite of pads, a group for each channel");
  add(a, {12, 6, 4, 1}, {3, 3, 2, 8}, "a kernel with more channels than a group");
  add(a, {12, 6, 4, 1}, {3, 3, 1, 8}, "positions beyond the input", {13, 7, 8, 1});
  a.padding = PadType::NONE;
  a.dilation = {0, 1};
  add(a, {9, 5, 4, 1}, {3, 3, 1, 8}, "explicit pads, dilation 0");
  a = {};
  a.pad = {1, 1, 1, 1};
  weighted_sum::FloatCase(make,
                          {MakeAttrs(a), {30, 29, 32, 1}, {3, 3, 32, 32}, 32, 3, "one group, 3x3"});
  a.group = 4;
  for (int64_t channels : {1, 3, 4, 6, 8, 9}) {
    weighted_sum::WindowCases(
        make, {MakeAttrs(a), {29, 8, 20, 2}, {3, 3, 5, 4 * channels}, 4 * channels, 3, "tiles"});
  }
  for (uint32_t stride : {2u, 3u}) {
    a.stride = {stride, 2};
    for (int64_t width : {14, 31, 98}) {
      weighted_sum::WindowCases(
          make, {MakeAttrs(a), {width, 9, 12, 1}, {3, 5, 3, 20}, 20, 3, "tiles, strides"});
    }
  }
  a = {};
  a.group = 2;
  weighted_sum::WideSumCase(
      make, {MakeAttrs(a), {19, 9, 122, 1}, {3, 3, 61, 10}, 10, 3, "sums beyond 32 bits"});
  weighted_sum::TypeCases(make, {MakeAttrs(a), {9, 4, 4, 2}, {2, 3, 2, 6}, 6, 3, "types"});
  a.padding = PadType::SAME;
  a.group = 4;
  const weighted_sum::CaseForm bench = {
      MakeAttrs(a), {56, 56, 64, 1}, {3, 3, 16, 64}, 64, 3, "3x3, 64 channels in 4 groups"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
  a.group = 32;
  weighted_sum::BenchCase(
      make,
      {MakeAttrs(a), {56, 56, 256, 1}, {3, 3, 8, 256}, 256, 3, "3x3, 256 channels in 32 groups"});
}

constexpr OpDef kGroupedConv2d = Op::Define({.name = "GroupedConv2d",
                                             .schema = &kAttrSchema<GroupedConv2dAttrs>,
                                             .verify = Verify,
                                             .kernels = Op::kPlaneKernels,
                                             .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
GroupedConv2d::GroupedConv2d(Graph* graph, PadType padding, const std::array<uint32_t, 2>& strides,
                             const std::array<uint32_t, 2>& dilation, int32_t grouped_number,
                             DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kGroupedConv2d,
                MakeAttrs(GroupedConv2dAttrs{strides,
                                             dilation,
                                             padding,
                                             {0, 0, 0, 0},
                                             grouped_number,
                                             input_layout,
                                             kernel_layout}),
                input_layout),
      padding_(padding),
      strides_(strides),
      dilation_(dilation),
      pad_{0, 0, 0, 0},
      grouped_number_(grouped_number),
      kernel_layout_(kernel_layout) {}
GroupedConv2d::GroupedConv2d(Graph* graph, const std::array<uint32_t, 4>& pad,
                             const std::array<uint32_t, 2>& strides,
                             const std::array<uint32_t, 2>& dilation, int32_t group_number,
                             DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kGroupedConv2d,
                MakeAttrs(GroupedConv2dAttrs{strides, dilation, PadType::AUTO, pad, group_number,
                                             input_layout, kernel_layout}),
                input_layout),
      padding_(PadType::AUTO),
      strides_(strides),
      dilation_(dilation),
      pad_(pad),
      grouped_number_(group_number),
      kernel_layout_(kernel_layout) {}

std::shared_ptr<Operation> GroupedConv2d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<GroupedConv2dAttrs>(*this);
  if (a.padding == PadType::AUTO) {
    return graph->CreateOperation<GroupedConv2d>(a.pad, a.stride, a.dilation, a.group,
                                                 a.input_layout, a.kernel_layout);
  }
  return graph->CreateOperation<GroupedConv2d>(a.padding, a.stride, a.dilation, a.group,
                                               a.input_layout, a.kernel_layout);
}

DataLayout GroupedConv2d::KernelDataLayout() {
  return AttrsOf<GroupedConv2dAttrs>(*this).kernel_layout;
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(groupedconv2d) {
  Add(kGroupedConv2d);
  AddFoldRule(kGroupedConv2d, &ConvolutionFolds<ConvolutionOf>::kRule);
}

}  // namespace tim::vx::ops
