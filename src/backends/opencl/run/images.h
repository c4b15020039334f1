// Emulation of images over buffers for users' kernels: the header in front of the data.
// src/kernels/image_prelude.clh is the device's side; the compile half puts it in front of sources.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_IMAGES_H_
#define TIMCL_BACKENDS_OPENCL_RUN_IMAGES_H_

#include <cstdint>

#include "tim/vx/result.h"
#include "tim/vx/tensor_type.h"

namespace tim::vx::opencl {

/// What lies directly before the elements. The same bytes serve both kinds of images.
struct ImageHeader {
  int32_t width = 1, height = 1, layers = 1;
  int32_t type = 0;  // cl_channel_type
  int32_t unused[28] = {};
  bool operator==(const ImageHeader& o) const {
    return width == o.width && height == o.height && layers == o.layers && type == o.type;
  }
};
static_assert(sizeof(ImageHeader) == 128);

/// x = dimension 0, y = dimension 1, layers = all others. kUnsupported for types that no image
/// function reads (64-bit and 4-bit), and for extents beyond 31 bits.
Result<ImageHeader> HeaderFor(const TensorType& type);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_IMAGES_H_
