// The enumerations of the graph API. Their numbers are fixed: binary graphs and plugins store them.
#ifndef TIM_VX_TYPES_H_
#define TIM_VX_TYPES_H_

namespace tim {
namespace vx {

/// Type of the stored elements. What a stored integer means is told by the tensor's Quantization.
enum class DataType {
  UNKNOWN = 0,
  INT8 = 1,
  UINT8 = 2,
  INT16 = 3,
  UINT16 = 4,
  INT32 = 5,
  UINT32 = 6,
  INT64 = 7,
  FLOAT16 = 8,
  FLOAT32 = 9,
  BOOL8 = 10,  ///< one byte, 0 or 1
  /// Two elements per byte along dimension 0 in the memory of INPUT and OUTPUT tensors: the even
  /// one in the low half, each row from a byte of its own. tensor.h says which copies are packed.
  INT4 = 11,
  UINT4 = 12,
};

/// How a stored number q stands for a real number r; the formulas are at class Quantization.
enum class QuantType {
  NONE = 0,
  ASYMMETRIC = 1,
  SYMMETRIC_PER_CHANNEL = 2,
  ASYMMETRIC_PER_CHANNEL = 3,
  DYNAMIC_FIXED_POINT = 4,
};

/// What a tensor is to its graph. Bit flags; unscoped, so that both INPUT and
/// TensorAttribute::INPUT name an enumerator.
enum TensorAttribute {
  CONSTANT = 1 << 0,   ///< data given by the host before Compile()
  TRANSIENT = 1 << 1,  ///< between two operations; no host access, shape always inferred
  VARIABLE = 1 << 2,   ///< keeps its contents from run to run; host access
  INPUT = 1 << 3,      ///< written by the host before each Run()
  OUTPUT = 1 << 4,     ///< read by the host after each Run()
};

enum class PadType {
  NONE = -1,  ///< as AUTO
  AUTO = 0,   ///< the explicit pads; zero where the operation has none
  VALID = 1,  ///< no padding
  SAME = 2,   ///< output extent = ceil(input / stride); the odd cell goes to the rear
};

enum class PoolType {
  MAX = 0,          ///< padded cells are ignored
  AVG = 1,          ///< divides by the whole window; padded cells count as 0
  L2 = 2,           ///< sqrt(mean(x^2))
  AVG_ANDROID = 3,  ///< divides by the number of real cells
};

enum class RoundType { CEILING = 0, FLOOR = 1 };

enum class OverflowPolicy { WRAP = 0, SATURATE = 1 };

enum class RoundingPolicy {
  TO_ZERO = 0,
  RTNE = 1,  ///< to nearest, halves to even
};

enum class ResizeType { NEAREST_NEIGHBOR = 0, BILINEAR = 1, AREA = 2 };

/// Order of the dimensions, fastest first: in WHCN the width is dimension 0. Only
/// tim::transform::LayoutInference obeys it; execution always reads the native order (WHCN, WCN,
/// WHDCN, kernels WHIcOc, WIcOc, WHDIcOc).
enum class DataLayout {
  ANY = 0,
  WHCN = 1,
  CWHN = 2,
  IcWHOc = 3,  ///< TFLite kernel
  OcIcWH = 4,  ///< TVM kernel
  IcOcWH = 5,  ///< TVM depthwise kernel
  WHIcOc = 6,  ///< native kernel
  WCN = 7,
  WIcOc = 8,
  WHDCN = 9,
  WHDIcOc = 10,
  CWHDN = 11,    ///< TensorFlow 3-D data
  OcIcWHD = 12,  ///< TensorFlow 3-D kernel
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_TYPES_H_
