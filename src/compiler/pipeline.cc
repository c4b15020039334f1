// Compile: the passes in order, then the backends, then the executable.
#include "compiler/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/log.h"

namespace tim::vx::compiler {
namespace {

/// TIMCL_DUMP: one numbered file per pass.
class Dumper {
 public:
  explicit Dumper(std::string dir) : dir_(std::move(dir)) {
    if (dir_.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(dir_, error);
    if (error) {
      base::Log("dump", base::LogLevel::kWarn, "cannot create '{}': {}", dir_, error.message());
      dir_.clear();
    }
  }
  void Graph(const char* pass, const ir::Graph& graph) {
    if (!dir_.empty()) Write(fmt::format("{:02}_{}.txt", count_++, pass), ir::Print(graph));
  }
  void Write(const std::string& file, const std::string& text) {
    if (dir_.empty()) return;
    std::ofstream out(dir_ + "/" + file);
    out << text;
    if (!out) base::Log("dump", base::LogLevel::kWarn, "cannot write '{}/{}'", dir_, file);
  }
  bool on() const { return !dir_.empty(); }

 private:
  std::string dir_;
  int count_ = 0;
};

kernel::Buffer BufferOf(const ir::Graph& graph, const TensorView& t) {
  const ir::Value& v = graph.value(t.id());
  kernel::Buffer b;
  b.type = v.type;
  b.name = v.name;
  b.memory = v.storage.get();
  b.constant = v.role == ir::Role::kConstant;
  return b;
}

std::string LabelOf(const GraphView& view) {
  std::string label;
  for (const OpView& op : view.Ops()) {
    if (label.size() > 80) return label + fmt::format(" ... ({} ops)", view.Ops().size());
    label += (label.empty() ? "" : ", ") + op.label();
  }
  return label;
}

}  // namespace

Result<std::unique_ptr<runtime::Executable>> Compile(ir::Graph& graph, const OpRegistry& registry,
                                                     const std::vector<RankedBackend>& backends,
                                                     const Options& options,
                                                     CompileReport* report) {
  const auto start = std::chrono::steady_clock::now();
  Dumper dump(options.dump_dir);
  dump.Graph("built", graph);
  TIMCL_TRY(ir::CheckInvariants(graph, false));
  TIMCL_TRY(InferTypes(graph));
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const OpView op = graph.view(static_cast<int>(id));
    const size_t before = report->warnings.size();
    if (op.def().advise != nullptr) op.def().advise(op, &report->warnings);
    for (size_t i = before; i < report->warnings.size(); ++i)
      base::Log("compile", base::LogLevel::kWarn, "{}", report->warnings[i]);
  }
  // Outputs whose shape was left open, or whose declared shape the op overrules, get their memory
  // now that it is known.
  for (ir::Value& v : graph.values()) {
    if (v.role != ir::Role::kOutput || v.producer < 0) continue;
    TIMCL_ASSIGN(const size_t bytes, v.type.CheckedBytes());
    // Never less than declared: callers that map the tensor go by its spec.
    if (v.storage != nullptr && v.storage->bytes() >= bytes) continue;
    if (v.storage != nullptr && !v.storage->has_header()) {
      return Status::Error(
                 Code::kInvalidShape,
                 fmt::format("the op computes {}, {} bytes, but the memory given by the caller "
                             "has {} bytes",
                             v.type.ToString(), bytes, v.storage->bytes()))
          .AtOp(graph.view(v.producer).label())
          .AtTensor(v.name);
    }
    v.storage = base::Storage::Allocate(bytes);
    if (v.storage == nullptr) {
      return Status::Error(Code::kOutOfMemory,
                           fmt::format("{} bytes for output {}", bytes, v.type.ToString()))
          .AtTensor(v.name);
    }
  }
  dump.Graph("infer_types", graph);
  TIMCL_TRY(FoldConstants(graph));
  dump.Graph("fold", graph);

  // A partition that its backend cannot compile after all goes to the next one: assign again
  // without that pair.
  std::map<int, std::map<int, std::string>> excluded;
  Assignment assignment;
  std::vector<Partition> partitions;
  std::vector<GraphView> views;
  std::vector<CompiledUnits> units(backends.size());
  std::vector<std::pair<size_t, size_t>>
      unit_of;  // partition -> (backend, index among the backend's)
  for (bool again = true; again;) {
    again = false;
    TIMCL_ASSIGN(assignment, Assign(graph, registry, backends, options, excluded));
    TIMCL_TRY(ir::CheckInvariants(graph, true));
    partitions = Group(graph, assignment);
    views.clear();
    unit_of.clear();
    units.assign(backends.size(), {});
    std::vector<std::vector<GraphView>> parts(backends.size());
    for (const Partition& p : partitions) {
      views.emplace_back(&graph, p.nodes);
      const size_t b = static_cast<size_t>(p.backend);
      unit_of.emplace_back(b, parts[b].size());
      parts[b].push_back(views.back());
    }
    for (size_t b = 0; b < backends.size(); ++b) {
      if (parts[b].empty()) continue;
      TIMCL_TRY(
          backends[b].backend->Compile(parts[b], {options.fuse, options.dump_dir}, &units[b]));
      for (const auto& [part, why] : units[b].refusals) {
        for (const OpView& op : parts[b].at(part).Ops())
          excluded[op.id()][static_cast<int>(b)] = why;
        again = true;
      }
      if (!again && units[b].calls.size() != parts[b].size()) {
        return Status::Error(
            Code::kInternal,
            fmt::format("backend '{}' compiled {} of {} partitions",
                        backends[b].backend->Info().name, units[b].calls.size(), parts[b].size()));
      }
    }
  }
  dump.Graph("partition", graph);

  report->ops.clear();
  report->partitions = partitions.size();
  std::vector<std::string> clusters(graph.nodes().size());
  for (size_t p = 0; p < partitions.size(); ++p) {
    const size_t b = unit_of[p].first;
    const CompiledUnits& u = units[b];
    const std::string& name = backends[b].backend->Info().name;
    for (int id : partitions[p].nodes) {
      clusters[static_cast<size_t>(id)] = fmt::format("{} {}", name, p);
      OpPlacement place;
      const OpView op = graph.view(id);
      place.op = op.label();
      place.kind = std::string(op.kind());
      place.backend = name;
      if (const auto it = u.kernel_of.find(id); it != u.kernel_of.end()) place.kernel = it->second;
      place.reason = assignment.reason_of[static_cast<size_t>(id)];
      place.refusals = assignment.refusals_of[static_cast<size_t>(id)];
      if (const auto it = u.refused_kernels.find(id); it != u.refused_kernels.end()) {
        place.refusals.insert(place.refusals.end(), it->second.begin(), it->second.end());
      }
      if (backends[b].fallback && !place.refusals.empty() && place.reason != "pinned") {
        const std::string text =
            fmt::format("{} runs on the fallback backend '{}': {}", place.op, name, place.reason);
        if (options.fallback == Fallback::kForbid)
          return Status::Error(Code::kUnsupported, text).AtOp(place.op);
        if (options.fallback == Fallback::kWarn) {
          report->warnings.push_back(text);
          base::Log("compile", base::LogLevel::kWarn, "{}", text);
        }
      }
      report->ops.push_back(std::move(place));
    }
  }
  if (dump.on()) dump.Write("graph.dot", ir::ToDot(graph, clusters));

  std::vector<runtime::Step> steps;
  std::vector<std::shared_ptr<const kernel::Memory>> keep;
  for (const ir::Value& v : graph.values()) {
    if (v.storage != nullptr) keep.push_back(v.storage);
  }
  for (size_t p = 0; p < partitions.size(); ++p) {
    const auto [b, index] = unit_of[p];
    const Call& call = units[b].calls[index];
    runtime::Step step;
    step.backend = backends[b].backend;
    step.label = LabelOf(views[p]);
    step.scratch_bytes = call.scratch_bytes;
    step.persistent_bytes = call.persistent_bytes;
    TIMCL_TRY(step.backend->Load(units[b].modules.at(call.module), call.entry, &step.kernel));
    for (const TensorView& t : views[p].Inputs()) {
      step.io.inputs.push_back(BufferOf(graph, t));
      step.input_values.push_back(t.id());
    }
    for (const TensorView& t : views[p].Outputs()) {
      step.io.outputs.push_back(BufferOf(graph, t));
      step.output_values.push_back(t.id());
    }
    steps.push_back(std::move(step));
  }
  TIMCL_ASSIGN(auto executable, runtime::Executable::Create(std::move(steps), std::move(keep)));
  if (dump.on()) dump.Write("plan.txt", executable->PlanText());
  report->steps = executable->steps();
  report->syncs = executable->syncs();
  report->arena_bytes = executable->arena_bytes();
  for (const CompiledUnits& u : units) {
    report->launches += u.launches;
    report->programs_built += u.programs_built;
    report->programs_from_cache += u.programs_from_cache;
    report->constant_bytes += u.constant_bytes;
    report->warnings.insert(report->warnings.end(), u.warnings.begin(), u.warnings.end());
  }
  report->compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return executable;
}

}  // namespace tim::vx::compiler
