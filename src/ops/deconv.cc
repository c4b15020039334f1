// DeConv2d: transposed convolution in two dimensions, also depthwise.  Source: ONNX
// ConvTranspose-11; tf.nn.conv2d_transpose (SAME).
#include "tim/vx/ops/deconv.h"

#include <string>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::ops {
namespace {

struct DeConv2dAttrs {
  int32_t oc_count = 0;  // 0: those of the kernel
  PadType pad_type = PadType::AUTO;
  std::array<uint32_t, 2> ksize = {0, 0};  // kept for Clone
  std::array<uint32_t, 2> stride = {1, 1};
  std::array<uint32_t, 2> output_padding = {0, 0};
  bool pads_given = true;  // else pad_type may derive them
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};
  uint32_t group = 1;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHIcOc;
  TIMCL_FIELDS(oc_count, pad_type, ksize, stride, output_padding, pads_given, pad, group,
               input_layout, kernel_layout)
};

Window GivenWindow(const OpView& op, size_t d) {
  const auto& a = op.attrs<DeConv2dAttrs>();
  return MakeWindow(op.in(0).shape()[d], op.in(1).shape()[d], a.stride[d], 1, PadType::AUTO,
                    a.pad[2 * d], a.pad[2 * d + 1]);
}

weighted_sum::Convolution ChannelsOf(const OpView& op) {
  const auto& a = op.attrs<DeConv2dAttrs>();
  auto c = weighted_sum::TransposedConvolution(op, a.oc_count, a.group);
  for (size_t d = 0; d < 2; ++d) c.axes[d] = GivenWindow(op, d);
  return c;
}
weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<DeConv2dAttrs>();
  auto c = ChannelsOf(op);
  if (a.pads_given || a.pad_type != PadType::SAME) return c;
  for (size_t d = 0; d < 2; ++d) {
    c.axes[d].front = weighted_sum::SharedCut(c.axes[d], a.output_padding[d], op.out(0).shape()[d]);
  }
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<DeConv2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  TIMCL_TRY(op.CheckRank(1, 4, 4));
  TIMCL_TRY(weighted_sum::CheckStride(op, a.stride));
  return weighted_sum::CheckTransposed(op, ChannelsOf(op), a.group);
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<DeConv2dAttrs>();
  const weighted_sum::Convolution c = ChannelsOf(op);
  return weighted_sum::ConvolutionShapes(
      op, c,
      {weighted_sum::TransposedOut(c.axes[0], a.output_padding[0]),
       weighted_sum::TransposedOut(c.axes[1], a.output_padding[1])});
}

void Cases(CaseMaker& make) {
  auto add = [&](const DeConv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const int32_t dim = w[3] == 1 ? 2 : 3;
    const int64_t channels = a.oc_count > 0 ? a.oc_count : a.group > 1 ? w[2] * w[3] : w[3];
    weighted_sum::FormCases(make,
                            {MakeAttrs(a), x, w, channels, a.group > 1 ? dim : 3, note, declared});
  };
  DeConv2dAttrs a;
  add(a, {1, 1, 1, 1}, {1, 1, 1, 1}, "one element");
  add(a, {9, 7, 3, 2}, {3, 2, 3, 5}, "stride 1");
  a.stride = {2, 3};
  add(a, {20, 4, 2, 1}, {3, 4, 2, 6}, "strides");
  a.output_padding = {1, 2};
  a.pad = {2, 1, 1, 3};
  a.pad_type = PadType::SAME;
  a.ksize = {4, 4};
  add(a, {11, 4, 2, 2}, {4, 4, 2, 3}, "pads as given in spite of SAME, output padding");
  a.pad = {5, 0, 0, 6};
  a.pad_type = PadType::VALID;
  add(a, {11, 4, 2, 1}, {4, 4, 3, 3}, "pads larger than the kernel, a kernel of more channels");
  a = {};
  a.stride = {3, 2};
  add(a, {5, 4, 2, 1}, {2, 1, 2, 3}, "positions that no tap reaches");
  add(a, {5, 4, 2, 1}, {4, 3, 2, 3}, "fewer positions", {11, 8, 3, 1});
  add(a, {5, 4, 2, 1}, {4, 3, 2, 3}, "more positions", {19, 12, 3, 1});
  a.pads_given = false;
  add(a, {5, 4, 2, 1}, {4, 3, 2, 3}, "no pads, declared", {15, 8, 3, 1});
  a.pad_type = PadType::SAME;
  add(a, {5, 4, 2, 1}, {4, 3, 2, 3}, "same, undeclared");
  add(a, {5, 4, 2, 1}, {6, 5, 2, 3}, "same, declared", {15, 8, 3, 1});
  a.output_padding = {1, 1};
  add(a, {5, 4, 2, 1}, {6, 3, 2, 3}, "same, declared, output padding", {15, 8, 3, 1});
  a = {};
  a.stride = {2, 2};
  add(a, {16, 3, 2, 1}, {2, 2, 2, 3}, "positions that fill whole vectors");
  a = {};
  a.oc_count = 3;
  add(a, {9, 3, 2, 1}, {3, 3, 2, 4}, "fewer channels than the kernel has");
  a.oc_count = 4, a.group = 4;
  a.stride = {2, 2};
  add(a, {9, 5, 4, 2}, {3, 3, 1, 4}, "depthwise");
  add(a, {9, 5, 4, 1}, {3, 3, 4, 1}, "depthwise, channels along the third dimension");
  auto edge = [&](const Shape& x, const Shape& w, const char* note, const Shape& declared = {}) {
    const int64_t channels = a.group > 1 ? w[2] * w[3] : w[3];
    weighted_sum::WindowCases(make, {MakeAttrs(a), x, w, channels, 3, note, declared});
  };
  for (uint32_t stride : {1u, 2u, 3u}) {
    a = {};
    a.stride = {stride, stride};
    for (int64_t width : {15, 17, 49}) edge({width, 7, 5, 2}, {4, 5, 5, 9}, "tiles");
    a.pad = {1, 2, 2, 1};
    edge({33, 5, 9, 1}, {2, 2, 9, 4}, "tiles, pads, positions that no tap may reach");
    edge({23, 6, 3, 1}, {5, 4, 3, 13}, "tiles, more positions", {99, 31, 13, 1});
  }
  a.stride = {1, 4};
  edge({37, 6, 4, 1}, {3, 7, 4, 8}, "tiles, strides that differ");
  a.stride = {2, 1};
  edge({130, 4, 200, 1}, {3, 3, 200, 5}, "long rows of more channels than are copied at once");
  edge({30, 4, 3, 1}, {3, 3, 3, 90}, "more channels than one work-item sums");
  a.pad = {};
  a.oc_count = 11, a.group = 11;
  edge({19, 5, 11, 2}, {3, 3, 1, 11}, "tiles, depthwise");
  a = {};
  edge({7, 5, 48, 2}, {1, 1, 48, 32}, "one cell");
  a.stride = {2, 2};
  weighted_sum::WideSumCase(
      make, {MakeAttrs(a), {17, 5, 141, 1}, {4, 4, 141, 7}, 7, 3, "sums beyond 32 bits"});
  weighted_sum::TypeCases(make, {MakeAttrs(a), {9, 3, 2, 2}, {3, 3, 2, 5}, 5, 3, "types"});
  a.pad = {1, 1, 1, 1};
  const weighted_sum::CaseForm bench = {
      MakeAttrs(a), {28, 28, 64, 1}, {4, 4, 64, 32}, 32, 3, "4x4, stride 2, 64 to 32 channels"};
  weighted_sum::BenchCase(make, bench);
  weighted_sum::StorageBenchCases(make, bench);
}

constexpr OpDef kDeConv2d = Op::Define({.name = "DeConv2d",
                                        .schema = &kAttrSchema<DeConv2dAttrs>,
                                        .verify = Verify,
                                        .infer = Infer,
                                        .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
DeConv2d::DeConv2d(Graph* graph, int32_t oc_count, PadType pad_type,
                   const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
                   const std::array<uint32_t, 2>& output_padding, DataLayout input_layout,
                   DataLayout kernel_layout)
    : BuiltinOp(graph, kDeConv2d,
                MakeAttrs(DeConv2dAttrs{oc_count,
                                        pad_type,
                                        ksize,
                                        stride,
                                        output_padding,
                                        false,
                                        {0, 0, 0, 0},
                                        1,
                                        input_layout,
                                        kernel_layout}),
                input_layout),
      oc_count_(static_cast<uint32_t>(oc_count)),
      pad_type_(pad_type),
      ksize_(ksize),
      stride_(stride),
      output_padding_(output_padding),
      pad_{0, 0, 0, 0},
      group_(1),
      kernel_layout_(kernel_layout) {}
DeConv2d::DeConv2d(Graph* graph, int32_t oc_count, PadType pad_type,
                   const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
                   const std::array<uint32_t, 2>& output_padding,
                   const std::array<uint32_t, 4>& pad, const uint32_t group,
                   DataLayout input_layout, DataLayout kernel_layout)
    : BuiltinOp(graph, kDeConv2d,
                MakeAttrs(DeConv2dAttrs{oc_count, pad_type, ksize, stride, output_padding, true,
                                        pad, group, input_layout, kernel_layout}),
                input_layout),
      oc_count_(static_cast<uint32_t>(oc_count)),
      pad_type_(pad_type),
      ksize_(ksize),
      stride_(stride),
      output_padding_(output_padding),
      pad_(pad),
      group_(group),
      kernel_layout_(kernel_layout) {}

std::shared_ptr<Operation> DeConv2d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<DeConv2dAttrs>(*this);
  if (!a.pads_given) {
    return graph->CreateOperation<DeConv2d>(a.oc_count, a.pad_type, a.ksize, a.stride,
                                            a.output_padding, a.input_layout, a.kernel_layout);
  }
  return graph->CreateOperation<DeConv2d>(a.oc_count, a.pad_type, a.ksize, a.stride,
                                          a.output_padding, a.pad, a.group, a.input_layout,
                                          a.kernel_layout);
}

DataLayout DeConv2d::KernelDataLayout() { return AttrsOf<DeConv2dAttrs>(*this).kernel_layout; }
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(deconv) { Add(kDeConv2d); }

}  // namespace tim::vx::ops
