// Hswish by name: CreateOperation("custom_ops.hswish", {{"in_scale", 0.05}, ...}).
#include "hswish.h"
#include "tim/vx/op_plugin.h"

namespace {

struct HswishByName : custom_ops::Hswish {
  /// Only UINT8 tensors need them.
  struct Attrs {
    float in_scale = 1;
    int32_t in_zp = 0;
    float out_scale = 1;
    int32_t out_zp = 0;
    TIMCL_FIELDS(in_scale, in_zp, out_scale, out_zp)
  };
  HswishByName(tim::vx::Graph* graph, const Attrs& a)
      : Hswish(graph, ParamTuple(a.in_scale, a.in_zp, a.out_scale, a.out_zp)) {}
};

}  // namespace

TIMCL_OP_PLUGIN("custom_ops.hswish", "1.0.0") { plugin.Add<HswishByName>("custom_ops.hswish"); }
