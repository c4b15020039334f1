// Executable: arena planning, preparation, the run loop.
#include "runtime/executable.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "runtime/arena.h"
#include "runtime/live_bytes.h"

namespace tim::vx::runtime {
namespace {
// Origins of OpenCL sub-buffers are multiples of this on every device known
// (CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024 bits).
constexpr size_t kArenaAlignment = 128;
}  // namespace

Executable::~Executable() {
  // Kernels before the memory that they point to, in reverse order of preparation.
  while (!steps_.empty()) steps_.pop_back();
}

Result<std::unique_ptr<Executable>> Executable::Create(
    std::vector<Step> steps, std::vector<std::shared_ptr<const kernel::Memory>> keep,
    const std::function<void(const std::vector<Step>&)>& placed) {
  std::unique_ptr<Executable> exe(new Executable());
  exe->steps_ = std::move(steps);
  exe->keep_ = std::move(keep);
  std::vector<Slot> slots;
  std::map<int, size_t> slot_of_value;
  std::vector<std::pair<size_t, size_t>> scratch_slots(exe->steps_.size());
  const int last_step = static_cast<int>(exe->steps_.size()) - 1;
  for (int s = 0; s <= last_step; ++s) {
    Step& step = exe->steps_[static_cast<size_t>(s)];
    for (size_t i = 0; i < step.io.outputs.size(); ++i) {
      if (step.io.outputs[i].memory != nullptr) continue;
      slot_of_value[step.output_values[i]] = slots.size();
      slots.push_back({step.io.outputs[i].type.bytes(), s, s, 0});
    }
    for (size_t i = 0; i < step.io.inputs.size(); ++i) {
      if (step.io.inputs[i].memory != nullptr) continue;
      const auto it = slot_of_value.find(step.input_values[i]);
      if (it == slot_of_value.end()) {
        return Status::Error(Code::kInternal,
                             fmt::format("step {} '{}' reads value {}, which no step wrote", s,
                                         step.label, step.input_values[i]));
      }
      slots[it->second].last = s;
    }
    scratch_slots[static_cast<size_t>(s)].first = slots.size();
    if (step.scratch_bytes != 0) slots.push_back({step.scratch_bytes, s, s, 0});
    scratch_slots[static_cast<size_t>(s)].second = slots.size();
    if (step.persistent_bytes != 0) slots.push_back({step.persistent_bytes, 0, last_step, 0});
  }
  TIMCL_ASSIGN(const size_t total, Pack(slots, kArenaAlignment));
  std::vector<Slot> live = slots;
  for (size_t s = 0; s < exe->steps_.size(); ++s) {
    const auto* kernel = dynamic_cast<const HasLiveBytes*>(exe->steps_[s].kernel.get());
    if (kernel != nullptr && exe->steps_[s].scratch_bytes != 0)
      live[scratch_slots[s].first].bytes = kernel->live_bytes();
  }
  exe->live_bytes_ = LiveBytes(live);
  exe->arena_ = base::Storage::Allocate(total);
  if (exe->arena_ == nullptr) {
    return Status::Error(Code::kOutOfMemory,
                         fmt::format("an arena of {} bytes for intermediate values", total));
  }
  for (size_t s = 0; s < exe->steps_.size(); ++s) {
    Step& step = exe->steps_[s];
    auto place = [&](kernel::Buffer& buffer, size_t slot) {
      buffer.memory = exe->arena_.get();
      buffer.offset = slots[slot].offset;
    };
    for (size_t i = 0; i < step.io.inputs.size(); ++i) {
      if (step.io.inputs[i].memory == nullptr)
        place(step.io.inputs[i], slot_of_value[step.input_values[i]]);
    }
    for (size_t i = 0; i < step.io.outputs.size(); ++i) {
      if (step.io.outputs[i].memory == nullptr)
        place(step.io.outputs[i], slot_of_value[step.output_values[i]]);
    }
    if (step.scratch_bytes != 0) place(step.io.scratch, scratch_slots[s].first);
    if (step.persistent_bytes != 0) place(step.io.persistent, scratch_slots[s].second);
  }
  if (placed) placed(exe->steps_);
  const void* open_domain = nullptr;
  for (Step& step : exe->steps_) {
    TIMCL_TRY(step.kernel->Prepare(step.io));
    const void* domain = step.kernel->SyncDomain();
    if (open_domain != nullptr && domain != open_domain) ++exe->syncs_;
    open_domain = domain;
  }
  if (open_domain != nullptr) ++exe->syncs_;
  return exe;
}

Status Executable::Run() {
  kernel::Kernel* open = nullptr;
  // Nothing may still write to the user's memory when a run has failed, in whatever way: a kernel
  // of a plugin or a user's op may throw.
  struct WaitAtTheEnd {
    kernel::Kernel*& open;
    ~WaitAtTheEnd() {
      if (open == nullptr) return;
      try {
        (void)open->Wait();
      } catch (...) {
      }
    }
  } wait{open};
  for (Step& step : steps_) {
    kernel::Kernel* const next = step.kernel.get();
    if (open != nullptr && next->SyncDomain() != open->SyncDomain())
      TIMCL_TRY(std::exchange(open, nullptr)->Wait());
    if (next->SyncDomain() != nullptr) open = next;  // also when it fails: part of it may run
    TIMCL_TRY(next->Execute());
  }
  return open != nullptr ? std::exchange(open, nullptr)->Wait() : Status();
}

Status Executable::Profile(std::vector<std::vector<kernel::Timing>>* timings) {
  timings->assign(steps_.size(), {});
  for (size_t s = 0; s < steps_.size(); ++s) TIMCL_TRY(steps_[s].kernel->Profile(&(*timings)[s]));
  return Status();
}

std::string Executable::PlanText() const {
  std::string text = fmt::format("{} steps, {} syncs per run, arena {} bytes, at least {}\n",
                                 steps_.size(), syncs_, arena_bytes(), live_bytes_);
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    text += fmt::format("step {} [{}] {}\n", s, step.backend->Info().name, step.label);
    auto line = [&](const char* what, const kernel::Buffer& b) {
      text += fmt::format(
          "  {:<10} {:<24} {} {}\n", what, b.name.empty() ? "-" : b.name, b.type.ToString(),
          b.memory == arena_.get() ? fmt::format("arena+{}", b.offset) : "own memory");
    };
    for (const auto& b : step.io.inputs) line("reads", b);
    for (const auto& b : step.io.outputs) line("writes", b);
    if (step.scratch_bytes != 0)
      text += fmt::format("  scratch    {} bytes at arena+{}\n", step.scratch_bytes,
                          step.io.scratch.offset);
    if (step.persistent_bytes != 0) {
      text += fmt::format("  persistent {} bytes at arena+{}\n", step.persistent_bytes,
                          step.io.persistent.offset);
    }
  }
  return text;
}

}  // namespace tim::vx::runtime
