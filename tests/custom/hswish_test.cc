// custom_ops/hswish against the formula: both variants, several ranks, sizes that no tile divides.
#include "hswish.h"

#include <algorithm>
#include <cmath>

#include "fixture.h"
#include "tim/vx/status.h"

namespace custom_test {
namespace {

using custom_ops::Hswish;
class HswishTest : public CustomOp {};

double HswishOf(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }

size_t CountOf(const vx::ShapeType& shape) {
  size_t count = 1;
  for (const uint32_t extent : shape) count *= extent;
  return count;
}

const vx::ShapeType kShapes[] = {{1}, {7}, {13, 5}, {5, 3, 7}, {3, 2, 5, 2}, {67, 33}};

TEST_F(HswishTest, Float) {
  for (const vx::ShapeType& shape : kShapes) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    SetUp();
    const auto in = Input<float>(shape), out = Output<float>(shape);
    graph_->CreateOperation<Hswish>()->BindInput(in).BindOutput(out);
    Compile();
    const auto x = RandomFloats(CountOf(shape), 1, 5);
    Write(in, x);
    Run();
    const auto y = Read<float>(out, x.size());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], HswishOf(x[i]), 2e-6) << "at " << i;
  }
}

TEST_F(HswishTest, Uint8) {
  const float in_scale = 0.0371f, out_scale = 0.0243f;
  const int in_zero = 117, out_zero = 9;
  for (const vx::ShapeType& shape : kShapes) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    SetUp();
    const auto in = Input<uint8_t>(shape, {vx::QuantType::ASYMMETRIC, in_scale, in_zero});
    const auto out = Output<uint8_t>(shape, {vx::QuantType::ASYMMETRIC, out_scale, out_zero});
    graph_->CreateOperation<Hswish>(Hswish::ParamTuple(in_scale, in_zero, out_scale, out_zero))
        ->BindInput(in)
        .BindOutput(out);
    Compile();
    auto x = RandomBytes(CountOf(shape), 2);
    for (size_t i = 0; i < std::min<size_t>(x.size(), 256); ++i) x[i] = static_cast<uint8_t>(i);
    Write(in, x);
    Run();
    const auto y = Read<uint8_t>(out, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = HswishOf((x[i] - in_zero) * double{in_scale}) / out_scale + out_zero;
      ASSERT_NEAR(y[i], std::clamp(exact, 0.0, 255.0), 0.5001) << "of " << int{x[i]};
    }
  }
}

TEST_F(HswishTest, OtherTypesAreRefused) {
  const auto in = Input<int8_t>({4, 4}), out = Output<int8_t>({4, 4});
  graph_->CreateOperation<Hswish>()->BindInput(in).BindOutput(out);
  EXPECT_FALSE(graph_->Compile());
  EXPECT_THAT(graph_->LastStatus().message(), ::testing::HasSubstr("func_name_"));
}

TEST_F(HswishTest, CloneHasTheSameParameters) {
  const vx::Quantization quant(vx::QuantType::ASYMMETRIC, 0.05f, 100);
  const auto op = graph_->CreateOperation<Hswish>(Hswish::ParamTuple(0.05f, 100, 0.05f, 100));
  auto other = context_->CreateGraph();
  const auto clone = op->Clone(other);
  const auto in = other->CreateTensor({DataType::UINT8, {5}, vx::INPUT, quant});
  const auto out = other->CreateTensor({DataType::UINT8, {5}, vx::OUTPUT, quant});
  clone->BindInput(in).BindOutput(out);
  ASSERT_TRUE(other->Compile()) << other->LastStatus().message();
  Write<uint8_t>(in, {0, 70, 100, 140, 200});
  ASSERT_TRUE(other->Run()) << other->LastStatus().message();
  // Real numbers -5, -1.5, 0, 2, 5 give 0, -0.375, 0, 1.6667, 5.
  EXPECT_THAT(Read<uint8_t>(out, 5),
              ::testing::ElementsAre(100, ::testing::AnyOf(92, 93), 100, 133, 200));
}

TEST_F(HswishTest, ChainsThroughATransient) {
  const auto in = Input<float>({9, 3}), out = Output<float>({9, 3});
  const auto between = Transient<float>();
  graph_->CreateOperation<Hswish>()->BindInput(in).BindOutput(between);
  graph_->CreateOperation<Hswish>()->BindInput(between).BindOutput(out);
  Compile();
  EXPECT_EQ(graph_->Report().syncs, 1u);
  const auto x = RandomFloats(27, 3, 4);
  Write(in, x);
  Run();
  const auto y = Read<float>(out, 27);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], HswishOf(HswishOf(x[i])), 4e-6);
}

}  // namespace
}  // namespace custom_test
