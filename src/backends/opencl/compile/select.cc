// Select: candidates in order, the first that accepts wins; refusals carry a reason.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/opencl/compile/unit.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

/// kUnsupported for an op whose tensors need 64-bit indices, which most kernels do not have.
Status CheckCounts(const OpView& op) {
  for (size_t i = 0; i < op.num_inputs() + op.num_outputs(); ++i) {
    const bool input = i < op.num_inputs();
    const size_t index = input ? i : i - op.num_inputs();
    const TensorView t = input ? op.in(index) : op.out(index);
    if (!t.present() || t.shape().count() <= std::numeric_limits<int32_t>::max()) continue;
    return Status::Error(Code::kUnsupported, (input ? op.in_label(index) : op.out_label(index)) +
                                                 " has more than 2^31 - 1 elements");
  }
  return Status();
}

/// kUnsupported unless the op's tensors can lie as the candidate wants them, and the device has
/// room for that.
Status CheckForms(const KernelCandidate& candidate, const OpView& op, const DeviceCaps& caps) {
  for (size_t i = 0; i < op.num_inputs() + op.num_outputs(); ++i) {
    const bool input = i < op.num_inputs();
    const size_t index = input ? i : i - op.num_inputs();
    const TensorView t = input ? op.in(index) : op.out(index);
    const TensorForm form = input ? candidate.in : candidate.out;
    if (!t.present() || t.is_const() || form == TensorForm::kPlain) continue;
    const std::string& label = input ? op.in_label(index) : op.out_label(index);
    if (!CanTake(t.type(), form))
      return Status::Error(Code::kUnsupported, label + " cannot lie in blocks of channels");
    // Few channels take the room of 16.
    const TensorType blocks = InForm(t.type(), form);
    if (blocks.shape.count() > std::numeric_limits<int32_t>::max() ||
        !caps.CanAllocate(static_cast<uint64_t>(blocks.bytes())))
      return Status::Error(Code::kUnsupported, label + " is too large in blocks of channels");
  }
  return Status();
}

bool IsPlain(const KernelCandidate& candidate) {
  return candidate.in == TensorForm::kPlain && candidate.out == TensorForm::kPlain;
}

}  // namespace

std::vector<const KernelCandidate*> InOrder(const OpView& op, const Wishes& wishes) {
  static const Tuning none;
  const KernelList& kernels = op.def().kernels;
  // What was measured is float32.
  const bool bf16 = wishes.relaxed && std::any_of(kernels.begin(), kernels.end(),
                                                  [](const auto& kernel) { return kernel.bf16; });
  const Tuning& tuning = wishes.tuning != nullptr && !bf16 ? *wishes.tuning : none;
  std::vector<const KernelCandidate*> order;
  for (const KernelCandidate* candidate : tuning.InOrder(op))
    if (wishes.Want(*candidate)) order.push_back(candidate);
  std::stable_partition(order.begin(), order.end(),
                        [&](const auto* candidate) { return wishes.First(*candidate); });
  return order;
}

Result<KernelOffer> AskKernel(const KernelCandidate& candidate, const OpView& op,
                              const DeviceCaps& caps, const Wishes& wishes) {
  if (wishes.without.count(candidate.name) != 0)
    return Status::Error(Code::kUnsupported, "left out by option without_kernels");
  if (!wishes.Want(candidate)) return Status::Error(Code::kUnsupported, "only in relaxed mode");
  if (!candidate.large_tensors) TIMCL_TRY(CheckCounts(op));
  TIMCL_TRY(CheckForms(candidate, op, caps));
  KernelOffer offer = candidate.offer;
  if (candidate.accepts != nullptr) {
    TIMCL_ASSIGN(offer, candidate.accepts(op, {caps, candidate.in, candidate.out, wishes.relaxed}));
  }
  offer.pays_for_forms = offer.pays_for_forms || wishes.First(candidate);
  return offer;
}

Result<Launches> MakeLaunches(const KernelCandidate& candidate, const KernelOffer& offer,
                              const OpView& op, const DeviceCaps& caps, const Wishes& wishes) {
  TIMCL_ASSIGN(Launches launches,
               candidate.make(op, {caps, candidate.in, candidate.out, wishes.relaxed}));
  for (KernelSpec& spec : launches) spec.epilogue = offer.epilogue;
  return launches;
}

Result<Group> SelectKernel(const OpView& op, const DeviceCaps& caps, const Wishes& wishes) {
  Group group;
  group.op = op;
  std::vector<const KernelCandidate*> candidates;
  for (const bool plain : {true, false}) {
    for (const KernelCandidate* candidate : InOrder(op, wishes))
      if (IsPlain(*candidate) == plain) candidates.push_back(candidate);
  }
  for (const KernelCandidate* const asked : candidates) {
    const KernelCandidate& candidate = *asked;
    auto offer = AskKernel(candidate, op, caps, wishes);
    if (offer.ok()) {
      group.kernel = &candidate;
      group.offer = *offer;
      group.in = candidate.in, group.out = candidate.out;
      base::Log("select", base::LogLevel::kDebug, "{}: kernel '{}'", op.label(), candidate.name);
      return group;
    }
    const Status& status = offer.status();
    if (status.code() != Code::kUnsupported) return status.AtOp(op.label());
    group.refusals.push_back(fmt::format("{}: {}", candidate.name, status.detail()));
    base::Log("select", base::LogLevel::kDebug, "{}: {}", op.label(), group.refusals.back());
  }
  if (group.refusals.empty())
    return Status::Error(Code::kUnsupported, "the op has no OpenCL kernel");
  return Status::Error(Code::kUnsupported,
                       fmt::format("every kernel refused: {}", fmt::join(group.refusals, "; ")));
}

Status Select(const GraphView& part, const DeviceCaps& caps, Unit* unit, const Wishes& wishes) {
  *unit = Unit();
  unit->part = part;
  auto place = [&](const TensorView& t, Place::Kind kind, size_t index) {
    if (t.present()) unit->places.emplace(t.id(), Place{kind, index, t, t.id()});
  };
  for (size_t i = 0; i < part.Inputs().size(); ++i) place(part.Inputs()[i], Place::Kind::kInput, i);
  for (size_t i = 0; i < part.Outputs().size(); ++i)
    place(part.Outputs()[i], Place::Kind::kOutput, i);
  for (const OpView& op : part.Ops()) {
    TIMCL_ASSIGN(Group group, SelectKernel(op, caps, wishes));
    unit->groups.push_back(std::move(group));
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      const bool constant = op.in(i).is_const();
      place(op.in(i), constant ? Place::Kind::kConstant : Place::Kind::kInternal, 0);
    }
    for (size_t i = 0; i < op.num_outputs(); ++i) place(op.out(i), Place::Kind::kInternal, 0);
  }
  return Status();
}

}  // namespace tim::vx::opencl
