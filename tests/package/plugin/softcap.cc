// cap * tanh(x / cap): keeps logits within (-cap, cap).
#include <cmath>

#include "tim/vx/op_plugin.h"
#include "tim/vx/pointwise.h"

using namespace tim::vx;

struct SoftcapAttrs {
  float cap = 30;
  TIMCL_FIELDS(cap)
};

Status CheckCap(const OpView& op) {
  if (op.attrs<SoftcapAttrs>().cap > 0) return Status();
  return op.Error(Code::kInvalidArgument, "cap must be positive");
}

// One expression in OpenCL C, which also runs fused into other operators, and the same in C++.
TIMCL_POINTWISE(Softcap, SoftcapAttrs, "input", Tolerance::Ulp(8, 1),
                Pointwise("p0 * tanh(x / p0)", []<class T>(T x, T, T, const float* p) {
                  return T(p[0]) * std::tanh(x / T(p[0]));
                }).Checked(CheckCap));

TIMCL_OP_PLUGIN("acme.softcap", "1.0.0") {
  OpDef def = kSoftcap;
  def.name = "acme.softcap";  // a prefix of your own: names are unique in a context
  plugin.Add(def);
}
