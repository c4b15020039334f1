// The `fault` layer: makes the n-th OpenCL call of a kind fail with an error that a driver could
// give, and passes everything else through. Tests count n up until no failure is left.
#include "fault_layer.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <tuple>
#include <type_traits>

#include "dispatch.h"

namespace {

enum Kind : uint32_t {
  kNone = 0,
  kBuffer = 1,
  kBuild = 2,
  kKernel = 4,
  kEnqueue = 8,
  kRead = 16,
  kWrite = 32,
  kWait = 64,
  kSetup = 128,
  kBinary = 256,
  kAny = 511,
};
constexpr struct {
  const char* name;
  Kind kind;
} kKinds[] = {{"none", kNone},       {"buffer", kBuffer}, {"build", kBuild}, {"kernel", kKernel},
              {"enqueue", kEnqueue}, {"read", kRead},     {"write", kWrite}, {"wait", kWait},
              {"setup", kSetup},     {"binary", kBinary}, {"any", kAny}};

// One mutex for the numbers: arming while other threads call must not tear them.
constinit std::mutex mutex;
uint32_t armed = kNone;
int fail_at = 0;
bool for_good = false;
uint32_t delayed = kNone;
int delay_ms = 0;
int seen = 0;
int hits = 0;

bool ShouldFail(Kind kind) {
  std::unique_lock lock(mutex);
  const int sleep_ms = (delayed & kind) != 0 ? delay_ms : 0;
  bool fail = false;
  if ((armed & kind) != 0) {
    fail = for_good ? seen >= fail_at : seen == fail_at;
    ++seen;
    hits += fail;
  }
  lock.unlock();
  if (sleep_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(sleep_ms));
  return fail;
}

bool IsForGood() {
  const std::lock_guard lock(mutex);
  return for_good;
}

/// Null where there is no such kind.
const Kind* KindOf(const char* name) {
  if (name == nullptr) return nullptr;
  for (const auto& row : kKinds) {
    if (std::strcmp(row.name, name) == 0) return &row.kind;
  }
  return nullptr;
}

int Arm(const char* name, int n, bool from) {
  const Kind* const kind = KindOf(name);
  if (kind == nullptr || n < 0) return -1;
  const std::lock_guard lock(mutex);
  armed = *kind;
  fail_at = n;
  for_good = from;
  seen = hits = 0;
  return 0;
}

template <auto Member, typename Fn>
struct SignatureOf;
template <auto Member, typename R, typename... A>
struct SignatureOf<Member, R (CL_API_CALL* cl_icd_dispatch::*)(A...)> {
  template <Kind kind, cl_int error>
  struct Fails {
    static R CL_API_CALL Run(A... args) {
      if (!ShouldFail(kind)) return (timcl_layer::next.*Member)(args...);
      // A device that is lost runs nothing more, so what it had begun must have ended.
      if (kind == kWait && IsForGood()) (void)(timcl_layer::next.*Member)(args...);
      if constexpr (std::is_pointer_v<R>) {
        // Objects come with an error in the last argument, clSVMAlloc's alone without.
        auto last = std::get<sizeof...(A) - 1>(std::tuple<A...>(args...));
        if constexpr (std::is_same_v<decltype(last), cl_int*>) {
          if (last != nullptr) *last = error;
        }
        return nullptr;
      } else {
        return error;
      }
    }
  };
};

using Table = cl_icd_dispatch;

struct GetProgramInfo {
  static cl_int CL_API_CALL Run(cl_program program, cl_program_info name, size_t size, void* value,
                                size_t* size_ret) {
    if (name == CL_PROGRAM_BINARIES && ShouldFail(kBinary)) return CL_OUT_OF_HOST_MEMORY;
    return timcl_layer::next.clGetProgramInfo(program, name, size, value, size_ret);
  }
};

template <Kind kind, cl_int error, auto... Members>
void Fail() {
  (timcl_layer::Install<
       Members, typename SignatureOf<Members, decltype(Members)>::template Fails<kind, error>>(),
   ...);
}

void ArmFromEnvironment() {
  const char* kind = std::getenv("TIMCL_FAULT_CALL");
  if (kind == nullptr) return;
  const char* n = std::getenv("TIMCL_FAULT_N");
  char* end = nullptr;
  const long number = n != nullptr ? std::strtol(n, &end, 10) : 0;
  const bool readable = n == nullptr || (end != n && *end == '\0' && number <= INT32_MAX);
  if (readable && Arm(kind, static_cast<int>(number), false) == 0) return;
  // A misspelt fault would be a test that cannot fail.
  std::fprintf(stderr, "fault layer: TIMCL_FAULT_CALL=%s TIMCL_FAULT_N=%s makes no sense\n", kind,
               n != nullptr ? n : "");
  std::abort();
}

}  // namespace

static void timcl_layer::InstallHooks() {
  Fail<kBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, &Table::clCreateBuffer,
       &Table::clCreateBufferWithProperties, &Table::clCreateSubBuffer, &Table::clCreateImage,
       &Table::clCreateImage2D, &Table::clCreateImage3D, &Table::clCreateImageWithProperties,
       &Table::clSVMAlloc>();
  Fail<kBuild, CL_BUILD_PROGRAM_FAILURE, &Table::clBuildProgram>();
  Fail<kBuild, CL_COMPILE_PROGRAM_FAILURE, &Table::clCompileProgram>();
  Fail<kBuild, CL_LINK_PROGRAM_FAILURE, &Table::clLinkProgram>();
  Fail<kBuild, CL_OUT_OF_HOST_MEMORY, &Table::clCreateProgramWithSource,
       &Table::clCreateProgramWithIL>();
  Fail<kBuild, CL_INVALID_BINARY, &Table::clCreateProgramWithBinary>();
  Fail<kKernel, CL_OUT_OF_HOST_MEMORY, &Table::clCreateKernel, &Table::clCloneKernel,
       &Table::clCreateKernelsInProgram, &Table::clSetKernelArg>();
  Fail<kEnqueue, CL_OUT_OF_RESOURCES, &Table::clEnqueueNDRangeKernel, &Table::clEnqueueTask,
       &Table::clEnqueueCopyBuffer, &Table::clEnqueueCopyBufferRect, &Table::clEnqueueCopyImage,
       &Table::clEnqueueCopyImageToBuffer, &Table::clEnqueueCopyBufferToImage,
       &Table::clEnqueueFillBuffer, &Table::clEnqueueFillImage, &Table::clEnqueueSVMMemFill>();
  Fail<kRead, CL_OUT_OF_RESOURCES, &Table::clEnqueueReadBuffer, &Table::clEnqueueReadBufferRect,
       &Table::clEnqueueReadImage, &Table::clEnqueueMapBuffer, &Table::clEnqueueMapImage,
       &Table::clEnqueueSVMMemcpy, &Table::clEnqueueSVMMap>();
  Fail<kWrite, CL_OUT_OF_RESOURCES, &Table::clEnqueueWriteBuffer, &Table::clEnqueueWriteBufferRect,
       &Table::clEnqueueWriteImage, &Table::clEnqueueUnmapMemObject, &Table::clEnqueueSVMUnmap>();
  Fail<kWait, CL_OUT_OF_RESOURCES, &Table::clFinish, &Table::clWaitForEvents, &Table::clFlush>();
  Fail<kSetup, CL_OUT_OF_HOST_MEMORY, &Table::clCreateContext, &Table::clCreateContextFromType,
       &Table::clCreateCommandQueue, &Table::clCreateCommandQueueWithProperties>();
  Install<&Table::clGetProgramInfo, GetProgramInfo>();
  ArmFromEnvironment();
}

extern "C" {

__attribute__((visibility("default"))) int timcl_fault_arm(const char* kind, int n) {
  return Arm(kind, n, false);
}

__attribute__((visibility("default"))) int timcl_fault_arm_from(const char* kind, int n) {
  return Arm(kind, n, true);
}

__attribute__((visibility("default"))) int timcl_fault_delay(const char* kind, int milliseconds) {
  const Kind* const found = KindOf(kind);
  if (found == nullptr || milliseconds < 0) return -1;
  const std::lock_guard lock(mutex);
  delayed = *found;
  delay_ms = milliseconds;
  return 0;
}

__attribute__((visibility("default"))) int timcl_fault_hits() {
  const std::lock_guard lock(mutex);
  return hits;
}

__attribute__((visibility("default"))) int timcl_fault_seen() {
  const std::lock_guard lock(mutex);
  return seen;
}

}  // extern "C"
