// Threads that pack: see packing.h.
#include "backends/opencl/run/packing.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace tim::vx::opencl {
namespace {

/// A thread costs some 50 microseconds, in which another one writes this much.
constexpr size_t kBytesPerHelper = size_t{512} << 10;
constexpr size_t kMostHelpers = 7;  // memory is as fast as it gets by then

void HelpAll(const std::vector<std::shared_ptr<Packing>>& work) {
  for (const std::shared_ptr<Packing>& packing : work) packing->Help();
}

}  // namespace

Packers::Packers(std::vector<std::shared_ptr<Packing>> work) : work_(std::move(work)) {
  size_t bytes = 0;
  for (const std::shared_ptr<Packing>& packing : work_) bytes += packing->bytes();
  const size_t cores = std::max(std::thread::hardware_concurrency(), 1u);
  const size_t helpers = std::min({bytes / kBytesPerHelper, cores - 1, kMostHelpers});
  try {
    while (helpers_.size() < helpers)
      helpers_.push_back(std::async(std::launch::async, [this] { HelpAll(work_); }));
  } catch (const std::system_error&) {
    // No more threads: those that are there, and Finish, do it all.
  }
}

void Packers::Finish() {
  HelpAll(work_);
  for (std::future<void>& helper : helpers_) helper.get();
  helpers_.clear();
}

}  // namespace tim::vx::opencl
