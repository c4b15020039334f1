// Constant weights of 8 bits, for kernels that sum their products with tensors of 8 and 16 bits
// exactly (weighted_sum.h, Bytes).
#ifndef TIM_VX_WEIGHTED_SUM_BYTES_H_
#define TIM_VX_WEIGHTED_SUM_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::weighted_sum {

/// A quantized tensor of 8 bits, or of 16, with one scale.
inline bool IsByte(const TensorType& t) {
  return t.quantized() && !t.per_channel() &&
         (t.dtype == DataType::INT8 || t.dtype == DataType::UINT8);
}
inline bool IsShort(const TensorType& t) {
  return t.quantized() && !t.per_channel() && t.dtype == DataType::INT16;
}

/// Weights minus their zero point.
class Weights {
 public:
  explicit Weights(const TensorView& w)
      : zero_(w.type().per_channel() ? 0 : w.type().zero_point()),
        is_signed_(w.dtype() == DataType::INT8),
        count_(w.type().count()),
        bytes_(w.data_as<uint8_t>()) {}
  int32_t operator[](int64_t i) const {
    const uint8_t byte = bytes_[i];
    return (is_signed_ ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte}) - zero_;
  }
  /// The same where all Fit(): modulo 256 it does not matter whether they have a sign.
  int8_t Byte(int64_t i) const { return static_cast<int8_t>(bytes_[i] - zero_); }
  struct Sums {
    int64_t sum = 0, magnitudes = 0;
  };
  Sums SumsOf(int64_t first, int64_t count) const {
    return is_signed_ ? SumBytes(reinterpret_cast<const int8_t*>(bytes_) + first, count)
                      : SumBytes(bytes_ + first, count);
  }
  /// All are bytes with sign.
  bool Fit() const {
    if (is_signed_ && zero_ == 0) return true;
    for (int64_t i = 0; i < count_; ++i) {
      if ((*this)[i] < -128 || (*this)[i] > 127) return false;
    }
    return true;
  }

 private:
  /// In pieces whose sums fit 32 bits, which compilers make vectors of: networks have many weights.
  template <class Byte>
  Sums SumBytes(const Byte* from, int64_t count) const {
    Sums sums;
    const int32_t zero = zero_;
    for (constexpr int64_t kPiece = 256; count > 0; from += kPiece, count -= kPiece) {
      int32_t sum = 0, magnitudes = 0;
      for (int64_t i = 0; i < std::min(count, kPiece); ++i) {
        const int32_t w = int32_t{from[i]} - zero;
        sum += w, magnitudes += std::abs(w);
      }
      sums.sum += sum, sums.magnitudes += magnitudes;
    }
    return sums;
  }

  int32_t zero_;
  bool is_signed_;
  int64_t count_;
  const uint8_t* bytes_;
};

/// What some kernels take beside bytes and an integer bias.
struct Beside {
  bool shorts = false, real_bias = false;
  bool any_weights = false;  // minus their zero point they may have 9 bits
};
/// kUnsupported unless a kernel over bytes can take it. `terms`: products of one sum; `dot`: the
/// kernel has instructions of AVX-512 VNNI.
Status CheckBytes(const OpView& op, const KernelRequest& request, int64_t channels, int64_t terms,
                  bool dot, Beside takes = {});

/// Per output channel.
struct Channels {
  std::vector<int64_t> bias;  // see ChannelsOf
  std::vector<float> m;
  int64_t most = 0;   // largest sum of magnitudes of weights
  int64_t reach = 0;  // largest magnitude of a sum with its bias
  /// Some sums of shorts need more than 32 bits.
  bool wide() const { return reach > std::numeric_limits<int32_t>::max(); }
};
/// The weights of a channel are neighbours, `step` after those of the one before. The bias is that
/// of X as kernels over blocks see it: minus the zero point times the sum of the weights; where
/// `centred`, of X minus its zero point.
Channels ChannelsOf(const OpView& op, int64_t channels, int64_t terms, const Weights& weights,
                    int64_t step, bool centred = false);
/// Terms whose sum stays in the range of the tile, whatever the input: below 2^24 in float, below
/// 2^31 those of shorts. `weight`: the largest magnitude of one.
int64_t LimitOf(const OpView& op, const Channels& channels, int64_t weight = 128);

/// Rows and vectors of 16 columns of the tile of matmul8.cl, MR and NV. Few shapes, since each is a
/// kernel to compile.
struct ByteTile {
  int64_t rows, vectors;
  int64_t columns() const { return 16 * vectors; }
  /// For a product of m rows and n columns.
  static ByteTile Of(int64_t m, int64_t n, const DeviceCaps& caps);
};

/// Padded with zeros to whole groups of `width` channels.
template <class T>
Operand Padded(std::vector<T> values, int64_t width, const char* name, const char* element) {
  const auto count = static_cast<int64_t>(values.size());
  values.resize(static_cast<size_t>(DivideUp(count, width) * width));
  return Data(values, name, element);
}
/// The sums that they start with, of 32 bits (modulo 2^32), or 64.
Operand PaddedBias(const Channels& channels, int64_t width, const char* name = "B");

}  // namespace tim::vx::weighted_sum
#endif  // TIM_VX_WEIGHTED_SUM_BYTES_H_
