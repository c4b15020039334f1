// FloatEnv: while one lives its thread computes as every program starts, whatever the caller chose.
#ifndef TIMCL_BASE_FLOAT_ENV_H_
#define TIMCL_BASE_FLOAT_ENV_H_

#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tim::vx::base {

/// Round to nearest even, subnormals kept, no traps: results do not depend on the caller's choice
/// (NUMERICS.md), and drivers start their threads with what the opening thread has. The destructor
/// gives the caller's environment back.
class FloatEnv {
 public:
#if defined(__x86_64__)
  // Nearly every caller has the usual environment, and to look is ten times as fast as to save,
  // set and restore it, which a Run of a small graph feels.
  FloatEnv() : mxcsr_(_mm_getcsr()), x87_(X87Now()) {
    usual_ = (mxcsr_ & ~kMxcsrFlags) == kUsualMxcsr && (x87_ & kX87ControlBits) == kUsualX87;
    if (usual_) return;
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnv() {
    if (!usual_) {
      std::fesetenv(&callers_);
      return;
    }
    _mm_setcsr(mxcsr_);
    if (X87Now() == x87_) return;
    // Few compute with long double: what they changed goes back the long way.
    std::fegetenv(&callers_);
    callers_.__control_word = static_cast<uint16_t>(x87_);
    callers_.__status_word = static_cast<uint16_t>(x87_ >> 16);
    callers_.__mxcsr = mxcsr_;
    std::fesetenv(&callers_);
  }

 private:
  static constexpr uint32_t kMxcsrFlags = 0x3f, kUsualMxcsr = 0x1f80;
  static constexpr uint32_t kX87ControlBits = 0xf3f, kUsualX87 = 0x33f;
  /// Control word, and the exception flags above it.
  static uint32_t X87Now() {
    uint16_t control = 0, status = 0;
    __asm__ __volatile__("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=m"(status));
    return control | static_cast<uint32_t>(status & 0x3f) << 16;
  }

  uint32_t mxcsr_, x87_;
  bool usual_ = false;
#else
  FloatEnv() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnv() { std::fesetenv(&callers_); }

 private:
#endif
  std::fenv_t callers_;

 public:
  FloatEnv(const FloatEnv&) = delete;
  FloatEnv& operator=(const FloatEnv&) = delete;
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_FLOAT_ENV_H_
