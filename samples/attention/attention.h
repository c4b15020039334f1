// Attention: scaled dot-product attention of several heads, an operator made of the library's own.
#ifndef SAMPLES_ATTENTION_ATTENTION_H_
#define SAMPLES_ATTENTION_ATTENTION_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "tim/vx/composed_op.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/ops/transpose.h"

namespace samples {

namespace vx = tim::vx;

struct AttentionAttrs {
  uint32_t heads = 1;
  TIMCL_FIELDS(heads)
};

/// Each query takes the values whose keys it fits: softmax(query . key / sqrt(depth)) . value, for
/// each head on its own part of the width, depth = width / heads.
///   query   [width, queries]
///   key     [width, keys]
///   value   [width, keys]
///   output  [width, queries]
class Attention : public vx::ComposedOp<Attention, AttentionAttrs> {
 public:
  using ComposedOp::ComposedOp;

  static void Define(vx::OpDef& def) {
    def.name = "Attention";
    def.inputs = "query key value";
    def.verify = Verify;
  }

  static vx::Status Expand(vx::ExpandBuilder& b) {
    const vx::TensorType& type = b.TypeOf(b.in(0));
    const int64_t heads = b.op().attrs<AttentionAttrs>().heads, depth = type.shape[0] / heads;
    const auto query = Split(b, b.in(0), heads);
    const auto key = Split(b, b.in(1), heads);
    const auto value = Split(b, b.in(2), heads);
    const auto fit = b.Add<vx::ops::Matmul>({query, key}, type, false, true);
    const float scale = 1 / std::sqrt(static_cast<float>(depth));
    const auto weight = b.Add<vx::ops::Softmax>({fit}, type, scale, 0);
    const auto taken = b.Add<vx::ops::Matmul>({weight, value}, type);
    const auto joined = b.Add<vx::ops::Transpose>({taken}, type, kSwap);
    b.AddTo<vx::ops::Reshape>(0, {joined}, type.shape.ToShapeType());
    return vx::Status();
  }

 private:
  inline static const std::vector<uint32_t> kSwap = {0, 2, 1};

  static vx::Status Verify(const vx::OpView& op) {
    const int64_t heads = op.attrs<AttentionAttrs>().heads;
    for (size_t i = 0; i < 3; ++i) TIMCL_TRY(op.CheckRank(i, 2, 2));
    const vx::Shape &query = op.in(0).shape(), &key = op.in(1).shape();
    if (heads < 1 || query[0] % heads != 0)
      return op.InputError(0, vx::Code::kInvalidShape, "the heads do not divide its width");
    TIMCL_TRY(op.CheckShape(1, {query[0], key[1]}, "as wide as the queries"));
    return op.CheckShape(2, key, "one value for each key");
  }

  /// [depth * heads, n] -> [depth, n, heads]
  static int Split(vx::ExpandBuilder& b, int x, int64_t heads) {
    const vx::TensorType& type = b.TypeOf(x);
    const vx::Shape parts = {type.shape[0] / heads, heads, type.shape[1]};
    return b.Add<vx::ops::Transpose>({b.Add<vx::ops::Reshape>({x}, type, parts.ToShapeType())},
                                     type, kSwap);
  }
};

}  // namespace samples

#endif  // SAMPLES_ATTENTION_ATTENTION_H_
