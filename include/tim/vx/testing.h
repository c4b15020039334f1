// Test cases of operators, as plain data. An op lists them in its own file; conformance tests,
// fuzzing and benchmarks use them. The checks themselves live in the tests.
#ifndef TIM_VX_TESTING_H_
#define TIM_VX_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "tim/vx/op_def.h"

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

class CaseMaker {
 public:
  virtual ~CaseMaker() = default;
  virtual void Add(Case c) = 0;
};

/// Encodings that most ops take, each with its own scale and zero point: f32, f16, u8 and i8
/// asymmetric, i8 and i16 symmetric, i16 dynamic fixed point. The shape is the given one.
inline std::vector<TensorType> StandardTypes(const Shape& shape) {
  using Q = Quantization;
  return {
      {DataType::FLOAT32, shape, Q()},
      {DataType::FLOAT16, shape, Q()},
      {DataType::UINT8, shape, Q(QuantType::ASYMMETRIC, 0.037f, 119)},
      {DataType::INT8, shape, Q(QuantType::ASYMMETRIC, 0.041f, -7)},
      {DataType::INT8, shape, Q(QuantType::DYNAMIC_FIXED_POINT, static_cast<int8_t>(4))},
      {DataType::INT16, shape, Q(QuantType::ASYMMETRIC, 0.0003f, 0)},
      {DataType::INT16, shape, Q(QuantType::DYNAMIC_FIXED_POINT, static_cast<int8_t>(11))},
  };
}

}  // namespace tim::vx
#endif  // TIM_VX_TESTING_H_
