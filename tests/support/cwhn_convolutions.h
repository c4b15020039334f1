// A graph of CWHN data for tests of layout inference: an operator between two convolutions.
#ifndef TIMCL_TESTS_SUPPORT_CWHN_CONVOLUTIONS_H_
#define TIMCL_TESTS_SUPPORT_CWHN_CONVOLUTIONS_H_

#include <array>
#include <utility>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/conv2d.h"

namespace tim::vx::test {

/// Input and output, both {3,5,4,1}. Each convolution doubles its input; `bind(input, a, b)` puts
/// an operator between the result `a` of the first and the input `b` of the second.
template <class F>
std::pair<TensorPtr, TensorPtr> BetweenCwhnConvolutions(const GraphPtr& graph, F bind) {
  const ShapeType shape = {3, 5, 4, 1};
  auto x = Input(graph, shape), a = Between(graph), b = Between(graph);
  auto y = Output(graph, shape);
  std::vector<float> twice(9, 0.0f);
  for (size_t c = 0; c < 3; ++c) twice[4 * c] = 2;
  const auto kernel = Constant(graph, {3, 1, 1, 3}, twice);
  const std::array<uint32_t, 2> one = {1, 1};
  Bind<ops::Conv2d>(graph, {x, kernel}, {a}, PadType::VALID, one, one, 0, DataLayout::CWHN,
                    DataLayout::IcWHOc);
  bind(x, a, b);
  Bind<ops::Conv2d>(graph, {b, kernel}, {y}, PadType::VALID, one, one, 0, DataLayout::CWHN,
                    DataLayout::IcWHOc);
  return {x, y};
}

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_SUPPORT_CWHN_CONVOLUTIONS_H_
