// The FoldRules of operators with windows: convolutions and pooling.
#ifndef TIM_VX_WINDOW_FOLDS_H_
#define TIM_VX_WINDOW_FOLDS_H_

#include <cstddef>
#include <limits>
#include <optional>

#include "tim/vx/fold_rule.h"
#include "tim/vx/pooling.h"
#include "tim/vx/weighted_sum.h"

namespace tim::vx {

/// Operands in float32, with constant weights and a bias that is constant or left out.
inline bool HasFloatConstants(const OpView& op) {
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    const TensorView t = op.in(i);
    if (t.present() && (t.dtype() != DataType::FLOAT32 || (i > 0 && !t.is_const()))) return false;
  }
  return op.in(1).present() && op.out(0).dtype() == DataType::FLOAT32;
}

/// Of a convolution that kOf describes. Transposed ones cut what they pad.
template <weighted_sum::Convolution (*kOf)(const OpView&)>
struct ConvolutionFolds {
  static std::optional<AttrMap> WithPadding(const OpView& op, const Padding& padding) {
    const weighted_sum::Convolution c = kOf(op);
    if (c.transposed || padding.value != 0) return std::nullopt;
    return WithPads(op, c.axes, padding);
  }
  static std::optional<ChannelWeights> Weights(const OpView& op) {
    if (!HasFloatConstants(op)) return std::nullopt;
    const weighted_sum::Convolution c = kOf(op);
    if (c.transposed) return std::nullopt;
    const Shape& y = op.out(0).shape();
    ChannelWeights w;
    w.channels = c.out_channels;
    w.out_axis = w.in_axis = y.rank() - 2;
    w.per_slice = c.per_slice, w.used = c.used, w.group = c.group;
    w.taps = op.in(1).shape().count() / (c.out_channels * c.per_slice);
    w.inside = true;
    for (size_t d = 0; d + 2 < y.rank(); ++d) {
      const Window& at = c.axes[d];
      w.inside = w.inside && at.front == 0 && (y[d] - 1) * at.stride + at.reach() <= at.in;
    }
    return w;
  }
  static constexpr FoldRule kRule = {nullptr, WithPadding, nullptr, Weights};
};

/// Of a pooling that kOf describes. Cells of its padding are 0 to sums that are divided by the size
/// of the window, and do not count otherwise: zeros become such cells of a mean over whole windows,
/// and the lowest value those of a maximum.
template <pooling::Pool (*kOf)(const OpView&)>
struct PoolFolds {
  static std::optional<AttrMap> WithPadding(const OpView& op, const Padding& padding) {
    const pooling::Pool pool = kOf(op);
    const TensorType& x = op.in(0).type();
    bool neutral = false;
    if (pool.type == PoolType::MAX) {
      neutral = IsInteger(x.dtype)
                    ? padding.value <= static_cast<double>(LowestOf(x.dtype) - x.zero_point()) *
                                           static_cast<double>(x.scale())
                    : padding.value == -std::numeric_limits<double>::infinity();
    } else if (pool.type != PoolType::AVG_ANDROID) {
      neutral = padding.value == 0;
    }
    return neutral ? WithPads(op, pool.axes, padding) : std::nullopt;
  }
  static constexpr FoldRule kRule = {nullptr, WithPadding};
};

}  // namespace tim::vx
#endif  // TIM_VX_WINDOW_FOLDS_H_
