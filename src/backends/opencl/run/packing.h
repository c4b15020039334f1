// Packing: constants that are written to the memory where they stay, while the driver compiles.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PACKING_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PACKING_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace tim::vx::opencl {

/// Pieces of work that any thread may do, each once.
class Packing {
 public:
  /// Before any Help().
  void Add(size_t bytes, std::function<void()> job) {
    bytes_ += bytes;
    jobs_.push_back(std::move(job));
  }
  size_t bytes() const { return bytes_; }
  /// Does what nobody else has begun. What a piece of work holds is freed with it.
  void Help() {
    for (size_t at; (at = next_++) < jobs_.size();) std::exchange(jobs_[at], nullptr)();
  }

 private:
  std::vector<std::function<void()>> jobs_;
  std::atomic<size_t> next_{0};
  size_t bytes_ = 0;
};

/// Threads that pack from now on. The destructor waits for them.
class Packers {
 public:
  explicit Packers(std::vector<std::shared_ptr<Packing>> work);
  /// Helps, and returns when everything is written. Throws what a piece of work threw.
  void Finish();

 private:
  const std::vector<std::shared_ptr<Packing>> work_;
  std::vector<std::future<void>> helpers_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PACKING_H_
