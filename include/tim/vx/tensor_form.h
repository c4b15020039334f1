// TensorForm: how a tensor lies in memory between the kernels of one partition.
#ifndef TIM_VX_TENSOR_FORM_H_
#define TIM_VX_TENSOR_FORM_H_

#include <cstdint>

#include "tim/vx/tensor_type.h"

namespace tim::vx {

/// What users see is always plain. A kernel that is faster on another form says so
/// (KernelCandidate::in, out); pass Forms of the OpenCL backend chooses for whole chains and
/// converts at their borders.
enum class TensorForm {
  kPlain,  // as the tensor's shape says: the first dimension is the fastest
  /// {W, H, C, N} as [N][ceil(C / 16)][H][W][16]: sixteen channels of one pixel are neighbours, one
  /// vector register, at the same distance from the next pixel whatever the shape. Lanes past C
  /// hold anything, NaN too. 8-bit tensors are unsigned: i8(s, z) lies there as u8(s, z + 128).
  kBlocked,
};

/// Channels of a block.
constexpr int64_t kChannelBlock = 16;

/// Whether a tensor of this type may take this form: blocked are tensors of rank 4, f32, f16, i16,
/// or i8 and u8 with one scale.
TIMCL_API bool CanTake(const TensorType& type, TensorForm form);
/// The type as kernels see it in this form, its shape as it lies in memory: blocked {16, W, H,
/// ceil(C / 16), N}.
TIMCL_API TensorType InForm(const TensorType& type, TensorForm form);

}  // namespace tim::vx
#endif  // TIM_VX_TENSOR_FORM_H_
