// The graph under compilation: values (edges) and nodes (uses of an OpDef), both named by small
// integers. Passes edit it in place; ids are never reused, dead nodes are marked.
#ifndef TIMCL_IR_GRAPH_H_
#define TIMCL_IR_GRAPH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/storage.h"
#include "tim/vx/op_def.h"

namespace tim::vx::ir {

enum class Role {
  kTransient,  // lives inside a run
  kInput,      // graph input, or state read: the user's memory
  kOutput,     // graph output, or state written
  kConstant,
};

struct Value {
  TensorType type;
  std::string name;
  Role role = Role::kTransient;
  /// Inputs, outputs, constants: the memory that holds the data. Null for transients.
  std::shared_ptr<base::Storage> storage;
  int producer = -1;  // node id
  /// The shape was left open (TRANSIENT, or declared {}): inference sets it.
  bool infer_shape = false;
  /// Its one element is a scalar: see TensorView::is_scalar.
  bool scalar = false;
  /// Where the compiled graph has it while it runs; null before, and for what only ops of one
  /// partition use.
  const kernel::Memory* placed = nullptr;
  size_t placed_at = 0;  // bytes into it
  /// Of such a value, once a kernel asked for it (TensorView::MutableData).
  mutable std::shared_ptr<base::Storage> on_demand;
};

struct Node {
  std::shared_ptr<const OpDef> def;
  AnyAttrs attrs;            // by the schema of `def`: VerifyNode converts those of another library
  std::vector<int> inputs;   // value ids, -1 = left out
  std::vector<int> outputs;  // value ids
  /// What the op computes for each output: the value's type, its shape replaced by the inferred one
  /// (same bytes).
  std::vector<TensorType> out_types;
  std::string name;
  /// In the user's order of creation; the parts of a composed op keep its number, and `part` says
  /// which of them it is: ".2", or ".2.1" where that is a part of a part.
  int number = 0;
  std::string part;
  int expanded_from = -1;  // the composed node, dead by now, that this one is a part of
  bool dead = false;
};

class Graph {
 public:
  int AddValue(Value value);
  int AddNode(Node node);
  /// Marks a node dead and clears it as producer.
  void Kill(int node);

  std::deque<Value>& values() { return values_; }
  const std::deque<Value>& values() const { return values_; }
  Value& value(int id) { return values_[static_cast<size_t>(id)]; }
  const Value& value(int id) const { return values_[static_cast<size_t>(id)]; }
  std::deque<Node>& nodes() { return nodes_; }
  const std::deque<Node>& nodes() const { return nodes_; }
  Node& node(int id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(int id) const { return nodes_[static_cast<size_t>(id)]; }

  /// Live nodes so that producers come before consumers, else in order of creation. kInvalidGraph
  /// names an op of a cycle.
  Result<std::vector<int>> TopologicalOrder() const;
  size_t LiveNodes() const;

  OpView view(int node) const { return OpView(this, node); }
  /// What the names of ops mean, for definitions in terms of others; null: they cannot be looked
  /// up.
  const std::shared_ptr<const OpRegistry>& ops() const { return ops_; }
  void set_ops(std::shared_ptr<const OpRegistry> ops) { ops_ = std::move(ops); }
  /// Set when all values that get a place have it, which is when kernels may look at them.
  bool placed() const { return placed_; }
  void set_placed() { placed_ = true; }
  /// "RNNCell#3 'cell'" for a part of that composed op, the outermost first: "A#1 / B#1". "" for
  /// an op that the user made.
  std::string PartOf(int node) const;

 private:
  /// Names the ops of one cycle; `waiting` counts the inputs that each op still lacks.
  Status CycleError(const std::vector<int>& waiting) const;

  // Deques: what passes and definitions refer to stays where it is while they add.
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::shared_ptr<const OpRegistry> ops_;
  bool placed_ = false;
};

/// "Add#12 'block2/residual'": what messages call an op.
std::string OpLabel(std::string_view kind, int64_t number, const std::string& name,
                    const std::string& part = "");

/// The invariants that hold between passes: ids in range, one producer per value, producers agree,
/// no cycle, types complete (after inference). kInternal names the first that is broken.
Status CheckInvariants(const Graph& graph, bool types_known);

/// Runs the op's own verify and infer for one node (operand counts, dtypes, shapes) and fills
/// out_types; sets open shapes.
Status VerifyNode(Graph& graph, int node);

/// Sets the types of outputs that the caller left out: what OpDef::types allows beside the other
/// operands. kInvalidGraph where it does not say.
Status ChooseTypes(Graph& graph, int node, const std::vector<size_t>& outputs);

// Text form; reads back in (parse.cc has the grammar).
struct PrintOptions {
  /// Constants larger than this many bytes are printed as "elided" and do not read back.
  size_t max_constant_bytes = 4096;
};
std::string Print(const Graph& graph, const PrintOptions& options = {});
/// `elided`, unless it is null: constants whose data was elided are zeros, and counted there.
Result<std::unique_ptr<Graph>> Parse(std::string_view text, const OpRegistry& registry,
                                     size_t* elided = nullptr);
/// Graphviz drawing: ops as boxes, constants left out, edges labelled with their types.
/// `cluster_of[node]` groups nodes; edges between groups say their bytes. `owner_of[node]` gives
/// them colours, with a legend.
std::string ToDot(const Graph& graph, const std::vector<std::string>& cluster_of = {},
                  const std::vector<std::string>& owner_of = {});
/// The same as a picture (SVG 1.1), which needs no other program to be seen.
std::string ToSvg(const Graph& graph, const std::vector<std::string>& cluster_of = {},
                  const std::vector<std::string>& owner_of = {});

}  // namespace tim::vx::ir
#endif  // TIMCL_IR_GRAPH_H_
