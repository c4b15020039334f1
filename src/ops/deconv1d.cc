// DeConv1d: transposed convolution in one dimension, also depthwise.  Source: ONNX
// ConvTranspose-11; torch.nn.functional.conv_transpose1d.
#include "tim/vx/ops/deconv1d.h"

#include <string>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::ops {
namespace {

struct DeConv1dAttrs {
  PadType pad_type = PadType::AUTO;
  uint32_t stride = 1;
  uint32_t output_padding = 0;
  bool pads_given = true;  // else pad_type may derive them
  std::array<uint32_t, 2> pad = {0, 0};
  uint32_t group = 1;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHIcOc;
  TIMCL_FIELDS(pad_type, stride, output_padding, pads_given, pad, group, input_layout,
               kernel_layout)
};

weighted_sum::Convolution ChannelsOf(const OpView& op) {
  const auto& a = op.attrs<DeConv1dAttrs>();
  auto c = weighted_sum::TransposedConvolution(op, 0, a.group);
  c.axes[0] = MakeWindow(op.in(0).shape()[0], op.in(1).shape()[0], a.stride, 1, PadType::AUTO,
                         a.pad[0], a.pad[1]);
  return c;
}
weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<DeConv1dAttrs>();
  auto c = ChannelsOf(op);
  if (!a.pads_given && a.pad_type == PadType::SAME) {
    c.axes[0].front = weighted_sum::SharedCut(c.axes[0], a.output_padding, op.out(0).shape()[0]);
  }
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<DeConv1dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  TIMCL_TRY(op.CheckRank(1, 3, 3));
  if (a.stride == 0) return op.Error(Code::kInvalidArgument, "attribute stride is 0");
  return weighted_sum::CheckTransposed(op, ChannelsOf(op), a.group);
}

Result<Shapes> Infer(const OpView& op) {
  const weighted_sum::Convolution c = ChannelsOf(op);
  return weighted_sum::ConvolutionShapes(
      op, c, {weighted_sum::TransposedOut(c.axes[0], op.attrs<DeConv1dAttrs>().output_padding)});
}

void Cases(CaseMaker& make) {
  auto add = [&](const DeConv1dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const int32_t dim = a.group > 1 && w[2] == 1 ? 1 : 2;
    weighted_sum::FormCases(make,
                            {MakeAttrs(a), x, w, w[static_cast<size_t>(dim)], dim, note, declared});
  };
  DeConv1dAttrs a;
  add(a, {1, 1, 1}, {1, 1, 1}, "one element");
  add(a, {19, 3, 2}, {3, 3, 5}, "stride 1");
  a.stride = 3;
  add(a, {20, 2, 1}, {5, 2, 9}, "stride");
  a.output_padding = 2;
  a.pad = {2, 1};
  a.pad_type = PadType::SAME;
  add(a, {11, 2, 2}, {4, 2, 3}, "pads as given in spite of SAME, output padding");
  a.pad = {0, 6};
  add(a, {11, 2, 1}, {4, 3, 3}, "a rear pad, a kernel of more channels");
  a = {};
  a.stride = 3;
  add(a, {5, 2, 1}, {2, 2, 3}, "positions that no tap reaches");
  add(a, {5, 2, 1}, {4, 2, 3}, "fewer positions", {11, 3, 1});
  add(a, {5, 2, 1}, {4, 2, 3}, "more positions", {19, 3, 1});
  a.pads_given = false;
  add(a, {5, 2, 1}, {4, 2, 3}, "no pads, declared", {15, 3, 1});
  a.pad_type = PadType::SAME;
  add(a, {5, 2, 1}, {4, 2, 3}, "same, undeclared");
  add(a, {5, 2, 1}, {6, 2, 3}, "same, declared", {15, 3, 1});
  a = {};
  a.group = 4;
  a.stride = 2;
  add(a, {9, 4, 2}, {3, 1, 4}, "depthwise");
  add(a, {9, 4, 1}, {3, 4, 1}, "depthwise, channels along the second dimension");
  for (uint32_t stride : {1u, 2u, 4u}) {
    a = {};
    a.stride = stride;
    a.pad = {3, 2};
    for (int64_t width : {17, 50, 700}) {
      weighted_sum::WindowCases(make, {MakeAttrs(a), {width, 5, 2}, {9, 5, 7}, 7, 2, "tiles"});
    }
  }
  a = {};
  weighted_sum::FloatCase(make, {MakeAttrs(a), {37, 48, 2}, {1, 48, 32}, 32, 2, "one cell"});
  a.stride = 2;
  weighted_sum::TypeCases(make, {MakeAttrs(a), {19, 2, 2}, {3, 2, 5}, 5, 2, "types"});
  a.pad = {1, 1};
  const weighted_sum::CaseForm bench = {
      MakeAttrs(a), {500, 64, 1}, {4, 64, 32}, 32, 2, "4 taps, stride 2, 64 to 32 channels"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
}

constexpr OpDef kDeConv1d = Op::Define({.name = "DeConv1d",
                                        .schema = &kAttrSchema<DeConv1dAttrs>,
                                        .verify = Verify,
                                        .infer = Infer,
                                        .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
DeConv1d::DeConv1d(Graph* graph, bool pads_given, PadType pad_type, uint32_t stride,
                   uint32_t output_padding, const std::array<uint32_t, 2>& pad, uint32_t group,
                   DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kDeConv1d,
                MakeAttrs(DeConv1dAttrs{pad_type, stride, output_padding, pads_given, pad, group,
                                        input_layout, kernel_layout}),
                input_layout),
      oc_count_(0),
      pad_type_(pad_type),
      ksize_(0),
      stride_(stride),
      output_padding_(output_padding),
      pad_(pad),
      group_(group),
      kernel_layout_(kernel_layout) {}
DeConv1d::DeConv1d(Graph* graph, PadType pad_type, uint32_t stride, uint32_t output_padding,
                   uint32_t group, DataLayout input_layout, DataLayout kernel_layout)
    : DeConv1d(graph, false, pad_type, stride, output_padding, {0, 0}, group, input_layout,
               kernel_layout) {}
DeConv1d::DeConv1d(Graph* graph, const std::array<uint32_t, 2>& pad, uint32_t stride,
                   uint32_t output_padding, uint32_t group, DataLayout input_layout,
                   DataLayout kernel_layout)
    : DeConv1d(graph, true, PadType::AUTO, stride, output_padding, pad, group, input_layout,
               kernel_layout) {}
DeConv1d::DeConv1d(Graph* graph, int32_t, PadType pad_type, uint32_t, uint32_t stride,
                   uint32_t output_padding)
    : DeConv1d(graph, pad_type, stride, output_padding) {}
DeConv1d::DeConv1d(Graph* graph, int32_t, PadType pad_type, uint32_t, uint32_t stride,
                   uint32_t output_padding, const std::array<uint32_t, 2>& pad, uint32_t group)
    : DeConv1d(graph, true, pad_type, stride, output_padding, pad, group, DataLayout::WHCN,
               DataLayout::WHIcOc) {}
DeConv1d::DeConv1d(Graph* graph, PadType pad_type, uint32_t stride, uint32_t output_padding,
                   const std::array<uint32_t, 2>& pad, uint32_t group, DataLayout input_layout,
                   DataLayout kernel_layout)
    : DeConv1d(graph, true, pad_type, stride, output_padding, pad, group, input_layout,
               kernel_layout) {}

std::shared_ptr<Operation> DeConv1d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<DeConv1dAttrs>(*this);
  if (!a.pads_given) {
    return graph->CreateOperation<DeConv1d>(a.pad_type, a.stride, a.output_padding, a.group,
                                            a.input_layout, a.kernel_layout);
  }
  return graph->CreateOperation<DeConv1d>(a.pad_type, a.stride, a.output_padding, a.pad, a.group,
                                          a.input_layout, a.kernel_layout);
}

DataLayout DeConv1d::KernelDataLayout() { return AttrsOf<DeConv1dAttrs>(*this).kernel_layout; }
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(deconv1d) { Add(kDeConv1d); }

}  // namespace tim::vx::ops
