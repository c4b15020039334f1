// custom_ops/rms_norm, and what custom_ops/README.md shows of it: the raw strings here are parts of
// that page (tests/scripts/check_contributing.py).
#include "rms_norm.h"

#include <cstring>
#include <regex>
#include <tuple>

#include "fixture.h"
#include "tim/vx/attrs.h"
#include "tim/vx/check_op.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/profile.h"
#include "tim/vx/status.h"

namespace custom_test {
namespace {

using custom_ops::RmsNorm;
using ::testing::HasSubstr;
using tim::vx::testing::CheckOp;
class RmsNormTest : public CustomOp {};

TEST(CheckOp, RmsNorm) { EXPECT_EQ(CheckOp<RmsNorm>({}, RmsNorm::Attrs{1e-6f}), ""); }

// An epsilon that counts: one that the class forgets to pass on would be seen.
TEST(CheckOp, RmsNormEpsilon) { EXPECT_EQ(CheckOp<RmsNorm>({}, RmsNorm::Attrs{2.5f}), ""); }

void ExpectByHand(const std::vector<float>& y) {
  // The mean of the squares of 1, 7, 1, 7 is 25; with epsilon 75 the root is 10.
  const float want[] = {0.1f, 0.7f, 0.1f, 0.7f, 0, 0, 0, 0, -0.5f, 0.5f, -0.5f, 0.5f};
  ASSERT_EQ(y.size(), std::size(want));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6f) << "at " << i;
}
const std::vector<float> kX = {1, 7, 1, 7, 0, 0, 0, 0, -5, 5, -5, 5};

TEST_F(RmsNormTest, ByHand) {
  const auto x = Input<float>({4, 1, 3}), y = Output<float>({4, 1, 3});
  const auto other = context_->CreateGraph()->CreateOperation<RmsNorm>(RmsNorm::Attrs{75});
  other->Clone(graph_)->BindInput(x).BindOutput(y);
  Compile();
  Write(x, kX);
  Run();
  ExpectByHand(Read<float>(y, 12));
}

TEST_F(RmsNormTest, AsAPlugin) {
  const auto context = vx::Context::Create();
  const vx::Status loaded = context->LoadPlugin(RMS_NORM_PLUGIN);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  graph_ = context->CreateGraph();
  const auto x = Input<float>({4, 3}), y = Output<float>({4, 3});
  graph_->CreateOperation("custom_ops.rms_norm", {{"epsilon", 75.0}})->BindInput(x).BindOutput(y);
  Compile();
  Write(x, kX);
  Run();
  ExpectByHand(Read<float>(y, 12));
}

// The kernel would write floats beyond the end of the bytes.
TEST_F(RmsNormTest, OtherTypesAreRefused) {
  graph_->CreateOperation<RmsNorm>(RmsNorm::Attrs())
      ->BindInput(Input<float>({4, 4}))
      .BindOutput(Output<int8_t>({4, 4}));
  EXPECT_FALSE(graph_->Compile());
  EXPECT_THAT(graph_->LastStatus().message(),
              ::testing::AllOf(HasSubstr("custom_ops.rms_norm#1"), HasSubstr("f32 -> f32")));
}

/// With a mistake in SetupEnqueue: the number of rows is not passed.
class WithoutRows : public RmsNorm {
 public:
  using RmsNorm::RmsNorm;

 protected:
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override {
    tim::vx::ops::param_transform(std::make_tuple(inputs_size_[0][0], 1e-6f), param_list_);
    SetWorkItems(inputs_size_[0][1], dim, global_size, local_size);
  }
};

constexpr char kMismatch[] = R"(
kInvalidArgument: custom_ops.rms_norm#1: kernel function 'rms_norm' has 5 parameters, but 4 arguments are passed (inputs, outputs, then scalars)
       the op passes                   the kernel declares
    0  input 0 'input0' f32[512,64]    __global float* x
    1  output 0 'output0' f32[512,64]  __global float* y
    2  uint param_list_[0]             uint width
    3  float param_list_[1]            uint rows
    4  (nothing)                       float epsilon
)";

TEST_F(RmsNormTest, MismatchOfThePage) {
  graph_->CreateOperation<WithoutRows>(RmsNorm::Attrs())
      ->BindInput(Input<float>({512, 64}))
      .BindOutput(Output<float>({512, 64}));
  EXPECT_FALSE(graph_->Compile());
  EXPECT_EQ("\n" + graph_->LastStatus().message() + "\n", kMismatch);
}

/// With a mistake in the kernel: the sum of the squares instead of their mean.
class SumOfSquares : public RmsNorm {
 public:
  SumOfSquares(vx::Graph* graph, const Attrs& attrs)
      : RmsNorm(graph, attrs), text_(kernel_resource_) {
    text_.replace(text_.find("sum / width"), std::strlen("sum / width"), "sum");
    kernel_resource_ = text_.c_str();
  }

 private:
  std::string text_;
};

/// Numbers with a fraction become '#', and columns are as wide as they need to be.
std::string WithoutNumbers(const std::string& text) {
  return std::regex_replace(std::regex_replace(text, std::regex("[0-9]+\\.[0-9]+(e-[0-9]+)?"), "#"),
                            std::regex(" +"), " ");
}

constexpr char kWrongResult[] = R"(
f32[1001]: output 0 f32[1001], element [0]: the kernel gives -0.0543853417, the reference -1.72067595 (allowed: 1.91e-06)
)";

TEST_F(RmsNormTest, WrongResultOfThePage) {
  const std::string message = CheckOp<SumOfSquares>({}, RmsNorm::Attrs());
  EXPECT_EQ(WithoutNumbers("\n" + message + "\n"), WithoutNumbers(kWrongResult)) << message;
}

constexpr char kProfile[] = R"(
op                    | kernel       | tile                                     | backend | launches |     ms |  share | GFLOP/s | GB/s | roofline
custom_ops.rms_norm#1 | rms_norm     |                                          | opencl  |        1 | 0.0380 | 50.0 % |         | 6.89 |      7 %
Multiply#2            | pointwise_v0 | INPUTS=2 PARAMS=0 EXPR=(x * y) RANK=2    | opencl  |        1 | 0.0380 | 50.0 % |    0.86 | 6.94 |      7 %
10 runs of 2 operations; together 0.0761 ms, a whole run 0.0900 ms (medians)
limits of opencl: 223 GFLOP/s, 859 GOP/s on bytes, 98 GB/s within the caches (32 MiB), 40 GB/s beyond
)";

TEST_F(RmsNormTest, ProfileOfThePage) {
  const auto x = Input<float>({512, 64}), y = Output<float>({512, 64});
  const auto normal = Transient<float>();
  const std::vector<float> gains(512, 2);
  const auto gain = graph_->CreateTensor({DataType::FLOAT32, {512}, vx::CONSTANT}, gains.data());
  graph_->CreateOperation<RmsNorm>(RmsNorm::Attrs())->BindInput(x).BindOutput(normal);
  graph_->CreateOperation<vx::ops::Multiply>()->BindInputs({normal, gain}).BindOutput(y);
  Compile();
  // The kernel of a built-in operator depends on the device.
  const std::regex built_in("\nMultiply#2[^\n]*");
  const std::regex share("[0-9]+ %"), limits("limits of opencl: [^\n]*");
  const auto lines = [&](const std::string& text) {
    const std::string same = std::regex_replace(WithoutNumbers(text), built_in, "\nMultiply#2");
    return std::regex_replace(std::regex_replace(same, share, "# %"), limits, "limits");
  };
  EXPECT_EQ(lines("\n" + graph_->Profile().ToText()), lines(kProfile));
}

}  // namespace
}  // namespace custom_test
