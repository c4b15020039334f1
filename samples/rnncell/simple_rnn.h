// SimpleRnn: one step of a simple recurrent network, an operator made of the library's own.
#ifndef SAMPLES_RNNCELL_SIMPLE_RNN_H_
#define SAMPLES_RNNCELL_SIMPLE_RNN_H_

#include <vector>

#include "tim/vx/composed_op.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/simple_operations.h"

namespace samples {

namespace vx = tim::vx;

/// output = tanh(weight * input + bias + recurrent * state); state_out is the same once more.
///   input [inputs, batch]  weight [inputs, units]  bias? [units]
///   state [units, batch]   recurrent [units, units]
class SimpleRnn : public vx::ComposedOp<SimpleRnn> {
 public:
  using ComposedOp::ComposedOp;

  static void Define(vx::OpDef& def) {
    def.name = "SimpleRnn";
    def.inputs = "input weight bias? state recurrent";
    def.outputs = "output state_out";
  }

  static vx::Status Expand(vx::ExpandBuilder& b) {
    enum { kInput, kWeight, kBias, kState, kRecurrent };
    const vx::TensorType f32 = {vx::DataType::FLOAT32, {}, vx::Quantization()};
    std::vector<int> of_input = {b.in(kInput), b.in(kWeight)};
    if (b.op().in(kBias).present()) of_input.push_back(b.in(kBias));
    const auto driven = b.Add<vx::ops::FullyConnected>(of_input, f32, 0u);
    const auto recalled = b.Add<vx::ops::FullyConnected>({b.in(kState), b.in(kRecurrent)}, f32, 0u);
    const auto sum = b.Add<vx::ops::Add>({driven, recalled}, f32);
    b.AddTo<vx::ops::Tanh>(0, {sum});
    b.AddTo<vx::ops::DataConvert>(1, {b.out(0)});
    return vx::Status();
  }
};

}  // namespace samples

#endif  // SAMPLES_RNNCELL_SIMPLE_RNN_H_
