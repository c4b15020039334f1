// Tensors of a graph: Quantization, TensorSpec, the abstract Tensor, and host conversions.
#ifndef TIM_VX_TENSOR_H_
#define TIM_VX_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef TIMCL_BUILDING
#include <ostream>
#else
#include <iostream>  // callers use std::cout through this header; in the library it would be a
                     // static initializer per file
#endif

#include "tim/vx/types.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// Extents, fastest dimension first.
using ShapeType = std::vector<uint32_t>;

/// How stored integers q stand for real numbers r:
///   ASYMMETRIC              r = (q - zero_point) * scale
///   SYMMETRIC_PER_CHANNEL   r = q * scale[c]          zero points are ignored
///   ASYMMETRIC_PER_CHANNEL  r = (q - zero_point[c]) * scale[c]
///   DYNAMIC_FIXED_POINT     r = q * 2^-fl             fl may be zero or negative
/// c counts along channel_dim, an axis counted from the fastest dimension. An ASYMMETRIC value uses
/// the first element of each vector only, and its channel_dim means nothing.
/// A plain value: distinct objects may be used by several threads.
class TIMCL_API Quantization {
 public:
  Quantization() {}
  Quantization(QuantType type, float scale, int32_t zero_point)
      : type_(type), scales_({scale}), zero_points_({zero_point}) {}
  Quantization(QuantType type, int32_t channel_dim, std::vector<float> scales,
               std::vector<int32_t> zero_points)
      : type_(type),
        channel_dim_(channel_dim),
        scales_(std::move(scales)),
        zero_points_(std::move(zero_points)) {}
  /// Dynamic fixed point with fl fractional bits.
  Quantization(QuantType type, int8_t fl) : type_(type), fl_(fl) {}

  QuantType& Type() { return type_; }
  const QuantType& Type() const { return type_; }
  Quantization& SetType(QuantType type) {
    type_ = type;
    return *this;
  }

  int32_t& ChannelDim() { return channel_dim_; }
  const int32_t& ChannelDim() const { return channel_dim_; }
  Quantization& SetChannelDim(int32_t channel_dim) {
    channel_dim_ = channel_dim;
    return *this;
  }

  std::vector<float>& Scales() { return scales_; }
  const std::vector<float>& Scales() const { return scales_; }
  Quantization& SetScales(std::vector<float> scales);

  std::vector<int32_t>& ZeroPoints() { return zero_points_; }
  const std::vector<int32_t>& ZeroPoints() const { return zero_points_; }
  Quantization& SetZeroPoints(std::vector<int32_t> zero_points);

  const std::int8_t& Fl() const { return fl_; }

  /// With DYNAMIC_FIXED_POINT on the left only fl is compared, whatever the type on the right; else
  /// type, scales, zero points and channel_dim. (Original API; the compiler compares otherwise.)
  bool operator==(const Quantization& other_quant) const;

 protected:
  QuantType type_{QuantType::NONE};
  int32_t channel_dim_{-1};
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  int8_t fl_ = 0;
};

/// All that is told of a tensor when it is created. A plain value.
struct TIMCL_API TensorSpec {
  /// UNKNOWN, no shape, TRANSIENT.
  TensorSpec() {}
  TensorSpec(DataType datatype, const ShapeType& shape, TensorAttribute attr)
      : datatype_(datatype), shape_(shape), attr_(attr) {}
  TensorSpec(DataType datatype, const ShapeType& shape, TensorAttribute attr,
             const Quantization& quantization)
      : datatype_(datatype), shape_(shape), attr_(attr), quantization_(quantization) {}
  TensorSpec(const TensorSpec& other);
  TensorSpec& operator=(const TensorSpec& other);

  /// Data type, shape, attribute and quantization are equal.
  bool operator==(const TensorSpec& other_spec) const;

  TensorSpec& SetDataType(DataType datatype) {
    datatype_ = datatype;
    return *this;
  }
  TensorSpec& SetShape(const ShapeType& shape) {
    shape_ = shape;
    return *this;
  }
  TensorSpec& SetAttribute(TensorAttribute attr) {
    attr_ = attr;
    return *this;
  }
  TensorSpec& SetQuantization(Quantization& quantization) {
    quantization_ = quantization;
    return *this;
  }

  /// The same data type and quantization, no shape, TRANSIENT.
  TensorSpec AsTransientSpec() const;

  /// Product of the extents; 1 without extents, INT64_MAX where 64 bits do not hold it.
  int64_t GetElementNum() const;
  /// Bytes of one element in a host buffer. 4-bit elements are one byte each there; UNKNOWN is 1.
  /// (INT64 is 8; the original answers 1, which makes callers' buffers too small.)
  int64_t GetElementByteSize() const;
  /// GetElementNum() * GetElementByteSize(), or INT64_MAX where 64 bits do not hold it.
  int64_t GetByteSize() const;

  DataType& GetDataType() { return datatype_; }
  ShapeType& GetShapeType() { return shape_; }
  TensorAttribute& GetTensorAttribute() { return attr_; }
  Quantization& GetQuantization() { return quantization_; }

  DataType datatype_ = DataType::UNKNOWN;
  ShapeType shape_;
  TensorAttribute attr_ = TensorAttribute::TRANSIENT;
  Quantization quantization_;
};

/// A dma-buf, named by its file descriptor.
struct DmaBufferDesc {
  int64_t fd;
};

/// A tensor of one graph, made by Graph::CreateTensor and its like.
/// Threads: calls on the tensors of one graph must not overlap with each other or with the graph's
/// Compile() and Run(); tensors of different graphs are independent.
class TIMCL_API Tensor {
 public:
  virtual ~Tensor() {}

  /// The shape of the spec. Shape inference does not change it: {} stays {} after Compile().
  virtual const ShapeType& GetShape() = 0;
  virtual DataType GetDataType() = 0;
  virtual const Quantization& GetQuantization() = 0;
  virtual TensorSpec& GetSpec() = 0;

  /// Counts from 0 in order of creation within the graph; uint32_t(-1) if creation failed.
  virtual uint32_t GetId() = 0;

  /// Copies the whole tensor from `data`. size_in_bytes is ignored: callers of the original pass
  /// element counts and worse. False for TRANSIENT; true and no action for null data.
  /// 4-bit elements are packed (DataType::INT4) for INPUT and OUTPUT tensors; for CONSTANT and
  /// VARIABLE ones there is a byte for each element, the low half of which counts: what
  /// utils::Float32ToDtype writes. The same holds for the data given to Graph::CreateTensor.
  virtual bool CopyDataToTensor(const void* data, uint32_t size_in_bytes = 0) = 0;
  /// Copies the whole tensor, dense, to `data`. False for TRANSIENT; true and no action for null.
  /// 4-bit elements are packed, whatever the tensor's attribute.
  /// Where the operation overrules the declared shape, no copy touches more bytes than GetSpec()
  /// says; a shape left open is copied as inferred.
  virtual bool CopyDataFromTensor(void* data) = 0;

  /// Makes new_ptr the storage of an INPUT or OUTPUT tensor and hands out the previous pointer. A
  /// null new_ptr with a non-null old_ptr takes the storage back. False for other tensors.
  virtual bool SwapHandle(void* new_ptr, bool is_new_ptr_malloc_by_ovxlib, void** old_ptr) = 0;
  /// Exchanges the storage of two INPUT or OUTPUT tensors of one graph and of one size in bytes.
  virtual bool SwapHandle(std::shared_ptr<tim::vx::Tensor> tensor) = 0;
  virtual bool SwapHandleWithCache(std::shared_ptr<tim::vx::Tensor> tensor) = 0;

  /// Host writes through a handle become visible to the device. INPUT only, else false.
  virtual bool FlushCacheForHandle() = 0;
  /// Device writes become visible through the handle. OUTPUT only, else false.
  virtual bool InvalidateCacheForHandle() = 0;

  /// Host pointer of an INPUT or OUTPUT tensor, else null; map(true) on an OUTPUT shows the last
  /// Run(). What is written to an INPUT counts from unmap() on.
  virtual void* map(bool invalidate_cpu_cache = false) = 0;
  virtual void unmap() = 0;

  /// True for the stand-in of an omitted operand (Graph::CreateTensorPlaceHolder).
  virtual bool IsPlaceHolder() = 0;
  /// The attribute is exactly CONSTANT.
  virtual bool IsConstTensor() = 0;
  /// Rank 0, although the shape reads {1}.
  virtual bool IsScalar() = 0;

  /// One element per line, real values, "%.16f", fastest dimension first.
  virtual bool SaveTensorToTextByFp32(std::string filename) = 0;
  virtual void SetScalar(int8_t is_scalar) = 0;
  /// What CopyDataFromTensor copies, to be freed by the caller with free(). The argument is
  /// ignored.
  virtual void* ConvertTensorToData(uint8_t* tensorData) = 0;
  /// The real value of each element, to be freed by the caller with free().
  virtual float* ConvertTensorToFloat32Data() = 0;

  // Additions to the original API.

  /// A name for messages, reports and dumps. The default body keeps none.
  virtual void SetName(const std::string& name);
  /// The given name, or "".
  virtual const std::string& Name() const;
};

namespace utils {

/// Converts tensor->GetSpec().GetElementNum() floats to the tensor's type and quantization; element
/// i goes to byte i * GetElementByteSize(). Quantized: rint(r / scale) + zero point, clamped; the
/// device adds the zero point before it rounds, so exact halves may differ from here by one step.
/// Integers without quantization: truncated, not clamped (the low bits stay). FLOAT16: truncated,
/// +-65504 beyond its range, signed zero below its normal range. False for a missing argument, too
/// few floats, or a spec that no rule can convert.
TIMCL_API bool Float32ToDtype(std::shared_ptr<tim::vx::Tensor> tensor, std::vector<float> fval,
                              uint8_t* tensorData);

/// Converts one element, the first, to its real value; callers loop. (Original API.)
TIMCL_API bool DtypeToFloat32(std::shared_ptr<tim::vx::Tensor> tensor, uint8_t* tensorData,
                              float* data);

}  // namespace utils
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_TENSOR_H_
