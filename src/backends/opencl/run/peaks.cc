// Measuring what a device does at most: see peaks.h.
#include "backends/opencl/run/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/process.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

/// CHAINS of multiply-adds (OpenCL allows one instruction for both, and PoCL takes it), as many as
/// the registers hold, hide the latency of one (4 cycles, two per cycle); what a work-item reads it
/// copies, so traffic counts twice.
constexpr char kSource[] = R"(
kernel void peak_fma(global float* out, int steps, float m, float c) {
  float16 a[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) a[i] = (float16)(out[get_global_id(0)] + i);
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) a[i] = a[i] * (float16)m + (float16)c;
  }
  float16 sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sum += a[i];
  float8 half_sum = sum.lo + sum.hi;
  float4 quarter = half_sum.lo + half_sum.hi;
  out[get_global_id(0)] = quarter.x + quarter.y + quarter.z + quarter.w;
}
#if DOT
kernel void peak_dot(global float* out, int steps, float m, float c) {
  int16 a[10];
  const int16 x = (int16)(int)m, w = (int16)(int)c;
#pragma unroll
  for (int i = 0; i < 10; ++i) a[i] = (int16)((int)out[get_global_id(0)] + i);
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < 10; ++i) __asm__("vpdpbusd %2,%1,%0" : "+v"(a[i]) : "v"(x), "v"(w));
  }
  int16 sum = 0;
#pragma unroll
  for (int i = 0; i < 10; ++i) sum += a[i];
  out[get_global_id(0)] = (float)(sum.s0 + sum.s7 + sum.sf);
}
#endif
#if PAIRS
kernel void peak_pairs(global float* out, int steps, float m, float c) {
  float16 a[10];
  const int16 x = (int16)(int)m, w = (int16)(int)c;
#pragma unroll
  for (int i = 0; i < 10; ++i) a[i] = (float16)(out[get_global_id(0)] + i);
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < 10; ++i) __asm__("vdpbf16ps %2,%1,%0" : "+v"(a[i]) : "v"(x), "v"(w));
  }
  float16 sum = 0;
#pragma unroll
  for (int i = 0; i < 10; ++i) sum += a[i];
  out[get_global_id(0)] = sum.s0 + sum.s7 + sum.sf;
}
#endif
kernel void peak_copy(global const float16* from, global float16* to, int steps, int count) {
  const size_t first = get_global_id(0) * count;
  for (int s = 0; s < steps; ++s)
    for (int i = 0; i < count; ++i) to[first + i] = from[first + i] + (float16)s;
}
)";
constexpr double kLanes = 16, kChains = 10;
/// Of peak_fma where registers hold 8 vectors of 16 floats (AVX2, NEON).
constexpr uint32_t kFewChains = 6;

class Meter {
 public:
  explicit Meter(const Device& device) : device_(device) {}

  Status Measure(Peaks* peaks) {
    const DeviceCaps& caps = device_.caps();
    cl_int error = CL_SUCCESS;
    queue_ = cl::CommandQueue(device_.context(), device_.entry().device,
                              cl_command_queue_properties{0}, &error);
    TIMCL_TRY(ClStatus(error, "clCreateCommandQueue", caps.name));
    const uint32_t chains = caps.few_registers() ? kFewChains : static_cast<uint32_t>(kChains);
    const std::string source =
        fmt::format("#define DOT {}\n#define PAIRS {}\n#define CHAINS {}\n{}",
                    caps.dot_product_u8s8 ? 1 : 0, caps.dot_product_bf16 ? 1 : 0, chains, kSource);
    program_ = cl::Program(device_.context(), source, false, &error);
    TIMCL_TRY(ClStatus(error, "clCreateProgramWithSource", "peaks"));
    TIMCL_TRY(ClStatus(program_.build({device_.entry().device}, "-cl-std=CL1.2"), "clBuildProgram",
                       "peaks"));
    // A CPU wants few work-items with much to do, anything else very many.
    const size_t items = caps.is_cpu ? caps.compute_units : size_t{caps.compute_units} * 1024;
    const size_t local = caps.is_cpu ? 1 : std::min<size_t>(64, caps.max_work_group);
    TIMCL_ASSIGN(peaks->flops, Arithmetic("peak_fma", items, local, 2 * kLanes * chains));
    if (caps.dot_product_u8s8) {
      TIMCL_ASSIGN(peaks->byte_flops, Arithmetic("peak_dot", items, local, 8 * kLanes * kChains));
    }
    if (caps.dot_product_bf16) {
      TIMCL_ASSIGN(peaks->bf16_flops, Arithmetic("peak_pairs", items, local, 4 * kLanes * kChains));
    }
    peaks->cache_bytes = device_.entry().device.getInfo<CL_DEVICE_GLOBAL_MEM_CACHE_SIZE>(&error);
    if (error != CL_SUCCESS) peaks->cache_bytes = 0;
    constexpr uint64_t kPerUnit = 128 << 10;  // of the cache that is a core's own
    TIMCL_ASSIGN(peaks->cached_bytes, Copy(items, local, kPerUnit * caps.compute_units));
    const uint64_t beyond = std::clamp<uint64_t>(2 * peaks->cache_bytes, 64 << 20, 256 << 20);
    TIMCL_ASSIGN(peaks->memory_bytes, Copy(items, local, std::min(beyond, caps.max_allocation)));
    return Status();
  }

 private:
  Result<cl::Buffer> Memory(size_t bytes) {
    cl_int error = CL_SUCCESS;
    cl::Buffer buffer(device_.context(), CL_MEM_READ_WRITE, bytes, nullptr, &error);
    TIMCL_TRY(ClStatus(error, "clCreateBuffer", "peaks"));
    TIMCL_TRY(
        ClStatus(queue_.enqueueFillBuffer(buffer, 0.0f, 0, bytes), "clEnqueueFillBuffer", "peaks"));
    return buffer;
  }

  /// Least seconds of one step: as many steps as take some milliseconds, so that waking up the
  /// device does not count, and the best of several runs.
  Result<double> SecondsPerStep(cl::Kernel* kernel, cl_uint argument, size_t items, size_t local) {
    constexpr double kLongEnough = 8e-3;
    constexpr int kRuns = 4;
    int steps = 1;
    double best = 0;
    for (int run = 0; run < kRuns;) {
      TIMCL_TRY(ClStatus(kernel->setArg(argument, steps), "clSetKernelArg", "peaks"));
      const auto start = std::chrono::steady_clock::now();
      TIMCL_TRY(ClStatus(queue_.enqueueNDRangeKernel(*kernel, cl::NullRange, cl::NDRange(items),
                                                     cl::NDRange(local)),
                         "clEnqueueNDRangeKernel", "peaks"));
      TIMCL_TRY(ClStatus(queue_.finish(), "clFinish", "peaks"));
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds < kLongEnough && steps < (1 << 28)) {
        steps *= 4;
        continue;
      }
      const double one = seconds / steps;
      best = run++ == 0 ? one : std::min(best, one);
    }
    return best;
  }

  Result<double> Arithmetic(const char* name, size_t items, size_t local, double per_step) {
    cl_int error = CL_SUCCESS;
    cl::Kernel kernel(program_, name, &error);
    TIMCL_TRY(ClStatus(error, "clCreateKernel", name));
    TIMCL_ASSIGN(const cl::Buffer out, Memory(items * sizeof(float)));
    error = kernel.setArg(0, out);
    if (error == CL_SUCCESS) error = kernel.setArg(2, 0.5f);
    if (error == CL_SUCCESS) error = kernel.setArg(3, 1.0f);
    TIMCL_TRY(ClStatus(error, "clSetKernelArg", name));
    TIMCL_ASSIGN(const double seconds, SecondsPerStep(&kernel, 1, items, local));
    return per_step * static_cast<double>(items) / seconds;
  }

  Result<double> Copy(size_t items, size_t local, uint64_t bytes) {
    constexpr uint64_t kVector = 64;
    const uint64_t count = std::max<uint64_t>(bytes / 2 / kVector / items, 1);
    cl_int error = CL_SUCCESS;
    cl::Kernel kernel(program_, "peak_copy", &error);
    TIMCL_TRY(ClStatus(error, "clCreateKernel", "peak_copy"));
    const uint64_t half = count * items * kVector;
    TIMCL_ASSIGN(const cl::Buffer from, Memory(half));
    TIMCL_ASSIGN(const cl::Buffer to, Memory(half));
    error = kernel.setArg(0, from);
    if (error == CL_SUCCESS) error = kernel.setArg(1, to);
    if (error == CL_SUCCESS) error = kernel.setArg(3, static_cast<int>(count));
    TIMCL_TRY(ClStatus(error, "clSetKernelArg", "peak_copy"));
    TIMCL_ASSIGN(const double seconds, SecondsPerStep(&kernel, 2, items, local));
    return 2 * static_cast<double>(half) / seconds;
  }

  const Device& device_;
  cl::CommandQueue queue_;
  cl::Program program_;
};

}  // namespace

double Peaks::Least(double work, Factors factors, uint64_t bytes) const {
  if (!known()) return 0;
  double rate = flops;
  if (factors == Factors::kBytes && byte_flops > 0) rate = byte_flops;
  if (factors == Factors::kBf16 && bf16_flops > 0) rate = bf16_flops;
  const double speed = bytes <= cache_bytes ? cached_bytes : memory_bytes;
  return std::max(work / rate, static_cast<double>(bytes) / speed);
}

std::string Peaks::ToText() const {
  if (!known()) return "";
  std::string text = fmt::format("{:.0f} GFLOP/s", flops / 1e9);
  if (byte_flops > 0) text += fmt::format(", {:.0f} GOP/s on bytes", byte_flops / 1e9);
  if (bf16_flops > 0) text += fmt::format(", {:.0f} GFLOP/s in bfloat16", bf16_flops / 1e9);
  return text + fmt::format(", {:.0f} GB/s within the caches ({} MiB), {:.0f} GB/s beyond",
                            cached_bytes / 1e9, cache_bytes >> 20, memory_bytes / 1e9);
}

Peaks MeasurePeaks(const Device& device) {
  Peaks peaks;
  BeginKernels();
  const Status measured = Meter(device).Measure(&peaks);
  EndKernels();
  if (measured.ok()) return peaks;
  base::Log("profile", base::LogLevel::kWarn, "the device's limits are not known: {}",
            measured.message());
  return Peaks();
}

}  // namespace tim::vx::opencl
