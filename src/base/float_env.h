// FloatEnv: while one lives its thread computes as every program starts, whatever the caller chose.
#ifndef TIMCL_BASE_FLOAT_ENV_H_
#define TIMCL_BASE_FLOAT_ENV_H_

#include <cfenv>

namespace tim::vx::base {

/// Round to nearest even, subnormals kept, no traps: results do not depend on the caller's choice
/// (NUMERICS.md), and drivers start their threads with what the opening thread has. The destructor
/// gives the caller's environment back.
class FloatEnv {
 public:
  FloatEnv() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnv() { std::fesetenv(&callers_); }
  FloatEnv(const FloatEnv&) = delete;
  FloatEnv& operator=(const FloatEnv&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_FLOAT_ENV_H_
