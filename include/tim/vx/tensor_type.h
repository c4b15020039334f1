// Shape and TensorType: what the compiler knows of a tensor without its data.
#ifndef TIM_VX_TENSOR_TYPE_H_
#define TIM_VX_TENSOR_TYPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tim/vx/result.h"
#include "tim/vx/tensor.h"
#include "tim/vx/types.h"
#include "tim/vx/visibility.h"

namespace tim::vx {

/// Extents, innermost (fastest) dimension first. Rank 0 is a scalar of one element.
class TIMCL_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(const std::vector<uint32_t>& dims) : dims_(dims.begin(), dims.end()) {}

  size_t rank() const { return dims_.size(); }
  bool empty() const { return dims_.empty(); }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  /// Extent of dimension i, 1 beyond the rank.
  int64_t dim(size_t i) const { return i < dims_.size() ? dims_[i] : 1; }
  const std::vector<int64_t>& dims() const { return dims_; }
  void push_back(int64_t d) { dims_.push_back(d); }
  /// Number of elements (1 for rank 0). Shapes in a verified graph do not overflow: CheckedCount
  /// was asked first.
  int64_t count() const;
  /// kInvalidShape when an extent is not positive or the product does not fit 63 bits.
  Result<int64_t> CheckedCount() const;

  /// The shape seen from one axis: `inner` elements below it, `n` along it, `outer` above it.
  struct Lines {
    int64_t outer, n, inner;
  };
  Lines SplitAt(size_t axis) const;

  std::vector<uint32_t> ToShapeType() const { return {dims_.begin(), dims_.end()}; }
  std::string ToString() const;  // "[56,56,24,1]"
  bool operator==(const Shape& o) const { return dims_ == o.dims_; }
  bool operator!=(const Shape& o) const { return dims_ != o.dims_; }

 private:
  std::vector<int64_t> dims_;
};

/// Bits of one stored element; 0 for UNKNOWN.
TIMCL_API int BitsOf(DataType dtype);
/// "f32", "u8", ...; "unknown" for UNKNOWN.
TIMCL_API const char* NameOf(DataType dtype);
/// INT8 ... INT64, BOOL8 and the 4-bit types.
TIMCL_API bool IsInteger(DataType dtype);
/// Smallest and largest stored value of an integer type.
TIMCL_API int64_t LowestOf(DataType dtype);
TIMCL_API int64_t HighestOf(DataType dtype);

struct TIMCL_API TensorType {
  DataType dtype = DataType::UNKNOWN;
  Shape shape;
  Quantization quant;

  /// True when stored integers stand for real numbers by a scale other than the trivial one.
  bool quantized() const { return quant.Type() != QuantType::NONE; }
  bool per_channel() const {
    return quant.Type() == QuantType::SYMMETRIC_PER_CHANNEL ||
           quant.Type() == QuantType::ASYMMETRIC_PER_CHANNEL;
  }
  /// Scale and zero point of channel c (any c for a per-tensor type); 1 and 0 when not quantized.
  float scale(size_t c = 0) const;
  int32_t zero_point(size_t c = 0) const;

  int64_t count() const { return shape.count(); }
  /// Bytes of the dense data that ops see. 4-bit types have a byte for each element there, sign
  /// extended: the API packs and unpacks what the host sees, so no op, kernel or backend does.
  size_t bytes() const;
  Result<size_t> CheckedBytes() const;
  std::string ToString() const;  // "u8(0.0039,0)[28,28,1,1]"
  bool operator==(const TensorType& o) const {
    return dtype == o.dtype && shape == o.shape && quant == o.quant;
  }
};

/// Same dtype and quantization: equal bytes mean equal values.
TIMCL_API bool SameEncoding(const TensorType& a, const TensorType& b);

}  // namespace tim::vx
#endif  // TIM_VX_TENSOR_TYPE_H_
