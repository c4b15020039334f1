// The `count` layer: counts what a program asks of OpenCL, above all how often the host waits.
// At exit it writes the counters as JSON to the file named by TIMCL_COUNT_FILE, in which "%p"
// stands for the process id, so that children of one test do not overwrite each other.
#include "count_layer.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "dispatch.h"

namespace {

// No destructors here: the counters are read after main's statics are gone.
struct Counters {
#define TIMCL_ATOMIC(name) std::atomic<int64_t> name{0};
  TIMCL_COUNTS(TIMCL_ATOMIC)
#undef TIMCL_ATOMIC
};
constinit Counters counters;

using Counter = std::atomic<int64_t> Counters::*;
void Add(Counter counter, int64_t n) { (counters.*counter).fetch_add(n); }

// In each of the following, Member is the entry of the table and its type gives the signature.
template <auto Member, typename Fn>
struct SignatureOf;
template <auto Member, typename R, typename... A>
struct SignatureOf<Member, R (CL_API_CALL* cl_icd_dispatch::*)(A...)> {
  static R Next(A... args) { return (timcl_layer::next.*Member)(args...); }

  template <Counter counter>
  struct Counted {
    static R CL_API_CALL Run(A... args) {
      Add(counter, 1);
      return Next(args...);
    }
  };

  // Argument number `at` says whether the call blocks.
  template <Counter counter, size_t at>
  struct Blocking {
    static R CL_API_CALL Run(A... args) {
      const cl_bool blocks = std::get<at>(std::tie(args...));
      Add(blocks != CL_FALSE ? counter : &Counters::nonblocking_transfer, 1);
      return Next(args...);
    }
  };

  template <Counter counter, Counter live>
  struct Creates {
    static R CL_API_CALL Run(A... args) {
      Add(counter, 1);
      R object = Next(args...);
      if (object != nullptr) Add(live, 1);
      return object;
    }
  };

  // Retain (+1) or Release (-1).
  template <Counter live, int step>
  struct References {
    static R CL_API_CALL Run(A... args) {
      const R error = Next(args...);
      if (error == CL_SUCCESS) Add(live, step);
      return error;
    }
  };
};
template <auto Member>
using Entry = SignatureOf<Member, decltype(Member)>;

using Table = cl_icd_dispatch;
using C = Counters;

template <Counter counter, auto... Members>
void Count() {
  (timcl_layer::Install<Members, typename Entry<Members>::template Counted<counter>>(), ...);
}
template <Counter counter, size_t at, auto... Members>
void CountBlocking() {
  (timcl_layer::Install<Members, typename Entry<Members>::template Blocking<counter, at>>(), ...);
}
template <Counter counter, Counter live, auto... Members>
void CountCreates() {
  (timcl_layer::Install<Members, typename Entry<Members>::template Creates<counter, live>>(), ...);
}
template <Counter live, auto Retain, auto Release>
void CountReferences() {
  timcl_layer::Install<Retain, typename Entry<Retain>::template References<live, 1>>();
  timcl_layer::Install<Release, typename Entry<Release>::template References<live, -1>>();
}

struct KernelsInProgram {
  static cl_int CL_API_CALL Run(cl_program program, cl_uint room, cl_kernel* kernels,
                                cl_uint* count_ret) {
    cl_uint count = 0;
    const cl_int error = timcl_layer::next.clCreateKernelsInProgram(program, room, kernels, &count);
    if (count_ret != nullptr) *count_ret = count;
    Add(&C::create_kernel, 1);
    if (error == CL_SUCCESS && kernels != nullptr) Add(&C::live_kernels, count);
    return error;
  }
};

// Which queues have kernels that may run, and how many calls that ask for binaries are under way.
constinit std::mutex overlap_mutex;
constinit int asking = 0;
std::set<cl_command_queue>& Busy() {
  static auto* const busy = new std::set<cl_command_queue>();
  return *busy;
}

struct GetProgramInfo {
  static cl_int CL_API_CALL Run(cl_program program, cl_program_info name, size_t size, void* value,
                                size_t* size_ret) {
    if (name != CL_PROGRAM_BINARIES)
      return timcl_layer::next.clGetProgramInfo(program, name, size, value, size_ret);
    Add(&C::program_binaries, 1);
    {
      const std::lock_guard lock(overlap_mutex);
      if (!Busy().empty()) Add(&C::binaries_and_kernels, 1);
      ++asking;
    }
    const cl_int error = timcl_layer::next.clGetProgramInfo(program, name, size, value, size_ret);
    const std::lock_guard lock(overlap_mutex);
    --asking;
    return error;
  }
};

struct EnqueueKernel {
  static cl_int CL_API_CALL Run(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                const size_t* offset, const size_t* global, const size_t* local,
                                cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
    Add(&C::enqueue_kernel, 1);
    {
      const std::lock_guard lock(overlap_mutex);
      if (asking > 0) Add(&C::binaries_and_kernels, 1);
      Busy().insert(queue);
    }
    return timcl_layer::next.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                                    wait_count, wait_list, event);
  }
};

struct Finish {
  static cl_int CL_API_CALL Run(cl_command_queue queue) {
    Add(&C::finish, 1);
    const cl_int error = timcl_layer::next.clFinish(queue);
    const std::lock_guard lock(overlap_mutex);
    if (error == CL_SUCCESS) Busy().erase(queue);
    return error;
  }
};

struct SvmFree {
  static void CL_API_CALL Run(cl_context context, void* pointer) {
    timcl_layer::next.clSVMFree(context, pointer);
    if (pointer != nullptr) Add(&C::live_svm, -1);
  }
};

struct EnqueueSvmFree {
  using Callback = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*);
  static cl_int CL_API_CALL Run(cl_command_queue queue, cl_uint count, void* pointers[],
                                Callback callback, void* user_data, cl_uint wait_count,
                                const cl_event* wait_list, cl_event* event) {
    const cl_int error = timcl_layer::next.clEnqueueSVMFree(
        queue, count, pointers, callback, user_data, wait_count, wait_list, event);
    if (error == CL_SUCCESS) Add(&C::live_svm, -static_cast<int64_t>(count));
    return error;
  }
};

__attribute__((destructor)) void WriteCounters() {
  const char* named = std::getenv("TIMCL_COUNT_FILE");
  if (named == nullptr || *named == '\0') return;
  std::string path = named;
  if (const size_t at = path.find("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "count layer: cannot write %s\n", path.c_str());
    return;
  }
  const char* separator = "{";
#define TIMCL_PRINT(name)                                     \
  std::fprintf(file, "%s\n  \"" #name "\": %lld", separator,  \
               static_cast<long long>(counters.name.load())); \
  separator = ",";
  TIMCL_COUNTS(TIMCL_PRINT)
#undef TIMCL_PRINT
  std::fprintf(file, "\n}\n");
  std::fclose(file);
}

}  // namespace

static void timcl_layer::InstallHooks() {
  Count<&C::wait_for_events, &Table::clWaitForEvents>();
  Count<&C::flush, &Table::clFlush>();
  Count<&C::enqueue_kernel, &Table::clEnqueueTask>();
  Count<&C::enqueue_copy_or_fill, &Table::clEnqueueCopyBuffer, &Table::clEnqueueCopyBufferRect,
        &Table::clEnqueueCopyImage, &Table::clEnqueueCopyImageToBuffer,
        &Table::clEnqueueCopyBufferToImage, &Table::clEnqueueFillBuffer, &Table::clEnqueueFillImage,
        &Table::clEnqueueSVMMemFill>();
  Count<&C::build_program, &Table::clBuildProgram>();
  Count<&C::compile_program, &Table::clCompileProgram>();

  CountBlocking<&C::blocking_read, 2, &Table::clEnqueueReadBuffer, &Table::clEnqueueReadBufferRect,
                &Table::clEnqueueReadImage>();
  CountBlocking<&C::blocking_write, 2, &Table::clEnqueueWriteBuffer,
                &Table::clEnqueueWriteBufferRect, &Table::clEnqueueWriteImage>();
  CountBlocking<&C::blocking_map, 2, &Table::clEnqueueMapBuffer, &Table::clEnqueueMapImage>();
  CountBlocking<&C::blocking_svm, 1, &Table::clEnqueueSVMMemcpy, &Table::clEnqueueSVMMap>();

  CountCreates<&C::link_program, &C::live_programs, &Table::clLinkProgram>();
  CountCreates<&C::program_with_source, &C::live_programs, &Table::clCreateProgramWithSource>();
  CountCreates<&C::program_with_binary, &C::live_programs, &Table::clCreateProgramWithBinary,
               &Table::clCreateProgramWithIL>();
  CountCreates<&C::create_buffer, &C::live_mem_objects, &Table::clCreateBuffer,
               &Table::clCreateBufferWithProperties>();
  CountCreates<&C::create_sub_buffer, &C::live_mem_objects, &Table::clCreateSubBuffer>();
  CountCreates<&C::create_image, &C::live_mem_objects, &Table::clCreateImage,
               &Table::clCreateImage2D, &Table::clCreateImage3D,
               &Table::clCreateImageWithProperties>();
  CountCreates<&C::create_kernel, &C::live_kernels, &Table::clCreateKernel,
               &Table::clCloneKernel>();
  CountCreates<&C::create_queue, &C::live_queues, &Table::clCreateCommandQueue,
               &Table::clCreateCommandQueueWithProperties>();
  CountCreates<&C::create_context, &C::live_contexts, &Table::clCreateContext,
               &Table::clCreateContextFromType>();
  CountCreates<&C::svm_alloc, &C::live_svm, &Table::clSVMAlloc>();

  CountReferences<&C::live_mem_objects, &Table::clRetainMemObject, &Table::clReleaseMemObject>();
  CountReferences<&C::live_programs, &Table::clRetainProgram, &Table::clReleaseProgram>();
  CountReferences<&C::live_kernels, &Table::clRetainKernel, &Table::clReleaseKernel>();
  CountReferences<&C::live_queues, &Table::clRetainCommandQueue, &Table::clReleaseCommandQueue>();
  CountReferences<&C::live_contexts, &Table::clRetainContext, &Table::clReleaseContext>();

  Install<&Table::clCreateKernelsInProgram, KernelsInProgram>();
  Install<&Table::clGetProgramInfo, GetProgramInfo>();
  Install<&Table::clEnqueueNDRangeKernel, EnqueueKernel>();
  Install<&Table::clFinish, Finish>();
  Install<&Table::clSVMFree, SvmFree>();
  Install<&Table::clEnqueueSVMFree, EnqueueSvmFree>();
}

extern "C" __attribute__((visibility("default"))) void timcl_count_snapshot(timcl_counts* out) {
#define TIMCL_COPY(name) out->name = counters.name.load();
  TIMCL_COUNTS(TIMCL_COPY)
#undef TIMCL_COPY
}
