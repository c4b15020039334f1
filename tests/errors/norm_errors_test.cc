// Normalizations with operands or attributes that make no sense.
#include "errors/error_fixture.h"
#include "tim/vx/ops/batchnorm.h"
#include "tim/vx/ops/instancenormalization.h"
#include "tim/vx/ops/l2normalization.h"
#include "tim/vx/ops/layernormalization.h"
#include "tim/vx/ops/localresponsenormalization.h"

namespace tim::vx::test {
namespace {

TEST_F(ErrorTest, BatchNormParameterOfAnotherSize) {
  auto p = Input(graph_, {3}), q = Input(graph_, {5});
  Bind<ops::BatchNorm>(graph_, {Input(graph_, {7, 5, 3, 2}), p, p, q, p}, {Output(graph_, {})},
                       1e-5f);
  ExpectFailure(Code::kInvalidShape, {"BatchNorm#1", "input 3 'gamma' f32[5]",
                                      "must have 3 elements", "input 0 'input' f32[7,5,3,2]"});
}

TEST_F(ErrorTest, BatchNormOfAVector) {
  auto p = Input(graph_, {3});
  Bind<ops::BatchNorm>(graph_, {p, p, p, p, p}, {Output(graph_, {})}, 1e-5f);
  ExpectFailure(Code::kInvalidShape, {"BatchNorm#1", "two dimensions or more"});
}

TEST_F(ErrorTest, BatchNormWithIntegerParameters) {
  auto p = Input(graph_, {3}), i = Input(graph_, {3}, DataType::INT32);
  Bind<ops::BatchNorm>(graph_, {Input(graph_, {5, 3, 1}), p, i, p, p}, {Output(graph_, {})}, 1e-5f);
  ExpectFailure(Code::kInvalidType, {"BatchNorm#1", "i32[3]"});
}

TEST_F(ErrorTest, InstanceNormalizationParameterOfAnotherSize) {
  Bind<ops::InstanceNormalization>(
      graph_, {Input(graph_, {7, 3, 2}), Input(graph_, {3}), Input(graph_, {7})},
      {Output(graph_, {})}, 1e-5f);
  ExpectFailure(Code::kInvalidShape,
                {"InstanceNormalization#1", "input 2 'gamma' f32[7]", "must have 3 elements"});
}

TEST_F(ErrorTest, InstanceNormalizationOfAVector) {
  auto p = Input(graph_, {3});
  Bind<ops::InstanceNormalization>(graph_, {p, p, p}, {Output(graph_, {})}, 1e-5f);
  ExpectFailure(Code::kInvalidShape, {"InstanceNormalization#1", "two dimensions or more"});
}

TEST_F(ErrorTest, LayerNormalizationAxis) {
  auto p = Input(graph_, {3});
  Bind<ops::LayerNormalization>(graph_, {Input(graph_, {3, 4}), p, p}, {Output(graph_, {})}, 2);
  ExpectFailure(Code::kInvalidArgument, {"LayerNormalization#1", "2"});
}

TEST_F(ErrorTest, LayerNormalizationParameterOfAnotherSize) {
  auto p = Input(graph_, {4});
  Bind<ops::LayerNormalization>(graph_, {Input(graph_, {3, 4}), p, Input(graph_, {3})},
                                {Output(graph_, {})}, 1);
  ExpectFailure(Code::kInvalidShape, {"LayerNormalization#1", "input 2 'gamma' f32[3]",
                                      "must have 4 elements", "position of dimension 1"});
}

TEST_F(ErrorTest, L2NormalizationAxis) {
  Bind<ops::L2Normalization>(graph_, {Input(graph_, {3, 4})}, {Output(graph_, {})}, -3);
  ExpectFailure(Code::kInvalidArgument, {"L2Normalization#1", "-3"});
}

TEST_F(ErrorTest, LocalResponseNormalizationAxis) {
  Bind<ops::LRN>(graph_, {Input(graph_, {3, 4})}, {Output(graph_, {})}, 3u, 1.0f, 1.0f, 1.0f, 2);
  ExpectFailure(Code::kInvalidArgument, {"LocalResponseNormalization#1", "2"});
}

TEST_F(ErrorTest, LocalResponseNormalizationWithoutWindow) {
  Bind<ops::LRN>(graph_, {Input(graph_, {3, 4})}, {Output(graph_, {})}, 0u, 1.0f, 1.0f, 1.0f, 0);
  ExpectFailure(Code::kInvalidArgument, {"LocalResponseNormalization#1", "size is 0"});
}

}  // namespace
}  // namespace tim::vx::test
