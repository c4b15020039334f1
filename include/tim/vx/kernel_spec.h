// KernelSpec: one OpenCL launch as plain data. Built-in ops, custom ops and plugins fill in the
// same struct.
#ifndef TIM_VX_KERNEL_SPEC_H_
#define TIM_VX_KERNEL_SPEC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tim::vx {

/// What a device can do, as kernel candidates may ask. Filled from the device or, ahead of time,
/// from a profile.
struct DeviceCaps {
  std::string platform, name, vendor, driver;
  bool is_cpu = false;
  /// PoCL on a CPU: explicit float16 register tiles compile to wide FMA without spills (design
  /// rule, measured).
  bool register_tiles_pay = false;
  /// Vector registers, and the floats that one holds: what register tiles have to fit into.
  /// AVX-512: 32 of 16; AVX2: 16 of 8; NEON: 32 of 4.
  uint32_t vector_registers = 32, vector_floats = 16;
  /// The registers hold less than 32 vectors of 16 floats, so tiles must be small: AVX2, NEON.
  bool few_registers() const { return vector_registers * vector_floats < 32 * 16; }
  /// Host and device see the same memory, so buffers over host memory need no copies.
  bool shared_memory = false;
  bool correctly_rounded_divide = false;
  int opencl_version = 120;  // 120, 200, 300
  uint32_t compute_units = 1;
  size_t max_work_group = 1;
  std::array<size_t, 3> max_work_items = {1, 1, 1};  // of one work-group, by dimension
  uint64_t local_memory = 0;                         // bytes that a work-group may have
  bool has_double = false, has_half = false;         // arithmetic, cl_khr_fp64 and cl_khr_fp16
  uint64_t max_allocation = 0, global_memory = 0;    // bytes; 0: unknown
  bool CanAllocate(uint64_t bytes) const { return max_allocation == 0 || bytes <= max_allocation; }
  size_t buffer_alignment = 128;  // bytes; origins of sub-buffers are multiples of it
  /// Kernels may contain the instructions vpdpbusd (sums of products of bytes without and with
  /// sign) and vpdpwssd (of 16 bits): the device is this machine's own CPU, and that has AVX-512
  /// VNNI.
  bool dot_product_u8s8 = false;
  /// Likewise vdpbf16ps and vcvtneps2bf16 (sums in float32 of products of bfloat16): AVX-512 BF16.
  bool dot_product_bf16 = false;
  /// Kernels may contain the instruction rdtscp, and it tells which core runs them, as Linux wants
  /// it: the device is this machine's own CPU, and was asked.
  bool rdtscp_tells_core = false;
};

/// One parameter of a kernel that stands for memory. Parameters come in the order: operands, sizes,
/// reals.
struct Operand {
  enum class Kind {
    kInput,    // input `index` of the op
    kOutput,   // output `index` of the op
    kData,     // read-only bytes computed at Compile(): packed weights, multipliers
    kScratch,  // `bytes` of device memory, undefined at the start, shared by the launches of one op
               // that use the same `index`
    kLocal,    // `bytes` of local memory
    kValue,    // `data`, of type `element` ("float4"), by value: custom ops only; built-in kernels
               // use sizes and reals
  };
  Kind kind = Kind::kInput;
  /// Prefix of the macros that the prelude makes for it: X gives IN(X), LOAD(X, i), X_t. Empty: a
  /// plain pointer. Of a kValue: what messages call it.
  std::string name;
  size_t index = 0;
  std::shared_ptr<const std::vector<std::byte>> data;  // kData, kValue
  std::string element = "float";                       // kData, kScratch, kValue: OpenCL type
  size_t bytes = 0;                                    // kScratch, kLocal, kData with `fill`
  /// kData, instead of `data`: writes the `bytes` bytes, which are zeros before, where they stay.
  /// Called once or never, before Compile() returns, on any thread while other threads call others;
  /// what it reads are constants of the graph and what it holds.
  std::function<void(std::byte*)> fill = {};
};

inline Operand In(size_t index, std::string name) {
  Operand o;
  o.kind = Operand::Kind::kInput, o.index = index, o.name = std::move(name);
  return o;
}
inline Operand Out(size_t index, std::string name) {
  Operand o;
  o.kind = Operand::Kind::kOutput, o.index = index, o.name = std::move(name);
  return o;
}
/// Read-only data computed by the op, as a buffer of `T` (float, int, ...): parameter DATA(name).
template <class T>
Operand Data(const std::vector<T>& values, std::string name, std::string element) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  Operand o;
  o.kind = Operand::Kind::kData, o.name = std::move(name), o.element = std::move(element);
  o.data = std::move(bytes);
  return o;
}
/// The same of `count` values that `fill`, a function of a T*, writes later: for packed weights, of
/// which there are many. They are zeros before.
template <class T, class Fill>
Operand PackedData(int64_t count, std::string name, std::string element, Fill fill) {
  Operand o;
  o.kind = Operand::Kind::kData, o.name = std::move(name), o.element = std::move(element);
  o.bytes = static_cast<size_t>(count) * sizeof(T);
  o.fill = [fill = std::move(fill)](std::byte* bytes) { fill(reinterpret_cast<T*>(bytes)); };
  return o;
}
inline Operand Scratch(size_t index, size_t bytes, std::string name, std::string element) {
  Operand o;
  o.kind = Operand::Kind::kScratch, o.index = index, o.bytes = bytes;
  o.name = std::move(name), o.element = std::move(element);
  return o;
}

/// A macro in front of a kernel's text: {"LANES", 8}, {"EXCLUSIVE", true}, {"ACC", "long"}.
struct Define : std::pair<std::string, std::string> {
  Define(std::string name, std::string value) : pair(std::move(name), std::move(value)) {}
  Define(std::string name, const char* value) : pair(std::move(name), value) {}
  template <class Int, std::enable_if_t<std::is_integral_v<Int>, int> = 0>
  Define(std::string name, Int value)
      : pair(std::move(name), std::to_string(static_cast<int64_t>(value))) {}
};

/// Work-items of a launch by dimension, from extents of tensors.
inline std::array<size_t, 3> Grid(int64_t x, int64_t y = 1, int64_t z = 1) {
  return {static_cast<size_t>(x), static_cast<size_t>(y), static_cast<size_t>(z)};
}

/// One launch. The kernel's parameters are: every operand in order (quantized tensors bring their
/// scale and zero point along, by the macros IN and OUT), then `sizes` as int (SIZE), then `reals`
/// as float (REAL).
///
/// The launches of a graph may become one, whose kernel calls this one for each work-item: a kernel
/// that is written as KERNEL(name) asks for its work-item by WORK_ITEM(d) and WORK_ITEMS(d) alone.
/// One that asks OpenCL itself (get_global_id, get_group_id, ...), waits for others (barrier), has
/// `local` variables or is written as `kernel void name` is launched by itself, and so is all of
/// its partition.
struct KernelSpec {
  std::string source = {};  // name in the kernel table ("cumsum.cl")
  std::string entry = {};   // kernel function
  std::vector<Operand> operands = {};
  std::vector<std::pair<std::string, int64_t>> sizes =
      {};  // kernel arguments: do not enter the program's key
  std::vector<std::pair<std::string, float>> reals = {};  // likewise
  std::vector<Define> defines = {};  // what changes the code: enters the program's key
  uint32_t dims = 0;                 // 0: as many as `global` fills
  std::array<size_t, 3> global = {
      1, 1, 1};  // work-items; rounded up to `local`: kernels test their bounds
  std::array<size_t, 3> local = {1, 1, 1};  // always explicit, and the same for every shape
  /// Whether point-wise ops may be fused into the store of output 0. kScalar: each element is
  /// stored once, through STORE, STORE_ACC or COPY. kVector, kLanes: through STORE, STORE_ACC or,
  /// 16 neighbours at once, VSTORE, VSTORE_ACC, which are there for these forms alone. Results, and
  /// what fused ops read and yield, are float32 or float16; those of kLanes may also be u8, i8 or
  /// i16 with one scale.
  enum class Epilogue { kNone, kScalar, kVector, kLanes };
  Epilogue epilogue = Epilogue::kNone;
  /// acc_t is float even where every operand is an unquantized integer (functions that have no
  /// integer form).
  bool float_math = false;
  /// The kernel's text itself, for operators that bring their own: it has all that a source of the
  /// table has (tensor.clh, includes). `source` is then only its name in messages.
  std::string source_text = {};
  /// Literal text of a custom op's kernel in plain OpenCL C, instead of `source`: no prelude but
  /// that of emulated images; built as a program of its own with `build_options`.
  std::string user_source = {};
  std::string build_options = {};
  bool image_operands = false;  // user kernels: parameters declared image2d_t or image2d_array_t
                                // are emulated over buffers
  /// User kernels: names of all inputs and outputs, by which the text may use the macros of
  /// tensor.clh and image_tensor.clh; quantized tensors then bring scale and zero point along.
  /// Empty: no macros.
  std::vector<std::string> input_names = {}, output_names = {};
  double flops = 0;  // arithmetic of the launch, for benchmarks and profiles; 0 = unknown
};
using Launches = std::vector<KernelSpec>;

}  // namespace tim::vx
#endif  // TIM_VX_KERNEL_SPEC_H_
