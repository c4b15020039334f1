// CustomOpBase: an operator whose OpenCL C kernel the user brings.
#ifndef TIM_VX_OPS_CUSTOM_BASE_H_
#define TIM_VX_OPS_CUSTOM_BASE_H_

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "tim/vx/builtin_op.h"
#include "tim/vx/status.h"

/// n rounded up to a multiple of align, a power of two. As in the original, the whole is not in
/// parentheses.
#define gpu_align(n, align) ((n) + ((align)-1)) & ~((align)-1)

namespace tim {
namespace vx {

struct LayoutRule;
namespace ref {
class Input;
class Output;
}  // namespace ref

namespace ops {

/// Source of kernel ids; as in the original, one counter per translation unit. The ids of
/// different files may collide, which is harmless: kernels are told apart by source and name.
__attribute__((unused)) static int32_t gobal_kernel_id_ = 0;

/// A kernel argument that Param's union does not hold. (Addition to the original API.)
struct OtherArgument {
  enum Kind { kValue, kLocal, kScratch, kData };
  Kind kind;
  std::string cl_type;               // kValue: as OpenCL C calls it, "float4"
  std::vector<unsigned char> value;  // kValue, kData
  size_t bytes;                      // kLocal, kScratch
  uint32_t index;                    // kScratch
};

/// A scalar kernel argument. Filled in by hand, `type` says which member of `data` counts: FLOAT32
/// f, INT32 and INT16 i, UINT32 and UINT16 ui, BOOL8, INT8 and UINT8 one byte. MakeParam fills in
/// the others.
struct Param {
  union Data {
    float f;
    int i;
    bool b;
    unsigned int ui;
  } data;
  tim::vx::DataType type;

  // Addition to the original API: not null where the argument is another than `data`. C++11 knows
  // no aggregates with initializers, so there constructors make {{1.0f}, FLOAT32} mean the same.
#if __cplusplus >= 201402L
  std::shared_ptr<const OtherArgument> other = nullptr;
#else
  std::shared_ptr<const OtherArgument> other;
  Param() : type(DataType::UNKNOWN) { data.i = 0; }
  Param(Data d, DataType t) : data(d), type(t) {}
#endif
};

// Additions to the original API: what a kernel can be given besides float, int, uint and bool.

/// IEEE 754 half precision. A kernel takes it as half where the device has that type, else as
/// ushort (the bits), for vload_half.
struct TIMCL_API Half {
  explicit Half(float value);
  uint16_t bits;
};
/// So many bytes of local memory: a parameter `__local T*`.
struct LocalMemory {
  explicit LocalMemory(size_t size) : bytes(size) {}
  size_t bytes;
};
/// So many bytes of device memory, undefined at the start of a run: a parameter `__global T*`. The
/// launches of one operator that name the same index share it.
struct ScratchMemory {
  ScratchMemory(uint32_t number, size_t size) : index(number), bytes(size) {}
  uint32_t index;
  size_t bytes;
};

namespace custom_base_detail {

template <typename T>
struct IsNumber {
  static constexpr bool value =
      std::is_arithmetic<T>::value && !std::is_same<T, long double>::value && sizeof(T) <= 8;
};
/// The name of an arithmetic type in OpenCL C.
template <typename T>
std::string ClTypeOf() {
  if (std::is_same<T, bool>::value) return "bool";
  if (std::is_floating_point<T>::value) return sizeof(T) == 4 ? "float" : "double";
  const char* const name = sizeof(T) == 1   ? "char"
                           : sizeof(T) == 2 ? "short"
                           : sizeof(T) == 4 ? "int"
                                            : "long";
  return (std::is_signed<T>::value ? "" : "u") + std::string(name);
}

inline Param WrapArgument(OtherArgument argument) {
  Param param;
  param.data.i = 0;
  param.type = DataType::UNKNOWN;
  param.other = std::make_shared<const OtherArgument>(std::move(argument));
  return param;
}
/// A vector of three occupies as much as one of four.
inline Param WrapValue(const std::string& cl_type, const void* value, size_t bytes, size_t padded) {
  OtherArgument argument = {OtherArgument::kValue, cl_type, {}, 0, 0};
  argument.value.resize(padded);
  std::memcpy(argument.value.data(), value, bytes);
  return WrapArgument(std::move(argument));
}

/// How a C++ type becomes an argument; `known` where it can.
template <typename T, typename Enable = void>
struct ArgumentOf {
  static constexpr bool known = false;
  static Param Make(const T&) { return Param(); }
};
template <typename T>
struct ArgumentOf<T, typename std::enable_if<IsNumber<T>::value>::type> {
  static constexpr bool known = true;
  static Param Make(const T& value) {
    return WrapValue(ClTypeOf<T>(), &value, sizeof value, sizeof value);
  }
};
template <typename T, size_t N>
struct ArgumentOf<std::array<T, N>, void> {
  static constexpr bool known = (N == 2 || N == 3 || N == 4 || N == 8 || N == 16) &&
                                IsNumber<T>::value && !std::is_same<T, bool>::value;
  static Param Make(const std::array<T, N>& value) {
    return WrapValue(ClTypeOf<T>() + std::to_string(N), value.data(), sizeof(T) * N,
                     sizeof(T) * (N == 3 ? 4 : N));
  }
};
template <>
struct ArgumentOf<Half, void> {
  static constexpr bool known = true;
  static Param Make(const Half& value) { return WrapValue("half", &value.bits, 2, 2); }
};
template <typename T>
struct ArgumentOf<std::vector<T>, void> {
  static constexpr bool known = IsNumber<T>::value && !std::is_same<T, bool>::value;
  static Param Make(const std::vector<T>& values) {
    OtherArgument argument = {OtherArgument::kData, ClTypeOf<T>(), {}, 0, 0};
    argument.value.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(&argument.value[0], &values[0], argument.value.size());
    return WrapArgument(std::move(argument));
  }
};
template <>
struct ArgumentOf<LocalMemory, void> {
  static constexpr bool known = true;
  static Param Make(const LocalMemory& memory) {
    return WrapArgument({OtherArgument::kLocal, "", {}, memory.bytes, 0});
  }
};
template <>
struct ArgumentOf<ScratchMemory, void> {
  static constexpr bool known = true;
  static Param Make(const ScratchMemory& memory) {
    return WrapArgument({OtherArgument::kScratch, "", {}, memory.bytes, memory.index});
  }
};
// The original's types stand in the union, where its callers look for them.
template <typename T, DataType kType>
struct InUnion {
  static constexpr bool known = true;
  static Param Make(T value) {
    Param param;
    param.data.i = 0;  // all four bytes are defined, whatever is read later
    std::memcpy(&param.data, &value, sizeof value);
    param.type = kType;
    return param;
  }
};
template <>
struct ArgumentOf<float, void> : InUnion<float, DataType::FLOAT32> {};
template <>
struct ArgumentOf<int32_t, void> : InUnion<int32_t, DataType::INT32> {};
template <>
struct ArgumentOf<uint32_t, void> : InUnion<uint32_t, DataType::UINT32> {};
template <>
struct ArgumentOf<bool, void> : InUnion<bool, DataType::BOOL8> {};

template <typename T>
void AppendParam(const T& value, std::vector<Param>& list) {
  static_assert(ArgumentOf<T>::known,
                "this type (T) cannot be a kernel argument; there are: numbers of up to 64 bits, "
                "bool, Half, std::array<number, 2|3|4|8|16>, std::vector<number>, LocalMemory, "
                "ScratchMemory");
  list.push_back(ArgumentOf<T>::Make(value));
}

}  // namespace custom_base_detail

/// Appends one Param per element of the tuple, in order. Numbers of up to 64 bits, bool and Half
/// are scalars; std::array<T, 2|3|4|8|16> is a vector such as float4; std::vector<T> is a table in
/// device memory, a parameter `__global const T*`. Another type does not compile.
template <size_t I = 0, typename... Ts>
typename std::enable_if<I == sizeof...(Ts), void>::type param_transform(std::tuple<Ts...>,
                                                                        std::vector<Param>&) {}

template <size_t I = 0, typename... Ts>
typename std::enable_if<(I < sizeof...(Ts)), void>::type param_transform(
    std::tuple<Ts...> tup, std::vector<Param>& param_list) {
  custom_base_detail::AppendParam(std::get<I>(tup), param_list);
  param_transform<I + 1>(tup, param_list);
}

/// One argument by itself, as param_transform makes it. (Addition to the original API.)
template <typename T>
Param MakeParam(const T& value) {
  std::vector<Param> list;
  custom_base_detail::AppendParam(value, list);
  return list[0];
}

/// What the device can do. (Addition to the original API.)
struct DeviceLimits {
  std::string name;
  bool is_cpu;
  bool has_double, has_half;  // arithmetic in kernels
  int opencl_version;         // 120, 200, 300
  uint32_t compute_units;
  size_t max_work_group;                 // work-items
  std::array<size_t, 3> max_work_items;  // of one work-group, by dimension
  uint64_t local_memory;                 // bytes of one work-group
  uint64_t max_allocation;               // bytes of one buffer
};

/// One of several launches of an operator; see CustomOpBase::AddLaunch. Arguments come in the order
/// of the calls. (Addition to the original API.)
class KernelLaunch {
 public:
  explicit KernelLaunch(const std::string& function)
      : function_(function), dim_(1), global_{{1, 1, 1}}, local_{{0, 0, 0}} {}

  KernelLaunch& Input(uint32_t index) { return Add({Argument::kInput, index, Param()}); }
  KernelLaunch& Output(uint32_t index) { return Add({Argument::kOutput, index, Param()}); }
  /// A number, a vector, a table: as param_transform.
  template <typename T>
  KernelLaunch& Value(const T& value) {
    return Add({Argument::kParam, 0, MakeParam(value)});
  }
  KernelLaunch& Params(const std::vector<Param>& list) {
    for (const Param& param : list) Add({Argument::kParam, 0, param});
    return *this;
  }
  KernelLaunch& Local(size_t bytes) { return Value(LocalMemory(bytes)); }
  KernelLaunch& Scratch(uint32_t index, size_t bytes) { return Value(ScratchMemory(index, bytes)); }
  /// Work-items of the whole launch. With Group(), multiples of it.
  KernelLaunch& Items(size_t x) { return Range(1, {{x, 1, 1}}); }
  KernelLaunch& Items(size_t x, size_t y) { return Range(2, {{x, y, 1}}); }
  KernelLaunch& Items(size_t x, size_t y, size_t z) { return Range(3, {{x, y, z}}); }
  /// Work-items of one work-group; without it the library chooses.
  KernelLaunch& Group(size_t x, size_t y = 1, size_t z = 1) {
    local_ = {{x, y, z}};
    return *this;
  }

  struct Argument {
    enum Kind { kInput, kOutput, kParam };
    Kind kind;
    uint32_t index;
    Param param;
  };
  const std::string& function() const { return function_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  uint32_t dim() const { return dim_; }
  const std::array<size_t, 3>& global() const { return global_; }
  const std::array<size_t, 3>& local() const { return local_; }

 private:
  KernelLaunch& Add(const Argument& argument) {
    arguments_.push_back(argument);
    return *this;
  }
  KernelLaunch& Range(uint32_t dim, const std::array<size_t, 3>& global) {
    dim_ = dim;
    global_ = global;
    return *this;
  }
  std::string function_;
  std::vector<Argument> arguments_;
  uint32_t dim_;
  std::array<size_t, 3> global_, local_;
};

/// An operator by OpenCL C source. Derive, implement the four functions, and create it like any
/// other operator.
///   input*   T[any rank]     T: any type of 8 bits and more; a kernel sees the stored numbers, and
///            scale and zero point are not applied (but see UseTensorMacros)
///   output*  T, shape as SetupShapeInfor() sets it, also over a declared shape
/// Kernel arguments: inputs in order of binding, outputs in order of binding, param_list_ in order.
/// Each tensor may be declared image2d_t (x = dimension 0, y = dimension 1), image2d_array_t (z =
/// the other dimensions together) or a __global pointer; INT64 is no image. Images hold one element
/// per texel, in .x; reads outside give 0, writes outside are dropped, and outputs may be read
/// back. Called once per graph, during Compile(): SetupShapeInfor(), then SetupParams(), then
/// SetupEnqueue(); Run() calls none of them.
/// Attributes: the members below.
/// Errors: what Fail() was told; kInvalidShape if outputs_size_ stays empty; kKernelBuild if the
/// source does not compile or has no kernel func_name_; kInvalidArgument if the kernel's parameters
/// are others in number, kind or size (the message shows both lists), or the work sizes make no
/// sense; kUnsupported for an INT64 image, and for more local memory than the device has;
/// kInvalidGraph if the operands are not input_num and output_num. Source: TIM-VX CustomOpBase.
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
  // Additions to the original API. For constructors:

  /// What layout inference may do with the operator (tim/vx/op_def.h, which is C++17). Without it
  /// the operands come as the user thinks of them, between transposes. LayoutRule::SameForAll(),
  /// say: each result depends on the elements at its own place alone. SetupShapeInfor() then sees
  /// the dimensions in any order, the same for all operands.
  void SetLayoutRule(const LayoutRule& rule);

  /// What the operator computes, in C++ (ref::Input and ref::Output: tim/vx/op_def.h, which is
  /// C++17). With it the operator also runs without OpenCL (TIMCL_DEVICE=reference), where all its
  /// inputs are constants once at Compile(), and tim/vx/check_op.h proves the kernel.
  using ReferenceFunction = std::function<Status(const std::vector<ref::Input>& inputs,
                                                 std::vector<ref::Output>& outputs)>;
  void SetReference(ReferenceFunction reference);

  /// Gives kernel_resource_ the macros by which built-in kernels read and write real numbers,
  /// whatever the element type and quantization. The names of all operands, separated by spaces,
  /// stand for them in the source: after UseTensorMacros("X", "Y"),
  ///   __kernel void twice(IN(X), OUT(Y), int n) { ... STORE(Y, i, 2 * LOAD(X, i)); }
  ///   __kernel void thrice(IMAGE(X), IMAGE_ARRAY(Y)) { ... WRITE(Y, at, 3 * READ(X, at.xy)); }
  /// Every kernel that takes a tensor then declares it so, since quantized ones bring scale and
  /// zero point along. src/kernels/tensor.clh and image_tensor.clh list the macros.
  void UseTensorMacros(const std::string& inputs, const std::string& outputs);

  /// The element types that the operator takes, in the words of OpDef::types (tim/vx/op_def.h):
  /// "f32, f32 -> f32; u8, i8|u8 -> u8" for two inputs. Others fail Compile() with an error that
  /// lists both sides. Without it the operator takes all.
  void SetTypes(const std::string& types);

  // For constructors and the three Setup functions:

  /// Makes Compile() fail with this code and these words, behind the operator's label. The first
  /// failure stays. In SetupParams() and SetupEnqueue() kUnsupported means that the kernels cannot
  /// do it: the reference then runs in their place, where there is one.
  void Fail(Code code, const std::string& message);

  // For SetupParams() and SetupEnqueue():

  /// The device that will run the kernels.
  const DeviceLimits& Device() const;

  // For SetupEnqueue():

  /// Adds a launch; they run in order, and each sees what those before it wrote. With at least one,
  /// func_name_, param_list_ and the arguments of SetupEnqueue() are not looked at. The reference
  /// is valid until SetupEnqueue() returns.
  ///   AddLaunch("sums").Input(0).Scratch(0, 4 * groups).Local(4 * 64).Items(64 * n).Group(64);
  ///   AddLaunch("total").Scratch(0, 4 * groups).Output(0).Value(groups).Items(1);
  KernelLaunch& AddLaunch(const std::string& function);

  /// n rounded up to a multiple of any number but 0.
  static size_t RoundUp(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }
  /// One dimension of at least n work-items (kernels test their bounds), in groups that suit the
  /// device.
  void SetWorkItems(size_t n, uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) const;
  /// One work-item per texel of a tensor of this shape: dimension 0, dimension 1, all the others.
  void SetWorkItems(const tim::vx::ShapeType& shape, uint32_t& dim,
                    std::vector<size_t>& global_size, std::vector<size_t>& local_size) const;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CUSTOM_BASE_H_
