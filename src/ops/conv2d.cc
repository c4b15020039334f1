// Conv2d: convolution in two dimensions, also depthwise.  Source: ONNX Conv-11;
// tf.nn.depthwise_conv2d.
#include "tim/vx/ops/conv2d.h"

#include <cmath>
#include <string>

#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Conv2dAttrs {
  std::array<uint32_t, 2> stride = {1, 1};
  std::array<uint32_t, 2> dilation = {1, 1};
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};  // left, right, top, bottom; used by AUTO and NONE
  int32_t multiplier = 0;                      // depthwise when positive
  int32_t weights = 0;                         // kept for Clone, as ksize
  std::array<uint32_t, 2> ksize = {0, 0};
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHIcOc;
  TIMCL_FIELDS(stride, dilation, padding, pad, multiplier, weights, ksize, input_layout,
               kernel_layout)
};

weighted_sum::Convolution ConvolutionOf(const OpView& op) {
  const auto& a = op.attrs<Conv2dAttrs>();
  weighted_sum::Convolution c = a.multiplier > 0
                                    ? weighted_sum::DepthwiseConvolution(op, a.multiplier)
                                    : weighted_sum::PlainConvolution(op);
  weighted_sum::SetWindows(op, a, &c);
  return c;
}
using Op = weighted_sum::ConvolutionOp<ConvolutionOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Conv2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  TIMCL_TRY(op.CheckRank(1, 4, 4));
  TIMCL_TRY(weighted_sum::CheckChannels(op, a.multiplier > 0 ? 2 : 3));
  TIMCL_TRY(weighted_sum::CheckStride(op, a.stride));
  if (a.multiplier < 0) {
    return op.Error(Code::kInvalidArgument,
                    "attribute multiplier " + to_string(a.multiplier) + " is negative");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const int64_t multiplier = op.attrs<Conv2dAttrs>().multiplier;
  const int64_t slices = op.in(1).shape()[2] * op.in(1).shape()[3];
  const int64_t wanted = op.in(0).shape()[2] * multiplier;
  if (multiplier > 0 && slices != wanted) {
    return op.Error(Code::kInvalidShape, op.in_label(0) + " and " + op.in_label(1) +
                                             " do not fit: multiplier " + to_string(multiplier) +
                                             " asks for " + to_string(wanted) +
                                             " kernel slices, not " + to_string(slices));
  }
  return Op::Infer(op);
}

weighted_sum::CaseForm Form(const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                            const Shape& declared = {}) {
  const bool depthwise = a.multiplier > 0;
  return {MakeAttrs(a),      x,    w,       depthwise ? x[2] * a.multiplier : w[3],
          depthwise ? 2 : 3, note, declared};
}

/// Shapes around the edges of the tiles of kernels over blocks of 16 channels, in float and in i8
/// with a weight per channel.
void BlockCases(CaseMaker& make) {
  auto add = [&](const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    using namespace cases;
    const int64_t channels = a.multiplier > 0 ? x[2] * a.multiplier : w[3];
    CaseBuilder c = make.Of(a);
    c.In(F32(x), -3, 3).Const(F32(w), -1, 1).Const(F32({channels}), -2, 2);
    c.Out(F32(declared)).Note(note);
    // Results that neither vanish nor all saturate.
    const double terms = static_cast<double>(w[0] * w[1] * (a.multiplier > 0 ? 1 : x[2]));
    CaseBuilder b = make.Of(a);
    b.In(Affine(DataType::INT8, x, 0.027f, -9), -3, 3);
    b.Const(PerChannel(DataType::INT8, w, a.multiplier > 0 ? 2 : 3), -1, 1);
    b.Const(I32({channels}), -3000, 3000);
    b.Out(Affine(DataType::INT8, declared, static_cast<float>(0.03 * std::sqrt(terms)), 5));
    b.Note(note);
  };
  Conv2dAttrs a;
  add(a, {577, 1, 37, 1}, {1, 1, 37, 33}, "a line that is far away");
  for (int64_t pixels : {1, 6, 14, 27, 29}) add(a, {pixels, 1, 21, 2}, {1, 1, 21, 35}, "a line");
  // conv_point.cl: 33 or 40 tiles of 14 pixels, two by two, the last one cut.
  for (int64_t pixels : {449, 550}) {
    for (int64_t channels : {16, 31, 35})
      add(a, {pixels, 1, 21, 2}, {1, 1, 21, channels}, "a line of many tiles");
  }
  for (int64_t size : {5, 7, 10, 13}) {
    const Shape x = {size, size, 20, 1};
    add(a, x, {1, 1, 20, 70}, "1x1, tiles of 64 channels");
    a.padding = PadType::SAME;
    add(a, x, {3, 3, 20, 70}, "3x3");
    a.stride = {2, 2};
    add(a, x, {3, 3, 20, 16}, "3x3 by 2, one block of channels");
    add(a, x, {1, 1, 20, 40}, "1x1 by 2");
    a = {};
  }
  a.padding = PadType::SAME;
  add(a, {30, 3, 37, 2}, {3, 3, 37, 50}, "3x3, a tile beyond the last");
  add(a, {16, 3, 20, 1}, {3, 3, 20, 30}, "3x3, tiles of 8");
  add(a, {57, 19, 32, 1}, {3, 3, 32, 64}, "3x3, many tiles");
  add(a, {9, 9, 140, 1}, {3, 3, 140, 33}, "3x3, more channels than fit on a stack");
  add(a, {7, 10, 90, 2}, {3, 3, 90, 40}, "3x3, weights that are far away");
  make.Of(a)
      .In(cases::F32({14, 9, 460, 1}), -3, 3)
      .Const(cases::F32({3, 3, 460, 33}), -1, 1)
      .Const(cases::F32({33}), -2, 2)
      .Note("3x3, weights that are farther away");
  a.stride = {2, 2};
  add(a, {13, 29, 90, 1}, {3, 3, 90, 40}, "3x3 by 2, weights that are far away");
  add(a, {13, 29, 790, 1}, {1, 1, 790, 33}, "1x1 by 2, weights that are far away");
  a.stride = {3, 2};
  add(a, {25, 9, 18, 1}, {5, 2, 18, 20}, "strides that differ");
  add(a, {19, 5, 90, 1}, {3, 3, 90, 33}, "strides that differ, weights that are far away");
  a.stride = {1, 1};
  a.dilation = {5, 2};
  add(a, {23, 9, 18, 1}, {3, 3, 18, 20}, "dilation");
  a.dilation = {20, 1};
  add(a, {70, 2, 17, 1}, {5, 1, 17, 16}, "a window that is too wide");
  a = {};
  a.pad = {4, 0, 5, 1};
  add(a, {6, 4, 18, 1}, {3, 3, 18, 17}, "pads larger than the window");
  add(a, {6, 4, 18, 1}, {3, 3, 20, 17}, "positions beyond the input, more kernel channels",
      {16, 9, 17, 1});
  a = {};
  a.padding = PadType::SAME;
  for (uint32_t stride : {1u, 2u, 4u}) {
    a.stride = {stride, stride};
    add(a, {33, 9, 3, 2}, {3, 3, 3, 33}, "few channels");
  }
  a.stride = {2, 2};
  add(a, {61, 5, 1, 1}, {7, 7, 1, 16}, "one channel");
  add(a, {803, 3, 3, 1}, {7, 7, 3, 33}, "few channels, more of a row than is read at once");
  a = {};
  a.pad = {20, 70, 1, 1};
  add(a, {13, 4, 2, 2}, {3, 3, 2, 20}, "few channels, pads larger than the window");
  a.padding = PadType::SAME;
  a.pad = {};
  add(a, {26, 3, 3, 1}, {5, 3, 3, 20}, "few channels, tiles of 13");
  add(a, {48, 3, 3, 1}, {3, 3, 3, 9}, "few channels, tiles of 16");
  for (int64_t width : {4, 5, 6, 8})
    add(a, {width, 9, 2, 1}, {3, 5, 2, 40}, "few channels, rows as short as a tile");
  a.multiplier = 1;
  for (int64_t width : {4, 6, 7, 8, 15}) {
    for (int64_t k : {3, 5}) {
      for (uint32_t stride : {1u, 2u}) {
        a.stride = {stride, stride};
        add(a, {width * stride, 7, 19, 2}, {k, k, 19, 1}, "depthwise");
      }
    }
  }
  a.stride = {3, 1};
  a.dilation = {1, 2};
  add(a, {30, 6, 18, 1}, {4, 3, 18, 1}, "depthwise, strides that differ, dilation");
  a = {};
  a.multiplier = 1;
  a.pad = {2, 0, 1, 3};
  add(a, {12, 5, 16, 1}, {3, 3, 16, 1}, "depthwise, pads as large as the window");
}

/// The same in types that kernels read as others.
void StorageCases(CaseMaker& make) {
  auto add = [&](const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    weighted_sum::StorageCases(make, Form(a, x, w, note, declared));
  };
  Conv2dAttrs a;
  for (int64_t pixels : {6, 14, 29, 449}) add(a, {pixels, 1, 21, 2}, {1, 1, 21, 35}, "a line");
  add(a, {7, 7, 20, 1}, {1, 1, 20, 70}, "1x1, tiles of 64 channels");
  weighted_sum::WideSumCase(make, Form(a, {9, 5, 70, 1}, {3, 3, 70, 18}, "sums beyond 32 bits"));
  a.padding = PadType::SAME;
  for (int64_t size : {7, 13}) add(a, {size, size, 20, 1}, {3, 3, 20, 70}, "3x3");
  add(a, {30, 3, 37, 2}, {3, 3, 37, 50}, "3x3, a tile beyond the last");
  add(a, {57, 19, 32, 1}, {3, 3, 32, 64}, "3x3, many tiles");
  add(a, {7, 3, 90, 1}, {3, 3, 90, 33}, "3x3, weights that are far away");
  a.stride = {2, 2};
  add(a, {13, 13, 20, 1}, {3, 3, 20, 16}, "3x3 by 2, one block of channels");
  add(a, {61, 5, 3, 1}, {7, 7, 3, 33}, "few channels");
  a.stride = {3, 2};
  add(a, {25, 9, 18, 1}, {5, 2, 18, 20}, "strides that differ");
  a.stride = {1, 1};
  a.dilation = {5, 2};
  add(a, {23, 9, 18, 1}, {3, 3, 18, 20}, "dilation");
  a.dilation = {1, 1};
  add(a, {70, 4, 2, 1}, {3, 3, 2, 20}, "few channels, many tiles");
  a.multiplier = 1;
  for (uint32_t stride : {1u, 2u}) {
    a.stride = {stride, stride};
    add(a, {15, 7, 19, 2}, {3, 3, 19, 1}, "depthwise");
  }
  a.stride = {3, 1};
  add(a, {30, 6, 18, 1}, {4, 3, 18, 1}, "depthwise, strides that differ");
  for (uint32_t stride : {1u, 2u, 3u}) {
    a.stride = {stride, 2};
    weighted_sum::WindowCases(make, Form(a, {35, 9, 5, 2}, {4, 3, 5, 1}, "depthwise, plain"));
  }
  a = {};
  a.padding = PadType::SAME;
  a.dilation = {2, 3};
  weighted_sum::WindowCases(make, Form(a, {50, 11, 3, 1}, {3, 5, 3, 9}, "few channels, dilation"));
}

void Cases(CaseMaker& make) {
  BlockCases(make);
  StorageCases(make);
  auto add = [&](const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    weighted_sum::FormCases(make, Form(a, x, w, note, declared));
  };
  Conv2dAttrs a;
  add(a, {1, 1, 1, 1}, {1, 1, 1, 1}, "one element");
  add(a, {7, 5, 3, 2}, {1, 1, 3, 5}, "pixels alone");
  add(a, {31, 17, 37, 2}, {1, 1, 37, 53}, "pixels alone, beyond any tile");
  add(a, {4, 4, 150, 2}, {1, 1, 150, 9}, "pixels alone, 16 of them");
  add(a, {7, 7, 67, 1}, {1, 1, 70, 21}, "pixels alone, 49 of them, a kernel of more channels");
  a.padding = PadType::VALID;
  add(a, {9, 7, 3, 2}, {3, 3, 3, 5}, "valid");
  // The two forms differ in what the kernel's code depends on, and share the rest of it.
  weighted_sum::TypeCases(make, Form(a, {9, 7, 3, 2}, {3, 3, 3, 5}, ""));
  a.pad = {2, 1, 1, 3};
  add(a, {9, 7, 2, 1}, {3, 2, 2, 3}, "valid in spite of pads");
  a.padding = PadType::SAME;
  add(a, {19, 6, 2, 2}, {4, 3, 2, 6}, "same, even window");
  a.stride = {2, 3};
  add(a, {20, 11, 2, 1}, {5, 3, 2, 4}, "same, strides");
  a.dilation = {3, 2};
  add(a, {20, 11, 2, 1}, {3, 3, 2, 4}, "same, strides, dilation");
  a = {};
  a.pad = {2, 1, 0, 3};
  add(a, {10, 6, 2, 2}, {3, 3, 2, 9}, "explicit pads");
  a.padding = PadType::NONE;
  a.stride = {3, 1};
  a.dilation = {0, 2};
  add(a, {27, 6, 2, 1}, {3, 3, 2, 2}, "explicit pads, strides, dilation 0");
  a = {};
  a.padding = PadType::VALID;
  add(a, {12, 6, 2, 1}, {3, 3, 4, 5}, "a kernel with more channels than the input");
  add(a, {12, 6, 2, 1}, {3, 3, 2, 5}, "fewer positions than there are", {7, 3, 5, 1});
  add(a, {12, 6, 2, 1}, {3, 3, 2, 5}, "positions beyond the input", {13, 7, 5, 1});
  add(a, {2, 2, 2, 1}, {3, 4, 2, 5}, "a window larger than the input", {2, 1, 5, 1});
  add(a, {70, 5, 17, 1}, {3, 3, 17, 13}, "beyond any tile");
  a.multiplier = 1;
  add(a, {11, 7, 5, 2}, {3, 3, 5, 1}, "depthwise");
  a.padding = PadType::SAME;
  a.multiplier = 3;
  a.stride = {2, 2};
  add(a, {11, 7, 2, 2}, {3, 3, 6, 1}, "depthwise, three of each");
  weighted_sum::TypeCases(make, Form(a, {11, 7, 2, 2}, {3, 3, 6, 1}, ""), /*brief=*/true);
  a = {};
  weighted_sum::BenchCase(make, Form(a, {28, 28, 128, 1}, {1, 1, 128, 256}, "1x1"));
  weighted_sum::StorageBenchCases(make, Form(a, {28, 28, 128, 1}, {1, 1, 128, 256}, "1x1"));
  a.padding = PadType::SAME;
  weighted_sum::BenchCase(make, Form(a, {56, 56, 64, 1}, {3, 3, 64, 64}, "3x3"));
  weighted_sum::StorageBenchCases(make, Form(a, {56, 56, 64, 1}, {3, 3, 64, 64}, "3x3"));
  make.Of(a)
      .In(cases::U8({56, 56, 64, 1}), -3, 3)
      .Const(cases::Affine(DataType::UINT8, {3, 3, 64, 64}, 0.009f, 112), -1, 1)
      .Const(cases::I32({64}))
      .Out(cases::Affine(DataType::UINT8, {}, 0.081f, 133))
      .Note("3x3, u8")
      .Bench();
  a.multiplier = 1;
  weighted_sum::BenchCase(make, Form(a, {56, 56, 96, 1}, {3, 3, 96, 1}, "3x3 depthwise"));
  weighted_sum::StorageBenchCases(make, Form(a, {56, 56, 96, 1}, {3, 3, 96, 1}, "3x3 depthwise"));
}

constexpr OpDef kConv2d = Op::Define({.name = "Conv2d",
                                      .schema = &kAttrSchema<Conv2dAttrs>,
                                      .verify = Verify,
                                      .infer = Infer,
                                      .kernels = Op::kPlaneKernels,
                                      .cases = TIMCL_CASES(Cases)});

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Conv2d::Conv2d(Graph* graph, PadType padding, const std::array<uint32_t, 2>& stride,
               const std::array<uint32_t, 2>& dilation, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : Conv2d(graph, 0, padding, {0, 0}, stride, dilation, {0, 0, 0, 0}, multiplier, input_layout,
             kernel_layout) {}
Conv2d::Conv2d(Graph* graph, const std::array<uint32_t, 4> pad,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv2d(graph, 0, PadType::AUTO, {0, 0}, stride, dilation, pad, multiplier, input_layout,
             kernel_layout) {}
Conv2d::Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv2d(graph, weights, padding, ksize, stride, dilation, {0, 0, 0, 0}, multiplier,
             input_layout, kernel_layout) {}
Conv2d::Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               const std::array<uint32_t, 4>& pad, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : BuiltinOp(graph, kConv2d,
                MakeAttrs(Conv2dAttrs{stride, dilation, padding, pad, multiplier, weights, ksize,
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

std::shared_ptr<Operation> Conv2d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Conv2dAttrs>(*this);
  return graph->CreateOperation<Conv2d>(a.weights, a.padding, a.ksize, a.stride, a.dilation, a.pad,
                                        a.multiplier, a.input_layout, a.kernel_layout);
}

DataLayout Conv2d::KernelDataLayout() { return AttrsOf<Conv2dAttrs>(*this).kernel_layout; }

const std::vector<std::shared_ptr<Tensor>> Conv2d::ConstantInputsTensor() const {
  auto tensors = BuiltinOp::ConstantInputsTensor();
  if (tensors.size() > 1) tensors.resize(1);
  return tensors;
}

// The original replaces a float16 bias here; these kernels read it as it is.
void Conv2d::OnBindInputPostProc(const std::shared_ptr<Tensor>&, int32_t) {}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(conv2d) {
  Add(kConv2d);
  AddFoldRule(kConv2d, &ConvolutionFolds<ConvolutionOf>::kRule);
}

}  // namespace tim::vx::ops
