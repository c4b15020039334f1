// CustomGemm by name: CreateOperation("custom_ops.gemm", {{"m", 3}, {"k", 5}, {"n", 2}}).
#include "gemm.h"
#include "tim/vx/op_plugin.h"

namespace {

struct GemmByName : custom_ops::CustomGemm {
  struct Attrs {
    int32_t m = 0, k = 0, n = 0;
    bool trans_a = false, trans_b = false;
    // Only UINT8 tensors need these: scale and zero point of A, B and the output.
    float scale_a = 1, zp_a = 0, scale_b = 1, zp_b = 0, scale_out = 1, zp_out = 0;
    TIMCL_FIELDS(m, k, n, trans_a, trans_b, scale_a, zp_a, scale_b, zp_b, scale_out, zp_out)
  };
  GemmByName(tim::vx::Graph* graph, const Attrs& a)
      : CustomGemm(graph, a.trans_a, a.trans_b,
                   ParamTuple(a.m, a.k, a.n, 0, 0, a.scale_a, a.zp_a, a.scale_b, a.zp_b,
                              a.scale_out, a.zp_out)) {}
};

}  // namespace

TIMCL_OP_PLUGIN("custom_ops.gemm", "1.0.0") { plugin.Add<GemmByName>("custom_ops.gemm"); }
