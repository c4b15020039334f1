// Whether helpers are worth their core: see trials.h.
#include "backends/opencl/run/trials.h"

#include <algorithm>

namespace tim::vx::opencl {
namespace {

/// Close Runs before helpers come again after they were of no use, and again and again: few enough
/// to see soon that it has become worth while, many enough that trials cost a hundredth.
constexpr uint32_t kLater = 16, kManyRuns = 1 << 10;
/// Shared Runs in a trial, and what the best of them has to take at most.
constexpr uint32_t kTrial = 32;
constexpr double kOfUse = 0.97;
/// Helpers that leave after fewer have come to the wrong core, say.
constexpr uint32_t kFewRuns = 4;
/// How often in a trial the caller may wait long for a helper, which another thread keeps from its
/// work.
constexpr uint32_t kLateTwice = 2;

void TakeLess(double seconds, double* best) {
  *best = *best == 0 ? seconds : std::min(*best, seconds);
}

}  // namespace

void Trials::Before(bool close) {
  close_runs_ = close ? close_runs_ + 1 : 0;
  // Over all bursts of Runs: none may be as long as what is waited for.
  if (close && runs_until_next_ > 0) --runs_until_next_;
}

bool Trials::MayLaunch(uint32_t close_runs) const {
  return close_runs_ >= close_runs && runs_until_next_ == 0;
}

void Trials::Launched(Counts counts) {
  begun_ = counts;
  shared_runs_ = 0;
  best_.shared = 0;
}

bool Trials::After(double seconds, bool shared, uint32_t late) {
  if (!shared) {
    if (close_runs_ > 0) TakeLess(seconds, &best_.alone);
    return false;
  }
  TakeLess(seconds, &best_.shared);
  ++shared_runs_;
  return late - begun_.late >= kLateTwice || shared_runs_ % kTrial == 0;
}

bool Trials::AreOfUse(Counts counts) {
  // Not running: the system has moved the caller to its core, say.
  const bool idle = counts.helped - begun_.helped < kTrial / 2;
  const bool slow = best_.alone > 0 && best_.shared > kOfUse * best_.alone;
  const bool late = counts.late - begun_.late >= kLateTwice;
  begun_ = counts;
  if (late || idle || slow) {
    Later(idle && !late ? 1 : 4);
    return false;
  }
  later_ = 0;
  best_.shared = 0;
  return true;
}

bool Trials::LeftSoon() {
  if (shared_runs_ >= kFewRuns || runs_until_next_ > 0) return false;
  Later(2);
  return true;
}

void Trials::Later(uint32_t times) {
  later_ = runs_until_next_ = std::min(kManyRuns, std::max(kLater, later_ * times));
  judged_ = best_;
  best_.alone = 0;  // the Runs from now on tell anew
}

}  // namespace tim::vx::opencl
