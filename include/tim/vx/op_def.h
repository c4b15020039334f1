// OpDef: all that the library needs to know of an operator. Passes, tests, benchmarks and the
// operator table learn it from here. Public, so that operators made outside the library are equals
// of the built-in ones.
#ifndef TIM_VX_OP_DEF_H_
#define TIM_VX_OP_DEF_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/kernel_spec.h"
#include "tim/vx/result.h"
#include "tim/vx/tensor_type.h"

namespace tim::vx {

namespace ir {
class Graph;
struct Node;
struct Value;
}  // namespace ir
class CaseMaker;
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
  bool is_graph_input() const;
  bool is_graph_output() const;
  /// Dense bytes of a constant; null for everything else.
  const void* data() const;
  template <class T>
  const T* data_as() const {
    return static_cast<const T*>(data());
  }

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
  const ir::Graph* graph() const { return graph_; }
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

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(raw_attrs());
  }
  const AnyAttrs& any_attrs() const;

  // For verify functions: errors that name the op, the operand and both sides.
  Status Error(Code code, const std::string& message) const;
  /// kInvalidArgument unless axis is in [-rank, rank) of input `input`.
  Status CheckAxis(int64_t axis, size_t input = 0) const;
  /// The axis, counted from 0; CheckAxis went before.
  size_t Axis(int64_t axis, size_t input = 0) const;
  /// kInvalidShape unless rank of input i lies in [lo, hi].
  Status CheckRank(size_t input, size_t lo, size_t hi) const;

 private:
  const void* raw_attrs() const;
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
  /// float32.
  void Set(int64_t i, double real);
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
  /// Float sums of products: allowed is ulp of the sum of magnitudes instead of the result.
  bool sum = false;
  static constexpr Tolerance Exact() { return {0, 0, 0, false}; }
  static constexpr Tolerance Ulp(double ulp, int steps = 1, double absolute = 0) {
    return {ulp, absolute, steps, false};
  }
  static constexpr Tolerance Sum(int steps = 0) { return {4, 1e-6, steps, true}; }
};

/// One kernel candidate. Returns the launches, or kUnsupported with the reason of its refusal;
/// another code stops compilation.
struct KernelCandidate {
  const char* name = nullptr;
  Result<Launches> (*make)(const OpView&, const DeviceCaps&) = nullptr;
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
};

struct OpDef {
  std::string_view name;
  /// Operand names: "input kernel bias?" ('?' optional), "x*" (one or more of the same kind, last).
  const char* inputs = "input";
  const char* outputs = "output";
  const AttrSchema* schema = nullptr;
  /// Attributes, ranks, dtypes. Runs with all input types known.
  Status (*verify)(const OpView&) = nullptr;
  /// Shapes of the outputs. dtype and quantization of an output are always its tensor's own.
  Result<Shapes> (*infer)(const OpView&) = nullptr;
  /// The definition, in scalar C++. Null: the op runs only where a kernel or an expansion takes it.
  Status (*reference)(const OpView&, const ref::Inputs&, ref::Outputs&) = nullptr;
  /// Candidates in order: the first that accepts wins.
  KernelCandidate kernels[4] = {};
  const PointwiseRule* pointwise = nullptr;
  /// The op in terms of other ops; used where no backend takes it whole.
  Status (*expand)(ExpandBuilder&) = nullptr;
  Declared declared = Declared::kTrusted;
  /// Same bytes in and out when the encodings agree (Reshape): may become no launch at all.
  bool moves_nothing = false;
  Tolerance tolerance = {};
  /// Test cases: small, odd-sized, at least two values of every attribute.
  void (*cases)(CaseMaker&) = nullptr;
  /// Adds what the op accepts although its caller can hardly mean it: it becomes a warning in the
  /// log and the report. Runs with all types known.
  void (*advise)(const OpView&, std::vector<std::string>* warnings) = nullptr;
};

/// Defines the body of one op in terms of others. Given to OpDef::expand.
class TIMCL_API ExpandBuilder {
 public:
  using Value = int;  // an operand inside the expansion
  virtual ~ExpandBuilder();
  virtual const OpView& op() const = 0;
  /// Input i of the op that is expanded.
  virtual Value in(size_t i) = 0;
  /// A float32 scalar constant.
  virtual Value Constant(float value) = 0;
  /// Adds an op whose single result has the dtype and quantization of `like` (its shape is
  /// inferred).
  virtual Value Add(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
                    const TensorType& like) = 0;
  /// Adds an op that produces output `output` of the expanded op.
  virtual void AddTo(size_t output, std::string_view kind, const AttrMap& attrs,
                     const std::vector<Value>& inputs) = 0;
};

/// The attributes of an operation that the user made; for Clone.
TIMCL_API const AnyAttrs& AttrsOf(const Operation& op);
template <class A>
const A& AttrsOf(const Operation& op) {
  return *static_cast<const A*>(AttrsOf(op).data());
}

/// Kinds of ops by name. Each Context starts with the built-in table. Not for concurrent use.
class TIMCL_API OpRegistry {
 public:
  enum class OnDuplicate { kError, kOverride };
  Status Register(const OpDef& def, OnDuplicate on_duplicate = OnDuplicate::kError);
  const OpDef* Find(std::string_view name) const;
  std::vector<const OpDef*> All() const;  // by name
  void Add(const OpDef& def) { (void)Register(def); }

 private:
  std::map<std::string, std::shared_ptr<const OpDef>, std::less<>> defs_;
};

}  // namespace tim::vx

/// TIMCL_OPS(stem) { Add(kFoo); } in src/ops/stem.cc: the generated op table calls it.
#define TIMCL_OPS(stem)                                                                        \
  struct OpTable_##stem {                                                                      \
    ::tim::vx::OpRegistry& registry;                                                           \
    void Add(const ::tim::vx::OpDef& def) { registry.Add(def); }                               \
    void Run();                                                                                \
  };                                                                                           \
  void RegisterOps_##stem(::tim::vx::OpRegistry& registry);                                    \
  void RegisterOps_##stem(::tim::vx::OpRegistry& registry) { OpTable_##stem{registry}.Run(); } \
  void OpTable_##stem::Run()

#endif  // TIM_VX_OP_DEF_H_
