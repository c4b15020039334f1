// ChooseForms and Convert: which chains of ops work on a private form, and what is converted for
// them.
#include <set>
#include <utility>

#include "backends/opencl/compile/unit.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

/// An op's first candidate of one kind of private form that accepts it.
struct Choice {
  const KernelCandidate* kernel = nullptr;
  KernelOffer offer;
};

class Chooser {
 public:
  Chooser(const DeviceCaps& caps, Unit* unit, const Wishes& wishes)
      : caps_(caps), unit_(*unit), wishes_(wishes) {
    for (size_t g = 0; g < unit_.groups.size(); ++g) group_of_[unit_.groups[g].op.id()] = g;
  }

  Status Run() {
    choices_.resize(unit_.groups.size());
    for (size_t g = 0; g < unit_.groups.size(); ++g) {
      for (const KernelCandidate* asked : InOrder(unit_.groups[g].op, wishes_)) {
        const KernelCandidate& candidate = *asked;
        if (candidate.in == TensorForm::kPlain && candidate.out == TensorForm::kPlain) continue;
        auto offer = AskKernel(candidate, unit_.groups[g].op, caps_, wishes_);
        if (offer.ok()) {
          choices_[g].push_back({&candidate, *offer});
        } else if (offer.status().code() != Code::kUnsupported) {
          return offer.status().AtOp(unit_.groups[g].op.label());
        } else {
          const std::string& why = offer.status().detail();
          unit_.groups[g].refusals.push_back(std::string(candidate.name) + ": " + why);
        }
      }
    }
    // Backwards: which values a kernel that pays for it would read in blocks, directly or behind
    // ops that go along.
    wanted_.assign(unit_.groups.size(), false);
    for (size_t g = unit_.groups.size(); g-- > 0;) {
      for (const Choice& c : choices_[g]) {
        if (c.kernel->in == TensorForm::kPlain) continue;
        wanted_[g] = wanted_[g] || c.offer.pays_for_forms ||
                     (c.kernel->out == c.kernel->in && ReadersWant(unit_.groups[g].op));
      }
    }
    for (size_t g = 0; g < unit_.groups.size(); ++g) Decide(g);
    return Status();
  }

 private:
  bool ReadersWant(const OpView& op) const {
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      for (const OpView& reader : unit_.part.consumers(op.out(i))) {
        const auto it = group_of_.find(reader.id());
        if (it != group_of_.end() && wanted_[it->second]) return true;
      }
    }
    return false;
  }

  void Decide(size_t g) {
    Group& group = unit_.groups[g];
    for (const Choice& c : choices_[g]) {
      if (wishes_.First(*group.kernel) && !wishes_.First(*c.kernel)) break;
      size_t there = 0, missing = 0;
      for (size_t i = 0; i < group.op.num_inputs(); ++i) {
        const TensorView t = group.op.in(i);
        if (!t.present() || t.is_const()) continue;
        (made_.count({t.id(), c.kernel->in}) != 0 ? there : missing) += 1;
      }
      const bool reads = c.kernel->in != TensorForm::kPlain;
      const bool goes_along = reads && there > 0 && (missing == 0 || wanted_[g]);
      // One that makes blocks of plain tensors is there for those that read them.
      const bool opens = !reads && ReadersWant(group.op);
      if (!goes_along && !opens && !(reads && c.offer.pays_for_forms)) continue;
      group.kernel = c.kernel;
      group.offer = c.offer;
      group.in = c.kernel->in, group.out = c.kernel->out;
      base::Log("select", base::LogLevel::kDebug, "{}: kernel '{}' in blocks of channels",
                group.op.label(), c.kernel->name);
      break;
    }
    for (size_t i = 0; i < group.op.num_outputs(); ++i) {
      const TensorView t = group.op.out(i);
      if (t.present()) made_.emplace(t.id(), FormOf(t, group.out));
    }
  }

  const DeviceCaps& caps_;
  Unit& unit_;
  const Wishes& wishes_;
  std::map<int, size_t> group_of_;  // by op
  std::vector<std::vector<Choice>> choices_;
  std::vector<bool> wanted_;
  std::set<std::pair<int, TensorForm>> made_;
};

}  // namespace

Status ChooseForms(const DeviceCaps& caps, Unit* unit, const Wishes& wishes) {
  return Chooser(caps, unit, wishes).Run();
}

KernelSpec ConversionLaunch(const TensorType& type, TensorForm from, TensorForm to) {
  constexpr int64_t kPiece = 256;  // pixels: 16 KB of floats
  const bool opens = from == TensorForm::kPlain;
  const Shape& s = type.shape;
  const int64_t pixels = s[0] * s[1];
  KernelSpec spec;
  spec.source = opens ? "to_block.cl" : "from_block.cl";
  spec.entry = opens ? "to_block" : "from_block";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"PIXELS", pixels}, {"C", s[2]}};
  spec.defines = {
      {"BYTES", BitsOf(type.dtype) / 8}, {"FLIP", type.dtype == DataType::INT8}, {"PIECE", kPiece}};
  spec.dims = 3;
  spec.global =
      Grid((pixels + kPiece - 1) / kPiece, InForm(type, opens ? to : from).shape[3], s[3]);
  return spec;
}

void Convert(Unit* unit) {
  std::map<int, TensorForm> made;
  std::set<std::pair<int, TensorForm>> there;
  std::vector<Group> groups;
  auto need = [&](const TensorView& t, TensorForm form, const OpView& op) {
    if (!t.present() || t.is_const()) return;
    const auto it = made.find(t.id());
    const TensorForm from = it == made.end() ? TensorForm::kPlain : it->second;
    if (from == form || !there.emplace(t.id(), form).second) return;
    Group conversion;
    conversion.op = op, conversion.converted = t;
    conversion.in = from, conversion.out = form;
    groups.push_back(std::move(conversion));
  };
  for (Group& group : unit->groups) {
    if (!group.gone) {
      for (size_t i = 0; i < group.op.num_inputs(); ++i) {
        const TensorView t = group.input(i);
        if (t.present()) need(t, FormOf(t, group.in), group.op);
      }
      for (const TensorView& other : group.pre_others) need(other, TensorForm::kPlain, group.op);
      for (const TensorView& other : group.others) need(other, FormOf(other, group.out), group.op);
      const OpView& last = group.last();
      for (size_t i = 0; i < last.num_outputs(); ++i) {
        const TensorView t = last.out(i);
        if (t.present()) made[t.id()] = FormOf(t, group.out);
      }
    }
    const OpView last = group.last();
    const bool gone = group.gone;
    groups.push_back(std::move(group));
    // What leaves is read plain.
    for (size_t i = 0; !gone && i < last.num_outputs(); ++i) {
      if (last.out(i).present() && unit->part.leaves(last.out(i)))
        need(last.out(i), TensorForm::kPlain, last);
    }
  }
  unit->groups = std::move(groups);
}

}  // namespace tim::vx::opencl
