// The conformance harness: runs the cases of operators on a backend under test and on the
// reference, many cases per graph so that their kernels are built as one program, and compares what
// comes out. Also checks that kernels write every element of their outputs and nothing around them.
#ifndef TIMCL_TESTS_SUPPORT_CONFORMANCE_H_
#define TIMCL_TESTS_SUPPORT_CONFORMANCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/storage.h"
#include "ir/graph.h"
#include "ref/compare.h"
#include "tim/vx/backend.h"
#include "tim/vx/testing.h"

namespace tim::vx::conformance {

/// The built-in operators, and those that only passes put into graphs.
const OpRegistry& Registry();

/// The OpenCL backend as the environment asks for it. `as_gpu`: with kernels and copies as for a
/// GPU with memory of its own; `as_cpu`: with kernels as for a CPU; `in_caller`: on PoCL's inline
/// device; `as_avx2`: with register tiles as for a CPU with AVX2.
Result<std::shared_ptr<Backend>> OpenDevice(bool as_gpu = false, bool as_cpu = false,
                                            bool in_caller = false, bool as_avx2 = false);

/// One case of one op, with the line that names it: "CumSum i8[7,5] -> i8 axis=1".
struct NamedCase {
  const OpDef* def = nullptr;
  Case c;
  std::string text;
};
/// The cases that the op lists, in its order. Equal lines get " #2", " #3" behind them.
std::vector<NamedCase> CasesOf(const OpDef& def);

/// True when `filter` is the line itself or names the op and words that all occur in the line.
bool Matches(const NamedCase& named, const std::string& filter);

/// Memory of one tensor between guard bytes, or, of one that is only read, between such bytes and a
/// page that nobody may touch.
class GuardedBlock {
 public:
  enum class For { kReading, kWriting };
  GuardedBlock(size_t bytes, For use);
  std::byte* data() const { return begin_; }
  size_t bytes() const { return bytes_; }
  const std::shared_ptr<base::Storage>& storage() const { return storage_; }
  void Fill(uint8_t pattern);
  /// "" when no guard byte changed; else which one, counted from the tensor.
  std::string Damage() const;

 private:
  size_t bytes_ = 0, behind_ = 0;  // guard bytes behind
  std::shared_ptr<std::byte> block_;
  std::byte* begin_ = nullptr;
  std::shared_ptr<base::Storage> storage_;
};

using ref::CheckWritten;
using ref::Compare;
using ref::FillInput;

struct Outcome {
  std::string op, candidate;  // "expanded" for the op in terms of others
  std::string text;           // the case
  std::string types;          // "f32 f32 -> f32"
  bool passed = false;
  std::string message;  // why it did not pass, with the line that repeats it
  std::string note;     // what the backend says of the graph that it was part of
};

using Switches = std::vector<std::pair<std::string, std::string>>;

struct RunOptions {
  std::shared_ptr<Backend> device;  // under test
  const OpRegistry* registry = nullptr;
  uint64_t seed = 42;
  /// Ops per graph. More share a program; fewer end sooner when something is wrong.
  size_t chunk = 400;
  /// Ends after the first chunk with a failure.
  bool stop_early = false;
  /// Of the device, as CompileOption::SetOption takes them: name and value.
  Switches switches = {};
};

/// Runs each case by every kernel candidate that accepts it, and by its expansion if it has one.
std::vector<Outcome> RunCases(const std::vector<NamedCase>& cases, const RunOptions& options);

/// A graph of one or several ops that both sides run: values with their data, nodes over them.
/// Every graph output is a guarded block.
class TestGraph {
 public:
  /// A graph input or constant with its own guarded memory.
  int AddInput(const TensorType& type, bool constant, const void* data);
  /// A value that an op produces. `output`: the graph's result, else it lives inside the run.
  int AddResult(const TensorType& type, bool output);
  /// Adds the op and infers its result types; the error of its verify otherwise (the node is dead
  /// then).
  Status AddOp(std::shared_ptr<const OpDef> def, const AnyAttrs& attrs, std::vector<int> inputs,
               std::vector<int> outputs, int* node = nullptr);
  /// Compiles for one backend and runs twice, over 0xFF and over 0; results of both runs are kept.
  Status Run(const std::shared_ptr<Backend>& backend, const OpRegistry& registry, bool fuse = true,
             bool relaxed = false, const Switches& switches = {});

  ir::Graph& graph() { return graph_; }
  const std::shared_ptr<ir::Graph>& shared() const { return shared_; }
  const TensorType& TypeOf(int value) const { return graph_.value(value).type; }
  const std::byte* Result(int value) const;
  /// Guards of this output and of all inputs of the graph, unwritten and unsteady elements.
  std::optional<std::string> Damage(int value) const;
  /// Node id -> kernel that served it, as the backend says ("fused into ...").
  const std::vector<std::string>& kernels() const { return kernels_; }
  /// What the backend says of the whole.
  const std::string& note() const { return note_; }

 private:
  struct Memory {
    int value;
    GuardedBlock block;
    std::vector<std::byte> first, second;  // inputs: what was put in; outputs: results
  };
  std::shared_ptr<ir::Graph> shared_ = std::make_shared<ir::Graph>();
  ir::Graph& graph_ = *shared_;
  std::vector<Memory> inputs_, outputs_;
  std::vector<int> index_of_;  // value -> index into inputs_ or outputs_
  std::vector<std::string> kernels_;
  std::string note_;
};

/// The sums of magnitudes behind a float result, for Tolerance::sum: the op over the absolute
/// values of its inputs, all float32. Empty where the op does not run that way.
std::vector<double> Magnitudes(const NamedCase& named, const TestGraph& graph,
                               const std::vector<int>& inputs, size_t output);

/// Adds the op of a case over zeros to an empty graph; its node, or -1 where it is refused.
int AddCaseOverZeros(const NamedCase& named, TestGraph* graph);

/// FNV-1a: seeds must not change with the standard library.
uint64_t Hash(const std::string& text);

/// Encoding without sizes, for reports: "u8(0.037,119)".
std::string TypeText(const TensorType& type);

}  // namespace tim::vx::conformance
#endif  // TIMCL_TESTS_SUPPORT_CONFORMANCE_H_
