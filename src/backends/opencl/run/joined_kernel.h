// JoinedKernel: runs a plan whose launches were joined to one.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_
#define TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/run/executor.h"

namespace tim::vx::opencl {

/// `plan` has `separate` launches, which Profile times one by one; their programs are built when it
/// first does. Threads: as PartitionKernel.
class JoinedKernel : public kernel::Kernel {
 public:
  JoinedKernel(std::shared_ptr<Session> session, std::shared_ptr<const PartitionPlan> plan,
               BuiltPrograms programs, std::shared_ptr<ProgramCache> cache,
               const BuildProgress& progress)
      : session_(std::move(session)),
        separate_(plan->separate),
        cache_(std::move(cache)),
        joined_(session_, std::move(plan), std::move(programs), progress) {}

  Status Prepare(const kernel::Io& io) override {
    io_ = io;
    each_.reset();
    return joined_.Prepare(io);
  }
  Status Execute() override { return joined_.Execute(); }
  Status Wait() override { return joined_.Wait(); }
  const void* SyncDomain() const override { return joined_.SyncDomain(); }
  std::vector<std::string> Warnings() const override { return joined_.Warnings(); }
  Status Profile(std::vector<kernel::Timing>* timings) override {
    if (!each_) {
      BuiltPrograms programs;
      BuildStats stats;
      TIMCL_TRY(cache_->Build(separate_->programs, "", &programs, &stats));
      each_.emplace(session_, separate_, std::move(programs), nullptr);
      if (const Status prepared = each_->Prepare(io_); !prepared.ok()) {
        each_.reset();
        return prepared;
      }
    }
    return each_->Profile(timings);
  }

 private:
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const PartitionPlan> separate_;
  const std::shared_ptr<ProgramCache> cache_;
  PartitionKernel joined_;
  std::optional<PartitionKernel> each_;
  kernel::Io io_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_JOINED_KERNEL_H_
