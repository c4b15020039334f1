// Buffers over memory: see device_mirror.h.
#include "backends/opencl/run/device_mirror.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backends/opencl/run/cl_error.h"

namespace tim::vx::opencl {
namespace {
// Double and triple buffering by SwapHandle stay below this.
constexpr size_t kPlacesKept = 8;
constexpr size_t kHeader = kernel::Memory::kHeaderBytes;
}  // namespace

uint64_t DeviceMirror::Follow() {
  const bool shared = device_->caps().shared_memory;
  // A device with its own memory holds one copy, wherever the host's bytes lie.
  void* address = shared ? memory_->data() : nullptr;
  const bool has_header = shared && memory_->has_header();
  const size_t bytes = memory_->bytes();
  auto same = [&](const Place& p) {
    return p.address == address && p.has_header == has_header && p.bytes == bytes;
  };
  if (!places_.empty() && same(places_.front())) return places_.front().generation;
  const auto found = std::find_if(places_.begin(), places_.end(), same);
  if (found != places_.end()) {
    places_.splice(places_.begin(), places_, found);
  } else {
    if (places_.size() == kPlacesKept) places_.pop_back();
    Place place;
    place.address = address;
    place.bytes = bytes;
    place.has_header = has_header;
    place.generation = next_generation_++;
    places_.push_front(std::move(place));
  }
  return places_.front().generation;
}

Status DeviceMirror::MakeRoot(const std::string& where) {
  Place& p = places_.front();
  const DeviceCaps& caps = device_->caps();
  // Sub-buffers begin at multiples of the alignment; where the header is shorter than that it
  // would shift every origin, and stays outside.
  p.front = p.has_header && kHeader % caps.buffer_alignment == 0 ? kHeader : 0;
  const size_t bytes = p.front + std::max<size_t>(p.bytes, 1);
  if (bytes > caps.max_allocation) {
    p.tried_root = true;  // each piece may still be small enough
    return Status();
  }
  cl_int error = CL_SUCCESS;
  // On a CPU device the kernels work on these very bytes. The standard wants a map and an unmap
  // around each access of the host; drivers for CPUs do nothing there but synchronise, which
  // clFinish at the end of the run has done.
  p.root = caps.shared_memory
               ? cl::Buffer(device_->context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                            static_cast<std::byte*>(p.address) - p.front, &error)
               : cl::Buffer(device_->context(), CL_MEM_READ_WRITE, bytes, nullptr, &error);
  TIMCL_TRY(ClStatus(error, "clCreateBuffer", where));
  p.tried_root = true;
  return Status();
}

Result<cl_mem> DeviceMirror::Get(size_t front, size_t offset, size_t bytes,
                                 const std::string& where) {
  if (places_.empty()) Follow();
  Place& p = places_.front();
  if (!p.tried_root) TIMCL_TRY(MakeRoot(where));
  bytes = std::max<size_t>(bytes, 1);
  const size_t begin = p.front + offset - front;
  const Range range(begin, bytes + front);
  const auto found = p.pieces.find(range);
  if (found != p.pieces.end()) return found->second();
  const DeviceCaps& caps = device_->caps();
  cl_int error = CL_SUCCESS;
  cl::Buffer piece;
  const char* call = "clCreateSubBuffer";
  if (p.root() != nullptr && begin % caps.buffer_alignment == 0) {
    const cl_buffer_region region{range.first, range.second};
    piece = p.root.createSubBuffer(0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  } else {
    call = "clCreateBuffer";
    piece =
        caps.shared_memory
            ? cl::Buffer(device_->context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, range.second,
                         static_cast<std::byte*>(p.address) + offset - front, &error)
            : cl::Buffer(device_->context(), CL_MEM_READ_WRITE, range.second, nullptr, &error);
  }
  TIMCL_TRY(ClStatus(error, call, where));
  const cl_mem handle = piece();
  p.pieces.emplace(range, std::move(piece));
  return handle;
}

Result<cl_mem> DeviceMirror::Piece(size_t offset, size_t bytes, const std::string& where) {
  return Get(0, offset, bytes, where);
}

Result<cl_mem> DeviceMirror::Image(size_t offset, size_t bytes, bool room,
                                   const ImageHeader& header, const std::string& where) {
  if (places_.empty()) Follow();
  const Place& p = places_.front();
  const bool in_front = room || (offset == 0 && p.has_header);
  const bool aligned = kHeader % device_->caps().buffer_alignment == 0;
  if (!device_->caps().shared_memory || !in_front || !aligned) return cl_mem{nullptr};
  const auto [known, first] = headers_.emplace(offset, header);
  if (!first && !(known->second == header)) return cl_mem{nullptr};
  TIMCL_ASSIGN(const cl_mem piece, Get(kHeader, offset, bytes, where));
  std::byte* at = static_cast<std::byte*>(p.address) + offset - kHeader;
  if (std::memcmp(at, &header, kHeader) != 0) std::memcpy(at, &header, kHeader);
  return piece;
}

}  // namespace tim::vx::opencl
