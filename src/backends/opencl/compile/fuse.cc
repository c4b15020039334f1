// FindFusions: point-wise ops that follow an op whose kernel can apply them as it stores. A value
// that fusion removes is still rounded to its tensor's type on the way (NUMERICS: every tensor that
// the user made is observable).
#include <set>

#include "backends/opencl/compile/compile.h"
#include "ir/graph.h"

namespace tim::vx::opencl {
namespace {

/// What one store takes along. OpenCL promises 1024 bytes of kernel arguments; a stage brings at
/// most 44 (three of quantization, four parameters, another tensor with its own), the kernels here
/// up to 250. Sixteen ops in one launch have saved 94 % of the traffic to memory already.
constexpr size_t kMaxStages = 16;

bool WidePlainInteger(const TensorType& t) {
  return IsInteger(t.dtype) && !t.quantized() && BitsOf(t.dtype) >= 32;
}

/// The kernel's form of epilogue can express this op between these types. `input`: the operand that
/// passes through the kernel.
bool CanApply(const OpView& op, size_t input, KernelSpec::Epilogue form) {
  const PointwiseRule* rule = op.def().pointwise;
  if (rule == nullptr || rule->expression == nullptr || op.num_inputs() > 2 ||
      op.num_outputs() != 1)
    return false;
  const TensorType &before = op.in(input).type(), &after = op.out(0).type();
  if (op.num_inputs() == 2) {
    const TensorView other = op.in(1 - input);
    if (!other.present() || other.id() == op.in(input).id() || other.shape() != before.shape ||
        after.shape != before.shape || WidePlainInteger(other.type()) ||
        !kernels::CanRead(other.type(), form))
      return false;
  }
  if (before.count() != after.count() || before.per_channel() || after.per_channel()) return false;
  // float holds wide integers only in part; their ops run in exact integer arithmetic of their own.
  if (WidePlainInteger(before) || WidePlainInteger(after)) return false;
  // A bool result is 0 or 1, which the store of a chain does not see to.
  if (after.dtype == DataType::BOOL8) return false;
  if (form == KernelSpec::Epilogue::kScalar) return true;
  return !rule->scalar_only && before.dtype == DataType::FLOAT32 &&
         after.dtype == DataType::FLOAT32;
}

}  // namespace

std::map<int, FusedChain> FindFusions(const GraphView& part,
                                      const std::map<int, Selected>& selected) {
  const ir::Graph& graph = *part.graph();
  const auto consumers = graph.Consumers();
  std::set<int> outputs, taken;
  std::map<int, size_t> inside;  // node -> its place in the order of launches
  for (const OpView& op : part.Ops()) inside.emplace(op.id(), inside.size());
  for (const TensorView& t : part.Outputs()) outputs.insert(t.id());
  std::map<int, FusedChain> chains;
  for (const OpView& anchor : part.Ops()) {
    const auto it = selected.find(anchor.id());
    if (it == selected.end() || taken.count(anchor.id()) != 0 || MovesNothing(anchor)) continue;
    const Launches& launches = it->second.launches;
    if (launches.size() != 1 || launches[0].epilogue == KernelSpec::Epilogue::kNone ||
        anchor.num_outputs() != 1)
      continue;
    if (anchor.out(0).type().per_channel() || WidePlainInteger(anchor.out(0).type())) continue;
    FusedChain chain;
    OpView last = anchor;
    while (chain.stages.size() < kMaxStages) {
      const int v = last.out(0).id();
      const auto& readers = consumers[static_cast<size_t>(v)];
      if (outputs.count(v) != 0 || readers.size() != 1 || inside.count(readers[0]) == 0) break;
      const OpView next(&graph, readers[0]);
      const size_t input = next.num_inputs() == 2 && next.in(1).id() == v ? 1 : 0;
      // The removed value must be in the order that the op computes it in.
      if (taken.count(next.id()) != 0 || !CanApply(next, input, launches[0].epilogue)) break;
      kernels::Stage stage;
      stage.before = last.out(0).type();
      stage.expression = next.def().pointwise->expression;
      if (next.def().pointwise->params != nullptr) next.def().pointwise->params(next, stage.params);
      if (next.num_inputs() == 2) {
        const TensorView other = next.in(1 - input);
        // It must be there when the anchor is launched.
        const auto producer = inside.find(graph.value(other.id()).producer);
        if (producer != inside.end() && producer->second >= inside.at(anchor.id())) break;
        stage.other = other.type();
        stage.other_first = input == 1;
        chain.others.push_back(other.id());
      }
      chain.stages.push_back(std::move(stage));
      chain.nodes.push_back(next.id());
      taken.insert(next.id());
      last = next;
    }
    if (!chain.nodes.empty()) chains[anchor.id()] = std::move(chain);
  }
  return chains;
}

}  // namespace tim::vx::opencl
