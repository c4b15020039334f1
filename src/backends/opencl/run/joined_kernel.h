// JoinedKernel: runs a plan whose launches were joined to one.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_
#define TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/helpers.h"
#include "backends/opencl/run/resident.h"

namespace tim::vx::opencl {

/// `plan` has `separate` launches, which Profile times one by one; their programs are built when it
/// first does. `helpers` may be null. Threads: as PartitionKernel.
class JoinedKernel : public kernel::Kernel, public runtime::HasLiveBytes {
 public:
  JoinedKernel(std::shared_ptr<Session> session, std::shared_ptr<const PartitionPlan> plan,
               BuiltPrograms programs, std::shared_ptr<ProgramCache> cache,
               const BuildProgress& progress, std::unique_ptr<Helpers> helpers)
      : session_(std::move(session)),
        separate_(plan->separate),
        cache_(std::move(cache)),
        joined_(session_, plan, std::move(programs), progress),
        helpers_(std::move(helpers)) {
    if (plan->resident) resident_.emplace(session_, &joined_);
  }

  Status Prepare(const kernel::Io& io) override {
    prepared_ = false;
    io_ = io;
    each_.reset();
    if (resident_) return resident_->Prepare(io);
    if (helpers_) TIMCL_TRY(helpers_->SendAway());
    TIMCL_TRY(joined_.Prepare(io));
    if (helpers_) TIMCL_TRY(helpers_->Prepare(io));
    prepared_ = true;
    return Status();
  }
  Status Execute() override {
    if (resident_) return resident_->Execute();
    if (!helpers_) return joined_.Execute();
    // One that failed half-way: this Run is not to be the rest of it.
    if (!prepared_ || helpers_->Paused()) TIMCL_TRY(Prepare(io_));
    helpers_->BeforeRun();
    const Status executed = ExecuteWithHelpers();
    if (!executed.ok()) helpers_->AfterRun();
    return executed;
  }
  Status Wait() override {
    if (resident_) return resident_->Wait();
    const Status ended = joined_.Wait();
    if (helpers_) helpers_->AfterRun();
    return ended;
  }
  const void* SyncDomain() const override { return joined_.SyncDomain(); }
  std::vector<std::string> Warnings() const override { return joined_.Warnings(); }
  size_t live_bytes() const override { return joined_.live_bytes(); }
  Status Profile(std::vector<kernel::Timing>* timings) override {
    if (helpers_) TIMCL_TRY(helpers_->SendAway());
    if (resident_) TIMCL_TRY(resident_->SendAway());
    if (!each_) {
      BuiltPrograms programs;
      BuildStats stats;
      TIMCL_TRY(cache_->Build(separate_->programs, "", &programs, &stats));
      auto each = std::make_unique<PartitionKernel>(session_, separate_, std::move(programs));
      TIMCL_TRY(each->Prepare(io_));
      each_ = std::move(each);
    }
    return each_->Profile(timings);
  }

 private:
  /// The Run is over when it returns: what is enqueued behind it may read what it computes.
  Status ExecuteWithHelpers() {
    for (int times = 0;; ++times) {
      TIMCL_TRY(joined_.Execute());
      TIMCL_TRY(joined_.Wait());
      if (!helpers_->Paused()) return Status();
      Helpers::Pause(times);
    }
  }

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const PartitionPlan> separate_;
  const std::shared_ptr<ProgramCache> cache_;
  PartitionKernel joined_;
  std::unique_ptr<Helpers> helpers_;
  std::optional<Resident> resident_;
  std::unique_ptr<PartitionKernel> each_;
  kernel::Io io_;
  bool prepared_ = false;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_
