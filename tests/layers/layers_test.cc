// Proves that the count layer counts and the fault layer fails what they say, in plain OpenCL.
// One argument names the case; the environment (OPENCL_LAYERS, ...) is set by CMakeLists.txt.
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "count_layer.h"
#include "fault_layer.h"
#include "layer_access.h"

namespace {

int failures = 0;

#define EXPECT_EQ(actual, expected)                                                         \
  do {                                                                                      \
    const long long got = static_cast<long long>(actual);                                   \
    const long long want = static_cast<long long>(expected);                                \
    if (got != want) {                                                                      \
      std::printf("%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #actual, got, want); \
      ++failures;                                                                           \
    }                                                                                       \
  } while (false)

constexpr size_t kCount = 16;
constexpr const char* kSource = "kernel void twice(global int* x) { x[get_global_id(0)] *= 2; }";

// One small computation, step by step. Each step returns its error; Close releases what there is.
struct Computation {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  cl_mem half = nullptr;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
  std::vector<cl_int> data = std::vector<cl_int>(kCount, 21);

  cl_int Open() {
    cl_platform_id platform = nullptr;
    cl_int error = clGetPlatformIDs(1, &platform, nullptr);
    if (error == CL_SUCCESS) {
      error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    }
    if (error == CL_SUCCESS) {
      context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    }
    if (error == CL_SUCCESS) queue = clCreateCommandQueue(context, device, 0, &error);
    return error;
  }
  cl_int Allocate() {
    cl_int error = CL_SUCCESS;
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, Bytes(), nullptr, &error);
    return error;
  }
  cl_int AllocatePart() {
    cl_int error = CL_SUCCESS;
    const cl_buffer_region region = {0, Bytes() / 2};
    half =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    return error;
  }
  cl_int Source() {
    cl_int error = CL_SUCCESS;
    const char* text = kSource;
    program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
    return error;
  }
  cl_int Build() { return clBuildProgram(program, 1, &device, "", nullptr, nullptr); }
  cl_int Kernel() {
    cl_int error = CL_SUCCESS;
    kernel = clCreateKernel(program, "twice", &error);
    if (error == CL_SUCCESS) error = clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    return error;
  }
  cl_int Write(cl_bool blocks) {
    return clEnqueueWriteBuffer(queue, buffer, blocks, 0, Bytes(), data.data(), 0, nullptr,
                                nullptr);
  }
  cl_int Launch() {
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kCount, nullptr, 0, nullptr, nullptr);
  }
  cl_int Read(cl_bool blocks) {
    return clEnqueueReadBuffer(queue, buffer, blocks, 0, Bytes(), data.data(), 0, nullptr, nullptr);
  }
  // All of it, up to the first error.
  cl_int Run() {
    cl_int error = Open();
    if (error == CL_SUCCESS) error = Allocate();
    if (error == CL_SUCCESS) error = AllocatePart();
    if (error == CL_SUCCESS) error = Source();
    if (error == CL_SUCCESS) error = Build();
    if (error == CL_SUCCESS) error = Kernel();
    if (error == CL_SUCCESS) error = Write(CL_FALSE);
    if (error == CL_SUCCESS) error = Launch();
    if (error == CL_SUCCESS) error = Read(CL_FALSE);
    if (error == CL_SUCCESS) error = clFinish(queue);
    return error;
  }
  void Close() {
    // Where clFinish was made to fail, work is under way; PoCL 3.1 can hang in the release then.
    if (queue != nullptr) clFinish(queue);
    if (kernel != nullptr) clReleaseKernel(kernel);
    if (program != nullptr) clReleaseProgram(program);
    if (half != nullptr) clReleaseMemObject(half);
    if (buffer != nullptr) clReleaseMemObject(buffer);
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
    *this = Computation();
  }
  size_t Bytes() const { return kCount * sizeof(cl_int); }
};

template <typename Fn>
Fn Find(const char* symbol) {
  Fn found = FindInLayers<Fn>(symbol);
  if (found == nullptr) {
    std::printf("no layer exports %s\n", symbol);
    std::exit(1);
  }
  return found;
}

timcl_counts Counts() {
  timcl_counts counts;
  Find<timcl_count_snapshot_fn>("timcl_count_snapshot")(&counts);
  return counts;
}

void ExpectNothingLive() {
  const timcl_counts counts = Counts();
  EXPECT_EQ(counts.live_mem_objects, 0);
  EXPECT_EQ(counts.live_programs, 0);
  EXPECT_EQ(counts.live_kernels, 0);
  EXPECT_EQ(counts.live_queues, 0);
  EXPECT_EQ(counts.live_contexts, 0);
}

void TestSvmCounts(const Computation& c) {
  cl_device_svm_capabilities svm = 0;  // stays 0 on a device of OpenCL 1.2
  clGetDeviceInfo(c.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, nullptr);
  if (svm == 0) return;
  void* shared = clSVMAlloc(c.context, CL_MEM_READ_WRITE, c.Bytes(), 0);
  const timcl_counts before = Counts();
  EXPECT_EQ(before.svm_alloc, 1);
  EXPECT_EQ(before.live_svm, 1);
  std::vector<cl_int> copy(kCount);
  for (cl_bool blocks : {CL_FALSE, CL_TRUE}) {
    EXPECT_EQ(clEnqueueSVMMap(c.queue, blocks, CL_MAP_READ, shared, c.Bytes(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clEnqueueSVMUnmap(c.queue, shared, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(
        clEnqueueSVMMemcpy(c.queue, blocks, copy.data(), shared, c.Bytes(), 0, nullptr, nullptr),
        CL_SUCCESS);
  }
  const timcl_counts after = Counts();
  EXPECT_EQ(after.blocking_svm - before.blocking_svm, 2);
  EXPECT_EQ(after.nonblocking_transfer - before.nonblocking_transfer, 2);
  clSVMFree(c.context, shared);
  EXPECT_EQ(Counts().live_svm, 0);
}

void TestCount() {
  const timcl_counts start = Counts();
  EXPECT_EQ(timcl_count_syncs(&start), 0);
  Computation c;
  EXPECT_EQ(c.Run(), CL_SUCCESS);
  EXPECT_EQ(c.data[kCount - 1], 42);  // the layer passes the work on

  timcl_counts n = Counts();
  EXPECT_EQ(n.create_context, 1);
  EXPECT_EQ(n.create_queue, 1);
  EXPECT_EQ(n.create_buffer, 1);
  EXPECT_EQ(n.create_sub_buffer, 1);
  EXPECT_EQ(n.program_with_source, 1);
  EXPECT_EQ(n.program_with_binary, 0);
  EXPECT_EQ(n.build_program, 1);
  EXPECT_EQ(n.create_kernel, 1);
  EXPECT_EQ(n.enqueue_kernel, 1);
  EXPECT_EQ(n.nonblocking_transfer, 2);
  EXPECT_EQ(n.finish, 1);
  EXPECT_EQ(timcl_count_syncs(&n), 1);
  EXPECT_EQ(n.live_mem_objects, 2);
  EXPECT_EQ(n.live_programs, 1);
  EXPECT_EQ(n.live_kernels, 1);

  // Every way to wait, once each.
  EXPECT_EQ(c.Write(CL_TRUE), CL_SUCCESS);
  EXPECT_EQ(c.Read(CL_TRUE), CL_SUCCESS);
  cl_int error = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(c.queue, c.buffer, CL_TRUE, CL_MAP_READ, 0, c.Bytes(), 0,
                                    nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl_event event = nullptr;
  EXPECT_EQ(clEnqueueUnmapMemObject(c.queue, c.buffer, mapped, 0, nullptr, &event), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
  clReleaseEvent(event);
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {8, 2, 1};
  EXPECT_EQ(clEnqueueReadBufferRect(c.queue, c.buffer, CL_TRUE, origin, origin, region, 16, 0, 16,
                                    0, c.data.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(clEnqueueWriteBufferRect(c.queue, c.buffer, CL_TRUE, origin, origin, region, 16, 0, 16,
                                     0, c.data.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  timcl_counts after = Counts();
  EXPECT_EQ(after.blocking_read, 2);
  EXPECT_EQ(after.blocking_write, 2);
  EXPECT_EQ(after.blocking_map, 1);
  EXPECT_EQ(after.wait_for_events, 1);
  EXPECT_EQ(after.finish, 1);
  EXPECT_EQ(timcl_count_syncs(&after), 7);

  // Programs the other ways: separate compilation, and from a binary.
  const char* text = kSource;
  cl_program part = clCreateProgramWithSource(c.context, 1, &text, nullptr, &error);
  EXPECT_EQ(clCompileProgram(part, 1, &c.device, "", 0, nullptr, nullptr, nullptr, nullptr),
            CL_SUCCESS);
  cl_program linked =
      clLinkProgram(c.context, 1, &c.device, "", 1, &part, nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  size_t size = 0;
  EXPECT_EQ(clGetProgramInfo(c.program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr),
            CL_SUCCESS);
  std::vector<unsigned char> binary(size);
  unsigned char* bytes = binary.data();
  EXPECT_EQ(clGetProgramInfo(c.program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr),
            CL_SUCCESS);
  const unsigned char* read_only = bytes;
  cl_program loaded =
      clCreateProgramWithBinary(c.context, 1, &c.device, &size, &read_only, nullptr, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  n = Counts();
  EXPECT_EQ(n.program_binaries, 1);
  EXPECT_EQ(n.binaries_and_kernels, 0);
  EXPECT_EQ(n.compile_program, 1);
  EXPECT_EQ(n.link_program, 1);
  EXPECT_EQ(n.program_with_binary, 1);
  EXPECT_EQ(n.program_with_source, 2);
  EXPECT_EQ(n.live_programs, 4);
  EXPECT_EQ(clRetainProgram(loaded), CL_SUCCESS);
  EXPECT_EQ(Counts().live_programs, 5);
  cl_kernel kernels[1] = {};
  EXPECT_EQ(clCreateKernelsInProgram(c.program, 1, kernels, nullptr), CL_SUCCESS);
  EXPECT_EQ(Counts().create_kernel, 2);
  EXPECT_EQ(Counts().live_kernels, 2);
  clReleaseKernel(kernels[0]);
  for (cl_program program : {part, linked, loaded, loaded}) clReleaseProgram(program);
  TestSvmCounts(c);
  c.Close();
  ExpectNothingLive();
}

// A child computes once and exits; the parent reads what the layer wrote.
void TestJson() {
  const std::string path = "timcl_count_" + std::to_string(getpid()) + ".json";
  const pid_t child = fork();
  if (child == 0) {
    setenv("TIMCL_COUNT_FILE", path.c_str(), 1);
    Computation c;
    const cl_int error = c.Run();
    c.Close();
    std::exit(error == CL_SUCCESS ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ifstream file(path);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  for (const char* line : {"{\n  \"finish\": 2,", "\"enqueue_kernel\": 1,", "\"build_program\": 1,",
                           "\"live_mem_objects\": 0,", "\"live_svm\": 0\n}\n"}) {
    if (json.find(line) == std::string::npos) {
      std::printf("%s lacks %s:\n%s\n", path.c_str(), line, json.c_str());
      ++failures;
    }
  }
  std::remove(path.c_str());
}

// Fails call 0, 1, ... of each kind until none is left; expects the error of just that call.
void TestFault() {
  const auto arm = Find<timcl_fault_arm_fn>("timcl_fault_arm");
  const auto hits = Find<timcl_fault_hits_fn>("timcl_fault_hits");
  const auto seen = Find<timcl_fault_seen_fn>("timcl_fault_seen");
  EXPECT_EQ(arm("bufer", 0), -1);
  EXPECT_EQ(arm("buffer", -1), -1);
  EXPECT_EQ(arm(nullptr, 0), -1);

  const struct {
    const char* kind;
    std::vector<cl_int> errors;
  } expected[] = {
      {"buffer", {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_MEM_OBJECT_ALLOCATION_FAILURE}},
      {"build", {CL_OUT_OF_HOST_MEMORY, CL_BUILD_PROGRAM_FAILURE}},
      {"kernel", {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY}},
      {"enqueue", {CL_OUT_OF_RESOURCES}},
      {"read", {CL_OUT_OF_RESOURCES}},
      {"write", {CL_OUT_OF_RESOURCES}},
      {"wait", {CL_OUT_OF_RESOURCES}},
      {"setup", {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY}},
      {"any",
       {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE,
        CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_BUILD_PROGRAM_FAILURE,
        CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES,
        CL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES}},
  };
  for (const auto& row : expected) {
    const int calls = static_cast<int>(row.errors.size());
    for (int n = 0; n <= calls; ++n) {
      EXPECT_EQ(arm(row.kind, n), 0);
      Computation c;
      const cl_int error = c.Run();
      EXPECT_EQ(error, n < calls ? row.errors[n] : CL_SUCCESS);
      EXPECT_EQ(hits(), n < calls ? 1 : 0);
      EXPECT_EQ(seen(), n < calls ? n + 1 : calls);
      EXPECT_EQ(arm("none", 0), 0);
      EXPECT_EQ(hits(), 0);
      c.Close();
      if (failures > 0) std::printf("  (kind %s, n %d)\n", row.kind, n);
    }
  }
  // For good: from the n-th on, until it is armed anew.
  {
    EXPECT_EQ(Find<timcl_fault_arm_from_fn>("timcl_fault_arm_from")("buffer", 1), 0);
    Computation c;
    EXPECT_EQ(c.Open(), CL_SUCCESS);
    EXPECT_EQ(c.Allocate(), CL_SUCCESS);
    EXPECT_EQ(c.AllocatePart(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_EQ(c.AllocatePart(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_EQ(hits(), 2);
    EXPECT_EQ(arm("none", 0), 0);
    EXPECT_EQ(c.AllocatePart(), CL_SUCCESS);
    c.Close();
  }
  // A delayed call passes all the same.
  {
    const auto delay = Find<timcl_fault_delay_fn>("timcl_fault_delay");
    EXPECT_EQ(delay("bufer", 1), -1);
    EXPECT_EQ(delay("buffer", -1), -1);
    EXPECT_EQ(delay("buffer", 20), 0);
    Computation c;
    EXPECT_EQ(c.Open(), CL_SUCCESS);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(c.Allocate(), CL_SUCCESS);
    EXPECT_EQ(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20), true);
    EXPECT_EQ(delay("none", 0), 0);
    c.Close();
  }
  // Only the n-th: the same call works when repeated.
  Computation c;
  EXPECT_EQ(c.Open(), CL_SUCCESS);
  EXPECT_EQ(arm("buffer", 0), 0);
  EXPECT_EQ(c.Allocate(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(c.Allocate(), CL_SUCCESS);
  EXPECT_EQ(hits(), 1);
  c.Close();
}

// Armed by TIMCL_FAULT_CALL=build, TIMCL_FAULT_N=1 in the environment: the build fails.
void TestFaultFromEnvironment() {
  Computation c;
  EXPECT_EQ(c.Run(), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(Find<timcl_fault_hits_fn>("timcl_fault_hits")(), 1);
  c.Close();
}

// Both layers at once: nothing stays behind whichever call fails, and counting goes on.
void TestBoth() {
  const auto arm = Find<timcl_fault_arm_fn>("timcl_fault_arm");
  const auto hits = Find<timcl_fault_hits_fn>("timcl_fault_hits");
  int n = 0;
  for (;; ++n) {
    EXPECT_EQ(arm("any", n), 0);
    Computation c;
    c.Run();
    const bool failed = hits() != 0;
    arm("none", 0);
    c.Close();
    ExpectNothingLive();
    if (!failed) break;
  }
  EXPECT_EQ(n, 12);
  const timcl_counts counts = Counts();
  EXPECT_EQ(counts.create_context, n + 1);  // failed calls count too: the count layer is outside
  // Run's, once failed and once not; Close's in all rounds but the two that got no queue.
  EXPECT_EQ(counts.finish, 2 + (n + 1 - 2));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  if (name == "count") {
    TestCount();
  } else if (name == "json") {
    TestJson();
  } else if (name == "fault") {
    TestFault();
  } else if (name == "fault_env") {
    TestFaultFromEnvironment();
  } else if (name == "both") {
    TestBoth();
  } else {
    std::printf("usage: layers_test count|json|fault|fault_env|both\n");
    return 2;
  }
  std::printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
