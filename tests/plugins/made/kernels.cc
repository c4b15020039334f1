// A plugin with kernel files of its own: made/times.cl, which includes made/times.clh; and the same
// operator with kernels that are wrong, each in one way.
#include "ops.h"

namespace {

using namespace made;

Result<Launches> Make(const OpView& op, const char* source, const char* entry) {
  return Launches{{.source = source,
                   .entry = entry,
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"N", op.out(0).type().count()}},
                   .reals = {{"FACTOR", op.attrs<TimesAttrs>().factor}},
                   .global = Grid(op.out(0).type().count()),
                   .local = {16, 1, 1}}};
}
template <int kVariant>
Result<Launches> Kernel(const OpView& op, const KernelRequest&) {
  constexpr const char* kEntries[] = {"times", "times_wrong", "times_hole", "times_beyond"};
  return Make(op, "times.cl", kEntries[kVariant]);
}
Result<Launches> NoFile(const OpView& op, const KernelRequest&) {
  return Make(op, "divides.cl", "times");
}
Result<KernelOffer> Refuses(const OpView&, const KernelRequest&) {
  return Status::Error(Code::kUnsupported, "not on a Saturday");
}
Status Unimplemented(const OpView& op, const ref::Inputs&, ref::Outputs&) {
  return op.Error(Code::kInternal, "the reference is out for lunch");
}

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(TimesAttrs{}).In(F32({1})).Note("one element");
  make.Of(TimesAttrs{-0.5f}).In(F32({19, 5})).Note("attributes");
  make.Of(TimesAttrs{-0.5f}).Input({F32({7}), true}).Note("a constant");
}

constexpr KernelCandidate kGood[] = {{"general", nullptr, Kernel<0>}};
constexpr KernelCandidate kTwo[] = {{"refuses", Refuses, Kernel<0>},
                                    {"general", nullptr, Kernel<0>}};
constexpr KernelCandidate kWrong[] = {{"general", nullptr, Kernel<0>},
                                      {"wrong", nullptr, Kernel<1>}};
constexpr KernelCandidate kHole[] = {{"hole", nullptr, Kernel<2>}};
constexpr KernelCandidate kBeyond[] = {{"beyond", nullptr, Kernel<3>}};
constexpr KernelCandidate kRefused[] = {{"refuses", Refuses, Kernel<0>}};
constexpr KernelCandidate kNoFile[] = {{"no_file", nullptr, NoFile}};

OpDef By(const char* name, KernelList kernels) {
  OpDef def = TimesOp(name);
  def.kernels = kernels;
  def.cases = Cases;
  return def;
}

}  // namespace

// The same without the files: what the other plugin has is not this one's.
#ifdef MADE_other_kernels
#define PREFIX "other_kernels."
#else
#define PREFIX "kernels."
#endif

TIMCL_OP_PLUGIN("test." PREFIX, "1.0.0") {
  plugin.Add(By(PREFIX "times", kGood));
  plugin.Add(By(PREFIX "two", kTwo));
  plugin.Add(By(PREFIX "wrong", kWrong));
  plugin.Add(By(PREFIX "hole", kHole));
  plugin.Add(By(PREFIX "beyond", kBeyond));
  plugin.Add(By(PREFIX "refused", kRefused));
  plugin.Add(By(PREFIX "no_file", kNoFile));
  OpDef without = By(PREFIX "no_cases", kGood);
  without.cases = nullptr;
  plugin.Add(without);
  OpDef lunch = By(PREFIX "lunch", kGood);
  lunch.reference = Unimplemented;
  plugin.Add(lunch);
}
