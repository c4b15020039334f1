// Test cases of operators, as plain data. An op lists them in its own file; conformance tests,
// fuzzing and benchmarks use them. The checks themselves live in the tests.
#ifndef TIM_VX_TESTING_H_
#define TIM_VX_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "tim/vx/op_def.h"

/// 0 leaves the cases out of a library that is shipped: `.cases = TIMCL_CASES(Cases)`.
#ifndef TIMCL_WITH_CASES
#define TIMCL_WITH_CASES 1
#endif
#define TIMCL_CASES(function) (TIMCL_WITH_CASES ? (function) : nullptr)

namespace tim::vx {

/// One operand of a case. dtype UNKNOWN = left out.
struct CaseTensor {
  TensorType type;
  bool constant = false;
  /// Real values are drawn from [lo, hi]; stored integers from what that range maps to.
  double lo = -4, hi = 4;
  /// When not empty: the real values themselves, repeated as needed.
  std::vector<double> values = {};
};

struct Case {
  AnyAttrs attrs;
  std::vector<CaseTensor> inputs;
  std::vector<TensorType> outputs;  // shape {} = inferred
  std::string note;                 // what this case is there for
  /// Also run by the benchmarks; such cases are larger.
  bool bench = false;
};

class CaseBuilder;

/// Takes the cases of one op: make.Of(Attrs{...}).In(F32({7, 5})).Note("odd sizes");
class TIMCL_API CaseMaker {
 public:
  virtual ~CaseMaker();
  /// The op whose cases these are.
  virtual const OpDef& def() const = 0;
  virtual void Add(Case c) = 0;
  /// Starts a case, which is added where the statement ends.
  template <class Attrs>
  CaseBuilder Of(Attrs attrs);
  CaseBuilder Of(AnyAttrs attrs);
};

/// The cases that an op lists, in its order; none without OpDef::cases.
TIMCL_API std::vector<Case> ListCases(const OpDef& def);

/// A case in the making. Without Out(), each output that the op needs has the element type and
/// quantization of input 0.
class TIMCL_API CaseBuilder {
 public:
  CaseBuilder(CaseMaker* make, AnyAttrs attrs) : make_(make) { case_.attrs = std::move(attrs); }
  ~CaseBuilder();
  CaseBuilder(const CaseBuilder&) = delete;
  CaseBuilder& operator=(const CaseBuilder&) = delete;

  /// The next input: values drawn from [lo, hi] at run time.
  CaseBuilder& In(const TensorType& type, double lo = -4, double hi = 4);
  /// The next input, a constant.
  CaseBuilder& Const(const TensorType& type, double lo = -4, double hi = 4);
  /// The next input as it is.
  CaseBuilder& Input(CaseTensor tensor);
  /// The next input is left out.
  CaseBuilder& None();
  /// The real values of the input given last, repeated as needed.
  CaseBuilder& Values(std::vector<double> values);
  /// The next output; shape {} = inferred.
  CaseBuilder& Out(const TensorType& type);
  CaseBuilder& Note(std::string note);
  /// Also a row of the benchmarks.
  CaseBuilder& Bench();
  /// Instead of this one case: the same with each element type that the op declares for each
  /// operand, in two combinations, quantized and plain. Per-channel weights have their channels
  /// along dimension `channel_dim` of the operand, or its last one.
  void EachType(int channel_dim = -1);
  /// The same in one combination, for ops of which each type is a kernel to compile: all operands
  /// in step, quantized results with a scale of their own.
  void EachTypeOnce(int channel_dim = -1);

 private:
  void Finish(Case c);
  void Sweep(int channel_dim, size_t passes, bool own_scales);
  CaseMaker* make_;
  Case case_;
  bool added_ = false;
};

template <class Attrs>
CaseBuilder CaseMaker::Of(Attrs attrs) {
  return CaseBuilder(this, MakeAttrs(std::move(attrs)));
}
inline CaseBuilder CaseMaker::Of(AnyAttrs attrs) { return CaseBuilder(this, std::move(attrs)); }

namespace cases {

// Types for cases, each quantized one with a scale and zero point of its own. {} = shape inferred.
inline TensorType F32(const Shape& shape = {}) { return {DataType::FLOAT32, shape, {}}; }
inline TensorType F16(const Shape& shape = {}) { return {DataType::FLOAT16, shape, {}}; }
inline TensorType Plain(DataType dtype, const Shape& shape = {}) { return {dtype, shape, {}}; }
inline TensorType Affine(DataType dtype, const Shape& shape, float scale, int32_t zero_point) {
  return {dtype, shape, Quantization(QuantType::ASYMMETRIC, scale, zero_point)};
}
inline TensorType U8(const Shape& shape = {}) {
  return Affine(DataType::UINT8, shape, 0.037f, 119);
}
inline TensorType I8(const Shape& shape = {}) { return Affine(DataType::INT8, shape, 0.041f, -7); }
inline TensorType I16(const Shape& shape = {}) {
  return Affine(DataType::INT16, shape, 0.0003f, 0);
}
inline TensorType U16(const Shape& shape = {}) {
  return Affine(DataType::UINT16, shape, 0.0002f, 30011);
}
inline TensorType I32(const Shape& shape = {}) { return Plain(DataType::INT32, shape); }
/// Dynamic fixed point: scale 2^-fl.
inline TensorType Fixed(DataType dtype, const Shape& shape, int8_t fl) {
  return {dtype, shape, Quantization(QuantType::DYNAMIC_FIXED_POINT, fl)};
}
/// Per channel, with five scales around `scale` in turn along `dim` of the shape; zero points 0.
TIMCL_API TensorType PerChannel(DataType dtype, const Shape& shape, int32_t dim,
                                float scale = 0.005f,
                                QuantType type = QuantType::SYMMETRIC_PER_CHANNEL);
/// What the op declares for operand i, inputs counted before outputs, in the first row of its
/// types: each alternative with a quantization for tests and this shape.
TIMCL_API std::vector<TensorType> DeclaredTypes(const OpDef& def, size_t i,
                                                const Shape& shape = {});

}  // namespace cases

}  // namespace tim::vx
#endif  // TIM_VX_TESTING_H_
