// SignalFrame: overlapping frames of a signal.  Source: tf.signal.frame.
#include "tim/vx/ops/signal_frame.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct FrameAttrs {
  uint32_t window_length = 1;
  uint32_t step = 1;
  uint32_t pad_end = 0;  // frames may reach beyond the end
  uint32_t axis = 0;     // 0 = fastest
  TIMCL_FIELDS(window_length, step, pad_end, axis)
};

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.attrs<FrameAttrs>().axis);
}
int64_t FramesOf(const OpView& op) {
  const auto& a = op.attrs<FrameAttrs>();
  const int64_t length = LinesOf(op).n, window = a.window_length, step = a.step;
  if (a.pad_end != 0) return DivideUp(length, step);
  return length < window ? 0 : (length - window) / step + 1;
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<FrameAttrs>();
  TIMCL_TRY(op.CheckAxis(a.axis));
  if (a.window_length == 0 || a.step == 0) {
    return op.Error(Code::kInvalidArgument, "attributes window_length and step are " +
                                                to_string(a.window_length) + " and " +
                                                to_string(a.step) + ", they must be positive");
  }
  if (FramesOf(op) > 0) return Status();
  return op.InputError(0, Code::kInvalidShape,
                       "dimension " + to_string(a.axis) + " is shorter than a frame of " +
                           to_string(a.window_length) + ", and pad_end is 0");
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<FrameAttrs>();
  const Shape& x = op.in(0).shape();
  Shape y;
  for (size_t d = 0; d < x.rank(); ++d) {
    y.push_back(d == a.axis ? int64_t{a.window_length} : x[d]);
    if (d == a.axis) y.push_back(FramesOf(op));
  }
  return Shapes{y};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<FrameAttrs>();
  const auto [outer, length, inner] = LinesOf(op);
  const int64_t window = a.window_length, frames = FramesOf(op);
  for (int64_t i = 0; i < outs[0].count(); ++i) {
    const int64_t k = i / inner % window, f = i / (inner * window) % frames;
    const int64_t o = i / (inner * window * frames), at = f * a.step + k;
    if (at < length) {
      ref::Copy(outs[0], i, ins[0], (o * length + at) * inner + i % inner);
    } else {
      outs[0].Set(i, 0);
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<FrameAttrs>();
  const auto [outer, length, inner] = LinesOf(op);
  const int64_t step = a.step;
  StridedMove move;
  move.digits = {{inner, 1},
                 {a.window_length, inner, {1, 0}},
                 {FramesOf(op), step * inner, {step, 0}},
                 {outer, length * inner}};
  if (a.pad_end == 0) {
    for (StridedMove::Digit& d : move.digits) d.step = {0, 0};
  } else {
    move.bounds[0] = {0, length};
  }
  return Launches{StridedMoveLaunch(request, move)};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(FrameAttrs{1, 1, 0, 0}).In(F32({1})).Note("one element");
  for (uint32_t pad_end : {0u, 1u}) {
    for (uint32_t axis : {0u, 1u, 2u}) {
      make.Of(FrameAttrs{4, 3, pad_end, axis}).In(F32({7, 9, 11})).Note("axes");
      make.Of(FrameAttrs{2, 5, pad_end, axis}).In(F32({7, 9, 11})).Note("gaps");
    }
    make.Of(FrameAttrs{40, 10, pad_end, 0}).In(F32({101, 2})).Note("beyond a vector");
    make.Of(FrameAttrs{9, 9, pad_end, 0}).In(F32({9})).Note("one frame");
    make.Of(FrameAttrs{4, 2, pad_end, 0}).In(F32({11, 3})).Note("types").EachType();
  }
  make.Of(FrameAttrs{12, 4, 1, 0}).In(F32({5, 2})).Note("longer than the signal");
  make.Of(FrameAttrs{400, 160, 0, 0}).In(F32({16000, 4})).Note("seconds of speech").Bench();
}

constexpr OpDef kSignalFrame = {.name = "SignalFrame",
                                .types = "copyable -> copyable",
                                .schema = &kAttrSchema<FrameAttrs>,
                                .verify = Verify,
                                .infer = Infer,
                                .reference = Reference,
                                .kernels = kKernels,
                                .tolerance = Tolerance::Exact(),
                                .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(SignalFrame, FrameAttrs,
                    (uint32_t window_length, uint32_t step, uint32_t pad_end, uint32_t axis),
                    (window_length, step, pad_end, axis), window_length_(window_length),
                    step_(step), pad_end_(pad_end), axis_(axis));

TIMCL_OPS(signal_frame) { Add(kSignalFrame); }

}  // namespace tim::vx::ops
