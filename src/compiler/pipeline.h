// The pipeline from a built graph to an executable. Knows operators only as OpDef and executors
// only as Backend.
#ifndef TIMCL_COMPILER_PIPELINE_H_
#define TIMCL_COMPILER_PIPELINE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/watch.h"
#include "ir/graph.h"
#include "runtime/executable.h"
#include "tim/vx/backend.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"

namespace tim::vx::compiler {

struct RankedBackend {
  std::shared_ptr<Backend> backend;
  int priority = 0;
  /// The last resort: an op that falls to it is a warning or an error, as
  /// CompileOption::SetFallback says.
  bool fallback = false;
  /// A part of this library: targets and limits of partitions are not meant for it.
  bool own = false;
  /// Why it takes no part in this compilation; "": it does.
  std::string passed_over = {};
};

struct Options {
  Fallback fallback = Fallback::kWarn;
  bool fuse = true;
  bool alias = true;                                               // for tests: see CompileEnv
  std::vector<std::pair<std::string, std::string>> pins;           // op name or kind -> backend
  std::string dump_dir;                                            // one file per pass; "" = off
  std::vector<std::pair<std::string, std::string>> excludes = {};  // op name or kind, backend
  PartitionStrategy strategy = PartitionStrategy::kConvex;
  size_t max_partitions = 0, min_ops = 1;  // of backends that are no part of this library
  Target target = {};
  std::shared_ptr<const AssetTable> assets = {};
  bool relaxed = false;        // CompileOption::setRelaxMode
  bool executes = true;        // see CompileEnv
  std::string cache_dir = {};  // for what backends keep between processes; "" = off
  /// CompileOption::OptionsFor.
  std::function<std::vector<std::pair<std::string, std::string>>(const std::string&)> options_for =
      {};
  Watch watch = {};
};

struct Kept;  // compiled.h

/// Runs all passes on `graph`. Shapes that were open are known afterwards, and outputs without
/// memory have some, also when a later pass fails. The report is filled as far as compilation came.
Result<std::unique_ptr<runtime::Executable>> Compile(const std::shared_ptr<ir::Graph>& graph,
                                                     const OpRegistry& registry,
                                                     const std::vector<RankedBackend>& backends,
                                                     const Options& options, CompileReport* report,
                                                     std::shared_ptr<Kept>* kept = nullptr);

/// `next` is the graph that was compiled, lowered anew with other shapes. Types are inferred; then,
/// where it still is the same graph but for its types (true), it takes the place of the one that
/// `kept` knows. Nothing has changed for the executable otherwise.
Result<bool> Retype(Kept* kept, const std::shared_ptr<ir::Graph>& next);
/// After Retype: resizes the kernels of *executable, compiles those anew that cannot be resized,
/// and plans memory again. After an error there is no executable.
Status Resize(Kept* kept, std::unique_ptr<runtime::Executable>* executable, CompileReport* report);

// The passes, in order. Each leaves the graph valid (ir::CheckInvariants).

/// What CompileOption::SetOption("compiler", pass, ...) says of a pass below whose name stands in
/// quotes, or nothing; whether that is "off".
std::string ChoiceFor(const Options& options, const std::string& pass);
bool LeftOut(const Options& options, const std::string& pass);

/// Every live node's own verify and infer, producers first. Errors name the op.
Status InferTypes(ir::Graph& graph);

/// Outputs whose shape was left open, or whose declared shape the op overrules, get their memory
/// now that it is known.
Status AllocateOutputs(ir::Graph& graph);

/// "fold_constants": ops whose inputs are all constant are evaluated by their reference; results
/// become constants. Large results stay, but for those of moves (Transpose, Reshape).
Status FoldConstants(ir::Graph& graph);

// Passes that merge neighbours. SetFusion(false) and PartitionStrategy::kPerOp leave all out.
// `merged`, unless it is null, receives the ops that vanish, with what became of them. Ops that the
// caller pinned or excluded stay as they are, and so do graph outputs. What they know of an op is
// its FoldRule (tim/vx/fold_rule.h).

/// "cancel_moves": importers put a transpose before and behind each op whose layout differs, and
/// most of them meet their inverse. Transposes that follow each other become one, one that moves
/// nothing becomes a Reshape, conversions there and back vanish where no number changes on the way,
/// and a move that is none is left out. Results are the same bit for bit.
Status CancelMoves(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged);
/// "fold_padding": frameworks pad in an op of its own, whose result is a copy of the tensor, and no
/// kernel over blocks of channels can write it. Where all readers are convolutions and poolings
/// that can count these cells as their own padding, they do. Results are the same bit for bit.
Status FoldPadding(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged);
/// "fold_scales": a batch normalization, or a constant per channel that is added or multiplied,
/// becomes part of the constant weights and the bias of the convolution or fully connected layer
/// before it, or else of the one behind it. Only in float32. Weights and biases are computed in
/// double and rounded once, so each result differs by at most 2^-22 of the sum of the magnitudes of
/// its products (4 units in the last place, as float sums may in any case).
Status FoldScales(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged);
/// "merge_twins": the same op over the same operands is done once; models that were unrolled by a
/// script have many. Results are the same bit for bit.
Status MergeTwins(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged);
/// "fuse_attention": the scores of attention are a matrix of tokens by tokens, which leaves the
/// caches long before the tokens do. Where their scale, mask and softmax stand between two products
/// of matrices, and nobody else reads them, one op with a kernel of its own takes the place of all:
/// only if `taken` says that the backend which is asked first takes this op as it is. From a few
/// tokens on, or with "on" wherever it can. Of tensors of float32 each result differs by what the
/// order of float sums may make of it; of float16, scores and weights are not rounded in between.
using Taken = std::function<bool(const std::shared_ptr<ir::Graph>&, int node)>;
Status FuseAttention(const std::shared_ptr<ir::Graph>& graph, const Options& options,
                     const Taken& taken, std::vector<OpPlacement>* merged);
/// Asks the first of the backends that takes part, unless it is a fallback or no part of this
/// library: others may know the single ops, and not the whole. `begin`: Begin(env) goes before.
Taken TakenByFirst(const std::vector<RankedBackend>& backends,
                   const std::vector<CompileEnv>* begin = nullptr);
/// All that need no backend, in this order. `after` is told of each that ran.
Status MergeNeighbours(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged,
                       const std::function<void(const char*)>& after = {});

/// So many levels of composed ops may be parts of each other.
constexpr int kMaxExpansions = 16;
/// Replaces one node by the definition it expands into, and infers the types of what came in.
Status Expand(ir::Graph& graph, int node, const OpRegistry& registry);

/// Which backend takes which node. `backends` index by node id; -1 for dead nodes.
struct Assignment {
  std::vector<int> backend_of;
  std::vector<int> partition_index_of;
  std::vector<std::string> reason_of;
  std::vector<std::vector<std::string>> refusals_of;
  /// The first refusal that was no choice of the caller's (pins, excludes, limits); "": none.
  std::vector<std::string> failure_of;
  /// Backend and partition index of ops that run as one: Selection::Whole.
  std::set<std::pair<int, int>> wholes;
  /// What backends want to find again when they compile: Selection::Keep.
  std::vector<std::shared_ptr<void>> kept;
};
/// excluded[node][backend]: why that backend, which had selected the node, could not compile it.
using Excluded = std::map<int, std::map<int, Status>>;
/// The reason of what is pinned.
inline constexpr char kPinned[] = "pinned";
/// Asks the backends in order; expands what they want expanded, and asks again. `limited`: what
/// they are not to have although they would take it, as the caller set limits.
Result<Assignment> Assign(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
                          const std::vector<RankedBackend>& backends, const Options& options,
                          const Excluded& excluded, const Excluded& limited = {});

/// The ops of wholes that cannot run as one, as another op would have to run between them; with
/// that op as the reason. Where wholes stand in each other's way, the one whose backend was asked
/// last gives in.
Excluded CannotRunAsOne(const ir::Graph& graph, const Assignment& assignment,
                        const std::vector<RankedBackend>& backends);

struct Partition {
  int backend = 0;
  std::vector<int> nodes;  // topological order
};
/// Groups nodes of equal backend and partition index. The partitions, in the order given, form a
/// schedule: each is a contiguous piece of a topological order, which makes them jointly acyclic
/// and lets disconnected ops share one. kConvex: a list scheduler that stays with one backend while
/// it has ready ops. A whole is one partition; CannotRunAsOne found nothing.
std::vector<Partition> Group(const ir::Graph& graph, const Assignment& assignment,
                             PartitionStrategy strategy = PartitionStrategy::kConvex);

struct Division {
  Assignment assignment;
  std::vector<Partition> partitions;
};
/// Assigns and groups; again without what cannot run as one, which is added to `excluded`, and
/// without what is beyond the limits of the options, until nothing is.
Result<Division> Divide(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
                        const std::vector<RankedBackend>& backends, const Options& options,
                        Excluded* excluded);

/// What Compile would do, as far as it can be told without compiling: a backend may still refuse
/// what it selects here. Of a graph whose types are inferred; fills the report likewise, and
/// `drawing`, unless it is null.
Status Preview(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
               const std::vector<RankedBackend>& backends, const Options& options,
               CompileReport* report, std::string* drawing = nullptr);

}  // namespace tim::vx::compiler
#endif  // TIMCL_COMPILER_PIPELINE_H_
