// Emulated images, host side: see images.h.
#include "backends/opencl/run/images.h"

#include <CL/cl.h>
#include <fmt/format.h>

#include <limits>

namespace tim::vx::opencl {

Result<ImageHeader> HeaderFor(const TensorType& type) {
  ImageHeader h;
  switch (type.dtype) {
    case DataType::FLOAT32:
      h.type = CL_FLOAT;
      break;
    case DataType::FLOAT16:
      h.type = CL_HALF_FLOAT;
      break;
    case DataType::INT8:
    case DataType::BOOL8:
      h.type = CL_SIGNED_INT8;
      break;
    case DataType::INT16:
      h.type = CL_SIGNED_INT16;
      break;
    case DataType::INT32:
      h.type = CL_SIGNED_INT32;
      break;
    case DataType::UINT8:
      h.type = CL_UNSIGNED_INT8;
      break;
    case DataType::UINT16:
      h.type = CL_UNSIGNED_INT16;
      break;
    case DataType::UINT32:
      h.type = CL_UNSIGNED_INT32;
      break;
    default:
      return Status::Error(
          Code::kUnsupported,
          fmt::format("a tensor {} cannot be seen as an image, OpenCL has no channel "
                      "type for {}: declare a __global pointer",
                      type.ToString(), NameOf(type.dtype)));
  }
  const int64_t width = type.shape.dim(0), height = type.shape.dim(1);
  const int64_t layers = type.shape.count() / (width * height);
  for (const int64_t extent : {width, height, layers}) {
    if (extent > std::numeric_limits<int32_t>::max()) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("a tensor {} is too large for an image", type.ToString()));
    }
  }
  h.width = static_cast<int32_t>(width);
  h.height = static_cast<int32_t>(height);
  h.layers = static_cast<int32_t>(layers);
  return h;
}

}  // namespace tim::vx::opencl
