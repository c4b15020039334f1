// Queue and shared memory of a graph: see session.h.
#include "backends/opencl/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/process.h"

namespace tim::vx::opencl {
namespace {

/// Kernels may read whole float16 values, which want this.
constexpr uintptr_t kVectorAlignment = 64;

const void* DataOf(const Constant& c) { return c.memory ? c.memory->data() : c.data->data(); }
size_t BytesOf(const Constant& c) { return c.memory ? c.memory->bytes() : c.data->size(); }

Status CheckSize(const DeviceCaps& caps, size_t bytes, const TensorType& type,
                 const std::string& where) {
  if (bytes <= caps.max_allocation) return Status();
  return Status::Error(
      Code::kOutOfMemory,
      fmt::format("{}: constant {} takes {} bytes, and the device's largest allocation is {}",
                  where, type.dtype == DataType::UNKNOWN ? "data" : type.ToString(), bytes,
                  caps.max_allocation));
}

}  // namespace

Result<std::shared_ptr<Session>> Session::Create(std::shared_ptr<Device> device) {
  TIMCL_TRY(CheckProcess());
  std::shared_ptr<Session> session(new Session());
  session->device_ = std::move(device);
  TIMCL_TRY(session->SetProfiling(false));
  return session;
}

Status Session::SetProfiling(bool on) {
  TIMCL_TRY(Finish());
  cl_int error = CL_SUCCESS;
  cl::CommandQueue queue(device_->context(), device_->entry().device,
                         on ? cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE} : 0, &error);
  TIMCL_TRY(ClStatus(error, "clCreateCommandQueue", device_->caps().name));
  queue_ = std::move(queue);
  return Status();
}

Session::~Session() {
  // In a child made by fork() nobody works any more.
  if (!working_ || !CheckProcess().ok()) return;
  (void)queue_.finish();  // nothing may still write to memory that goes away
  EndKernels();
}

void Session::NoteWork() {
  if (!working_) BeginKernels();
  working_ = true;
}

DeviceMirror* Session::MirrorOf(kernel::Memory* memory) {
  std::unique_ptr<DeviceMirror>& mirror = mirrors_[memory];
  if (mirror == nullptr) mirror = std::make_unique<DeviceMirror>(device_.get(), memory);
  return mirror.get();
}

Result<cl_mem> Session::ConstantOf(const Constant& constant, const std::string& where) {
  const void* data = DataOf(constant);
  const auto found = constants_.find(data);
  if (found != constants_.end()) return found->second.buffer();
  const size_t bytes = BytesOf(constant);
  TIMCL_TRY(CheckSize(device_->caps(), bytes, constant.type, where));
  const bool in_place =
      device_->caps().shared_memory && reinterpret_cast<uintptr_t>(data) % kVectorAlignment == 0;
  cl_int error = CL_SUCCESS;
  Held held{constant, cl::Buffer()};
  // OpenCL takes a pointer to changeable bytes even for a buffer that is only read.
  held.buffer =
      bytes == 0
          ? cl::Buffer(device_->context(), CL_MEM_READ_ONLY, 1, nullptr, &error)
          : cl::Buffer(device_->context(),
                       CL_MEM_READ_ONLY | (in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR),
                       bytes, const_cast<void*>(data), &error);
  TIMCL_TRY(ClStatus(error, "clCreateBuffer", where));
  const cl_mem handle = held.buffer();
  constants_.emplace(data, std::move(held));
  return handle;
}

Result<cl_mem> Session::ConstantImage(const Constant& constant, const ImageHeader& header,
                                      const std::string& where) {
  const void* data = DataOf(constant);
  for (const auto& [known, held] : constant_images_) {
    if (known == header && DataOf(held.constant) == data) return held.buffer();
  }
  const size_t bytes = BytesOf(constant);
  TIMCL_TRY(CheckSize(device_->caps(), bytes + sizeof header, constant.type, where));
  std::vector<std::byte> image(sizeof header + bytes);
  std::memcpy(image.data(), &header, sizeof header);
  if (bytes != 0) std::memcpy(image.data() + sizeof header, data, bytes);
  cl_int error = CL_SUCCESS;
  Held held{constant, cl::Buffer(device_->context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 image.size(), image.data(), &error)};
  TIMCL_TRY(ClStatus(error, "clCreateBuffer", where));
  const cl_mem handle = held.buffer();
  constant_images_.emplace_back(header, std::move(held));
  return handle;
}

Status Session::Finish() {
  if (!working_) return Status();
  TIMCL_TRY(CheckProcess());
  ++run_;
  const cl_int error = queue_.finish();
  if (error == CL_SUCCESS) {
    working_ = false;
    EndKernels();
  } else {
    // The end of the session waits once more. What was to be on the device may not be there.
    for (auto& [memory, mirror] : mirrors_) mirror->ForgetExchanges();
  }
  return ClStatus(error, "clFinish", device_->caps().name);
}

}  // namespace tim::vx::opencl
