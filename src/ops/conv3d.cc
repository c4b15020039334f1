// Conv3d: convolution in three dimensions, also depthwise.  Source: ONNX Conv-11.
#include "tim/vx/ops/conv3d.h"

#include <string>

#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Conv3dAttrs {
  std::array<int32_t, 3> stride = {1, 1, 1};
  std::array<int32_t, 3> dilation = {1, 1, 1};
  PadType padding = PadType::AUTO;
  // left, right, top, bottom, front, rear; used by AUTO and NONE
  std::array<int32_t, 6> pad = {0, 0, 0, 0, 0, 0};
  int32_t multiplier = 0;                       // depthwise when positive
  int32_t weights = 0;                          // output channels when positive
  std::array<int32_t, 3> ksize = {0, 0, 0};     // kept for Clone
  DataLayout input_layout = DataLayout::WHDCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHDIcOc;
  TIMCL_FIELDS(stride, dilation, padding, pad, multiplier, weights, ksize, input_layout,
               kernel_layout)
};

weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<Conv3dAttrs>();
  weighted_sum::Convolution c = a.multiplier > 0
                                    ? weighted_sum::DepthwiseConvolution(op, a.multiplier)
                                    : weighted_sum::PlainConvolution(op);
  if (a.weights > 0) {
    c.out_channels = a.weights;
    if (a.multiplier <= 0) c.group = a.weights;
  }
  weighted_sum::SetWindows(op, a, &c);
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Conv3dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 5, 5));
  TIMCL_TRY(op.CheckRank(1, 5, 5));
  TIMCL_TRY(weighted_sum::CheckChannels(op, a.multiplier > 0 ? 3 : 4));
  for (const int32_t stride : a.stride) {
    if (stride < 1) {
      return op.Error(Code::kInvalidArgument,
                      "attribute stride has " + to_string(stride) + ", which is not positive");
    }
  }
  auto negative = [&](const char* name, int32_t value) {
    if (value >= 0) return Status();
    return op.Error(Code::kInvalidArgument, std::string("attribute ") + name + " has " +
                                                to_string(value) + ", which is negative");
  };
  for (const int32_t dilation : a.dilation) TIMCL_TRY(negative("dilation", dilation));
  for (const int32_t pad : a.pad) TIMCL_TRY(negative("pad", pad));
  TIMCL_TRY(negative("multiplier", a.multiplier));
  TIMCL_TRY(negative("weights", a.weights));
  const int64_t most = op.in(0).shape()[3] * a.multiplier;
  if (a.multiplier > 0 && a.weights > most) {
    return op.Error(Code::kInvalidArgument, "attribute weights asks for " + to_string(a.weights) +
                                                " output channels, attribute multiplier allows " +
                                                to_string(most));
  }
  return Status();
}

void Cases(CaseMaker& make) {
  auto add = [&](const Conv3dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const int32_t dim = a.multiplier > 0 ? 3 : 4;
    const int64_t channels = a.weights > 0 ? a.weights : w[static_cast<size_t>(dim)];
    weighted_sum::FormCases(make, {MakeAttrs(a), x, w, channels, dim, note, declared});
  };
  Conv3dAttrs a;
  add(a, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, "one element");
  add(a, {5, 4, 3, 37, 2}, {1, 1, 1, 37, 30}, "cells alone");
  add(a, {9, 5, 4, 3, 2}, {3, 2, 2, 3, 5}, "no pads");
  a.pad = {2, 1, 1, 3, 0, 1};
  a.stride = {2, 1, 2};
  add(a, {10, 5, 4, 2, 1}, {3, 3, 2, 2, 4}, "explicit pads, strides");
  a.padding = PadType::VALID;
  a.dilation = {2, 1, 3};
  add(a, {10, 5, 6, 2, 1}, {3, 3, 2, 2, 4}, "valid in spite of pads, dilation");
  a.padding = PadType::NONE;
  a.dilation = {0, 0, 0};
  a.ksize = {3, 3, 2};
  add(a, {10, 5, 6, 2, 1}, {3, 3, 2, 2, 4}, "explicit pads, dilation 0");
  a = {};
  a.padding = PadType::SAME;
  add(a, {10, 5, 4, 2, 2}, {4, 3, 2, 2, 3}, "same");
  a.stride = {3, 2, 2};
  a.dilation = {1, 2, 2};
  add(a, {10, 5, 5, 2, 1}, {4, 3, 2, 2, 3}, "same, strides, dilation");
  a = {};
  a.weights = 3;
  add(a, {6, 5, 4, 2, 1}, {2, 2, 2, 3, 5}, "fewer channels than the kernel has");
  a.weights = 0;
  add(a, {6, 5, 4, 2, 1}, {3, 3, 2, 2, 3}, "other positions", {5, 2, 4, 3, 1});
  a.multiplier = 1;
  add(a, {6, 5, 4, 3, 2}, {3, 2, 2, 3, 1}, "depthwise");
  a.multiplier = 2;
  a.stride = {2, 2, 1};
  add(a, {7, 5, 4, 2, 1}, {3, 2, 2, 4, 1}, "depthwise, two of each");
  a = {};
  auto edge = [&](const Shape& x, const Shape& w, const char* note) {
    const bool depthwise = a.multiplier > 0;
    weighted_sum::WindowCases(make,
                              {MakeAttrs(a), x, w, w[depthwise ? 3 : 4], depthwise ? 3 : 4, note});
  };
  a.pad = {1, 1, 1, 1, 1, 1};
  edge({35, 6, 4, 3, 2}, {3, 3, 3, 3, 9}, "tiles of positions and channels");
  edge({18, 3, 3, 70, 1}, {3, 3, 3, 70, 5}, "more channels than are copied at once");
  edge({130, 3, 2, 2, 1}, {3, 3, 3, 2, 4}, "long rows");
  a.stride = {2, 2, 2};
  edge({37, 9, 5, 3, 1}, {3, 3, 3, 3, 8}, "tiles, strides");
  a.stride = {1, 3, 1};
  a.dilation = {2, 2, 2};
  edge({37, 9, 6, 3, 1}, {3, 3, 3, 3, 8}, "tiles, strides that differ, dilation");
  a = {};
  a.multiplier = 2;
  edge({17, 9, 4, 5, 1}, {3, 3, 2, 10, 1}, "tiles, depthwise, two of each");
  weighted_sum::TypeCases(
      make, {MakeAttrs(Conv3dAttrs{}), {9, 4, 3, 2, 1}, {3, 2, 2, 2, 5}, 5, 4, "types"});
  a = {};
  a.padding = PadType::SAME;
  const weighted_sum::CaseForm bench = {
      MakeAttrs(a), {28, 28, 8, 16, 1}, {3, 3, 3, 16, 32}, 32, 4, "3x3x3, 16 to 32 channels"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
}

constexpr OpDef kConv3d = Op::Define({.name = "Conv3d",
                                      .schema = &kAttrSchema<Conv3dAttrs>,
                                      .verify = Verify,
                                      .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Conv3d::Conv3d(Graph* graph, PadType padding, const std::array<int32_t, 3>& stride,
               const std::array<int32_t, 3>& dilation, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : Conv3d(graph, 0, padding, {0, 0, 0}, stride, dilation, {0, 0, 0, 0, 0, 0}, multiplier,
             input_layout, kernel_layout) {}
Conv3d::Conv3d(Graph* graph, const std::array<int32_t, 6> pad, const std::array<int32_t, 3>& stride,
               const std::array<int32_t, 3>& dilation, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : Conv3d(graph, 0, PadType::AUTO, {0, 0, 0}, stride, dilation, pad, multiplier, input_layout,
             kernel_layout) {}
Conv3d::Conv3d(Graph* graph, int32_t weights, PadType padding, const std::array<int32_t, 3>& ksize,
               const std::array<int32_t, 3>& stride, const std::array<int32_t, 3>& dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv3d(graph, weights, padding, ksize, stride, dilation, {0, 0, 0, 0, 0, 0}, multiplier,
             input_layout, kernel_layout) {}
Conv3d::Conv3d(Graph* graph, int32_t weights, PadType padding, const std::array<int32_t, 3>& ksize,
               const std::array<int32_t, 3>& stride, const std::array<int32_t, 3>& dilation,
               const std::array<int32_t, 6>& pad, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : BuiltinOp(graph, kConv3d,
                MakeAttrs(Conv3dAttrs{stride, dilation, padding, pad, multiplier, weights, ksize,
                                      input_layout, kernel_layout}),
                input_layout),
      weights_(weights),
      padding_(padding),
      ksize_(ksize),
      stride_(stride),
      dilation_(dilation),
      pad_(pad),
      multiplier_(multiplier),
      kernel_layout_(kernel_layout) {}

std::shared_ptr<Operation> Conv3d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Conv3dAttrs>(*this);
  return graph->CreateOperation<Conv3d>(a.weights, a.padding, a.ksize, a.stride, a.dilation, a.pad,
                                        a.multiplier, a.input_layout, a.kernel_layout);
}

DataLayout Conv3d::KernelDataLayout() { return AttrsOf<Conv3dAttrs>(*this).kernel_layout; }
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(conv3d) {
  Add(kConv3d);
  AddFoldRule(kConv3d, &ConvolutionFolds<ConvolutionOf>::kRule);
}

}  // namespace tim::vx::ops
