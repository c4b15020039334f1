// Executable: the ordered steps of a compiled graph, and the arena that they share.
#ifndef TIMCL_RUNTIME_EXECUTABLE_H_
#define TIMCL_RUNTIME_EXECUTABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/storage.h"
#include "tim/vx/backend.h"

namespace tim::vx::runtime {

/// One partition to run. `memory` of a buffer is null for values between partitions: Create places
/// them in the arena.
struct Step {
  std::unique_ptr<kernel::Kernel> kernel;
  std::shared_ptr<Backend> backend;
  std::string label;
  kernel::Io io;
  std::vector<int> input_values, output_values;  // IR value ids, as io.inputs and io.outputs
  size_t scratch_bytes = 0, persistent_bytes = 0;
};

class Executable {
 public:
  /// Plans the arena, prepares every kernel in order. `keep` holds storages that the steps point
  /// to. `placed` is called once every buffer has its place, before the first kernel is prepared.
  static Result<std::unique_ptr<Executable>> Create(
      std::vector<Step> steps, std::vector<std::shared_ptr<const kernel::Memory>> keep,
      const std::function<void(const std::vector<Step>&)>& placed = {});
  ~Executable();

  /// One inference. After the first call nothing is allocated.
  Status Run();

  /// One inference, a step after the other. (*timings)[s] receives what Kernel::Profile says of
  /// step s.
  Status Profile(std::vector<std::vector<kernel::Timing>>* timings);
  /// The same of one step; the steps before it have run.
  Status ProfileStep(size_t step, std::vector<kernel::Timing>* timings) {
    return steps_[step].kernel->Profile(timings);
  }

  /// Its steps, to be planned anew: nothing is left.
  std::vector<Step> Release() { return std::move(steps_); }

  size_t steps() const { return steps_.size(); }
  const Step& step(size_t index) const { return steps_[index]; }
  /// Host-device synchronisations per Run: one, and one more for each change between backends of
  /// different queues.
  size_t syncs() const { return syncs_; }
  size_t arena_bytes() const { return arena_ ? arena_->bytes() : 0; }
  /// Steps, slots and the arena, for people.
  std::string PlanText() const;

 private:
  Executable() = default;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<const kernel::Memory>> keep_;
  std::shared_ptr<base::Storage> arena_;
  size_t syncs_ = 0;
};

}  // namespace tim::vx::runtime
#endif  // TIMCL_RUNTIME_EXECUTABLE_H_
