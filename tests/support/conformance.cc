// The conformance harness: see conformance.h.
#include "support/conformance.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <sstream>

#include "backends/opencl/backend.h"
#include "backends/reference/backend.h"
#include "compiler/pipeline.h"
#include "ir/fold_rules.h"
#include "ref/compare.h"

namespace tim::vx::ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace tim::vx::conformance {
namespace {

constexpr size_t kGuard = 256;  // bytes, a multiple of the alignment of tensors

/// What runs, for the message of a crash.
char running[2000] = "";
void Crashed(int) {
  (void)!write(STDERR_FILENO, running, std::strlen(running));
  std::signal(SIGSEGV, SIG_DFL);  // which the same instruction meets again
}
/// Kernels that read behind an input meet a page that nobody may touch.
void Announce(const std::vector<NamedCase>& cases) {
  static const bool once = std::signal(SIGSEGV, Crashed) != SIG_ERR;
  (void)once;
  std::string text = "a crash, perhaps a read behind an input, in one of these (--chunk=1):\n";
  for (const NamedCase& named : cases) text += "  " + named.text + "\n";
  running[text.copy(running, sizeof running - 1)] = 0;
}

std::byte GuardByte(size_t i) { return static_cast<std::byte>((i * 37 + 11) & 0xFF); }

/// One op of the device's graph that stands for a case.
struct Trial {
  size_t which = 0;  // index into the cases of the chunk
  std::string candidate;
  int node = -1;
  std::vector<int> inputs, results;
  KernelCandidate kernel = {};  // of an expansion: none
};

std::string TypesOf(const NamedCase& named) {
  std::string text;
  for (const CaseTensor& t : named.c.inputs) {
    text += fmt::format("{}{}", text.empty() ? "" : " ",
                        t.type.dtype == DataType::UNKNOWN ? "-" : TypeText(t.type));
  }
  text += " ->";
  for (const TensorType& t : named.c.outputs) text += " " + TypeText(t);
  return text;
}

class Chunk {
 public:
  /// `bf16`: in relaxed mode, those candidates that are for it; else the others.
  Chunk(const std::vector<NamedCase>& cases, const RunOptions& options, bool bf16)
      : cases_(cases), options_(options), bf16_(bf16) {}

  std::vector<Outcome> Run() {
    Announce(cases_);
    for (size_t k = 0; k < cases_.size(); ++k) Add(k);
    Select();
    std::string trouble;
    if (Status s = expected_.Run(reference::CreateBackend(), *options_.registry); !s.ok())
      trouble = "reference: " + s.message();
    if (Status s = actual_.Run(options_.device, *options_.registry, /*fuse=*/true, bf16_,
                               options_.switches);
        !s.ok() && trouble.empty())
      trouble = options_.device->Info().name + ": " + s.message();
    if (!trouble.empty() && cases_.size() > 1) return Halves();
    for (const Trial& t : trials_) {
      if (t.node < 0) continue;
      const std::string wrong = trouble.empty() ? Check(t) : trouble;
      Report(t.which, t.candidate, wrong);
    }
    return std::move(outcomes_);
  }

 private:
  /// Somewhere among these cases is one that does not compile or run at all: looks for it.
  std::vector<Outcome> Halves() {
    const auto middle = cases_.begin() + static_cast<std::ptrdiff_t>(cases_.size() / 2);
    std::vector<Outcome> all = Chunk({cases_.begin(), middle}, options_, bf16_).Run();
    std::vector<Outcome> rest = Chunk({middle, cases_.end()}, options_, bf16_).Run();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  void Add(size_t which) {
    const NamedCase& named = cases_[which];
    const OpDef& def = *named.def;
    std::vector<int> theirs, ours;  // values in expected_ and actual_
    const TensorType none;
    for (size_t i = 0; i < named.c.inputs.size(); ++i) {
      const CaseTensor& t = named.c.inputs[i];
      if (t.type.dtype == DataType::UNKNOWN) {
        theirs.push_back(-1), ours.push_back(-1);
        continue;
      }
      std::vector<std::byte> data(t.type.bytes());
      const uint64_t seed = options_.seed * 0x100000001B3u + Hash(named.text) + i;
      FillInput(t, named.c.outputs.empty() ? none : named.c.outputs[0], seed, data.data());
      theirs.push_back(expected_.AddInput(t.type, t.constant, data.data()));
      ours.push_back(actual_.AddInput(t.type, t.constant, data.data()));
    }
    auto results = [&](TestGraph& g) {
      std::vector<int> r;
      for (const TensorType& t : named.c.outputs) r.push_back(g.AddResult(t, true));
      return r;
    };
    const std::vector<int> wanted = results(expected_);
    wanted_.push_back(wanted);
    if (Status s = expected_.AddOp(std::make_shared<OpDef>(def), named.c.attrs, theirs, wanted);
        !s.ok()) {
      Report(which, "none", "the op refuses its own case: " + s.message());
      return;
    }
    auto attempt = [&](const std::string& name, std::shared_ptr<OpDef> copy,
                       const KernelCandidate& kernel) {
      Trial t{which, name, -1, ours, results(actual_), kernel};
      if (Status s = actual_.AddOp(std::move(copy), named.c.attrs, ours, t.results, &t.node);
          !s.ok()) {
        Report(which, name, s.message());
        return;
      }
      trials_.push_back(std::move(t));
    };
    for (const KernelCandidate& candidate : def.kernels) {
      if (candidate.bf16 != bf16_) continue;
      auto copy = std::make_shared<OpDef>(def);
      copy->kernels = KernelList(&candidate, 1);
      copy->expand = nullptr;
      attempt(candidate.name, std::move(copy), candidate);
    }
    if (def.expand != nullptr && !bf16_) {
      auto copy = std::make_shared<OpDef>(def);
      copy->kernels = {};
      copy->reference = nullptr;
      attempt("expanded", std::move(copy), {});
    }
  }

  /// Takes the ops that their only candidate refuses out of the graph.
  void Select() {
    const auto order = actual_.graph().TopologicalOrder();
    if (!order.ok()) return;
    Selection selection;
    CompileEnv env;
    env.relaxed = bf16_;
    Status asked = options_.device->Begin(env);
    if (asked.ok())
      asked = options_.device->Partition(GraphView(actual_.shared(), *order), &selection);
    std::map<size_t, std::string> refusals;
    std::set<size_t> served;
    for (Trial& t : trials_) {
      const auto it = selection.answers().find(t.node);
      const Selection::Answer answer =
          it == selection.answers().end() ? Selection::Answer{} : it->second;
      if (answer.selected || answer.expand) {
        served.insert(t.which);
        continue;
      }
      refusals[t.which] += fmt::format(" {}: {};", t.candidate, answer.why);
      actual_.graph().Kill(t.node);
      for (int v : t.results) actual_.graph().value(v).role = ir::Role::kTransient;
      t.node = -1;
    }
    for (size_t k = 0; k < cases_.size() && !bf16_; ++k) {
      const bool tried =
          std::any_of(trials_.begin(), trials_.end(), [&](const Trial& t) { return t.which == k; });
      if (!tried || served.count(k) != 0) continue;
      Report(k, "none", "no kernel takes it:" + (asked.ok() ? refusals[k] : " " + asked.message()));
    }
  }

  std::string Check(const Trial& trial) {
    const NamedCase& named = cases_[trial.which];
    for (size_t i = 0; i < trial.results.size(); ++i) {
      const int ours = trial.results[i], theirs = wanted_[trial.which][i];
      const TensorType& type = actual_.TypeOf(ours);
      const std::string where = trial.results.size() > 1 ? fmt::format("output {}: ", i) : "";
      if (auto damage = actual_.Damage(ours)) return where + *damage;
      if (type.shape != expected_.TypeOf(theirs).shape)
        return fmt::format("{}shape {} instead of {}", where, type.shape.ToString(),
                           expected_.TypeOf(theirs).shape.ToString());
      Tolerance tolerance = named.def->tolerance;
      std::vector<double> magnitudes;
      if (tolerance.sum && !IsInteger(type.dtype)) {
        magnitudes = Magnitudes(named, actual_, trial.inputs, i);
        tolerance = ref::ToleranceOf(trial.kernel, tolerance, &magnitudes);
      }
      if (auto wrong = Compare(type, expected_.Result(theirs), actual_.Result(ours), tolerance,
                               magnitudes.empty() ? nullptr : &magnitudes))
        return where + *wrong;
    }
    return "";
  }

  void Report(size_t which, const std::string& candidate, const std::string& wrong) {
    const NamedCase& named = cases_[which];
    Outcome o{std::string(named.def->name),
              candidate,
              named.text,
              TypesOf(named),
              wrong.empty(),
              "",
              actual_.note()};
    if (!o.passed) {
      o.message = fmt::format("{} by {}{}\n  {}\n  repeat: --case='{}' --seed={}", o.text,
                              candidate, named.c.note.empty() ? "" : " (" + named.c.note + ")",
                              wrong, o.text, options_.seed);
    }
    outcomes_.push_back(std::move(o));
  }

  std::vector<NamedCase> cases_;
  const RunOptions& options_;
  const bool bf16_;
  TestGraph expected_, actual_;
  std::vector<std::vector<int>> wanted_;  // by case: result values in expected_
  std::vector<Trial> trials_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

const OpRegistry& Registry() {
  static const OpRegistry registry = [] {
    OpRegistry r;
    ops::RegisterBuiltinOps(r);
    for (const auto& def : InternalOps()) r.Add(*def);
    return r;
  }();
  return registry;
}

Result<std::shared_ptr<Backend>> OpenDevice(bool as_gpu, bool as_cpu, bool in_caller,
                                            bool as_avx2) {
  auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  opencl::BackendOptions options;
  options.device = env("TIMCL_DEVICE");
  options.cache_dir = env("TIMCL_CACHE_DIR");
  options.kernel_dir = env("TIMCL_KERNEL_DIR");
  options.icd_vendors = env("OCL_ICD_VENDORS");
  options.as_discrete_gpu = as_gpu;
  options.as_cpu = as_cpu;
  options.as_avx2 = as_avx2;
  if (in_caller) options.inline_device = InlineDevice::kAllGraphs;
  return opencl::CreateBackend(options);
}

std::vector<double> Magnitudes(const NamedCase& named, const TestGraph& graph,
                               const std::vector<int>& inputs, size_t output) {
  const OpDef& def = *named.def;
  if (!def.reference) return {};
  TestGraph absolute;
  std::vector<int> values;
  for (int v : inputs) {
    if (v < 0) {
      values.push_back(-1);
      continue;
    }
    const TensorType& type = graph.TypeOf(v);
    const ref::Input in(graph.Result(v), type);
    std::vector<float> data(static_cast<size_t>(in.count()));
    for (int64_t i = 0; i < in.count(); ++i) data[static_cast<size_t>(i)] = std::fabs(in.Float(i));
    values.push_back(
        absolute.AddInput({DataType::FLOAT32, type.shape, Quantization()}, false, data.data()));
  }
  std::vector<int> results;
  for (const TensorType& t : named.c.outputs)
    results.push_back(absolute.AddResult({DataType::FLOAT32, t.shape, Quantization()}, true));
  const auto copy = std::make_shared<OpDef>(def);
  if (!absolute.AddOp(copy, named.c.attrs, values, results).ok()) return {};
  if (!absolute.Run(reference::CreateBackend(), OpRegistry()).ok()) return {};
  const int v = results[output];
  const ref::Input got(absolute.Result(v), absolute.TypeOf(v));
  std::vector<double> sums;
  for (int64_t i = 0; i < got.count(); ++i) sums.push_back(got.At(i));
  return sums;
}

int AddCaseOverZeros(const NamedCase& named, TestGraph* graph) {
  std::vector<int> inputs, results;
  for (const CaseTensor& t : named.c.inputs) {
    const std::vector<std::byte> zeros(t.type.bytes());
    const bool left_out = t.type.dtype == DataType::UNKNOWN;
    inputs.push_back(left_out ? -1 : graph->AddInput(t.type, t.constant, zeros.data()));
  }
  for (const TensorType& t : named.c.outputs) results.push_back(graph->AddResult(t, true));
  int node = -1;
  (void)graph->AddOp(std::make_shared<OpDef>(*named.def), named.c.attrs, inputs, results, &node);
  return node;
}

uint64_t Hash(const std::string& text) {
  uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

std::string TypeText(const TensorType& type) {
  std::string text = type.ToString();
  return text.substr(0, text.find('['));
}

std::vector<NamedCase> CasesOf(const OpDef& def) {
  std::vector<NamedCase> named;
  std::map<std::string, int> seen;
  for (Case& c : ListCases(def)) {
    std::string text(def.name);
    for (const CaseTensor& t : c.inputs) {
      text += t.type.dtype == DataType::UNKNOWN ? " -" : " " + t.type.ToString();
      if (t.constant) text += "*";
    }
    text += " ->";
    for (const TensorType& t : c.outputs)
      text += " " + (t.shape.empty() ? TypeText(t) : t.ToString());
    if (const std::string attrs = c.attrs.Map().ToText(); !attrs.empty()) text += " " + attrs;
    const int n = ++seen[text];
    if (n > 1) text += fmt::format(" #{}", n);
    named.push_back({&def, std::move(c), std::move(text)});
  }
  return named;
}

bool Matches(const NamedCase& named, const std::string& filter) {
  if (named.text == filter) return true;
  std::istringstream words(filter);
  std::string word;
  if (!(words >> word) || word != named.def->name) return false;
  while (words >> word) {
    if (named.text.find(word) == std::string::npos) return false;
  }
  return true;
}

GuardedBlock::GuardedBlock(size_t bytes, For use)
    : bytes_(bytes), behind_(use == For::kReading ? 0 : kGuard) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = (kGuard + bytes + behind_ + page - 1) / page * page, total = whole + page;
  void* const pages =
      mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  block_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(pages),
                                      [=](std::byte* p) { munmap(p, total); });
  if (use == For::kReading) {
    mprotect(block_.get() + whole, page, PROT_NONE);
    begin_ = block_.get() + whole - bytes;
  } else {
    begin_ = block_.get() + kGuard;
  }
  for (size_t i = 0; i < kGuard; ++i) (begin_ - kGuard)[i] = GuardByte(i);
  for (size_t i = 0; i < behind_; ++i) begin_[bytes_ + i] = GuardByte(i);
  storage_ = base::Storage::Wrap(begin_, bytes_);
}

void GuardedBlock::Fill(uint8_t pattern) { std::memset(begin_, pattern, bytes_); }

std::string GuardedBlock::Damage() const {
  for (size_t i = kGuard; i-- > 0;) {
    if ((begin_ - kGuard)[i] != GuardByte(i))
      return fmt::format("byte {} before the tensor was overwritten", kGuard - i);
  }
  for (size_t i = 0; i < behind_; ++i) {
    if (begin_[bytes_ + i] != GuardByte(i))
      return fmt::format("byte {} behind the tensor was overwritten", i);
  }
  return "";
}

int TestGraph::AddInput(const TensorType& type, bool constant, const void* data) {
  GuardedBlock block(type.bytes(), GuardedBlock::For::kReading);
  std::memcpy(block.data(), data, type.bytes());
  ir::Value v;
  v.type = type;
  v.role = constant ? ir::Role::kConstant : ir::Role::kInput;
  v.storage = block.storage();
  const int id = graph_.AddValue(std::move(v));
  std::vector<std::byte> copy(block.data(), block.data() + block.bytes());
  index_of_.resize(static_cast<size_t>(id) + 1, -1);
  index_of_[static_cast<size_t>(id)] = static_cast<int>(inputs_.size());
  inputs_.push_back({id, std::move(block), std::move(copy), {}});
  return id;
}

int TestGraph::AddResult(const TensorType& type, bool output) {
  ir::Value v;
  v.type = type;
  v.role = output ? ir::Role::kOutput : ir::Role::kTransient;
  v.infer_shape = type.shape.empty();
  const int id = graph_.AddValue(std::move(v));
  index_of_.resize(static_cast<size_t>(id) + 1, -1);
  return id;
}

Status TestGraph::AddOp(std::shared_ptr<const OpDef> def, const AnyAttrs& attrs,
                        std::vector<int> inputs, std::vector<int> outputs, int* node) {
  while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
  ir::Node n;
  n.def = std::move(def);
  n.attrs = attrs;
  n.inputs = std::move(inputs);
  n.outputs = outputs;
  n.number = static_cast<int>(graph_.nodes().size());
  const int id = graph_.AddNode(std::move(n));
  if (node != nullptr) *node = id;
  if (Status s = ir::VerifyNode(graph_, id); !s.ok()) {
    graph_.Kill(id);
    for (int v : outputs) graph_.value(v).role = ir::Role::kTransient;
    if (node != nullptr) *node = -1;
    return s;
  }
  for (int v : outputs) {
    ir::Value& value = graph_.value(v);
    if (value.role != ir::Role::kOutput) continue;
    GuardedBlock block(value.type.bytes(), GuardedBlock::For::kWriting);
    value.storage = block.storage();
    index_of_[static_cast<size_t>(v)] = static_cast<int>(outputs_.size());
    outputs_.push_back({v, std::move(block), {}, {}});
  }
  return Status();
}

Status TestGraph::Run(const std::shared_ptr<Backend>& backend, const OpRegistry& registry,
                      bool fuse, bool relaxed, const Switches& switches) {
  if (graph_.LiveNodes() == 0) return Status();
  CompileReport report;
  compiler::Options options;
  options.fallback = Fallback::kForbid;
  options.fuse = fuse;
  options.relaxed = relaxed;
  options.options_for = [switches](const std::string&) { return switches; };
  TIMCL_ASSIGN(const auto executable,
               compiler::Compile(shared_, registry, {{backend, 0, false}}, options, &report));
  for (const OpPlacement& op : report.ops) kernels_.push_back(op.kernel);
  for (const PartitionReport& part : report.parts)
    note_ += (note_.empty() ? "" : " | ") + part.note;
  for (const bool again : {false, true}) {
    for (Memory& m : outputs_) m.block.Fill(again ? 0 : 0xFF);
    TIMCL_TRY(executable->Run());
    for (Memory& m : outputs_)
      (again ? m.second : m.first).assign(m.block.data(), m.block.data() + m.block.bytes());
  }
  return Status();
}

const std::byte* TestGraph::Result(int value) const {
  const auto i = static_cast<size_t>(index_of_[static_cast<size_t>(value)]);
  return graph_.value(value).role == ir::Role::kOutput ? outputs_[i].first.data()
                                                       : inputs_[i].first.data();
}

std::optional<std::string> TestGraph::Damage(int value) const {
  const Memory& m = outputs_[static_cast<size_t>(index_of_[static_cast<size_t>(value)])];
  if (const std::string d = m.block.Damage(); !d.empty()) return d;
  const ir::Value& v = graph_.value(value);
  if (v.producer >= 0 && !graph_.node(v.producer).dead) {
    for (int i : graph_.node(v.producer).inputs) {
      if (i < 0 || graph_.value(i).storage == nullptr) continue;
      const int at =
          i < static_cast<int>(index_of_.size()) ? index_of_[static_cast<size_t>(i)] : -1;
      if (at < 0 || graph_.value(i).role == ir::Role::kOutput) continue;
      const Memory& input = inputs_[static_cast<size_t>(at)];
      if (input.value != i) continue;
      if (const std::string d = input.block.Damage(); !d.empty())
        return fmt::format("around input {}: {}", graph_.value(i).type.ToString(), d);
      if (std::memcmp(input.first.data(), input.block.data(), input.block.bytes()) != 0)
        return fmt::format("input {} was overwritten", graph_.value(i).type.ToString());
    }
  }
  return CheckWritten(v.type, m.first.data(), m.second.data());
}

std::vector<Outcome> RunCases(const std::vector<NamedCase>& cases, const RunOptions& options) {
  std::vector<NamedCase> floats;  // of ops with a candidate for the relaxed mode
  for (const NamedCase& named : cases) {
    const KernelList& kernels = named.def->kernels;
    if (std::any_of(kernels.begin(), kernels.end(), [](const auto& k) { return k.bf16; }) &&
        named.c.inputs[0].type.dtype == DataType::FLOAT32)
      floats.push_back(named);
  }
  std::vector<Outcome> all;
  for (const bool bf16 : {false, true}) {
    const std::vector<NamedCase>& list = bf16 ? floats : cases;
    for (size_t at = 0; at < list.size(); at += options.chunk) {
      const auto begin = list.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          list.begin() + static_cast<std::ptrdiff_t>(std::min(at + options.chunk, list.size()));
      std::vector<Outcome> some = Chunk({begin, end}, options, bf16).Run();
      const bool failed =
          std::any_of(some.begin(), some.end(), [](const Outcome& o) { return !o.passed; });
      all.insert(all.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
      if (failed && options.stop_early) return all;
    }
  }
  return all;
}

}  // namespace tim::vx::conformance
