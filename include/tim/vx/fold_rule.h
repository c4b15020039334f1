// FoldRule: what passes that merge neighbours of a graph need to know of an operator. It stands
// beside the definition, which says what an operator is by itself. Operators made outside of the
// library may have one as well.
#ifndef TIM_VX_FOLD_RULE_H_
#define TIM_VX_FOLD_RULE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tim/vx/float16.h"
#include "tim/vx/op_def.h"

namespace tim::vx {

/// Cells of one value around a tensor.
struct Padding {
  std::vector<int64_t> front, back;  // by dimension
  double value = 0;                  // the real number that the cells hold
};

/// A result that is input `input` times scale[c] plus shift[c], where c counts along dimension
/// `axis` of both; lists of one element hold for all.
struct ChannelAffine {
  size_t input = 0, axis = 0;
  std::vector<double> scale, shift;
};

/// A result that is a sum of products of input 0 with constant weights (input 1), plus a bias
/// (input 2, the last one, or left out).
struct ChannelWeights {
  int64_t channels = 1;  // of the result, along dimension out_axis; equal pieces of the weights
  size_t out_axis = 0;
  /// The weights of one channel are per_slice pieces of `taps` neighbours. Piece k of channel o, if
  /// k < used, meets channel o / group * used + k of input 0, along dimension in_axis.
  int64_t taps = 1, per_slice = 1, used = 1, group = 1;
  size_t in_axis = 0;
  /// Every product reads the input: there are no cells around it that count as 0.
  bool inside = false;
};

/// Which factors of a product of matrices, those of inputs 0 and 1, are read with their two fastest
/// dimensions swapped.
struct TurnedFactors {
  bool a = false, b = false;
};

/// An op in terms of another one, over the same operands unless it is told otherwise.
struct OtherOp {
  std::string_view kind;
  AttrMap attrs;
};

/// Each function answers for one op whose types are known; nullopt: not for this one.
struct FoldRule {
  /// The op does nothing but put such cells around input 0.
  std::optional<Padding> (*padding)(const OpView&) = nullptr;
  /// The op's attributes where it is to put these cells there itself: over the tensor without them
  /// it then computes, bit for bit, what it computed over the tensor with them. (A weight that is
  /// infinite or NaN meets no zeros any more.)
  std::optional<AttrMap> (*with_padding)(const OpView&, const Padding&) = nullptr;
  /// In float32 or float16, by constants.
  std::optional<ChannelAffine> (*affine)(const OpView&) = nullptr;
  /// In float32.
  std::optional<ChannelWeights> (*weights)(const OpView&) = nullptr;
  /// A cheaper op that computes the same.
  std::optional<OtherOp> (*simpler)(const OpView&) = nullptr;
  /// The op is a product of matrices, batch by batch.
  std::optional<TurnedFactors> (*product)(const OpView&) = nullptr;
  /// The op adds its two inputs.
  bool adds = false;
  /// Names, each between two commas, of kernels that look at the elements of input 0 by LOAD and
  /// VLOAD alone, at each one once: point-wise ops that went before may be applied there.
  const char* loads_once = "";
  /// The op makes weights of scores: of `scale` times a product of matrices A and B, plus a mask or
  /// not. The op over A, B, a matrix C and the mask that multiplies these weights by C;
  /// `columns`: B is as it stands, not turned.
  std::optional<OtherOp> (*attention)(const OpView&, double scale, bool columns) = nullptr;
};

/// The rule of all ops of this definition: one of the same name and with the same functions. It
/// must live as long as the program, or until another one takes its place. In the body of
/// TIMCL_OPS.
TIMCL_API void AddFoldRule(const OpDef& def, const FoldRule* rule);
/// The rule that AddFoldRule was given for this definition; null: there is none.
TIMCL_API const FoldRule* FoldRuleOf(const OpDef& def);

/// An operator that only passes put into graphs: no program can name it. In the body of TIMCL_OPS.
TIMCL_API void AddInternalOp(const OpDef& def);

/// The attributes of an op with windows along its first dimensions (Window of op_kit.h), whose
/// pads are "pad", front and rear by dimension, where "padding" is AUTO. nullopt where other
/// dimensions are padded, too.
template <class Windows>
std::optional<AttrMap> WithPads(const OpView& op, const Windows& windows, const Padding& padding) {
  AttrMap attrs = op.any_attrs().Map();
  const size_t rank = padding.front.size(), moved = rank < 2 ? 0 : rank - 2;
  if (attrs.Find("pad") == nullptr || attrs.Find("padding") == nullptr) return std::nullopt;
  const auto* before = std::get_if<std::vector<int64_t>>(attrs.Find("pad"));
  if (before == nullptr || moved > windows.size() || before->size() < 2 * moved)
    return std::nullopt;
  std::vector<int64_t> pads(before->size());
  for (size_t d = 0; d < rank; ++d) {
    if (d >= moved) {
      if (padding.front[d] != 0 || padding.back[d] != 0) return std::nullopt;
      continue;
    }
    pads[2 * d] = windows[d].front + padding.front[d];
    pads[2 * d + 1] = windows[d].rear + padding.back[d];
    if (pads[2 * d] < 0 || pads[2 * d + 1] < 0 ||
        pads[2 * d] + pads[2 * d + 1] > std::numeric_limits<int32_t>::max())
      return std::nullopt;
  }
  attrs.Set("padding", AttrValue("AUTO"));
  attrs.Set("pad", AttrValue(std::move(pads)));
  return attrs;
}

/// A float32 or float16 constant that has one element, or as many as `x` along one dimension and 1
/// along the others: its elements, and that dimension. nullopt for other tensors.
struct ChannelConstant {
  size_t axis = 0;
  std::vector<double> values;
};
inline std::optional<ChannelConstant> ChannelConstantOf(const TensorView& t, const Shape& x) {
  if (!t.present() || !t.is_const() || t.data() == nullptr || t.shape().rank() > x.rank() ||
      (t.dtype() != DataType::FLOAT32 && t.dtype() != DataType::FLOAT16))
    return std::nullopt;
  ChannelConstant result;
  size_t long_ones = 0;
  for (size_t d = 0; d < t.shape().rank(); ++d) {
    if (t.shape()[d] == 1) continue;
    if (t.shape()[d] != x[d] || ++long_ones > 1) return std::nullopt;
    result.axis = d;
  }
  const RealValues values(t.data(), t.dtype());
  for (int64_t i = 0; i < t.shape().count(); ++i) result.values.push_back(values[i]);
  return result;
}

}  // namespace tim::vx
#endif  // TIM_VX_FOLD_RULE_H_
