// The compile half of the OpenCL backend: a partition as groups of ops that run as one kernel each,
// edited by passes from ops to launches as plain data. Needs capabilities, not a device.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_UNIT_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_UNIT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backends/opencl/compile/tuning.h"
#include "backends/opencl/run/plan.h"
#include "kernels/prelude.h"
#include "tim/vx/backend.h"

namespace tim::vx::opencl {

/// What the caller of Compile() asks of the choice of kernels.
struct Wishes {
  /// Names of candidates that are not asked: CompileOption::SetOption("opencl", "without_kernels",
  /// "winograd,tile").
  std::set<std::string, std::less<>> without = {};
  /// Names of candidates that are asked first, and taken wherever they accept:
  /// CompileOption::SetOption("opencl", "first_kernels", "blocks").
  std::set<std::string, std::less<>> first = {};
  bool relaxed = false;  // see KernelRequest
  /// Which candidates are asked first: CompileOption::SetOption("opencl", "tuning", ...). Null: in
  /// the order of the definition.
  std::shared_ptr<const Tuning> tuning = {};
  /// Whether the candidate is asked at all.
  bool Want(const KernelCandidate& candidate) const { return relaxed || !candidate.bf16; }
  bool First(const KernelCandidate& candidate) const { return first.count(candidate.name) != 0; }
};
/// The candidates of an op in the order in which they are asked.
std::vector<const KernelCandidate*> InOrder(const OpView& op, const Wishes& wishes);

/// Where the bytes of a value lie.
struct Place {
  enum class Kind {
    kInput,     // input `index` of the partition
    kOutput,    // output `index` of the partition
    kConstant,  // a constant of the graph
    kInternal,  // inside the partition; Emit gives it a slot
  };
  Kind kind = Kind::kInternal;
  size_t index = 0;
  TensorView tensor = {};
  /// The value whose bytes these are; itself unless pass Alias found them to be the same.
  int root = -1;
};

/// Ops that run as one kernel: the first one's, with the others applied where it stores. Or the
/// conversion of one value from a form to another.
struct Group {
  OpView op;  // of a conversion: for whom it is made
  const KernelCandidate* kernel = nullptr;
  KernelOffer offer;
  /// How the values that it reads and writes lie in memory. A value has memory of its own in each
  /// form that somebody reads.
  TensorForm in = TensorForm::kPlain, out = TensorForm::kPlain;
  TensorView converted;               // of a conversion: the value
  std::vector<std::string> refusals;  // candidates before `kernel`, each with its reason
  /// What the store applies, in order, and the ops that vanish by it.
  std::vector<kernels::PostOp> post_ops;
  std::vector<OpView> fused;
  std::vector<TensorView> others;  // what post-ops with two operands read, in order
  /// What its kernel applies to input 0 as it reads it, in order, and the ops that vanish by it:
  /// `read` lies in memory in place of that input.
  std::vector<kernels::PostOp> pre_ops;
  std::vector<OpView> before;
  std::vector<TensorView> pre_others;
  TensorView read;
  /// Of the result, where fused ops limit it (Epilogue::kLanes).
  std::optional<kernels::Range> range;
  bool no_launch = false;  // its result is its input, byte for byte
  bool gone = false;       // fused into another group

  const OpView& last() const { return fused.empty() ? op : fused.back(); }
  /// Input i of the op, as its kernel finds it.
  TensorView input(size_t i) const { return i == 0 && read.present() ? read : op.in(i); }
  bool converts() const { return converted.present(); }
};

/// The form in which a kernel that works on `form` finds this tensor: constants and tensors that
/// cannot take the form are plain.
inline TensorForm FormOf(const TensorView& t, TensorForm form) {
  return t.is_const() || !CanTake(t.type(), form) ? TensorForm::kPlain : form;
}

/// One partition on its way from ops to launches.
struct Unit {
  GraphView part;
  std::vector<Group> groups;    // topological order
  std::map<int, Place> places;  // by value id
  /// Ops that no kernel takes after all.
  std::map<int, Status> refusals;
  /// Memory inside the partition that is part of another value's (pass PlacePieces).
  struct Memory {
    int value = -1;
    TensorForm form = TensorForm::kPlain;
    size_t offset = 0;  // bytes
    auto key() const { return std::pair(value, form); }
  };
  std::map<std::pair<int, TensorForm>, Memory> parts;

  /// The value whose bytes these are.
  int root(int value) const;
  /// Where a value lies that is inside the partition in this form.
  Memory MemoryOf(int value, TensorForm form) const;
};

/// True when the op moves no bytes (Reshape between equal encodings): it may become no launch.
bool MovesNothing(const OpView& op);

// The passes, in order. Each leaves the unit valid, has a test over its text form, and changes no
// result.

/// One group per op with the first candidate that accepts it; a place for every value.
Status Select(const GraphView& part, const DeviceCaps& caps, Unit* unit, const Wishes& wishes = {});

/// Moves chains of ops to kernels that work on a private form (tensor_form.h), where one of them
/// pays for the conversions.
Status ChooseForms(const DeviceCaps& caps, Unit* unit, const Wishes& wishes = {});

/// Point-wise ops move into the store of the kernel before them, or else into the loads of a
/// reduction behind them (FoldRule::loads_once), which saves a launch and a walk through memory. A
/// value that vanishes is still rounded to its tensor's type on the way (NUMERICS: every tensor
/// that the user made is observable).
void Fuse(Unit* unit);

/// Puts a conversion in front of the first group that reads a value in a form in which it is not
/// made. After Fuse: what fusion made one needs none between.
void Convert(Unit* unit);

/// Ops that move no bytes (Reshape between equal encodings) become no launch: both sides share
/// memory, unless both belong to the outside.
void Alias(Unit* unit);

/// Ops that put tensors behind each other, or cut one to pieces, become no launch where the pieces
/// can lie in the whole from the start (OpDef::pieces).
void PlacePieces(const DeviceCaps& caps, Unit* unit);

/// A result takes the memory of a tensor that its kernel reads element by element
/// (KernelOffer::stores_once) and nobody reads later: a residual, say. Returns how many do.
size_t PlaceInPlace(Unit* unit);

/// The text of one kernel function before it is put into a program.
struct Variant {
  std::string text;     // kernels::VariantText::text, or the user's source with its prelude
  std::string entry;    // function in the text; built-in ones are renamed in the program
  std::string origin;   // source file or op label, for messages
  std::string options;  // user's build options; built-in ones have none
  bool user = false;    // shares a program with the same text alone
  bool images = false;  // see ProgramText

  /// Ops with the same code share a function, whatever they are called.
  auto code() const { return std::tie(user, images, text, options, entry); }
};

struct Emitted {
  PartitionPlan plan;             // programs and kernels are set by AssemblePrograms
  std::vector<Variant> variants;  // Launch::variant counts these
  std::map<int, std::string> kernel_of;
  std::map<int, std::vector<std::string>> refused;
  size_t bf16 = 0;      // ops whose kernels multiply in bfloat16
  size_t in_place = 0;  // results where a tensor lay
};
/// Asks each kernel for its launches, writes their texts, and packs what lives inside the
/// partition. A kernel that refuses here is noted in unit->refusals.
Result<Emitted> Emit(Unit* unit, const DeviceCaps& caps, kernels::Sources* sources,
                     const Wishes& wishes = {});

/// Of constants that lie side by side, in bytes.
constexpr size_t kConstantAlignment = 128;
/// Gives packed data memory of the plan's own, to be written by plan->packing; with a joined plan,
/// all that it reads, side by side in one memory for both plans.
Status PlaceConstants(PartitionPlan* plan, PartitionPlan* joined = nullptr);

/// Puts the variants of one graph's partitions into programs: all built-in ones into one, sorted,
/// so that its text (which is what caches know it by) depends on the graph alone and not on the
/// order of its ops or on graphs compiled before; users' ones of the same text and options into one
/// as well.
void AssemblePrograms(const std::vector<Emitted*>& partitions, const std::string& kernel_dir);

/// The image prelude and the macros, then `#line 1 "<origin>"`, then the source unchanged, so that
/// messages of the compiler speak of the user's lines. `kernel_dir`: value of TIMCL_KERNEL_DIR.
Result<std::string> WithImagePrelude(const std::string& user_source, const std::string& origin,
                                     const std::string& kernel_dir = "",
                                     const std::string& macros = "");

/// One line per group, for tests and dumps:
///   #2 Conv2d 'general' (%0, %1) -> %5 + Relu, Clip
///   #5 Reshape no launch (%5) -> %6 = %5
///   #2 Conv2d 'block' (blocked) (%0, %1) -> %5
///   blocked -> plain %5
std::string Print(const Unit& unit);

/// The plain candidate that accepts the op, and why those before it refused; a candidate with
/// private forms where there is no other. kUnsupported lists every refusal.
Result<Group> SelectKernel(const OpView& op, const DeviceCaps& caps, const Wishes& wishes = {});
/// The launch that copies a tensor of this type from one form to another.
KernelSpec ConversionLaunch(const TensorType& type, TensorForm from, TensorForm to);
/// One candidate's answer: its offer, or its refusal.
Result<KernelOffer> AskKernel(const KernelCandidate& candidate, const OpView& op,
                              const DeviceCaps& caps, const Wishes& wishes = {});
/// The launches of a candidate that accepted.
Result<Launches> MakeLaunches(const KernelCandidate& candidate, const KernelOffer& offer,
                              const OpView& op, const DeviceCaps& caps, const Wishes& wishes = {});

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_UNIT_H_
