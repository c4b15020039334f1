// Retype and Resize: a compiled graph for inputs of other shapes. What the shapes do not change
// stays: who runs which op, the partitions, the kernels that can be resized.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "compiler/compiled.h"
#include "compiler/report.h"

namespace tim::vx::compiler {
namespace {

bool SameConstant(const ir::Value& a, const ir::Value& b) {
  if (a.storage == b.storage) return true;
  if (a.type != b.type || a.storage == nullptr || b.storage == nullptr) return false;
  return std::memcmp(a.storage->data(), b.storage->data(), a.type.bytes()) == 0;
}

/// Composed ops that were expanded are expanded again, in the same order: the ids of their parts
/// come out the same where the definitions make the same of the new shapes.
Status ExpandAlike(const ir::Graph& before, ir::Graph* next) {
  int last = -1;
  for (size_t id = next->nodes().size(); id < before.nodes().size(); ++id) {
    const int whole = before.nodes()[id].expanded_from;
    if (whole == std::exchange(last, whole)) continue;
    if (whole < 0 || static_cast<size_t>(whole) >= next->nodes().size() || next->node(whole).dead)
      return Status();  // not the same: SameGraph finds out
    TIMCL_TRY(Expand(*next, whole, *next->ops()));
  }
  return Status();
}

/// The same ops, with the same operands: only shapes, attributes and constants may differ.
bool SameGraph(const ir::Graph& a, const ir::Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.values().size() != b.values().size()) return false;
  for (size_t i = 0; i < a.values().size(); ++i) {
    const ir::Value &x = a.values()[i], &y = b.values()[i];
    if (x.role != y.role || x.producer != y.producer || x.type.dtype != y.type.dtype ||
        !(x.type.quant == y.type.quant) || x.scalar != y.scalar)
      return false;
  }
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const ir::Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.dead != y.dead || x.def != y.def || x.inputs != y.inputs || x.outputs != y.outputs)
      return false;
  }
  return true;
}

/// Partitions of one backend that are compiled anew.
struct Again {
  std::vector<size_t> partitions;
  std::vector<GraphView> views;
};

Status Impossible(const std::string& text) { return Status::Error(Code::kUnsupported, text); }

/// Asks the backend for these parts as for a graph of their own. kUnsupported: it would divide them
/// otherwise now.
Status SelectAgain(Kept* kept, size_t b, const Again& again) {
  Backend& backend = *kept->backends[b].backend;
  TIMCL_TRY(backend.Begin(kept->envs[b]));
  std::vector<int> ops;
  for (const GraphView& view : again.views) {
    for (const OpView& op : view.Ops()) ops.push_back(op.id());
  }
  TIMCL_ASSIGN(const std::vector<int> order, kept->graph->TopologicalOrder());
  const std::set<int> mine(ops.begin(), ops.end());
  ops.clear();
  for (const int id : order) {
    if (mine.count(id) != 0) ops.push_back(id);
  }
  Selection selection;
  TIMCL_TRY(backend.Partition(GraphView(kept->graph, ops), &selection));
  auto& assigned = kept->compiled.assignment;
  assigned.kept.insert(assigned.kept.end(), selection.kept().begin(), selection.kept().end());
  std::map<int, std::set<int>> wholes;
  for (const int id : ops) {
    const auto answer = selection.answers().find(id);
    if (answer == selection.answers().end() || !answer->second.selected)
      return Impossible(kept->graph->view(id).label() + " is not taken any more");
    wholes[answer->second.partition_index].insert(id);
  }
  for (const GraphView& view : again.views) {
    const int first = view.Ops().front().id();
    const int index = selection.answers().at(first).partition_index;
    const bool whole = selection.wholes().count(index) != 0;
    for (const OpView& op : view.Ops()) {
      if (selection.answers().at(op.id()).partition_index == index) continue;
      return Impossible(op.label() + " is not taken together with the others any more");
    }
    if (whole && wholes[index].size() != view.Ops().size())
      return Impossible(kept->graph->view(first).label() + " is taken with others now");
  }
  return Status();
}

Status CompileAgain(Kept* kept, size_t b, const Again& again, CompileReport* report) {
  Compiled& c = kept->compiled;
  TIMCL_TRY(SelectAgain(kept, b, again));
  Excluded excluded;
  CompiledUnits units;
  LoadedUnits loaded;
  TIMCL_TRY(CompileParts(kept->backends[b], b, again.views, kept->envs[b], &excluded, &units,
                         &loaded, kept->options.watch, report));
  if (!excluded.empty()) return excluded.begin()->second.begin()->second;
  CompiledUnits& known = c.units[b];
  for (size_t i = 0; i < again.partitions.size(); ++i) {
    const size_t index = c.unit_of[again.partitions[i]].second;
    known.calls[index] = std::move(units.calls[i]);
    c.loaded[b].kernels[index] = std::move(loaded.kernels[i]);
  }
  for (auto& [id, kernel] : units.kernel_of) known.kernel_of[id] = std::move(kernel);
  for (auto& [id, refused] : units.refused_kernels) known.refused_kernels[id] = std::move(refused);
  if (again.partitions.size() == known.calls.size()) {
    known.launches = units.launches;
    known.constant_bytes = units.constant_bytes;
    known.warnings = std::move(units.warnings);
  }
  c.loaded[b].programs_built = loaded.programs_built;
  c.loaded[b].programs_from_cache = loaded.programs_from_cache;
  return Status();
}

/// Takes the kernels out of an executable, for the next one. Where there is none in the end, they
/// go before it does: it has their memory, which some use for as long as they live.
class Released {
 public:
  Released(Compiled* compiled, std::unique_ptr<runtime::Executable> before)
      : compiled_(*compiled), before_(std::move(before)), steps_(before_->Release()) {
    for (size_t p = 0; p < steps_.size(); ++p) KernelOf(p) = std::move(steps_[p].kernel);
  }
  ~Released() {
    for (size_t p = steps_.size(); p-- > 0;) KernelOf(p).reset();
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  std::vector<runtime::Step>& steps() { return steps_; }

 private:
  std::unique_ptr<kernel::Kernel>& KernelOf(size_t partition) {
    const auto [b, index] = compiled_.unit_of[partition];
    return compiled_.loaded[b].kernels[index];
  }
  Compiled& compiled_;
  const std::unique_ptr<runtime::Executable> before_;
  std::vector<runtime::Step> steps_;
};

}  // namespace

Result<bool> Retype(Kept* kept, const std::shared_ptr<ir::Graph>& next) {
  ir::Graph& graph = *kept->graph;
  next->set_ops(graph.ops());
  TIMCL_TRY(ir::CheckInvariants(*next, false));
  TIMCL_TRY(InferTypes(*next));
  TIMCL_TRY(AllocateOutputs(*next));
  if (!LeftOut(kept->options, "fold_constants")) TIMCL_TRY(FoldConstants(*next));
  TIMCL_TRY(MergeNeighbours(*next, kept->options, nullptr));
  TIMCL_TRY(FuseAttention(next, kept->options, TakenByFirst(kept->backends, &kept->envs), nullptr));
  TIMCL_TRY(ExpandAlike(graph, next.get()));
  if (!SameGraph(graph, *next)) return false;
  TIMCL_TRY(ir::CheckInvariants(*next, true));
  // Where attributes or constants are others, kernels have the old ones in them.
  std::set<int> changed;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const ir::Node &was = graph.nodes()[id], &is = next->nodes()[id];
    if (was.dead) continue;
    bool same = was.attrs.Map() == is.attrs.Map();
    for (const int v : was.inputs) {
      if (v >= 0 && graph.value(v).role == ir::Role::kConstant)
        same = same && SameConstant(graph.value(v), next->value(v));
    }
    if (!same) changed.insert(static_cast<int>(id));
  }
  // In place: views that kernels hold see it.
  for (size_t i = 0; i < graph.values().size(); ++i) {
    ir::Value &was = graph.values()[i], &is = next->values()[i];
    was.type = is.type;
    was.storage = is.storage;
    was.placed = nullptr;
    was.placed_at = 0;
    was.on_demand = nullptr;
  }
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    ir::Node &was = graph.nodes()[id], &is = next->nodes()[id];
    was.attrs = is.attrs;
    for (size_t o = 0; o < was.out_types.size(); ++o) was.out_types[o] = is.out_types[o];
  }
  kept->changed = std::move(changed);
  return true;
}

Status Resize(Kept* kept, std::unique_ptr<runtime::Executable>* executable, CompileReport* report) {
  Compiled& c = kept->compiled;
  Released released(&c, std::move(*executable));
  std::vector<runtime::Step>& steps = released.steps();
  std::vector<Again> again(kept->backends.size());
  for (LoadedUnits& units : c.loaded) units.programs_built = units.programs_from_cache = 0;
  Stage stage(report, "resize", kept->options.watch);
  for (size_t p = 0; p < c.partitions.size(); ++p) {
    const auto [b, index] = c.unit_of[p];
    bool anew = false;
    for (const int id : c.partitions[p].nodes) anew = anew || kept->changed.count(id) != 0;
    for (size_t i = 0; i < steps[p].io.inputs.size(); ++i)
      steps[p].io.inputs[i].type = kept->graph->value(steps[p].input_values[i]).type;
    for (size_t i = 0; i < steps[p].io.outputs.size(); ++i)
      steps[p].io.outputs[i].type = kept->graph->value(steps[p].output_values[i]).type;
    if (!anew) {
      const Status resized = c.loaded[b].kernels[index]->ReSize();
      anew = resized.code() == Code::kUnsupported;
      if (!anew) TIMCL_TRY(resized);
    }
    c.units[b].calls[index].note = "resized";
    if (!anew) continue;
    again[b].partitions.push_back(p);
    again[b].views.push_back(c.views[p]);
  }
  stage.End();
  for (size_t b = 0; b < again.size(); ++b) {
    if (!again[b].partitions.empty()) TIMCL_TRY(CompileAgain(kept, b, again[b], report));
  }
  ReportOps(*kept->graph, kept->backends, c, report);
  TIMCL_TRY(CheckFallbacks(kept->backends, kept->options, c, report));
  TIMCL_ASSIGN(*executable, Assemble(kept->graph.get(), kept->backends, kept->options, &c, report));
  c.assignment.kept.clear();
  for (CompileEnv& env : kept->envs) env.keep->clear();
  for (CompiledUnits& units : c.units) units.modules.clear();
  return Status();
}

}  // namespace tim::vx::compiler
