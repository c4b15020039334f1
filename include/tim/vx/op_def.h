// OpDef: all that the library needs to know of an operator. Passes, tests, benchmarks and the
// operator table learn it from here. Public, so that operators made outside the library are equals
// of the built-in ones.
#ifndef TIM_VX_OP_DEF_H_
#define TIM_VX_OP_DEF_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/kernel_spec.h"
#include "tim/vx/result.h"
#include "tim/vx/tensor_form.h"
#include "tim/vx/tensor_type.h"

namespace tim::vx {

namespace ir {
class Graph;
}  // namespace ir
namespace kernel {
class Memory;
}  // namespace kernel
namespace ref {
class Input;
class Output;
}  // namespace ref
class CaseMaker;
class Graph;
class Operation;
class ExpandBuilder;
struct OpDef;

/// A cheap handle to one operand of an op inside a graph under compilation. Valid while that graph
/// lives unchanged.
class TIMCL_API TensorView {
 public:
  TensorView() = default;
  TensorView(const ir::Graph* graph, int value, const TensorType* type_override = nullptr)
      : graph_(graph), value_(value), type_(type_override) {}
  /// False for an optional operand that was left out.
  bool present() const { return value_ >= 0; }
  int id() const { return value_; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DataType dtype() const { return type().dtype; }
  const std::string& name() const;  // "" when unnamed
  std::string label() const;        // "'main' f32[56,56,24,1]"
  bool is_const() const;
  /// Rank 0, or flagged by Tensor::SetScalar (the shape is then {1}). Gather and Stack look at it.
  bool is_scalar() const;
  bool is_graph_input() const;
  bool is_graph_output() const;
  /// Dense bytes of a constant; null for everything else.
  const void* data() const;
  template <class T>
  const T* data_as() const {
    return static_cast<const T*>(data());
  }
  /// The memory behind data(), for backends that keep it beyond Compile; null for everything else.
  std::shared_ptr<const kernel::Memory> memory() const;

  // What kernels ask of the tensors of their partition, in the words of MindSpore Lite's MSTensor.
  // The memory belongs to the tensor, not to the view: every copy sees it, whenever it was made.
  // Constants have it always, the others from Prepare on; until then, and outside of Prepare and
  // Execute, there is none to be read. The address may change between Runs.
  std::string Name() const { return name(); }
  bool IsConst() const { return is_const(); }
  size_t DataSize() const { return present() ? type().bytes() : 0; }
  int64_t ElementNum() const { return present() ? type().count() : 0; }
  /// Null where there is none. The pointer owns nothing.
  std::shared_ptr<const void> Data() const;
  /// The same for writing (constants are not to be written). A tensor that only ops of one
  /// partition use has no memory planned: it gets its own when this is first called, for as long
  /// as the graph lives. Null: not compiled yet, or the host has no memory left.
  void* MutableData() const;
  /// The same tensor of the same graph.
  bool operator==(const TensorView& o) const { return graph_ == o.graph_ && value_ == o.value_; }
  bool operator!=(const TensorView& o) const { return !(*this == o); }
  bool operator==(std::nullptr_t) const { return !present(); }
  bool operator!=(std::nullptr_t) const { return present(); }

 private:
  const ir::Graph* graph_ = nullptr;
  int value_ = -1;
  const TensorType* type_ = nullptr;
};

/// A cheap handle to one op inside a graph under compilation; what every function of an OpDef
/// receives.
class TIMCL_API OpView {
 public:
  OpView() = default;
  OpView(const ir::Graph* graph, int node) : graph_(graph), node_(node) {}
  int id() const { return node_; }
  const OpDef& def() const;
  std::string_view kind() const;
  const std::string& name() const;
  std::string label() const;  // "Add#12 'block2/residual'"

  size_t num_inputs() const;  // operands bound, left-out ones in the middle counted
  size_t num_outputs() const;
  /// Input i; not present() when left out or beyond the bound ones.
  TensorView in(size_t i) const;
  /// Output i. Its shape is the one that the op computes, which may differ from the declared one
  /// (same element count).
  TensorView out(size_t i) const;

  /// The op's attribute struct: the A of its definition's kAttrSchema<A>. Another A is a mistake in
  /// the op's own code and throws std::logic_error, which Compile() turns into kInternal.
  template <class A>
  const A& attrs() const {
    return any_attrs().template As<A>(def_name());
  }
  const AnyAttrs& any_attrs() const;

  // Words for messages, by the tensor's name where it has one, else by the operand's: "input 0
  // 'main' f32[56,56,24,1]", "input 1 'kernel' f32[3,3,8,16]".
  std::string in_label(size_t i) const;
  std::string out_label(size_t i) const;

  // For verify and infer functions: errors that name the op, the operand and both sides.
  Status Error(Code code, const std::string& message) const;
  /// "input 0 'main' f32[...]: message".
  Status InputError(size_t i, Code code, const std::string& message) const;
  Status OutputError(size_t i, Code code, const std::string& message) const;
  /// kInvalidArgument unless axis is in [-rank, rank) of input `input`.
  Status CheckAxis(int64_t axis, size_t input = 0) const;
  /// The same for each of `axes`, which may not name a dimension twice.
  Status CheckAxes(const std::vector<int32_t>& axes, size_t input = 0) const;
  /// The axis, counted from 0; CheckAxis went before.
  size_t Axis(int64_t axis, size_t input = 0) const;
  /// kInvalidShape unless rank of input i lies in [lo, hi].
  Status CheckRank(size_t input, size_t lo, size_t hi) const;
  /// kInvalidShape unless input i has the shape; `why` ends the message.
  Status CheckShape(size_t input, const Shape& shape, const std::string& why) const;

 private:
  friend TIMCL_API Result<std::vector<Shape>> InferByExpansion(const OpView& op);
  friend TIMCL_API Status ReferenceByExpansion(const OpView& op,
                                               const std::vector<ref::Input>& inputs,
                                               std::vector<ref::Output>& outputs);
  std::string_view def_name() const;
  const ir::Graph* graph_ = nullptr;
  int node_ = -1;
};

using Shapes = std::vector<Shape>;

namespace ref {

/// Reads one operand of a reference function. `At` is the real value (dequantized in float32, exact
/// for integers up to 2^53).
class TIMCL_API Input {
 public:
  Input() = default;
  Input(const void* data, const TensorType& type);
  bool present() const { return data_ != nullptr; }
  const TensorType& type() const { return *type_; }
  /// The real number that element i stands for: (float)(q - zp) * s in float32 for quantized types
  /// (NUMERICS.md).
  double At(int64_t i) const;
  float Float(int64_t i) const { return static_cast<float>(At(i)); }
  /// The stored integer of an integer type.
  int64_t Raw(int64_t i) const;
  /// Element i in the arithmetic of the op (Compute below): int64_t gives Raw, float Float, double
  /// At.
  template <class T>
  T As(int64_t i) const {
    if constexpr (std::is_same_v<T, int64_t>) {
      return Raw(i);
    } else if constexpr (std::is_same_v<T, float>) {
      return Float(i);
    } else {
      return At(i);
    }
  }
  int64_t count() const { return type_->count(); }

 private:
  const void* data_ = nullptr;
  const TensorType* type_ = nullptr;
};

/// Writes one result of a reference function.
class TIMCL_API Output {
 public:
  Output() = default;
  Output(void* data, const TensorType& type);
  const TensorType& type() const { return *type_; }
  /// Stores a real number: rounded to the float type, or quantized by the rule of NUMERICS.md in
  /// float32. Plain integers of 32 bits and more are rounded from the double itself, half to even.
  void Set(int64_t i, double real);
  /// Stores a result of the op's arithmetic (Compute below): SetRaw for int64_t, else Set.
  template <class T>
  void Put(int64_t i, T v) {
    if constexpr (std::is_same_v<T, int64_t>) {
      SetRaw(i, v);
    } else {
      Set(i, static_cast<double>(v));
    }
  }
  /// Stores an exact integer, saturated to the type. For float types: converted.
  void SetRaw(int64_t i, int64_t stored);
  /// Stores an integer accumulator that stands for acc * m (m holds 1/scale of a quantized output
  /// already).
  void SetScaled(int64_t i, int64_t acc, float m);
  int64_t count() const { return type_->count(); }

 private:
  void* data_ = nullptr;
  const TensorType* type_ = nullptr;
};
using Inputs = std::vector<Input>;
using Outputs = std::vector<Output>;

/// How a reference adds up, the one rule for all ops and the twin of the kernels' acc_t: whole
/// numbers where every operand is a plain integer; the float32 steps of the kernel where a result
/// is stored as an integer; else double.
enum class Arithmetic { kInteger, kFloat, kDouble };
TIMCL_API Arithmetic ArithmeticOf(const OpView& op);
/// Calls f with a zero of that arithmetic: Compute(op, [&](auto zero) { using T = decltype(zero);
/// T sum = 0; ... ins[0].As<T>(i) ... outs[0].Put(o, sum); }).
template <class F>
Status Compute(const OpView& op, F f) {
  switch (ArithmeticOf(op)) {
    case Arithmetic::kInteger:
      f(int64_t{0});
      break;
    case Arithmetic::kFloat:
      f(0.0f);
      break;
    case Arithmetic::kDouble:
      f(0.0);
      break;
  }
  return Status();
}
/// Moves one element, the twin of the kernels' COPY: the stored number where the encodings agree or
/// both are plain integers (saturated), else the real one.
TIMCL_API void Copy(Output& out, int64_t to, const Input& in, int64_t from);

}  // namespace ref

/// How a declared output shape that differs from the inferred one is treated (api facts: core.md
/// 11). TRANSIENT declarations never take part. With the same element count the result is written
/// in its own natural order, whatever the rule.
enum class Declared {
  kTrusted,      // same element count, or an error
  kMustMatch,    // every extent must agree (Pad, Concat)
  kExtentWins,   // other extents of the same rank are honoured: the op computes exactly those
                 // positions
  kOverwritten,  // the inferred shape replaces it
};

/// Largest difference allowed between a kernel and the reference.
struct Tolerance {
  double ulp = 0;  // float32 results: units in the last place, or `absolute`, whichever is larger
  double absolute = 0;
  int steps = 0;  // quantized results
  /// Float sums of products: `ulp` counts 2^-23 of the sum of magnitudes instead.
  bool sum = false;
  static constexpr Tolerance Exact() { return {0, 0, 0, false}; }
  static constexpr Tolerance Ulp(double ulp, int steps = 0, double absolute = 0) {
    return {ulp, absolute, steps, false};
  }
  static constexpr Tolerance Sum(int steps = 0) { return {4, 1e-6, steps, true}; }
};

/// What a kernel is asked for. Fields that come later (post-ops, a tuning choice) have defaults
/// that mean what holds today: nothing fused.
struct KernelRequest {
  const DeviceCaps& caps;
  /// The candidate's own.
  TensorForm in = TensorForm::kPlain, out = TensorForm::kPlain;
  /// CompileOption::setRelaxMode: candidates of bfloat16 are asked, too. Others may leave the op to
  /// them where those are faster.
  bool relaxed = false;
};

/// What a candidate that accepts can do besides the op itself.
struct KernelOffer {
  /// Whether its stores take post-ops along (KernelSpec::Epilogue).
  KernelSpec::Epilogue epilogue = KernelSpec::Epilogue::kNone;
  /// Of a candidate with private forms: it is worth that its operands are converted for it. Others
  /// are only chosen where what they read is in their form already.
  bool pays_for_forms = false;
  /// Each element of output 0 is stored once, and what post-ops take along is read at the same
  /// index just before: the result may lie where one of the tensors lies that they read.
  bool stores_once = false;
};

/// One way to run an op. A candidate accepts, then makes: `accepts` is asked while graphs are
/// partitioned and fused, perhaps often, and must be cheap; `make` is called once, for the kernel
/// that was chosen, and may pack weights.
struct KernelCandidate {
  const char* name = nullptr;
  /// kUnsupported with the reason of its refusal; another code stops compilation. Null: accepts
  /// every op that the definition allows, and offers `offer`.
  Result<KernelOffer> (*accepts)(const OpView&, const KernelRequest&) = nullptr;
  /// The launches. kUnsupported here is a late refusal: the op goes to the next backend.
  Result<Launches> (*make)(const OpView&, const KernelRequest&) = nullptr;
  KernelOffer offer = {};
  /// Indexes with 64 bits. Others are not asked for tensors of more than 2^31 - 1 elements.
  bool large_tensors = false;
  /// How its inputs and outputs lie in memory: those that are no constants and have rank 4. It is
  /// not asked where one of them cannot (CanTake). An op with such a candidate has a plain one,
  /// too.
  TensorForm in = TensorForm::kPlain, out = TensorForm::kPlain;
  /// Neighbours share their rounding errors (Winograd): instead of Tolerance::sum, so many times
  /// 2^-23 of the largest sum of magnitudes are allowed. 0: they do not.
  double shared_ulp = 0;
  /// Rounds the factors of float32 products to bfloat16, and sums in float32. Asked in relaxed mode
  /// alone; may differ by 2^-7 of a sum of magnitudes more than Tolerance::sum allows.
  bool bf16 = false;
};

/// A list of constant length elsewhere: `constexpr KernelCandidate kKernels[] = {...}` in the op's
/// file, or an array that a run-time definition owns.
class KernelList {
 public:
  constexpr KernelList() = default;
  template <size_t N>
  constexpr KernelList(const KernelCandidate (&list)[N]) : list_(list), size_(N) {}
  constexpr KernelList(const KernelCandidate* list, size_t size) : list_(list), size_(size) {}
  constexpr const KernelCandidate* begin() const { return list_; }
  constexpr const KernelCandidate* end() const { return list_ + size_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }

 private:
  const KernelCandidate* list_ = nullptr;
  size_t size_ = 0;
};

/// What a permutation of the data's dimensions does to the op; read by layout inference alone
/// (tim/transform/layout_inference.h). The default inserts transposes around the op, which is
/// always right; a rule avoids them. Attributes are given by name, several separated by a space.
struct LayoutRule {
  enum class Kind {
    kCanonical,  // the order in which the user thinks, for all operands
    kFollows,    // any order, the same for all data; the attributes below are rewritten
    kFixed,      // the orders that its layout attributes name, which are reset (convolutions)
    kPermutes,   // does nothing else than permute: the dimensions of input 0 by `axes`
  };
  /// What becomes of the dimensions that `axes` names.
  enum class Named {
    kStay,
    kDropped,  // they are no dimensions of the results, unless attribute `kept_if` is true
    kGained,   // they are dimensions of the results alone
  };
  Kind kind = Kind::kCanonical;
  /// One dimension or a list of them; negative ones count from the end.
  const char* axes = "";
  /// Lists with one entry per dimension, or empty.
  const char* per_dimension = "";
  /// Numbers of which bit i belongs to dimension i.
  const char* masks = "";
  /// Such a number, whose dimensions the results do not have.
  const char* dropped_mask = "";
  Named named = Named::kStay;
  const char* kept_if = "";
  /// kFixed: what holds the DataLayout of the data and, behind a space, that of input 1.
  const char* layouts = "";
  /// So many inputs, the first ones, are data; the others (parameters, boxes) keep their order.
  size_t data_inputs = SIZE_MAX;

  static constexpr LayoutRule Canonical() { return {}; }
  /// Point-wise ops: dimensions meet from the fastest on, missing ones count as 1.
  static constexpr LayoutRule SameForAll() { return FollowsAxis(""); }
  static constexpr LayoutRule FollowsAxis(const char* axes, const char* per_dimension = "") {
    LayoutRule r;
    r.kind = Kind::kFollows, r.axes = axes, r.per_dimension = per_dimension;
    return r;
  }
  static constexpr LayoutRule Fixed(const char* layouts, size_t data_inputs = 1) {
    LayoutRule r;
    r.kind = Kind::kFixed, r.layouts = layouts, r.data_inputs = data_inputs;
    return r;
  }
  static constexpr LayoutRule Permutes(const char* axes) {
    LayoutRule r;
    r.kind = Kind::kPermutes, r.axes = axes;
    return r;
  }

  constexpr LayoutRule Data(size_t inputs) const {
    LayoutRule r = *this;
    r.data_inputs = inputs;
    return r;
  }
  constexpr LayoutRule Drops(const char* unless_true = "") const {
    LayoutRule r = *this;
    r.named = Named::kDropped, r.kept_if = unless_true;
    return r;
  }
  constexpr LayoutRule Gains() const {
    LayoutRule r = *this;
    r.named = Named::kGained;
    return r;
  }
  constexpr LayoutRule Masks(const char* names, const char* dropped) const {
    LayoutRule r = *this;
    r.masks = names, r.dropped_mask = dropped;
    return r;
  }
};

/// How the inputs of an op lie in output 0 (`joins`), or its outputs in input 0: as they are, along
/// one dimension.
struct Pieces {
  bool joins = false;
  size_t axis = 0;
  std::vector<int64_t> first;  // where along the axis each begins
};

/// A point-wise op as one OpenCL expression, which serves the general kernel and every epilogue.
struct PointwiseRule {
  /// In terms of x (input 0), y (input 1), z (input 2), all float, and p0..p3. Valid for float and
  /// float16 alike unless scalar_only.
  const char* expression = nullptr;
  /// The same over `long` operands where every tensor is an unquantized 32-bit integer; null:
  /// computed in float.
  const char* int_expression = nullptr;
  /// Fills p0..p3 from the attributes; null when the expression uses none.
  void (*params)(const OpView&, float p[4]) = nullptr;
  bool scalar_only = false;
  /// The expression in C++, in the very steps of the kernel. Null: nobody can tell what it
  /// computes.
  float (*in_float)(float x, float y, float z, const float* p) = nullptr;
};

/// All fields but name and infer have defaults. Filled in by name, so that new fields shift
/// nothing.
struct OpDef {
  std::string_view name;
  /// Grows when the meaning of attributes or operands changes; binary graphs store it.
  int version = 1;
  /// Who brought it: "built-in", "app", the file of a plugin.
  const char* origin = "app";
  /// Operand names: "input kernel bias?" ('?' optional), "x*" (one or more of the same kind, last).
  const char* inputs = "input";
  const char* outputs = "output";
  /// Element types by operand: rows "in, in -> out" separated by ';', one of which must match.
  ///   f32 f16 i32 u32 i64 bool    plain (i32 also quantized per tensor)
  ///   i8 u8 i16 u16 i4 u4         quantized per tensor or not at all
  ///   i8:pc ... i8:apc u32:q      quantized per channel; asymmetrically so; u32 or i64 per tensor
  ///   real                        f32 f16 i8 u8 i16 u16 i4 u4
  ///   number                      real and i32
  ///   copyable                    number and u32 i64 bool
  ///   logical                     bool i8
  ///   =N                          the element type of input N; ==N its quantization as well
  /// Alternatives are joined by '|'; a '*' behind an input's types repeats them for all that
  /// follow. An operand that is left out is not looked at. Null: `verify` alone decides (custom
  /// ops).
  const char* types = nullptr;
  const AttrSchema* schema = nullptr;
  /// Attributes and ranks. Runs with all input types known, after `types` and the enumerators of
  /// the attributes were checked.
  Status (*verify)(const OpView&) = nullptr;
  /// Shapes of the outputs. dtype and quantization of an output are always its tensor's own.
  Result<Shapes> (*infer)(const OpView&) = nullptr;
  /// What a declared shape that wins over the computed one must keep. Runs last, with the shapes of
  /// the outputs settled. Null: `declared` says it all.
  Status (*check_outputs)(const OpView&) = nullptr;
  /// The definition, in scalar C++. Null: the op runs only where a kernel or an expansion takes it.
  Status (*reference)(const OpView&, const ref::Inputs&, ref::Outputs&) = nullptr;
  /// Why it cannot run yet, in words that end a message: graphs with it are verified, then refused
  /// with kUnsupported. Null: it runs.
  const char* waits_for = nullptr;
  /// Candidates in order: the first that accepts wins.
  KernelList kernels = {};
  const PointwiseRule* pointwise = nullptr;
  /// The op in terms of other ops; used where no backend takes it whole. `infer` and `reference`
  /// may then be InferByExpansion and ReferenceByExpansion. An exception becomes kInternal.
  Status (*expand)(ExpandBuilder&) = nullptr;
  LayoutRule layout = {};
  Declared declared = Declared::kTrusted;
  /// Same bytes in and out when the encodings agree (Reshape): may become no launch at all.
  bool moves_nothing = false;
  /// Tensors that are parts of another, where their encodings agree: may become no launch.
  std::optional<Pieces> (*pieces)(const OpView&) = nullptr;
  Tolerance tolerance = {};
  /// Test cases: small, odd-sized, at least two values of every attribute. Null in a library that
  /// is shipped (TIMCL_CASES in tim/vx/testing.h).
  void (*cases)(CaseMaker&) = nullptr;
  /// Adds what the op accepts although its caller can hardly mean it: it becomes a warning in the
  /// log and the report. Runs with all types known.
  void (*advise)(const OpView&, std::vector<std::string>* warnings) = nullptr;
  /// What Graph::CreateOperation(name, attrs) calls for an operator that is a class (DefineOpClass
  /// in tim/vx/op_class.h); `attrs` are by `schema`. An exception or null makes Compile() fail.
  /// Null: a plain operation with these attributes.
  std::shared_ptr<Operation> (*create)(Graph* graph, const AnyAttrs& attrs) = nullptr;
};

/// kInvalidType unless the operands' types match a row of the definition; the text lists the rows.
TIMCL_API Status CheckTypes(const OpView& op);
/// kInvalidArgument names the place where `types` breaks the rules above.
TIMCL_API Status ParseTypes(const OpDef& def);
/// One row of `types` for an op with so many operands: inputs, then outputs. Each alternative comes
/// with quantizations that tests use; shapes are open.
struct TypeRow {
  struct Operand {
    std::vector<TensorType> types;
    int same_as = -1;  // an input; then `types` may be empty
  };
  std::vector<Operand> operands;
};
TIMCL_API std::vector<TypeRow> ListTypes(const OpDef& def, size_t inputs, size_t outputs);

/// Defines the body of one op in terms of others. Given to OpDef::expand.
class TIMCL_API ExpandBuilder {
 public:
  using Value = int;  // an operand inside the expansion; -1 = left out
  virtual ~ExpandBuilder();
  virtual const OpView& op() const = 0;
  /// Input i of the op that is expanded; -1 when it was left out.
  virtual Value in(size_t i) = 0;
  /// Output i of the op that is expanded, to be produced by exactly one of the ops added.
  virtual Value out(size_t i) = 0;
  /// A constant with the type's dense data, which is copied.
  virtual Value Constant(const TensorType& type, const void* data) = 0;
  /// A value between two ops, with dtype and quantization of `like`; its shape is inferred.
  virtual Value Between(const TensorType& like) = 0;
  /// Adds an op over these operands, producers first. A kind that is not registered, wrong
  /// attributes, a value that is not there yet, one that is produced twice and operands that the op
  /// does not take fail the expansion. What is added after a failure counts for nothing.
  virtual void Add(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
                   const std::vector<Value>& outputs) = 0;
  /// The same for an operation that was made without a graph, of any class; it is kept. Operators
  /// that are registered mean what their name means, as everywhere.
  virtual void Add(std::shared_ptr<const Operation> part, const std::vector<Value>& inputs,
                   const std::vector<Value>& outputs) = 0;
  /// The type of an input, of a constant, or of what an op added before produces. Asking for
  /// another ends the expansion with an error.
  virtual const TensorType& TypeOf(Value value) = 0;

  /// A float32 constant of one element.
  Value Constant(float value);
  /// Adds an op with one result, between two ops.
  Value Add(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
            const TensorType& like);
  /// Adds an op with one result, which is output `output` of the expanded op.
  void AddTo(size_t output, std::string_view kind, const AttrMap& attrs,
             const std::vector<Value>& inputs);

  // The same by class, with the arguments that Graph::CreateOperation takes:
  //   auto weights = b.Add<ops::Softmax>({scores}, like, 1.0f, 0);
  // Classes derived from CustomOpBase and ComposedOp are ops like any other.
  template <class Op, class... Args>
  Value Add(const std::vector<Value>& inputs, const TensorType& like, Args... args) {
    const Value out = Between(like);
    AddAll<Op>(inputs, {out}, args...);
    return out;
  }
  template <class Op, class... Args>
  void AddTo(size_t output, const std::vector<Value>& inputs, Args... args) {
    AddAll<Op>(inputs, {out(output)}, args...);
  }
  /// An op with several results.
  template <class Op, class... Args>
  void AddAll(const std::vector<Value>& inputs, const std::vector<Value>& outputs, Args... args) {
    Add(std::make_shared<Op>(static_cast<Graph*>(nullptr), args...), inputs, outputs);
  }
};

/// For OpDef::infer and OpDef::reference of ops that `expand`: what the parts compute, by their own
/// rules and references. The latter is kUnsupported where a part has no reference.
TIMCL_API Result<Shapes> InferByExpansion(const OpView& op);
TIMCL_API Status ReferenceByExpansion(const OpView& op, const ref::Inputs& inputs,
                                      ref::Outputs& outputs);

/// The attributes of an operation that the user made; for Clone.
TIMCL_API const AnyAttrs& AttrsOf(const Operation& op);
template <class A>
const A& AttrsOf(const Operation& op) {
  return AttrsOf(op).template As<A>("operation");
}

/// What was bound to an operation, in order; a placeholder for an operand that was left out.
TIMCL_API const std::vector<std::shared_ptr<Tensor>>& InputsOf(const Operation& op);
TIMCL_API const std::vector<std::shared_ptr<Tensor>>& OutputsOf(const Operation& op);
/// Gives an operation other attributes; what its class remembers of the old ones stays as it is.
/// kInvalidArgument names the one that its definition does not take.
TIMCL_API Status SetAttrs(Operation& op, const AttrMap& attrs);

/// Kinds of ops by name. Each Context starts with the built-in table (Context::Ops). What a name
/// means is looked up when an operation is made, typed or by name, so an override reaches both; ops
/// that exist keep their definition. What an expansion names is looked up at Compile().
/// Threads: all members may be called by several threads at a time; copies are snapshots.
class TIMCL_API OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry& other);
  OpRegistry& operator=(const OpRegistry& other);

  enum class OnDuplicate { kError, kOverride };
  /// kAlreadyExists names both origins. The struct is copied; what it points to must live as long
  /// as the program, or be owned by the shared_ptr of the second form.
  Status Register(const OpDef& def, OnDuplicate on_duplicate = OnDuplicate::kError);
  /// Operations share the ownership: a definition lives as long as the last op that uses it.
  Status Register(std::shared_ptr<const OpDef> def, OnDuplicate on_duplicate = OnDuplicate::kError);
  /// All of them, or none and the reason.
  Status RegisterAll(const std::vector<std::shared_ptr<const OpDef>>& defs);
  std::shared_ptr<const OpDef> Find(std::string_view name) const;
  std::vector<std::shared_ptr<const OpDef>> All() const;  // by name
  void Add(const OpDef& def) { (void)Register(def); }

 private:
  using Map = std::map<std::string, std::shared_ptr<const OpDef>, std::less<>>;
  Map Snapshot() const;

  mutable std::mutex mutex_;
  Map defs_;  // guarded by it
};

}  // namespace tim::vx

/// TIMCL_OPS(stem) { Add(kFoo); } in src/ops/stem.cc: the generated op table calls it with the
/// origin of what it registers.
#define TIMCL_OPS(stem)                                                                 \
  struct OpTable_##stem {                                                               \
    ::tim::vx::OpRegistry& registry;                                                    \
    const char* origin;                                                                 \
    void Add(::tim::vx::OpDef def) {                                                    \
      def.origin = origin;                                                              \
      registry.Add(def);                                                                \
    }                                                                                   \
    void Run();                                                                         \
  };                                                                                    \
  void RegisterOps_##stem(::tim::vx::OpRegistry& registry, const char* origin = "app"); \
  void RegisterOps_##stem(::tim::vx::OpRegistry& registry, const char* origin) {        \
    OpTable_##stem{registry, origin}.Run();                                             \
  }                                                                                     \
  void OpTable_##stem::Run()

#endif  // TIM_VX_OP_DEF_H_
