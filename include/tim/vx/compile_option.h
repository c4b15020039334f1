// CompileOption: choices for Graph::Compile().
#ifndef TIM_VX_COMPILE_OPTION_H_
#define TIM_VX_COMPILE_OPTION_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// What to do with an operation that does not run where it should: only the reference backend can
/// run it, or the backend that took it could not compile it after all.
enum class Fallback {
  kAllow,   ///< the next backend runs it
  kWarn,    ///< the next backend runs it, with a warning in the report and one log line
  kForbid,  ///< Compile() fails, with the reason
};

/// For whom backends that compile ahead for hardware are to compile (soc_manufacturer and soc_model
/// of LiteRT). "" leaves the choice to the backend. A vendor makes all backends of others stand
/// back, but for those that belong to this library.
struct Target {
  std::string vendor, model;
};

/// How the operations that one backend takes are put into partitions.
enum class PartitionStrategy {
  kConvex,          ///< as few partitions as possible, of operations that need not be connected
  kExecutionOrder,  ///< runs of neighbours in one fixed order
  kPerOp,           ///< one for each operation: to find the one that is to blame
};

/// How far Compile() has come.
struct CompileProgress {
  std::string stage;           ///< "infer types", "partition", "load: opencl: building", ...
  size_t done = 0, total = 0;  ///< of what the stage counts; total 0: it does not count
};

/// A value: copies are independent. (In the original a copy shares its settings with the source;
/// callers that set a copy once and pass it on see no difference.) Distinct objects may be used by
/// several threads.
class TIMCL_API CompileOption {
 public:
  constexpr CompileOption() noexcept : impl_() {}
  ~CompileOption();

  /// In relax mode the factors of float32 products (convolutions, fully connected, Matmul) may be
  /// rounded to bfloat16, 8 significant bits, where the device multiplies those faster; sums and
  /// tensors stay float32. CompileReport says which operations do (their kernels are called "...
  /// bf16"); where none can, all is float32. Off by default.
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
  /// priority counts. A pin by name counts before one of the kind. A later pin of the same
  /// operation or kind replaces an earlier one.
  CompileOption& Pin(const std::string& op_name_or_kind, const std::string& backend);
  /// In the order in which they were first given.
  const std::vector<std::pair<std::string, std::string>>& Pins() const;

  /// Never gives an operation, by its name, or any of one kind, to the backend of that name.
  CompileOption& Exclude(const std::string& op_name_or_kind, const std::string& backend);
  /// In the order in which they were first given, each once.
  const std::vector<std::pair<std::string, std::string>>& Excludes() const;

  /// kConvex by default. `max_partitions`, where it is not 0, holds for each backend but those of
  /// this library (OpenCL, reference): the smallest partitions above it go to the next backend, and
  /// so do those of fewer than `min_ops` operations. The report says so of each.
  CompileOption& SetPartition(PartitionStrategy strategy, size_t max_partitions = 0,
                              size_t min_ops = 1);
  PartitionStrategy GetPartitionStrategy() const;
  size_t MaxPartitions() const;
  size_t MinOps() const;

  CompileOption& SetTarget(const Target& target);
  const Target& GetTarget() const;

  /// A choice for the backend of that name ("*": all of them), or for the library's "compiler".
  /// Keys and values that OpenCL or the compiler does not know fail Compile(). A later value of the
  /// same key replaces an earlier one.
  CompileOption& SetOption(const std::string& backend, const std::string& key,
                           const std::string& value);
  /// Those for a backend, key by key, in the order in which they were first given.
  std::vector<std::pair<std::string, std::string>> OptionsFor(const std::string& backend) const;

  /// Bytes that come with the graph (tim/vx/asset.h), by custom under the name of the operation
  /// that they belong to: a file, read when the graph is compiled, or a copy of memory. Compile()
  /// fails for a file that cannot be read and for a name that comes twice.
  CompileOption& AddAsset(const std::string& name, const std::string& path);
  CompileOption& AddAsset(const std::string& name, const void* data, size_t bytes);
  struct NamedAsset {
    std::string name, path;  ///< path "": in memory
    std::shared_ptr<const std::vector<char>> bytes;
  };
  const std::vector<NamedAsset>& Assets() const;

  /// Whether operations may be merged into one kernel; on by default. Results are the same.
  CompileOption& SetFusion(bool enable);
  bool Fusion() const;

  /// Called in the thread that compiles, before each stage and each kernel that is built; it must
  /// not use the graph. Exceptions from it end the compilation with kInternal. Without it a line on
  /// stderr tells of compilations that take longer than a second, if that is a terminal.
  CompileOption& SetProgress(std::function<void(const CompileProgress&)> progress);
  const std::function<void(const CompileProgress&)>& Progress() const;

 private:
  struct Impl;
  const Impl& Get() const;
  Impl& Change();                     // of its own: others that shared the old one keep it
  std::shared_ptr<const Impl> impl_;  // null: all defaults; never changed once it is shared
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_COMPILE_OPTION_H_
