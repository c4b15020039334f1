// Result<T>: a value or the Status that explains its absence; TIMCL_TRY and TIMCL_ASSIGN pass
// errors up.
#ifndef TIM_VX_RESULT_H_
#define TIM_VX_RESULT_H_

#include <utility>
#include <variant>

#include "tim/vx/status.h"

namespace tim::vx {

/// Holds either a T or a Status that is not ok. Threads: as the T.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  /// By value: `for (auto& x : *F())` keeps what it walks.
  T value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace tim::vx

#define TIMCL_CONCAT_(a, b) a##b
#define TIMCL_CONCAT(a, b) TIMCL_CONCAT_(a, b)

/// Evaluates an expression of type Status and returns it from the enclosing function unless it is
/// ok.
#define TIMCL_TRY(...)                               \
  do {                                               \
    ::tim::vx::Status timcl_status_ = (__VA_ARGS__); \
    if (!timcl_status_.ok()) return timcl_status_;   \
  } while (false)

/// TIMCL_ASSIGN(const int64_t n, Count(x)): declares or assigns from a Result, or returns its
/// Status.
#define TIMCL_ASSIGN(lhs, ...) \
  TIMCL_ASSIGN_(TIMCL_CONCAT(timcl_result_, __LINE__), lhs, __VA_ARGS__)
#define TIMCL_ASSIGN_(tmp, lhs, ...)  \
  auto tmp = (__VA_ARGS__);           \
  if (!tmp.ok()) return tmp.status(); \
  lhs = std::move(tmp).value()

#endif  // TIM_VX_RESULT_H_
