// Conv1d: convolution in one dimension, also depthwise.  Source: ONNX Conv-11;
// torch.nn.functional.conv1d.
#include "tim/vx/ops/conv1d.h"

#include <string>

#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Conv1dAttrs {
  uint32_t stride = 1;
  uint32_t dilation = 1;
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 2> pad = {0, 0};  // front, rear; not used by VALID
  int32_t multiplier = 0;                // depthwise when positive
  int32_t weights = 0;                   // kept for Clone, as ksize
  uint32_t ksize = 0;
  DataLayout input_layout = DataLayout::WCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WIcOc;
  TIMCL_FIELDS(stride, dilation, padding, pad, multiplier, weights, ksize, input_layout,
               kernel_layout)
};

/// The window with the pads as given; SAME gives none.
Window WindowOf(const OpView& op, PadType padding) {
  const auto& a = op.attrs<Conv1dAttrs>();
  return MakeWindow(op.in(0).shape()[0], op.in(1).shape()[0], a.stride, a.dilation, padding,
                    a.pad[0], a.pad[1]);
}
Window GivenWindow(const OpView& op) {
  const PadType padding = op.attrs<Conv1dAttrs>().padding;
  return WindowOf(op, padding == PadType::SAME ? PadType::AUTO : padding);
}

weighted_sum::Convolution ChannelsOf(const OpView& op) {
  const int64_t multiplier = op.attrs<Conv1dAttrs>().multiplier;
  return multiplier > 0 ? weighted_sum::DepthwiseConvolution(op, multiplier)
                        : weighted_sum::PlainConvolution(op);
}

weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  weighted_sum::Convolution c = ChannelsOf(op);
  c.axes[0] = GivenWindow(op);
  if (op.attrs<Conv1dAttrs>().padding == PadType::SAME) {
    const Window same = WindowOf(op, PadType::SAME);
    const int64_t declared = op.out(0).shape()[0];
    if (declared == same.out() && declared > c.axes[0].out()) c.axes[0] = same;
  }
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Conv1dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  TIMCL_TRY(op.CheckRank(1, 3, 3));
  TIMCL_TRY(weighted_sum::CheckChannels(op, a.multiplier > 0 ? 1 : 2));
  if (a.stride == 0) return op.Error(Code::kInvalidArgument, "attribute stride is 0");
  if (a.multiplier < 0) {
    return op.Error(Code::kInvalidArgument,
                    "attribute multiplier " + to_string(a.multiplier) + " is negative");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  weighted_sum::Convolution c = ChannelsOf(op);
  c.axes[0] = GivenWindow(op);
  return weighted_sum::ConvolutionShapes(op, c, {c.axes[0].out()});
}

/// Around the edges of the tiles and strips of conv_window.cl.
void TileCases(CaseMaker& make) {
  auto add = [&](const Conv1dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const bool depthwise = a.multiplier > 0;
    weighted_sum::WindowCases(
        make, {MakeAttrs(a), x, w, w[depthwise ? 1 : 2], depthwise ? 1 : 2, note, declared});
  };
  Conv1dAttrs a;
  a.pad = {1, 1};
  for (int64_t width : {15, 16, 48, 49, 97, 1100})
    add(a, {width, 5, 2}, {3, 5, 11}, "tiles of positions");
  for (int64_t channels : {1, 4, 6, 8, 13})
    add(a, {50, 4, 1}, {3, 4, channels}, "tiles of channels");
  add(a, {70, 300, 1}, {5, 300, 9}, "more channels than are copied at once");
  add(a, {90, 3, 1}, {3, 3, 203}, "more channels than one work-item sums");
  for (uint32_t stride : {2u, 3u, 5u}) {
    a.stride = stride;
    add(a, {211, 3, 2}, {4, 3, 9}, "strides");
  }
  a.dilation = 2;
  a.stride = 3;
  add(a, {211, 3, 1}, {4, 3, 9}, "stride and dilation");
  a.stride = 1;
  a.dilation = 64;
  a.pad = {128, 0};
  add(a, {150, 3, 2}, {3, 3, 9}, "a dilation so large that taps share no cells");
  a = {};
  a.pad = {40, 70};
  add(a, {20, 3, 1}, {3, 3, 9}, "pads larger than the window");
  add(a, {20, 3, 1}, {3, 3, 9}, "positions beyond the pads", {300, 9, 1});
  a.multiplier = 2;
  add(a, {60, 7, 2}, {9, 14, 1}, "depthwise, two of each");
  a.multiplier = 1;
  for (uint32_t stride : {1u, 2u, 3u}) {
    a.stride = stride;
    for (int64_t taps : {1, 2, 6}) add(a, {93, 5, 1}, {taps, 5, 1}, "depthwise, pairs of taps");
  }
  a.stride = 3, a.dilation = 2;
  add(a, {93, 5, 1}, {5, 5, 1}, "depthwise, pairs of taps, stride and dilation");
  a = {};
  weighted_sum::WideSumCase(make,
                            {MakeAttrs(a), {40, 181, 1}, {3, 181, 9}, 9, 2, "sums beyond 32 bits"});
  weighted_sum::WideSumCase(
      make, {MakeAttrs(a), {240, 3, 1}, {201, 3, 5}, 5, 2, "sums beyond 32 bits, long windows"});
}

void Cases(CaseMaker& make) {
  TileCases(make);
  auto add = [&](const Conv1dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const bool depthwise = a.multiplier > 0;
    weighted_sum::FormCases(
        make, {MakeAttrs(a), x, w, w[depthwise ? 1 : 2], depthwise ? 1 : 2, note, declared});
  };
  Conv1dAttrs a;
  add(a, {1, 1, 1}, {1, 1, 1}, "one element");
  add(a, {35, 37, 2}, {1, 37, 53}, "cells alone, beyond any tile");
  add(a, {19, 3, 2}, {4, 3, 5}, "no pads");
  a.pad = {2, 1};
  a.stride = 2;
  add(a, {20, 3, 2}, {3, 3, 5}, "explicit pads, stride");
  a.padding = PadType::VALID;
  a.dilation = 3;
  add(a, {20, 2, 1}, {3, 2, 4}, "valid in spite of pads, dilation");
  a.padding = PadType::NONE;
  a.stride = 3;
  a.dilation = 0;
  a.weights = 4, a.ksize = 3;
  add(a, {20, 2, 1}, {3, 2, 4}, "explicit pads, dilation 0");
  a = {};
  a.padding = PadType::SAME;
  add(a, {20, 2, 1}, {4, 2, 3}, "same, undeclared: no pads");
  add(a, {20, 2, 1}, {4, 2, 3}, "same, declared: pads", {20, 3, 1});
  a.stride = 2;
  add(a, {21, 2, 1}, {6, 2, 3}, "same, declared, stride", {11, 3, 1});
  a.pad = {3, 2};
  add(a, {21, 2, 1}, {6, 2, 3}, "same, pads that suffice", {11, 3, 1});
  a = {};
  add(a, {12, 2, 1}, {3, 4, 5}, "a kernel with more channels than the input");
  add(a, {12, 2, 1}, {3, 2, 5}, "positions beyond the input", {13, 5, 1});
  add(a, {2, 2, 1}, {3, 2, 5}, "a window larger than the input", {2, 5, 1});
  a.multiplier = 1;
  add(a, {11, 5, 2}, {3, 5, 1}, "depthwise");
  a.multiplier = 3;
  a.stride = 2;
  add(a, {11, 2, 2}, {3, 6, 1}, "depthwise, three of each");
  weighted_sum::TypeCases(make, {MakeAttrs(Conv1dAttrs{}), {19, 3, 2}, {3, 3, 5}, 5, 2, "types"});
  a = {};
  a.pad = {4, 4};
  const weighted_sum::CaseForm bench = {MakeAttrs(a),         {1000, 64, 1}, {9, 64, 64}, 64, 2,
                                        "9 taps, 64 channels"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
  a.pad = {1, 1};
  weighted_sum::BenchCase(make,
                          {MakeAttrs(a), {1024, 64, 1}, {3, 64, 64}, 64, 2, "3 taps, 64 channels"});
}

constexpr OpDef kConv1d = Op::Define({.name = "Conv1d",
                                      .schema = &kAttrSchema<Conv1dAttrs>,
                                      .verify = Verify,
                                      .infer = Infer,
                                      .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Conv1d::Conv1d(Graph* graph, PadType padding, uint32_t stride, uint32_t dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv1d(graph, 0, padding, 0, stride, dilation, {0, 0}, multiplier, input_layout,
             kernel_layout) {}
Conv1d::Conv1d(Graph* graph, const std::array<uint32_t, 2>& pad, uint32_t stride, uint32_t dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv1d(graph, 0, PadType::AUTO, 0, stride, dilation, pad, multiplier, input_layout,
             kernel_layout) {}
Conv1d::Conv1d(Graph* graph, int32_t weights, PadType padding, uint32_t ksize, uint32_t stride,
               uint32_t dilation, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : Conv1d(graph, weights, padding, ksize, stride, dilation, {0, 0}, multiplier, input_layout,
             kernel_layout) {}
Conv1d::Conv1d(Graph* graph, int32_t weights, PadType padding, uint32_t ksize, uint32_t stride,
               uint32_t dilation, const std::array<uint32_t, 2>& pad, int32_t multiplier,
               DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kConv1d,
                MakeAttrs(Conv1dAttrs{stride, dilation, padding, pad, multiplier, weights, ksize,
                                      input_layout, kernel_layout}),
                input_layout),
      weights_(static_cast<uint32_t>(weights)),
      padding_(padding),
      ksize_(ksize),
      stride_(stride),
      dilation_(dilation),
      pad_(pad),
      multiplier_(multiplier),
      kernel_layout_(kernel_layout) {}

std::shared_ptr<Operation> Conv1d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Conv1dAttrs>(*this);
  return graph->CreateOperation<Conv1d>(a.weights, a.padding, a.ksize, a.stride, a.dilation, a.pad,
                                        a.multiplier, a.input_layout, a.kernel_layout);
}

DataLayout Conv1d::KernelDataLayout() { return AttrsOf<Conv1dAttrs>(*this).kernel_layout; }
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(conv1d) {
  Add(kConv1d);
  AddFoldRule(kConv1d, &ConvolutionFolds<ConvolutionOf>::kRule);
}

}  // namespace tim::vx::ops
