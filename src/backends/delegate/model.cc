// DelegateModel: the list of kernels, and what may be done to it.
#include "backends/delegate/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tim::vx {
namespace delegate {
namespace {

/// An op in the list. It tells what the op is; the slice it is in runs it.
class ListedOp : public kernel::Kernel {
 public:
  using kernel::Kernel::Kernel;
  Status Execute() override {
    return Status::Error(Code::kInvalidArgument,
                         name() + " stands in a delegate's list of kernels, where none runs");
  }
};

const Primitive& Subgraph() {
  static const Primitive* const subgraph = new Primitive{"subgraph", {}};
  return *subgraph;
}

std::string NameOf(const kernel::Kernel& kernel) {
  return kernel.name().empty() ? "the kernel" : fmt::format("kernel '{}'", kernel.name());
}

Status Wrong(std::string text) { return Status::Error(Code::kInvalidArgument, std::move(text)); }

}  // namespace

Model::Model(const GraphView& view) : graph(view), order(view.AllOps()) {
  std::set<int> mine;
  for (const OpView& op : view.Ops()) mine.insert(op.id());
  std::set<int> seen;
  for (size_t at = 0; at < order.size(); ++at) {
    const OpView& op = order[at];
    offered.push_back(mine.count(op.id()) != 0);
    primitives.push_back(std::make_unique<Primitive>(
        offered[at] ? Primitive{std::string(op.kind()), op.any_attrs().Map()} : Subgraph()));
    std::vector<TensorView> ins, outs;
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      const TensorView t = ins.emplace_back(op.in(i));
      if (!t.present()) continue;
      tensors.emplace(t.id(), t);
      std::vector<size_t>& places = readers[t.id()];
      if (places.empty() || places.back() != at) places.push_back(at);
      if (t.is_graph_input() && seen.insert(t.id()).second) inputs.push_back(t);
    }
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      const TensorView t = outs.emplace_back(op.out(i));
      tensors.emplace(t.id(), t);
      writer[t.id()] = at;
      if (t.is_graph_output()) outputs.push_back(t);
    }
    auto kernel =
        std::make_unique<ListedOp>(std::move(ins), std::move(outs), primitives.back().get());
    kernel->set_name(op.name().empty() ? op.label() : op.name());
    run_of[kernel.get()] = {at, at + 1};
    list.push_back(kernel.get());
    op_kernels.push_back(std::move(kernel));
  }
  kept = list;
}

std::string Model::LabelOf(const Run& run) const {
  const std::string first = order[run.begin].label();
  return run.end - run.begin == 1 ? first : first + " to " + order[run.end - 1].label();
}

Result<Model::Run> Model::InList(KernelIter from, KernelIter end) {
  const auto a = from - list.begin(), b = end - list.begin();
  const auto size = static_cast<std::ptrdiff_t>(list.size());
  if (a < 0 || b > size || a > size) {
    return Wrong(
        fmt::format("[{}, {}) reaches past the end of the list, which has {} kernels", a, b, size));
  }
  if (b <= a) {
    return Wrong(fmt::format("[{}, {}) holds no kernel: its end must lie behind its begin", a, b));
  }
  if (list.size() != kept.size()) return CheckEdits();
  return Run{static_cast<size_t>(a), static_cast<size_t>(b)};
}

Model::Run Model::OpsOf(const Run& in_list) const {
  return {run_of.at(kept[in_list.begin]).begin, run_of.at(kept[in_list.end - 1]).end};
}

std::vector<TensorView> Model::InputsOf(const Run& run) const {
  std::vector<TensorView> found;
  std::set<int> seen;
  for (size_t at = run.begin; at < run.end; ++at) {
    for (size_t i = 0; i < order[at].num_inputs(); ++i) {
      const TensorView t = order[at].in(i);
      if (!t.present() || t.is_const()) continue;
      const auto from = writer.find(t.id());
      if (from != writer.end() && run.contains(from->second)) continue;
      if (seen.insert(t.id()).second) found.push_back(t);
    }
  }
  return found;
}

std::vector<TensorView> Model::OutputsOf(const Run& run) const {
  std::vector<TensorView> found;
  for (size_t at = run.begin; at < run.end; ++at) {
    for (size_t i = 0; i < order[at].num_outputs(); ++i) {
      const TensorView t = order[at].out(i);
      if (!ReaderOutside(run, t).empty()) found.push_back(t);
    }
  }
  return found;
}

std::string Model::ReaderOutside(const Run& run, const TensorView& tensor) const {
  if (const auto it = readers.find(tensor.id()); it != readers.end()) {
    const std::vector<size_t>& places = it->second;
    auto at = places.begin();  // a run is contiguous: who reads outside stands first or behind it
    if (run.contains(*at)) at = std::lower_bound(places.begin(), places.end(), run.end);
    if (at != places.end()) return order[*at].label() + " reads";
  }
  return tensor.is_graph_output() ? "is an output of the graph" : "";
}

Status Model::CheckOperands(const Run& run, const kernel::Kernel& kernel) const {
  const std::string who = fmt::format("{} for {}", NameOf(kernel), LabelOf(run));
  for (const bool input : {true, false}) {
    const std::vector<TensorView>& named = input ? kernel.inputs() : kernel.outputs();
    for (size_t i = 0; i < named.size(); ++i) {
      const TensorView& t = named[i];
      const std::string what = fmt::format("{} {}", input ? "input" : "output", i);
      if (!t.present() && input) continue;  // an operand that was left out
      if (!t.present()) return Wrong(fmt::format("{}: its {} is no tensor", who, what));
      const auto known = tensors.find(t.id());
      if (known == tensors.end() || known->second != t)
        return Wrong(fmt::format("{}: its {} is a tensor of another graph", who, what));
      const auto from = writer.find(t.id());
      const bool written = from != writer.end() && run.contains(from->second);
      const std::string where = fmt::format("{}: its {}, {}", who, what, t.label());
      if (!input) {
        if (written) continue;
        return Wrong(fmt::format(
            "{}, is not written by its ops{}", where,
            from == writer.end() ? "" : fmt::format(": {} does", order[from->second].label())));
      }
      if (written) {
        return Wrong(fmt::format("{}, is written by an op of its own, {}", where,
                                 order[from->second].label()));
      }
      if (const auto to = readers.find(t.id()); to != readers.end()) {
        const auto at = std::lower_bound(to->second.begin(), to->second.end(), run.begin);
        if (at != to->second.end() && *at < run.end) continue;
      }
      const std::string reader = ReaderOutside(run, t);
      return Wrong(fmt::format("{}, is not read by its ops{}", where,
                               reader.empty() ? "" : fmt::format(": {} it", reader)));
    }
  }
  for (const TensorView& t : OutputsOf(run)) {
    const std::vector<TensorView>& named = kernel.outputs();
    if (std::find(named.begin(), named.end(), t) != named.end()) continue;
    return Wrong(fmt::format("{} does not write {} of {}, which {}", who, t.label(),
                             order[writer.at(t.id())].label(), ReaderOutside(run, t)));
  }
  return Status();
}

Status Model::Replace(const Run& in_list, kernel::Kernel* graph_kernel) {
  if (graph_kernel == nullptr) {
    return Wrong(fmt::format("the kernel for {} is null", LabelOf(OpsOf(in_list))));
  }
  if (run_of.count(graph_kernel) != 0) {
    return Wrong(fmt::format("{} for {} is in the list already", NameOf(*graph_kernel),
                             LabelOf(OpsOf(in_list))));
  }
  for (size_t i = in_list.begin; i < in_list.end; ++i) {
    const Run& one = run_of.at(kept[i]);
    const bool replaced = kept[i] != op_kernels[one.begin].get();
    if (!replaced && offered[one.begin]) continue;
    return Wrong(fmt::format("the slice {} holds {}, which {}", LabelOf(OpsOf(in_list)),
                             LabelOf(one), replaced ? "was replaced before" : "others run"));
  }
  const Run run = OpsOf(in_list);
  TIMCL_TRY(CheckOperands(run, *graph_kernel));
  slices.push_back({run, std::unique_ptr<kernel::Kernel>(graph_kernel)});
  run_of[graph_kernel] = run;
  for (auto* kernels : {&list, &kept}) {
    (*kernels)[in_list.begin] = graph_kernel;
    kernels->erase(kernels->begin() + static_cast<std::ptrdiff_t>(in_list.begin) + 1,
                   kernels->begin() + static_cast<std::ptrdiff_t>(in_list.end));
  }
  return Status();
}

Status Model::CheckEdits() const {
  if (!mistake.ok() || list == kept) return mistake;
  return Wrong("the list of nodes() was changed by other means than Replace");
}

}  // namespace delegate

DelegateModel::DelegateModel(std::shared_ptr<delegate::Model> model) : model_(std::move(model)) {}
DelegateModel::~DelegateModel() = default;

KernelIter DelegateModel::BeginKernelIterator() { return model_->list.begin(); }
KernelIter DelegateModel::EndKernelIterator() { return model_->list.end(); }
std::vector<kernel::Kernel*>* DelegateModel::nodes() { return &model_->list; }
const std::vector<TensorView>& DelegateModel::inputs() const { return model_->inputs; }
const std::vector<TensorView>& DelegateModel::outputs() const { return model_->outputs; }
int DelegateModel::GetVersion() const { return 1; }

const Primitive* DelegateModel::GetPrimitive(const kernel::Kernel* kernel) const {
  const auto it = model_->run_of.find(kernel);
  if (it == model_->run_of.end()) return nullptr;
  const size_t at = it->second.begin;
  return model_->op_kernels[at].get() == kernel ? model_->primitives[at].get()
                                                : &delegate::Subgraph();
}

KernelIter DelegateModel::Replace(KernelIter from, KernelIter end, kernel::Kernel* graph_kernel) {
  const auto in_list = model_->InList(from, end);
  const Status done = in_list.ok() ? model_->Replace(*in_list, graph_kernel) : in_list.status();
  if (done.ok()) return from + 1;
  if (model_->mistake.ok()) model_->mistake = done;
  // What a loop over the list can go on from: never beyond its end, never back.
  return std::min(std::max(from, end), model_->list.end());
}

void DelegateModel::Reject(const kernel::Kernel* kernel, std::string why) {
  const auto it = model_->run_of.find(kernel);
  if (it != model_->run_of.end()) model_->reasons[it->second.begin] = std::move(why);
}

std::vector<TensorView> DelegateModel::SubgraphInputs(KernelIter from, KernelIter end) const {
  const auto in_list = model_->InList(from, end);
  return in_list.ok() ? model_->InputsOf(model_->OpsOf(*in_list)) : std::vector<TensorView>();
}
std::vector<TensorView> DelegateModel::SubgraphOutputs(KernelIter from, KernelIter end) const {
  const auto in_list = model_->InList(from, end);
  return in_list.ok() ? model_->OutputsOf(model_->OpsOf(*in_list)) : std::vector<TensorView>();
}

Delegate::~Delegate() = default;

}  // namespace tim::vx
