// CheckCases through the public API, many cases per graph so that their kernels are one program.
#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "api/checking.h"
#include "ir/graph.h"
#include "ir/packed.h"
#include "ref/compare.h"
#include "tim/vx/check_op.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/operation.h"
#include "tim/vx/testing.h"

namespace tim::vx::testing {
namespace {

constexpr size_t kMostFailures = 5;  // in the answer

/// One case with what the reference makes of it.
struct Checked {
  Case c;
  std::string text;
  std::vector<Bytes> inputs;                    // as ops see them
  std::vector<TensorType> outputs;              // with their shapes
  std::vector<Bytes> expected;                  // likewise
  std::vector<std::vector<double>> magnitudes;  // by output; empty: unknown
  std::string refusals;                         // of the kernels so far
  bool taken = false;
};

/// The operator by one kernel, or by its expansion.
struct Form {
  std::string name;
  std::shared_ptr<const OpDef> def;
  KernelCandidate candidate = {};  // of an expansion: none
};

/// As the host has what is not constant.
Bytes ToHost(const TensorType& type, const Bytes& data) {
  if (!IsPacked(type.dtype)) return data;
  Bytes host(HostBytes(type));
  Pack(type, data.data(), host.data());
  return host;
}
Bytes FromHost(const TensorType& type, Bytes host) {
  if (!IsPacked(type.dtype)) return host;
  Bytes data(type.bytes());
  Unpack(type, host.data(), data.data());
  return data;
}

std::string TextOf(const OpDef& def, const Case& c) {
  std::string text(def.name);
  for (const CaseTensor& t : c.inputs) {
    text += t.type.dtype == DataType::UNKNOWN ? " -" : " " + t.type.ToString();
    if (t.constant) text += "*";
  }
  text += " ->";
  for (const TensorType& t : c.outputs) {
    const std::string type = t.ToString();
    text += " " + (t.shape.empty() ? type.substr(0, type.find('[')) : type);
  }
  if (const std::string attrs = c.attrs.Map().ToText(); !attrs.empty()) text += " " + attrs;
  return c.note.empty() ? text : fmt::format("{} ({})", text, c.note);
}

/// A definition under the same name that keeps alive what the first one owns.
std::shared_ptr<OpDef> CopyOf(const std::shared_ptr<const OpDef>& def) {
  struct Owned {
    std::shared_ptr<const OpDef> base;
    OpDef copy;
  };
  const auto owned = std::make_shared<Owned>(Owned{def, *def});
  return {owned, &owned->copy};
}

class CaseChecker {
 public:
  CaseChecker(std::shared_ptr<const OpDef> def, const CaseOptions& options)
      : def_(std::move(def)), options_(options) {}

  std::string Run(std::map<std::string, size_t>* ran) {
    if (std::string why = StartUnderOclgrind(); !why.empty()) return why;
    if (def_ == nullptr) return "there is no such operator";
    const std::string name(def_->name);
    if (def_->create != nullptr)
      return name + " is a class; CheckOp checks it (its definition has neither kernels nor cases)";
    if (std::string why = sides_.Open(nullptr); !why.empty()) return why;
    if (options_.context != nullptr)
      sides_.host->Ops() = sides_.device->Ops() = options_.context->Ops();
    if (std::string why = Use(*sides_.host, def_); !why.empty()) return why;
    if (std::string why = TakeCases(); !why.empty()) return why;
    for (const Form& form : Forms()) {
      if (std::string why = Use(*sides_.device, form.def); !why.empty()) return why;
      std::vector<Checked*> all;
      for (Checked& c : cases_) all.push_back(&c);
      const size_t count = RunForm(form, all);
      if (ran != nullptr) (*ran)[form.name] += count;
    }
    for (const Checked& c : cases_) {
      if (!c.taken) Fail(c, "", "no kernel takes it:" + c.refusals);
    }
    if (failures_ > kMostFailures)
      text_ += fmt::format("... and {} more", failures_ - kMostFailures);
    return text_;
  }

 private:
  static std::string Use(Context& context, const std::shared_ptr<const OpDef>& def) {
    return context.Ops().Register(def, OpRegistry::OnDuplicate::kOverride).message();
  }

  std::vector<Form> Forms() const {
    std::vector<Form> forms;
    for (const KernelCandidate& candidate : def_->kernels) {
      const auto copy = CopyOf(def_);
      copy->kernels = KernelList(&candidate, 1);
      copy->expand = nullptr;
      // What the kernel refuses falls to the reference, which nobody compares: it need not compute.
      copy->reference = [](const OpView&, const ref::Inputs&, ref::Outputs&) { return Status(); };
      forms.push_back({candidate.name, copy, candidate});
    }
    if (def_->expand != nullptr) {
      const auto copy = CopyOf(def_);
      copy->kernels = {};
      copy->reference = nullptr;
      forms.push_back({"expanded", copy});
    }
    return forms;
  }

  /// The cases, with values and what the reference makes of them.
  std::string TakeCases() {
    for (Case& c : ListCases(*def_)) {
      int64_t elements = 0;
      for (const CaseTensor& t : c.inputs) elements += t.type.count();
      if (elements > options_.max_elements) continue;
      Checked checked;
      checked.text = TextOf(*def_, c);
      checked.c = std::move(c);
      const TensorType none;
      for (const CaseTensor& t : checked.c.inputs) {
        Bytes data(t.type.dtype == DataType::UNKNOWN ? 0 : t.type.bytes());
        const uint64_t seed = options_.seed * 1000003 + cases_.size() * 101 + checked.inputs.size();
        if (!data.empty()) {
          ref::FillInput(t, checked.c.outputs.empty() ? none : checked.c.outputs[0], seed,
                         data.data());
        }
        checked.inputs.push_back(std::move(data));
      }
      checked.outputs = checked.c.outputs;
      if (std::string why = Reference(&checked); !why.empty())
        return fmt::format("{}: by the reference: {}", checked.text, why);
      cases_.push_back(std::move(checked));
    }
    return cases_.empty() ? fmt::format("{} lists no cases (OpDef::cases)", def_->name) : "";
  }

  /// Adds the operation over tensors with the case's inputs.
  std::shared_ptr<Operation> AddOp(Graph& graph, const Checked& c,
                                   const std::vector<std::shared_ptr<Tensor>>& outputs) const {
    const auto op = graph.CreateOperation(std::string(def_->name), c.c.attrs.Map());
    size_t count = c.c.inputs.size();
    while (count > 0 && c.c.inputs[count - 1].type.dtype == DataType::UNKNOWN) --count;
    for (size_t i = 0; i < count; ++i) {
      const CaseTensor& t = c.c.inputs[i];
      if (t.type.dtype == DataType::UNKNOWN) {
        op->BindInput(graph.CreateTensorPlaceHolder());
        continue;
      }
      const Bytes data = t.constant ? c.inputs[i] : ToHost(t.type, c.inputs[i]);
      const auto attribute = t.constant ? TensorAttribute::CONSTANT : TensorAttribute::INPUT;
      const auto tensor =
          graph.CreateTensor(SpecOf(t.type, attribute), t.constant ? data.data() : nullptr);
      if (!t.constant) (void)tensor->CopyDataToTensor(data.data());
      op->BindInput(tensor);
    }
    for (const auto& output : outputs) op->BindOutput(output);
    return op;
  }

  /// Fills in types and values of the outputs.
  std::string Reference(Checked* c) {
    const auto graph = sides_.host->CreateGraph();
    std::vector<std::shared_ptr<Tensor>> outputs;
    for (const TensorType& t : c->outputs)
      outputs.push_back(graph->CreateTensor(SpecOf(t, TensorAttribute::OUTPUT)));
    AddOp(*graph, *c, outputs);
    if (!graph->Compile() || !graph->Run()) return graph->LastStatus().message();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::optional<TensorType> inferred = InferredType(*outputs[i]);
      if (!inferred) return "the graph is none of this library";
      const TensorType& type = c->outputs[i] = *inferred;
      Bytes host(HostBytes(type));
      if (!outputs[i]->CopyDataFromTensor(host.data())) return graph->LastStatus().message();
      c->expected.push_back(FromHost(type, std::move(host)));
    }
    if (def_->tolerance.sum) Magnitudes(c);
    return "";
  }

  /// The sums of magnitudes behind float results: the op over the absolute values of its inputs, as
  /// float32. None where the op does not run that way.
  void Magnitudes(Checked* c) {
    if (def_->reference == nullptr) return;
    ir::Graph graph;
    graph.set_ops(std::make_shared<const OpRegistry>(sides_.host->Ops()));
    const auto f32 = [](const Shape& shape) {
      return TensorType{DataType::FLOAT32, shape, Quantization()};
    };
    ir::Node node;
    node.def = def_;
    node.attrs = c->c.attrs;
    std::vector<Bytes> data(c->inputs.size()), results(c->outputs.size());
    ref::Inputs ins;
    for (size_t i = 0; i < c->inputs.size(); ++i) {
      const TensorType& from = c->c.inputs[i].type;
      if (from.dtype == DataType::UNKNOWN) {
        node.inputs.push_back(-1);
        ins.emplace_back();
        continue;
      }
      ir::Value v;
      v.type = f32(from.shape);
      v.role = ir::Role::kInput;
      const ir::Value& value = graph.value(graph.AddValue(std::move(v)));
      node.inputs.push_back(static_cast<int>(graph.values().size()) - 1);
      const ref::Input in(c->inputs[i].data(), from);
      data[i].resize(value.type.bytes());
      ref::Output out(data[i].data(), value.type);
      for (int64_t k = 0; k < in.count(); ++k) out.Set(k, std::fabs(in.At(k)));
      ins.emplace_back(data[i].data(), value.type);
    }
    while (!node.inputs.empty() && node.inputs.back() < 0) node.inputs.pop_back();
    ins.resize(node.inputs.size());
    ref::Outputs outs;
    for (size_t i = 0; i < c->outputs.size(); ++i) {
      ir::Value v;
      v.type = f32(c->outputs[i].shape);
      v.role = ir::Role::kOutput;
      const ir::Value& value = graph.value(graph.AddValue(std::move(v)));
      node.outputs.push_back(static_cast<int>(graph.values().size()) - 1);
      results[i].resize(value.type.bytes());
      outs.emplace_back(results[i].data(), value.type);
    }
    const int id = graph.AddNode(std::move(node));
    if (!ir::VerifyNode(graph, id).ok()) return;
    if (!def_->reference(graph.view(id), ins, outs).ok()) return;
    for (size_t i = 0; i < outs.size(); ++i) {
      const ref::Input got(results[i].data(), outs[i].type());
      auto& sums = c->magnitudes.emplace_back();
      for (int64_t k = 0; k < got.count(); ++k) sums.push_back(got.At(k));
    }
  }

  /// How many of the cases it ran.
  size_t RunForm(const Form& form, const std::vector<Checked*>& some) {
    CompileOption option;
    option.SetFallback(Fallback::kAllow);  // to see which ones the form refuses
    option.setRelaxMode(form.candidate.bf16);
    const auto graph = sides_.device->CreateGraph(option);
    std::vector<std::vector<std::shared_ptr<Tensor>>> outputs(some.size());
    std::vector<std::vector<Guarded>> memory(some.size());
    for (size_t k = 0; k < some.size(); ++k) {
      for (const TensorType& t : some[k]->outputs) {
        memory[k].emplace_back(HostBytes(t), std::byte{0});
        outputs[k].push_back(
            graph->CreateIOTensor(SpecOf(t, TensorAttribute::OUTPUT), memory[k].back().data()));
      }
      AddOp(*graph, *some[k], outputs[k])->SetName(fmt::format("case {}", k));
    }
    std::vector<std::vector<Bytes>> results[2];
    std::string trouble;
    for (const bool again : {false, true}) {
      for (size_t k = 0; k < some.size(); ++k) {
        for (size_t i = 0; i < outputs[k].size(); ++i) {
          std::fill_n(memory[k][i].data(), HostBytes(some[k]->outputs[i]),
                      std::byte{static_cast<unsigned char>(again ? 0 : 0xFF)});
        }
      }
      if (!trouble.empty() || !graph->Run()) {
        trouble = graph->LastStatus().message();
        continue;
      }
      for (size_t k = 0; k < some.size(); ++k) {
        auto& values = results[again].emplace_back();
        for (size_t i = 0; i < outputs[k].size(); ++i) {
          Bytes host(HostBytes(some[k]->outputs[i]));
          (void)outputs[k][i]->CopyDataFromTensor(host.data());
          values.push_back(FromHost(some[k]->outputs[i], std::move(host)));
        }
      }
    }
    const std::string found = findings_.Take();
    if ((!trouble.empty() || !found.empty()) && some.size() > 1) {
      // Somewhere among these cases: looks for it.
      const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
      return RunForm(form, {some.begin(), middle}) + RunForm(form, {middle, some.end()});
    }
    if (!trouble.empty() || !found.empty()) {
      some[0]->taken = true;
      Fail(*some[0], form.name, trouble.empty() ? found : trouble);
      return 0;
    }
    size_t count = 0;
    for (size_t k = 0; k < some.size(); ++k) {
      if (!Served(graph->Report(), form, k, some[k])) continue;
      some[k]->taken = true;
      ++count;
      const std::string wrong = Wrong(form, *some[k], results[0][k], results[1][k], memory[k]);
      if (!wrong.empty()) Fail(*some[k], form.name, wrong);
    }
    return count;
  }

  /// Whether the form ran on the device; if not, notes why.
  static bool Served(const CompileReport& report, const Form& form, size_t k, Checked* c) {
    const std::string name = fmt::format("'case {}'", k);
    bool served = false;
    std::string why;
    for (const OpPlacement& op : report.ops) {
      if (op.op.find(name) == std::string::npos && op.part_of.find(name) == std::string::npos)
        continue;
      if (op.backend == "opencl") {
        served = true;
      } else {
        for (const std::string& refusal : op.refusals) why += " " + refusal + ";";
      }
    }
    if (!served) c->refusals += fmt::format(" {}:{}", form.name, why);
    return served;
  }

  std::string Wrong(const Form& form, const Checked& c, const std::vector<Bytes>& first,
                    const std::vector<Bytes>& second, const std::vector<Guarded>& memory) const {
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const TensorType& type = c.outputs[i];
      const std::string where = c.outputs.size() > 1 ? fmt::format("output {}: ", i) : "";
      if (!memory[i].Intact()) return where + "the kernel writes outside of it";
      if (const auto wrong = ref::CheckWritten(type, first[i].data(), second[i].data()))
        return where + *wrong;
      const bool sums = i < c.magnitudes.size() && !IsInteger(type.dtype);
      std::vector<double> magnitudes;
      if (sums) magnitudes = c.magnitudes[i];
      const Tolerance tolerance = ref::ToleranceOf(form.candidate, def_->tolerance, &magnitudes);
      if (const auto wrong = ref::Compare(type, c.expected[i].data(), first[i].data(), tolerance,
                                          sums ? &magnitudes : nullptr))
        return where + *wrong;
    }
    return "";
  }

  void Fail(const Checked& c, const std::string& form, const std::string& wrong) {
    if (++failures_ > kMostFailures) return;
    text_ += fmt::format("{}{}: {}\n", c.text, form.empty() ? "" : " by " + form, wrong);
  }

  const std::shared_ptr<const OpDef> def_;
  const CaseOptions options_;
  Sides sides_;
  std::vector<Checked> cases_;
  OclgrindFindings findings_;
  std::string text_;
  size_t failures_ = 0;
};

}  // namespace

std::string CheckCases(const std::shared_ptr<const OpDef>& def, const CaseOptions& options,
                       std::map<std::string, size_t>* ran) {
  try {
    return CaseChecker(def, options).Run(ran);
  } catch (const std::exception& e) {
    return std::string("CheckCases: an exception: ") + e.what();
  } catch (...) {
    return "CheckCases: an exception of unknown type";
  }
}

}  // namespace tim::vx::testing
