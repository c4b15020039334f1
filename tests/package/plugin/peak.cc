#include <algorithm>
#include <cmath>

#include "tim/vx/op_kit.h"
#include "tim/vx/op_plugin.h"

using namespace tim::vx;

// x over the largest |x| of its line along dimension 0.
Status Reference(const OpView&, const ref::Inputs& ins, ref::Outputs& outs) {
  const int64_t length = ins[0].type().shape[0];
  for (int64_t line = 0; line < ins[0].count(); line += length) {
    float peak = 0;
    for (int64_t i = 0; i < length; ++i) peak = std::max(peak, std::fabs(ins[0].Float(line + i)));
    for (int64_t i = line; i < line + length; ++i)
      outs[0].Set(i, peak > 0 ? ins[0].Float(i) / peak : 0);
  }
  return Status();
}

Result<Launches> Lines(const OpView& op, const KernelRequest&) {
  const int64_t length = op.in(0).shape()[0], lines = op.in(0).shape().count() / length;
  return Launches{{.source = "peak.cl",
                   .entry = "peak",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"LENGTH", length}, {"LINES", lines}},
                   .global = Grid(lines),
                   .local = {16, 1, 1}}};
}
constexpr KernelCandidate kKernels[] = {{"lines", nullptr, Lines}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(NoAttrs{}).In(F32({7, 5, 3})).Note("types").EachTypeOnce();
  make.Of(NoAttrs{}).In(F32({1, 19})).Note("lines of one");
  make.Of(NoAttrs{}).In(F32({4})).Values({0}).Note("nothing but zeros");
}

TIMCL_OP_PLUGIN("acme.peak", "1.0.0") {
  plugin.Add({.name = "acme.peak",
              .types = "f32|f16|u8|i8 -> f32|f16",
              .schema = &kAttrSchema<NoAttrs>,
              .infer = ShapeOfInput,
              .reference = Reference,
              .kernels = kKernels,
              .tolerance = Tolerance::Ulp(4),
              .cases = Cases});
}
