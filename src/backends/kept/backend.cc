// See backend.h.
#include "backends/kept/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/disk_cache.h"

namespace tim::vx::kept {
namespace {

using base::ByteReader;
using base::HashName;
using base::PutNumber;
using base::PutText;

std::string Digest(const void* data, size_t bytes) {
  return HashName(std::string_view(static_cast<const char*>(data), bytes));
}

/// All digits: two types that differ have different texts.
std::string Exactly(const TensorType& t) {
  const Quantization& q = t.quant;
  std::string text = fmt::format("{}{}", NameOf(t.dtype), t.shape.ToString());
  if (!t.quantized()) return text;
  text += fmt::format(" q{} c{} fl{}", static_cast<int>(q.Type()), q.ChannelDim(), q.Fl());
  for (const float scale : q.Scales()) text += fmt::format(" {:a}", scale);
  for (const int32_t zero : q.ZeroPoints()) text += fmt::format(" z{}", zero);
  return text;
}

/// Numbers tensors in the order in which they are met, and tells of each once.
class Describer {
 public:
  explicit Describer(const GraphView& graph) : graph_(graph) {}

  std::string Text() {
    for (const OpView& op : graph_.Ops()) {
      std::string line = fmt::format("op {} v{} {} [{}]", op.kind(), op.def().version,
                                     Quoted(op.name()), Quoted(op.any_attrs().Map().ToText()));
      line += " <-";
      for (size_t i = 0; i < op.num_inputs(); ++i) line += " " + Number(op.in(i));
      line += " ->";
      for (size_t i = 0; i < op.num_outputs(); ++i)
        line += " " + Number(op.out(i)) + ":" + Exactly(op.out(i).type());
      text_ += line + "\n";
    }
    text_ += "in";
    for (const TensorView& t : graph_.Inputs()) text_ += " " + Number(t);
    text_ += "\nout";
    for (const TensorView& t : graph_.Outputs()) text_ += " " + Number(t);
    return std::move(text_) + "\n";
  }

 private:
  /// With its length: no name can look like something else.
  static std::string Quoted(const std::string& text) {
    return fmt::format("{}'{}'", text.size(), text);
  }
  std::string Number(const TensorView& t) {
    if (!t.present()) return "-";
    const auto [it, first] = numbers_.try_emplace(t.id(), numbers_.size());
    if (first) {
      text_ += fmt::format("tensor {} {} {}", it->second, Quoted(t.name()), Exactly(t.type()));
      if (t.is_scalar()) text_ += " scalar";
      if (t.is_const()) text_ += " const " + Digest(t.data(), t.type().bytes());
      if (t.is_graph_input()) text_ += " input";
      if (t.is_graph_output()) text_ += " output";
      text_ += "\n";
    }
    return std::to_string(it->second);
  }

  const GraphView& graph_;
  std::map<int, size_t> numbers_;
  std::string text_;
};

// What is stored. Whatever was read is checked against the graph at hand; damage of files was found
// before (DiskCache).

std::string Encode(const GraphView& graph, const Selection& selection) {
  std::string bytes;
  for (const OpView& op : graph.Ops()) {
    const auto it = selection.answers().find(op.id());
    const Selection::Answer a = it == selection.answers().end() ? Selection::Answer() : it->second;
    PutNumber(&bytes, a.selected ? 1 : a.expand ? 2 : 0);
    PutNumber(&bytes, static_cast<uint64_t>(static_cast<int64_t>(a.partition_index)));
    PutText(&bytes, a.why);
  }
  PutNumber(&bytes, selection.wholes().size());
  for (const int index : selection.wholes())
    PutNumber(&bytes, static_cast<uint64_t>(static_cast<int64_t>(index)));
  return bytes;
}

bool Decode(std::string_view bytes, const GraphView& graph, Selection* selection) {
  ByteReader in{bytes};
  for (const OpView& op : graph.Ops()) {
    const uint64_t kind = in.Number();
    const int index = static_cast<int>(in.Number());
    const std::string why(in.Text());
    if (!in.ok || kind > 2) return false;
    if (kind == 1) selection->Select(op, index);
    if (kind == 2) selection->OnlyExpanded(op, why);
    if (kind == 0 && !why.empty()) selection->Reject(op, why);
  }
  for (uint64_t left = in.Number(); in.ok && left > 0; --left)
    selection->Whole(static_cast<int>(in.Number()));
  return in.ok && in.left.empty();
}

std::string Encode(const std::vector<GraphView>& parts, const CompiledUnits& units) {
  std::string bytes;
  PutNumber(&bytes, units.modules.size());
  for (const CodeModule& m : units.modules) {
    PutText(&bytes,
            std::string_view(reinterpret_cast<const char*>(m.bytes.data()), m.bytes.size()));
    for (const std::string* text :
         {&m.format, &m.stamp.vendor, &m.stamp.version, &m.stamp.sdk_version, &m.stamp.model})
      PutText(&bytes, *text);
  }
  PutNumber(&bytes, units.calls.size());
  for (const Call& c : units.calls) {
    PutNumber(&bytes, c.module);
    PutText(&bytes, c.entry);
    PutNumber(&bytes, c.scratch_bytes);
    PutNumber(&bytes, c.persistent_bytes);
    PutText(&bytes, c.note);
  }
  for (const GraphView& part : parts) {
    for (const OpView& op : part.Ops()) {
      const auto it = units.kernel_of.find(op.id());
      PutText(&bytes, it == units.kernel_of.end() ? "" : it->second);
    }
  }
  PutNumber(&bytes, units.constant_bytes);
  PutNumber(&bytes, units.warnings.size());
  for (const std::string& w : units.warnings) PutText(&bytes, w);
  return bytes;
}

bool Decode(std::string_view bytes, const std::vector<GraphView>& parts, CompiledUnits* units) {
  ByteReader in{bytes};
  for (uint64_t left = in.Number(); in.ok && left > 0; --left) {
    const std::string_view code = in.Text();
    const auto* begin = reinterpret_cast<const std::byte*>(code.data());
    CodeModule m;
    m.bytes.assign(begin, begin + code.size());
    for (std::string* text :
         {&m.format, &m.stamp.vendor, &m.stamp.version, &m.stamp.sdk_version, &m.stamp.model})
      *text = in.Text();
    units->modules.push_back(std::move(m));
  }
  if (in.Number() != parts.size()) return false;
  for (size_t p = 0; in.ok && p < parts.size(); ++p) {
    Call c;
    c.module = in.Number();
    c.entry = in.Text();
    c.scratch_bytes = in.Number();
    c.persistent_bytes = in.Number();
    c.note = in.Text();
    c.note += std::string(c.note.empty() ? "" : "; ") + "compiled before: from the cache";
    units->calls.push_back(std::move(c));
  }
  for (const GraphView& part : parts) {
    for (const OpView& op : part.Ops()) {
      const std::string_view kernel = in.Text();
      if (!kernel.empty()) units->kernel_of[op.id()] = kernel;
    }
  }
  units->constant_bytes = in.Number();
  for (uint64_t left = in.Number(); in.ok && left > 0; --left)
    units->warnings.emplace_back(in.Text());
  return in.ok && in.left.empty();
}

class KeptBackend : public Backend {
 public:
  KeptBackend(std::shared_ptr<Backend> inner, std::function<std::string()> identity)
      : inner_(std::move(inner)), identity_(std::move(identity)) {}

  const BackendInfo& Info() const override { return inner_->Info(); }
  Status Init() override { return inner_->Init(); }

  Status Begin(const CompileEnv& env) override {
    cache_ = std::make_unique<base::DiskCache>(env.cache_dir);
    if (cache_->enabled()) context_ = Context(env);
    return inner_->Begin(env);
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    if (!On()) return inner_->Partition(graph, selection);
    const std::string key = Key("selection") + Describe(graph);
    if (const auto found = cache_->Load(key); found && Decode(*found, graph, selection))
      return Status();
    *selection = Selection();
    TIMCL_TRY(inner_->Partition(graph, selection));
    cache_->Store(key, Encode(graph, *selection));
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    if (!On()) return inner_->Compile(parts, env, units);
    std::string key = Key("code");
    for (const GraphView& part : parts) key += Describe(part);
    if (const auto found = cache_->Load(key); found && Decode(*found, parts, units))
      return Status();
    *units = CompiledUnits();
    TIMCL_TRY(inner_->Compile(parts, env, units));
    if (!units->refusals.empty()) return Status();
    const auto live = [](const CodeModule& m) { return m.live != nullptr; };
    if (std::none_of(units->modules.begin(), units->modules.end(), live)) {
      cache_->Store(key, Encode(parts, *units));
    } else {
      for (Call& call : units->calls)
        call.note += std::string(call.note.empty() ? "" : "; ") +
                     "not kept in the cache: its code is an object of this process";
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv& env, LoadedUnits* units) override {
    return inner_->Load(modules, calls, env, units);
  }

 private:
  bool On() const { return cache_ != nullptr && cache_->enabled(); }

  /// What the compiler's answers depend on beside the graph.
  std::string Context(const CompileEnv& env) const {
    const BackendInfo& info = inner_->Info();
    std::string text =
        fmt::format("library {}\nbackend {}|{}|{}|{}\ncompiler {}\nmodel {}\nfuse {}\n",
                    TIMCL_VERSION, info.name, info.vendor, info.version, info.sdk_version,
                    identity_(), env.target.model, env.fuse);
    for (const auto& [option, value] : env.options)
      text += fmt::format("option {}'{}'={}'{}'\n", option.size(), option, value.size(), value);
    if (env.assets != nullptr) {
      for (const AssetView& asset : *env.assets)
        text += fmt::format("asset {} {}\n", asset.name, Digest(asset.data, asset.size));
    }
    return text;
  }
  /// The first line is for people: `timcl cache list` shows it.
  std::string Key(const char* what) const {
    const BackendInfo& info = inner_->Info();
    return fmt::format("units {} of {} {}\n", what, info.name, info.version) + context_;
  }

  const std::shared_ptr<Backend> inner_;
  const std::function<std::string()> identity_;
  std::unique_ptr<base::DiskCache> cache_;  // of the compilation that runs
  std::string context_;
};

}  // namespace

std::string Describe(const GraphView& graph) { return Describer(graph).Text(); }

std::shared_ptr<Backend> KeepUnits(std::shared_ptr<Backend> backend,
                                   std::function<std::string()> identity) {
  return std::make_shared<KeptBackend>(std::move(backend), std::move(identity));
}

}  // namespace tim::vx::kept
