// CustomOpBase: an operator whose OpenCL C kernel the user brings.
#ifndef TIM_VX_OPS_CUSTOM_BASE_H_
#define TIM_VX_OPS_CUSTOM_BASE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "tim/vx/builtin_op.h"

/// n rounded up to a multiple of align, a power of two. As in the original, the whole is not in
/// parentheses.
#define gpu_align(n, align) ((n) + ((align)-1)) & ~((align)-1)

namespace tim {
namespace vx {

struct LayoutRule;

namespace ops {

/// Source of kernel ids; as in the original, one counter per translation unit. The ids of
/// different files may collide, which is harmless: kernels are told apart by source and name.
__attribute__((unused)) static int32_t gobal_kernel_id_ = 0;

/// A scalar kernel argument.
struct Param {
  union {
    float f;
    int i;
    bool b;
    unsigned int ui;
  } data;
  tim::vx::DataType type;
};

namespace custom_base_detail {

inline void AppendParam(float value, std::vector<Param>& list) {
  Param param;
  param.data.f = value;
  param.type = DataType::FLOAT32;
  list.push_back(param);
}
inline void AppendParam(int32_t value, std::vector<Param>& list) {
  Param param;
  param.data.i = value;
  param.type = DataType::INT32;
  list.push_back(param);
}
inline void AppendParam(uint32_t value, std::vector<Param>& list) {
  Param param;
  param.data.ui = value;
  param.type = DataType::UINT32;
  list.push_back(param);
}
inline void AppendParam(bool value, std::vector<Param>& list) {
  Param param;
  param.data.i = 0;  // all four bytes are defined, whatever is read later
  param.data.b = value;
  param.type = DataType::BOOL8;
  list.push_back(param);
}
// A template, so that no other type is converted into one of the four above.
template <typename T>
inline void AppendParam(const T&, std::vector<Param>&) {
  std::puts("need more else if type of param list ");
}

}  // namespace custom_base_detail

/// Appends one Param per element of the tuple, in order: float, uint32_t, int32_t or bool. An
/// element of another type is left out with a message on stdout.
template <size_t I = 0, typename... Ts>
typename std::enable_if<I == sizeof...(Ts), void>::type param_transform(std::tuple<Ts...>,
                                                                        std::vector<Param>&) {}

template <size_t I = 0, typename... Ts>
typename std::enable_if<(I < sizeof...(Ts)), void>::type param_transform(
    std::tuple<Ts...> tup, std::vector<Param>& param_list) {
  custom_base_detail::AppendParam(std::get<I>(tup), param_list);
  param_transform<I + 1>(tup, param_list);
}

/// An operator by OpenCL C source. Derive, implement the four functions, and create it like any
/// other operator.
///   input*   T[any rank]     T: any type; a kernel sees the stored numbers, scale and zero point
///            are not applied
///   output*  T, shape as SetupShapeInfor() sets it, also over a declared shape
/// Kernel arguments: inputs in order of binding, outputs in order of binding, param_list_ in order.
/// A tensor may be declared image2d_t (x = dimension 0, y = dimension 1), image2d_array_t (z = the
/// other dimensions together) or a __global pointer. Images hold one element per texel, in .x;
/// reads outside give 0, writes outside are dropped, and outputs may be read back.
/// Called once per graph, during Compile(): SetupShapeInfor(), then SetupParams(), then
/// SetupEnqueue(); Run() calls none of them.
/// Attributes: the members below.
/// Errors: kInvalidShape if outputs_size_ stays empty; kKernelBuild if the source does not compile
/// or has no kernel func_name_; kInvalidArgument if the kernel takes another number of arguments;
/// kInvalidGraph if the operands are not input_num and output_num.
/// Source: TIM-VX CustomOpBase.
class TIMCL_API CustomOpBase : public Operation {
 public:
  /// kernel_name is a name for people; it is copied.
  CustomOpBase(Graph* graph, uint32_t input_num, uint32_t output_num, int32_t kernel_id,
               const char* kernel_name);
  ~CustomOpBase();

  /// Sets func_name_ and the compiler options; input_types has one entry per input.
  virtual void SetupParams(std::vector<tim::vx::DataType> input_types,
                           std::string& build_option) = 0;
  /// Reads inputs_size_, appends extents to outputs_size_[i]; fastest dimension first.
  virtual void SetupShapeInfor() = 0;
  /// Sets dim (1 to 3) and the sizes in work-items; both vectors arrive with three zeros. A local
  /// size of 0 leaves the choice to the library; a global size of 0 counts as 1.
  virtual void SetupEnqueue(uint32_t& dim, std::vector<size_t>& gobal_size,
                            std::vector<size_t>& local_size) = 0;

  std::vector<Param> param_list_;
  std::vector<tim::vx::ShapeType> inputs_size_;
  std::vector<tim::vx::ShapeType> outputs_size_;
  const char* func_name_ = nullptr;
  const char* kernel_resource_ = nullptr;
  void* init_kernel_ = nullptr;
  void* vx_node_ = nullptr;
  uint32_t input_num_;
  uint32_t output_num_;

 protected:
  /// For constructors: what layout inference may do with the operator (tim/vx/op_def.h, which is
  /// C++17). Without it the operands come as the user thinks of them, between transposes.
  /// LayoutRule::SameForAll(), say: each result depends on the elements at its own place alone.
  /// SetupShapeInfor() then sees the dimensions in any order, the same for all operands.
  void SetLayoutRule(const LayoutRule& rule);
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CUSTOM_BASE_H_
