// When helpers come and go: see helpers.h.
#include "backends/opencl/run/helpers.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/log.h"

namespace tim::vx::opencl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Runs that begin so soon after the last one follow each other closely: a helper waits about as
/// long for the next.
constexpr auto kClose = 40us;
/// Microseconds that a helper waits for the next Run, beside twice what one takes: it may come
/// while one is under way without it.
constexpr uint32_t kWait = 60;
/// And of early ones, which miss none: programs that compute the whole time come back sooner.
constexpr uint32_t kEarlyWait = 150;
/// Microseconds that one side waits for the other in the midst of a Run, beside a share of what all
/// work takes.
constexpr uint32_t kMostWait = 40;

/// Callers that run a graph with helpers in their own threads, in the whole process.
std::atomic<int> callers{0};

/// Turns of waiting in a microsecond. One takes 10 to 80 ns, as the processor likes.
uint32_t TurnsPerUs() {
  static const uint32_t turns = [] {
    constexpr int kTurns = 100;
    std::atomic<uint32_t> word = 0;
    double most = 1;  // of a few times, as another thread may come between
    for (int time = 0; time < 5; ++time) {
      const auto start = Clock::now();
      for (int i = 0; i < kTurns && word.load(std::memory_order_acquire) == 0; ++i) {
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
      }
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      most = std::max(most, kTurns / std::max(us, 1.0));
    }
    return static_cast<uint32_t>(most);
  }();
  return turns;
}

}  // namespace

Helpers::Helpers(std::shared_ptr<Session> session, std::shared_ptr<const PartitionPlan> plan,
                 const HelperRules& rules, BuiltPrograms programs)
    : session_(session),
      rules_(rules),
      groups_(static_cast<uint32_t>(plan->launches.at(0).global[0])),
      kernel_(std::move(session), plan, std::move(programs)) {}

Helpers::~Helpers() {
  AfterRun();
  (void)SendAway();
}

uint32_t Helpers::Get(Control what) const {
  return std::atomic_ref(control_[what * kLine]).load(std::memory_order_acquire);
}
void Helpers::Set(Control what, uint32_t value) {
  std::atomic_ref(control_[what * kLine]).store(value, std::memory_order_release);
}

Status Helpers::Prepare(const kernel::Io& io) {
  TIMCL_TRY(SendAway());
  control_ = nullptr;
  trials_ = Trials();
  // Helpers that are told to leave before they come do nothing, in a rehearsal too.
  auto* control = static_cast<uint32_t*>(io.persistent.Data());
  std::atomic_ref(control[kStop * kLine]).store(1);
  TIMCL_TRY(kernel_.Prepare(io));
  control_ = control;
  posted_ = Get(kPosted);
  Set(kMostTurns, TurnsPerUs() * (kMostWait + rules_.work_us / 16));
  Set(kAnyCore, rules_.always);
  Set(kEarly, rules_.early);
  return Status();
}

void Helpers::Launch() {
  Set(kStop, 0);
  Set(kArrived, 0);
  Set(kLeft, 0);
  // The next Run tries again.
  if (!seats_.Take(session_->device(), groups_ - 1, control_ + kLeft * kLine, groups_)) return;
  Set(kPatience, TurnsPerUs() * (rules_.early ? kEarlyWait : kWait + 2 * rules_.work_us));
  trials_.Launched(Counts());
  // Without helpers the Run is only slower.
  launched_ = true;
  if (kernel_.Execute().ok()) {
    clFlush(session_->queue()());
  } else {
    launched_ = false;
    seats_.Leave();
  }
}

Status Helpers::SendAway() {
  if (!launched_) return Status();
  Set(kStop, 1);
  // Where that fails, they may still be there.
  TIMCL_TRY(kernel_.Wait());
  launched_ = false;
  seats_.Leave();
  return Status();
}

void Helpers::BeforeRun() {
  if (control_ == nullptr) return;
  AfterRun();  // of one that an exception ended
  running_ = true;
  const bool alone = callers.fetch_add(1, std::memory_order_relaxed) == 0 || rules_.always;
  begun_ = Clock::now();
  const bool close = begun_ - ended_ < kClose || rules_.early;
  trials_.Before(alone && close);
  // Nobody waits here. One that is still there when this Run is posted sees first that it is to
  // leave.
  if (launched_ && (!alone || kernel_.Moved())) Set(kStop, 1);
  if (launched_ && Get(kLeft) == groups_) {
    (void)SendAway();
    if (!rules_.always && !rules_.early && trials_.LeftSoon()) LogOfNoUse();
  }
  if (!launched_ && alone && trials_.MayLaunch(rules_.close_runs)) Launch();
}

bool Helpers::Paused() const { return control_ != nullptr && Get(kPaused) != 0; }

void Helpers::Pause(int times) {
  // A thread that is kept from its work for some 0.5 ms may move to a core where nobody works.
  constexpr int kYields = 8;
  if (times < kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(100us);
  }
}

void Helpers::AfterRun() {
  if (!running_) return;
  running_ = false;
  callers.fetch_sub(1, std::memory_order_relaxed);
  ended_ = Clock::now();
  const uint32_t posted = Get(kPosted);
  const double seconds = std::chrono::duration<double>(ended_ - begun_).count();
  const bool shared = posted != posted_ && launched_;
  if (!rules_.always && trials_.After(seconds, shared, Get(kLate)) && !trials_.AreOfUse(Counts())) {
    Set(kStop, 1);  // the next Run sees that they have left
    LogOfNoUse();
  }
  posted_ = posted;
}

void Helpers::LogOfNoUse() const {
  base::Log(
      "run", base::LogLevel::kDebug,
      "helpers are of no use now: a Run takes {:.1f} us at best with them, {:.1f} us without; "
      "next after {} Runs",
      trials_.best().shared * 1e6, trials_.best().alone * 1e6, trials_.runs_until_next());
}

Trials::Counts Helpers::Counts() const { return {Get(kHelped), Get(kLate)}; }

}  // namespace tim::vx::opencl
