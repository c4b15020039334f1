// CompileOption: choices for Graph::Compile().
#ifndef TIM_VX_COMPILE_OPTION_H_
#define TIM_VX_COMPILE_OPTION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// What to do with an operation that only the reference backend can run.
enum class Fallback {
  kAllow,   ///< run it there
  kWarn,    ///< run it there, with a warning in the report and one log line
  kForbid,  ///< Compile() fails with kUnsupported
};

/// A value: copies are independent. (In the original a copy shares its settings with the source;
/// callers that set a copy once and pass it on see no difference.) Distinct objects may be used by
/// several threads.
class TIMCL_API CompileOption {
 public:
  constexpr CompileOption() noexcept : impl_() {}
  ~CompileOption();

  /// Relax mode would let float32 graphs run in lower precision; this library keeps float32 as it
  /// is and only stores the wish. Off by default.
  bool isRelaxMode() const;
  /// Returns the stored value.
  bool setRelaxMode(bool enable = false);

  /// Used by Context::CreateGraph().
  static CompileOption DefaultOptions;

  // Additions to the original API.

  CompileOption(const CompileOption& other);
  CompileOption(CompileOption&& other) noexcept;
  CompileOption& operator=(const CompileOption& other);
  CompileOption& operator=(CompileOption&& other) noexcept;

  /// kWarn by default.
  CompileOption& SetFallback(Fallback fallback);
  Fallback GetFallback() const;

  /// Gives an operation, by its name, or all of one kind, to the backend of that name, before any
  /// priority counts. A later pin of the same operation or kind replaces an earlier one.
  CompileOption& Pin(const std::string& op_name_or_kind, const std::string& backend);
  /// In the order in which they were first given.
  const std::vector<std::pair<std::string, std::string>>& Pins() const;

  /// Whether operations may be merged into one kernel; on by default. Results are the same.
  CompileOption& SetFusion(bool enable);
  bool Fusion() const;

 private:
  struct Impl;
  const Impl& Get() const;
  Impl& Change();                     // of its own: others that shared the old one keep it
  std::shared_ptr<const Impl> impl_;  // null: all defaults; never changed once it is shared
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_COMPILE_OPTION_H_
