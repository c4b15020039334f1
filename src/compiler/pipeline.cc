// Compile: the passes in order, then the backends, then the executable.
#include "compiler/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/log.h"
#include "compiler/compiled.h"
#include "compiler/report.h"
#include "ir/fold_rules.h"
#include "ir/layout.h"

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

CompileEnv EnvFor(const Backend& backend, const Options& options) {
  CompileEnv env = {options.fuse, options.alias, options.dump_dir};
  env.target = options.target;
  env.assets = options.assets;
  env.cache_dir = options.cache_dir;
  env.relaxed = options.relaxed;
  env.executes = options.executes;
  env.progress = options.watch.For(backend.Info().name);
  if (options.options_for) {
    for (const auto& [key, value] : options.options_for(backend.Info().name))
      env.options[key] = value;
  }
  return env;
}

/// CompileOption::SetOption("compiler", ...).
const std::vector<KnownOption>& OwnOptions() {
  static const auto* const all = [] {
    auto* options = new std::vector<KnownOption>;
    for (const char* pass : {"fold_constants", "cancel_moves", "fold_padding", "fold_scales",
                             "merge_twins", "fuse_attention"})
      options->push_back({pass, {"on", "off"}});
    return options;
  }();
  return *all;
}

/// What is said to `whose` and means nothing there. What is said to all is meant for those whom it
/// tells something.
Status CheckOptionsOf(const std::string& whose, const std::vector<KnownOption>& known,
                      const Options& options) {
  const auto to_all = options.options_for("*");
  for (const auto& said : options.options_for(whose)) {
    const auto& [key, value] = said;
    if (std::find(to_all.begin(), to_all.end(), said) != to_all.end()) continue;
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&, name = key](const KnownOption& o) { return o.key == name; });
    if (it == known.end()) {
      std::vector<std::string> keys;
      for (const KnownOption& o : known) keys.push_back(o.key);
      return Status::Error(
          Code::kInvalidArgument,
          fmt::format("'{}' has no option '{}'; it has: {}", whose, key, fmt::join(keys, ", ")));
    }
    const auto& values = it->values;
    if (value.empty() || values.empty() ||
        std::find(values.begin(), values.end(), value) != values.end())
      continue;
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("option '{}' of '{}' is '{}', and may be: {}", key, whose,
                                     value, fmt::join(values, ", ")));
  }
  return Status();
}

/// A switch with a typing error would do nothing, and nobody would hear of it.
Status CheckOptions(const Options& options, const std::vector<RankedBackend>& backends) {
  if (!options.options_for) return Status();
  TIMCL_TRY(CheckOptionsOf("compiler", OwnOptions(), options));
  for (const RankedBackend& ranked : backends) {
    if (const auto* known = ranked.backend->KnownOptions())
      TIMCL_TRY(CheckOptionsOf(ranked.backend->Info().name, *known, options));
  }
  return Status();
}

/// Tells the backends what is compiled, and finds out which of them take part in it.
Status Begin(const Options& options, std::vector<RankedBackend>* backends,
             std::vector<CompileEnv>* envs) {
  const std::string& vendor = options.target.vendor;
  std::string others;
  bool found = vendor.empty();
  for (RankedBackend& ranked : *backends) {
    const BackendInfo& info = ranked.backend->Info();
    envs->push_back(EnvFor(*ranked.backend, options));
    if (!vendor.empty() && !info.vendor.empty() && !ranked.own && info.vendor != vendor) {
      ranked.passed_over = fmt::format("the target is one of vendor '{}'", vendor);
      others += (others.empty() ? "" : ", ") + info.vendor;
      continue;
    }
    found = found || info.vendor == vendor;
    const Status ready = ranked.backend->Begin(envs->back());
    if (ready.code() != Code::kUnsupported) TIMCL_TRY(ready);
    ranked.passed_over = ready.ok() ? "" : ready.detail();
  }
  if (found) return Status();
  return Status::Error(
      Code::kNotFound,
      fmt::format(
          "the target's vendor is '{}', and no backend is of that; {}", vendor,
          others.empty() ? "there is none of any vendor" : "there are those of: " + others));
}

/// Begin; what the report says of backends, also when one fails.
Status BeginAll(const Options& options, std::vector<RankedBackend>* backends,
                std::vector<CompileEnv>* envs, CompileReport* report) {
  const Stage stage(report, "partition", options.watch);
  TIMCL_TRY(CheckOptions(options, *backends));
  const Status begun = Begin(options, backends, envs);
  ReportBackends(*backends, report);
  return begun;
}

uint64_t ConstantBytes(const ir::Graph& graph) {
  uint64_t bytes = 0;
  for (const ir::Value& v : graph.values()) {
    if (v.role == ir::Role::kConstant && v.storage != nullptr) bytes += v.storage->bytes();
  }
  return bytes;
}

/// Tells how long it lived.
class Timer {
 public:
  explicit Timer(double* ms) : ms_(ms) {}
  Timer(const Timer&) = delete;
  ~Timer() {
    const auto now = std::chrono::steady_clock::now();
    *ms_ = std::chrono::duration<double, std::milli>(now - start_).count();
  }

 private:
  double* ms_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What the ops themselves find odd, without being wrong.
void Advise(const ir::Graph& graph, std::vector<std::string>* warnings) {
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const OpView op = graph.view(static_cast<int>(id));
    const size_t before = warnings->size();
    if (op.def().advise != nullptr) op.def().advise(op, warnings);
    for (size_t i = before; i < warnings->size(); ++i)
      base::Log("compile", base::LogLevel::kWarn, "{}", (*warnings)[i]);
  }
}

/// Layout arguments that ask for a permutation: they have no effect here, one line says so. Of the
/// user's own ops, or of the parts of composed ones, into which layout inference does not look.
void AdviseOfLayouts(const ir::Graph& graph, bool parts, std::vector<std::string>* warnings) {
  std::string first;
  size_t more = 0;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const OpView op = graph.view(static_cast<int>(id));
    if ((graph.nodes()[id].expanded_from >= 0) != parts) continue;
    if (op.def().layout.kind != LayoutRule::Kind::kFixed) continue;
    const AttrMap attrs = op.any_attrs().Map();
    std::istringstream names(op.def().layout.layouts);
    size_t input = 0;
    for (std::string name; names >> name; ++input) {
      const AttrValue* value = attrs.Find(name);
      DataLayout layout = DataLayout::ANY;
      if (value == nullptr || !attrs_detail::FromValue(*value, &layout)) continue;
      if (ir::IsIdentity(ir::NativeOrder(layout, op.in(input).shape().rank()))) continue;
      if (first.empty()) {
        first = fmt::format("{} ({})", op.label(), AttrMap({{name, *value}}).ToText());
      } else {
        ++more;
      }
      break;
    }
  }
  if (first.empty()) return;
  if (more > 0) first += fmt::format(" and {} more", more);
  warnings->push_back(
      first + (parts ? ": layout arguments have no effect in the parts of a composed operator, "
                       "which give their operands the native order themselves"
                     : ": layout arguments have no effect on their own; "
                       "tim::transform::LayoutInference makes a graph that obeys them"));
  base::Log("compile", base::LogLevel::kWarn, "{}", warnings->back());
}

/// Pins and excludes that mean nothing here: a misspelt name would go unnoticed. A kind that this
/// graph does not have is no mistake.
void AdviseOfNames(const ir::Graph& graph, const OpRegistry& registry, const Options& options,
                   std::vector<std::string>* warnings) {
  const auto advise = [&](const auto& asked, const char* does) {
    for (const auto& [what, backend] : asked) {
      const bool known =
          registry.Find(what) != nullptr ||
          std::any_of(graph.nodes().begin(), graph.nodes().end(),
                      [&](const auto& n) { return n.name == what || n.def->name == what; });
      if (known) continue;
      warnings->push_back(
          fmt::format("'{}' is {} '{}', but it is no operation of the graph and no "
                      "kind of operations",
                      what, does, backend));
      base::Log("compile", base::LogLevel::kWarn, "{}", warnings->back());
    }
  };
  advise(options.pins, "pinned to");
  advise(options.excludes, "excluded from");
}

/// The same of kernels that options name. One that another graph has is no mistake.
void AdviseOfKernels(const ir::Graph& graph, const OpRegistry& registry,
                     const std::vector<RankedBackend>& backends, const Options& options,
                     std::vector<std::string>* warnings) {
  if (!options.options_for) return;
  std::set<std::string> kernels;
  const auto add = [&](const OpDef& def) {
    for (const KernelCandidate& k : def.kernels) kernels.insert(k.name);
  };
  for (const RankedBackend& ranked : backends) {
    const auto* known = ranked.backend->KnownOptions();
    if (known == nullptr) continue;
    const std::string& whose = ranked.backend->Info().name;
    for (const auto& [key, value] : options.options_for(whose)) {
      const auto names = [&, name = key](const KnownOption& o) {
        return o.key == name && o.names_kernels;
      };
      if (std::none_of(known->begin(), known->end(), names)) continue;
      if (kernels.empty()) {
        for (const auto& def : registry.All()) add(*def);
        for (const auto& def : InternalOps()) add(*def);
        for (const auto& node : graph.nodes()) add(*node.def);
      }
      std::istringstream list(value);
      for (std::string name; std::getline(list, name, ',');) {
        if (kernels.count(name) != 0) continue;
        warnings->push_back(fmt::format(
            "option '{}' of '{}' names '{}', but no operation has a kernel of that name", key,
            whose, name));
        base::Log("compile", base::LogLevel::kWarn, "{}", warnings->back());
      }
    }
  }
}

}  // namespace

Status AllocateOutputs(ir::Graph& graph) {
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
  return Status();
}

std::string ChoiceFor(const Options& options, const std::string& pass) {
  std::string choice;
  if (!options.options_for) return choice;
  for (const auto& [key, value] : options.options_for("compiler")) {
    if (key == pass) choice = value;  // the last one counts
  }
  return choice;
}

bool LeftOut(const Options& options, const std::string& pass) {
  return ChoiceFor(options, pass) == "off";
}

Status MergeNeighbours(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged,
                       const std::function<void(const char*)>& after) {
  using Pass = Status (*)(ir::Graph&, const Options&, std::vector<OpPlacement>*);
  // Moves that vanish bring those together that the others merge.
  static constexpr std::pair<const char*, Pass> kPasses[] = {{"cancel_moves", CancelMoves},
                                                             {"fold_padding", FoldPadding},
                                                             {"fold_scales", FoldScales},
                                                             {"merge_twins", MergeTwins}};
  // One partition for each op is asked for to find the one that is to blame.
  if (!options.fuse || options.strategy == PartitionStrategy::kPerOp) return Status();
  for (const auto& [name, pass] : kPasses) {
    if (LeftOut(options, name)) continue;
    TIMCL_TRY(pass(graph, options, merged));
    if (after) after(name);
  }
  return Status();
}

namespace {

/// Notes what a backend refused of its own parts. kInternal when it refuses an op that it was not
/// given.
Status Exclude(const std::map<int, Status>& refusals, const std::vector<GraphView>& parts,
               size_t backend, const std::string& name, Excluded* excluded) {
  if (refusals.empty()) return Status();
  std::set<int> given;
  for (const GraphView& part : parts) {
    for (const OpView& op : part.Ops()) given.insert(op.id());
  }
  for (const auto& [id, why] : refusals) {
    if (given.count(id) == 0) {
      return Status::Error(
          Code::kInternal,
          fmt::format("backend '{}' refuses op {}, which it was not given", name, id));
    }
    (*excluded)[id][static_cast<int>(backend)] = why;
  }
  return Status();
}

}  // namespace

Status CompileParts(const RankedBackend& ranked, size_t index, const std::vector<GraphView>& parts,
                    const CompileEnv& env, Excluded* excluded, CompiledUnits* units,
                    LoadedUnits* loaded, const Watch& watch, CompileReport* report) {
  Backend& backend = *ranked.backend;
  const std::string& name = backend.Info().name;
  {
    Stage stage(report, "compile: " + name, watch);
    TIMCL_TRY(backend.Compile(parts, env, units));
    uint64_t bytes = units->constant_bytes;
    for (const CodeModule& module : units->modules) bytes += module.bytes.size();
    stage.set_bytes(bytes);
  }
  TIMCL_TRY(Exclude(units->refusals, parts, index, name, excluded));
  if (!units->refusals.empty()) return Status();
  if (units->calls.size() != parts.size()) {
    return Status::Error(Code::kInternal, fmt::format("backend '{}' compiled {} of {} partitions",
                                                      name, units->calls.size(), parts.size()));
  }
  for (const Call& call : units->calls) {
    if (call.module >= units->modules.size()) {
      return Status::Error(Code::kInternal, fmt::format("backend '{}' names module {} of {}", name,
                                                        call.module, units->modules.size()));
    }
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    Call& call = units->calls[p];
    for (const TensorView& t : parts[p].Inputs()) call.inputs.push_back({t.name(), t.type()});
    for (const TensorView& t : parts[p].Outputs()) call.outputs.push_back({t.name(), t.type()});
  }
  const Stage stage(report, "load: " + name, watch);
  TIMCL_TRY(backend.Load(units->modules, units->calls, env, loaded));
  TIMCL_TRY(Exclude(loaded->refusals, parts, index, name, excluded));
  for (const auto& [call, why] : loaded->refused_calls) {
    if (call >= parts.size()) {
      return Status::Error(Code::kInternal, fmt::format("backend '{}' refuses call {} of {}", name,
                                                        call, parts.size()));
    }
    for (const OpView& op : parts[call].Ops()) (*excluded)[op.id()][static_cast<int>(index)] = why;
  }
  if (!loaded->refusals.empty() || !loaded->refused_calls.empty()) return Status();
  for (const auto& [call, note] : loaded->notes)
    if (call < parts.size()) units->calls[call].note = note;
  units->launches += loaded->more_launches;
  const auto made =
      loaded->kernels.size() -
      static_cast<size_t>(std::count(loaded->kernels.begin(), loaded->kernels.end(), nullptr));
  if (made != parts.size() || loaded->kernels.size() != parts.size()) {
    return Status::Error(Code::kInternal, fmt::format("backend '{}' loaded {} of {} partitions",
                                                      name, made, parts.size()));
  }
  return Status();
}

namespace {

/// "was taken by backend 'npu', which could not compile it: ..."
std::string FellBack(const RankedBackend& ranked, const Status& why) {
  return fmt::format("was taken by backend '{}', which could not compile it: {}",
                     ranked.backend->Info().name, why.detail());
}

/// Where fallbacks are forbidden, what a backend gives back is an error. For those of this library
/// CheckFallbacks has rules of its own.
Status CheckAllowed(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
                    const Options& options, const Excluded& excluded) {
  if (options.fallback != Fallback::kForbid) return Status();
  for (const auto& [id, tried] : excluded) {
    for (const auto& [b, why] : tried) {
      const RankedBackend& ranked = backends[static_cast<size_t>(b)];
      if (ranked.own) continue;
      return Status::Error(why.code(), FellBack(ranked, why)).AtOp(graph.view(id).label());
    }
  }
  return Status();
}

std::vector<GraphView> ViewsOf(const std::shared_ptr<ir::Graph>& graph, const Division& division) {
  std::vector<std::vector<int>> pieces;
  for (const Partition& p : division.partitions) pieces.push_back(p.nodes);
  return GraphView::Divide(graph, pieces);
}

/// Assigns, groups, compiles and loads. An op that its backend cannot compile or load after all
/// goes to the next one: everything is then done again without that pair.
Status CompilePartitions(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
                         const std::vector<RankedBackend>& backends,
                         const std::vector<CompileEnv>& envs, const Options& options, Compiled* c,
                         CompileReport* report) {
  Excluded& excluded = c->excluded;
  for (bool again = true; again;) {
    again = false;
    c->units.clear();
    c->loaded.clear();
    c->unit_of.clear();
    c->views.clear();
    {
      const Stage stage(report, "partition", options.watch);
      auto division = Divide(graph, registry, backends, options, &excluded);
      TIMCL_TRY(CheckAllowed(*graph, backends, options, excluded));
      TIMCL_ASSIGN(static_cast<Division&>(*c), std::move(division));
      c->views = ViewsOf(graph, *c);
    }
    c->units.resize(backends.size());
    c->loaded.resize(backends.size());
    std::vector<std::vector<GraphView>> parts(backends.size());
    for (size_t p = 0; p < c->partitions.size(); ++p) {
      const size_t b = static_cast<size_t>(c->partitions[p].backend);
      c->unit_of.emplace_back(b, parts[b].size());
      parts[b].push_back(c->views[p]);
    }
    for (size_t b = 0; b < backends.size() && !again; ++b) {
      if (parts[b].empty()) continue;
      TIMCL_TRY(CompileParts(backends[b], b, parts[b], envs[b], &excluded, &c->units[b],
                             &c->loaded[b], options.watch, report));
      again = !c->units[b].refusals.empty() || !c->loaded[b].refusals.empty() ||
              !c->loaded[b].refused_calls.empty();
      if (again) TIMCL_TRY(CheckAllowed(*graph, backends, options, excluded));
    }
  }
  return Status();
}

void Warn(const std::vector<std::string>& warnings, CompileReport* report) {
  for (const std::string& text : warnings) {
    report->warnings.push_back(text);
    base::Log("compile", base::LogLevel::kWarn, "{}", text);
  }
}

}  // namespace

void ReportOps(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
               const Compiled& c, CompileReport* report) {
  if (c.views.size() != c.partitions.size()) return;  // compilation did not come that far
  ReportDivision(graph, backends, c, c.views, report);
  for (size_t p = 0; p < c.unit_of.size(); ++p) {
    const auto [b, index] = c.unit_of[p];
    const CompiledUnits& u = c.units[b];
    if (index < u.calls.size()) report->parts[p].note = u.calls[index].note;
    for (size_t at : report->parts[p].ops) {
      OpPlacement& place = report->ops[at];
      if (const auto it = u.kernel_of.find(place.id); it != u.kernel_of.end())
        place.kernel = it->second;
      if (const auto it = u.refused_kernels.find(place.id); it != u.refused_kernels.end())
        place.refusals.insert(place.refusals.end(), it->second.begin(), it->second.end());
    }
  }
  report->ops.insert(report->ops.end(), c.merged.begin(), c.merged.end());
}

Status CheckFallbacks(const std::vector<RankedBackend>& backends, const Options& options,
                      const Compiled& c, CompileReport* report) {
  for (const OpPlacement& place : report->ops) {
    if (place.partition < 0) continue;  // merged into another one
    const size_t b =
        static_cast<size_t>(c.partitions[static_cast<size_t>(place.partition)].backend);
    const std::string& failure = c.assignment.failure_of[static_cast<size_t>(place.id)];
    if (backends[b].fallback && !failure.empty() && place.reason != kPinned) {
      const std::string text =
          fmt::format("{} runs on the fallback backend '{}': {}", place.op, place.backend, failure);
      if (options.fallback == Fallback::kForbid)
        return Status::Error(Code::kUnsupported, text).AtOp(place.op);
      if (options.fallback == Fallback::kWarn) Warn({text}, report);
    }
    const auto tried = c.excluded.find(place.id);
    if (tried == c.excluded.end()) continue;
    for (const auto& [before, why] : tried->second) {
      const RankedBackend& ranked = backends[static_cast<size_t>(before)];
      if (ranked.own) continue;
      report->fallbacks.push_back(
          fmt::format("{} {}; '{}' runs it now", place.op, FellBack(ranked, why), place.backend));
      if (options.fallback == Fallback::kWarn) Warn({report->fallbacks.back()}, report);
    }
  }
  return Status();
}

namespace {

/// The loaded kernels with the memory that each looks at.
std::vector<runtime::Step> MakeSteps(const ir::Graph& graph,
                                     const std::vector<RankedBackend>& backends, Compiled* c) {
  std::vector<runtime::Step> steps;
  for (size_t p = 0; p < c->partitions.size(); ++p) {
    const auto [b, index] = c->unit_of[p];
    const Call& call = c->units[b].calls[index];
    runtime::Step step;
    step.backend = backends[b].backend;
    step.kernel = std::move(c->loaded[b].kernels[index]);
    step.label = LabelOf(c->views[p]);
    step.scratch_bytes = call.scratch_bytes;
    step.persistent_bytes = call.persistent_bytes;
    for (const TensorView& t : c->views[p].Inputs()) {
      step.io.inputs.push_back(BufferOf(graph, t));
      step.input_values.push_back(t.id());
    }
    for (const TensorView& t : c->views[p].Outputs()) {
      step.io.outputs.push_back(BufferOf(graph, t));
      step.output_values.push_back(t.id());
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

/// Tells the graph where its values are, for the views that kernels keep.
void Place(const std::vector<runtime::Step>& steps, ir::Graph* graph) {
  for (const runtime::Step& step : steps) {
    for (const bool input : {true, false}) {
      const auto& buffers = input ? step.io.inputs : step.io.outputs;
      const auto& values = input ? step.input_values : step.output_values;
      for (size_t i = 0; i < buffers.size(); ++i) {
        ir::Value& v = graph->value(values[i]);
        v.placed = buffers[i].memory;
        v.placed_at = buffers[i].offset;
      }
    }
  }
  graph->set_placed();
}

}  // namespace

Result<std::unique_ptr<runtime::Executable>> Assemble(ir::Graph* graph,
                                                      const std::vector<RankedBackend>& backends,
                                                      const Options& options, Compiled* compiled,
                                                      CompileReport* report) {
  std::vector<std::shared_ptr<const kernel::Memory>> keep;
  for (const ir::Value& v : graph->values()) {
    if (v.storage != nullptr) keep.push_back(v.storage);
  }
  Stage stage(report, "prepare", options.watch);
  TIMCL_ASSIGN(auto executable,
               runtime::Executable::Create(
                   MakeSteps(*graph, backends, compiled), std::move(keep),
                   [graph](const std::vector<runtime::Step>& steps) { Place(steps, graph); }));
  stage.set_bytes(executable->arena_bytes());
  for (size_t s = 0; s < executable->steps(); ++s)
    Warn(executable->step(s).kernel->Warnings(), report);
  Dumper(options.dump_dir).Write("plan.txt", executable->PlanText());
  report->steps = executable->steps();
  report->syncs = executable->syncs();
  report->arena_bytes = executable->arena_bytes();
  report->live_bytes_bound = executable->live_bytes();
  for (size_t b = 0; b < backends.size(); ++b) {
    const CompiledUnits& u = compiled->units[b];
    report->launches += u.launches;
    report->constant_bytes += u.constant_bytes;
    Warn(u.warnings, report);
    report->programs_built += compiled->loaded[b].programs_built;
    report->programs_from_cache += compiled->loaded[b].programs_from_cache;
  }
  return executable;
}

Result<std::unique_ptr<runtime::Executable>> Compile(const std::shared_ptr<ir::Graph>& shared,
                                                     const OpRegistry& registry,
                                                     const std::vector<RankedBackend>& given,
                                                     const Options& options, CompileReport* report,
                                                     std::shared_ptr<Kept>* kept) {
  const Timer timer(&report->compile_ms);
  std::vector<RankedBackend> backends = given;
  std::vector<CompileEnv> envs;
  ir::Graph& graph = *shared;
  if (graph.ops() == nullptr) graph.set_ops(std::make_shared<const OpRegistry>(registry));
  Dumper dump(options.dump_dir);
  dump.Graph("built", graph);
  if (dump.on()) {
    dump.Write("built.dot", ir::ToDot(graph));
    dump.Write("built.svg", ir::ToSvg(graph));
  }
  TIMCL_TRY(ir::CheckInvariants(graph, false));
  {
    const Stage stage(report, "infer types", options.watch);
    TIMCL_TRY(InferTypes(graph));
    Advise(graph, &report->warnings);
    AdviseOfLayouts(graph, false, &report->warnings);
    TIMCL_TRY(AllocateOutputs(graph));
  }
  dump.Graph("infer_types", graph);
  {
    Stage stage(report, "fold", options.watch);
    const uint64_t before = ConstantBytes(graph);
    if (!LeftOut(options, "fold_constants")) TIMCL_TRY(FoldConstants(graph));
    stage.set_bytes(ConstantBytes(graph) - before);
  }
  dump.Graph("fold", graph);
  Compiled compiled;
  {
    const Stage stage(report, "merge", options.watch);
    TIMCL_TRY(MergeNeighbours(graph, options, &compiled.merged,
                              [&](const char* pass) { dump.Graph(pass, graph); }));
  }
  TIMCL_TRY(BeginAll(options, &backends, &envs, report));
  {
    const Stage stage(report, "partition", options.watch);
    const size_t before = compiled.merged.size();
    TIMCL_TRY(FuseAttention(shared, options, TakenByFirst(backends), &compiled.merged));
    if (compiled.merged.size() > before) dump.Graph("fuse_attention", graph);
  }
  const Status divided =
      CompilePartitions(shared, registry, backends, envs, options, &compiled, report);
  ReportOps(graph, backends, compiled, report);
  TIMCL_TRY(divided);
  AdviseOfLayouts(graph, true, &report->warnings);
  AdviseOfNames(graph, registry, options, &report->warnings);
  AdviseOfKernels(graph, registry, backends, options, &report->warnings);
  dump.Graph("partition", graph);
  TIMCL_TRY(CheckFallbacks(backends, options, compiled, report));
  if (dump.on()) {
    dump.Write("graph.dot", Draw(graph, backends, compiled, ir::ToDot));
    dump.Write("graph.svg", Draw(graph, backends, compiled, ir::ToSvg));
  }

  TIMCL_ASSIGN(auto executable, Assemble(&graph, backends, options, &compiled, report));
  if (kept != nullptr) {
    // Only for the compilation itself: compilers' own objects, and code that is loaded by now.
    compiled.assignment.kept.clear();
    for (CompileEnv& env : envs) env.keep->clear();
    for (CompiledUnits& units : compiled.units) units.modules.clear();
    *kept = std::make_shared<Kept>(
        Kept{shared, std::move(backends), std::move(envs), options, std::move(compiled)});
  }
  return executable;
}

Status Preview(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
               const std::vector<RankedBackend>& given, const Options& options,
               CompileReport* report, std::string* drawing) {
  const Timer timer(&report->compile_ms);
  std::vector<RankedBackend> backends = given;
  std::vector<CompileEnv> envs;
  if (graph->ops() == nullptr) graph->set_ops(std::make_shared<const OpRegistry>(registry));
  TIMCL_TRY(BeginAll(options, &backends, &envs, report));
  const Stage stage(report, "partition", options.watch);
  Compiled c;
  auto division = Divide(graph, registry, backends, options, &c.excluded);
  TIMCL_TRY(CheckAllowed(*graph, backends, options, c.excluded));
  TIMCL_ASSIGN(static_cast<Division&>(c), std::move(division));
  c.views = ViewsOf(graph, c);
  ReportOps(*graph, backends, c, report);
  AdviseOfNames(*graph, registry, options, &report->warnings);
  AdviseOfKernels(*graph, registry, backends, options, &report->warnings);
  if (drawing != nullptr) *drawing = Draw(*graph, backends, c);
  return CheckFallbacks(backends, options, c, report);
}

}  // namespace tim::vx::compiler
