// The kernels' own exp, tanh and other functions (kernels/vector_math.clh) over all magnitudes,
// against float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/attrs.h"

namespace tim::vx::test {
namespace {

/// Floats at equal distances of their bits, of both signs: every exponent as often as any other.
std::vector<float> AllMagnitudes() {
  std::vector<float> values;
  for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 4099) {  // no subnormal numbers
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const uint32_t all = bits | sign;
      float value = 0;
      std::memcpy(&value, &all, sizeof value);
      values.push_back(value);
    }
  }
  // Where exp leaves the range, and all that is no number.
  for (int i = -2000; i <= 2000; ++i) {
    values.push_back(88.7228f + static_cast<float>(i) * 8e-6f);
    values.push_back(-87.3365f + static_cast<float>(i) * 8e-6f);
  }
  const float inf = std::numeric_limits<float>::infinity();
  for (const float v : {0.0f, -0.0f, inf, -inf, std::nanf("")}) values.push_back(v);
  return values;
}

struct Function {
  const char* kind;
  double (*exact)(double);
  double ulps;
  double absolute = std::numeric_limits<float>::min();  // what results below it may be off
  AttrMap attrs = {};
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Swish(double x) { return x / (1 + std::exp(-x)); }
double Mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }
double SoftRelu(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Elu(double x) { return x > 0 ? x : std::expm1(x); }
double Gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }

double UlpOf(double exact) {
  const float at = static_cast<float>(std::fabs(exact));
  return static_cast<double>(std::nextafter(at, std::numeric_limits<float>::infinity())) - at;
}

class VectorMath : public ::testing::TestWithParam<Function> {};
INSTANTIATE_TEST_SUITE_P(
    All, VectorMath,
    ::testing::Values(Function{"Exp", std::exp, 2}, Function{"Tanh", std::tanh, 5.5},
                      Function{"Erf", std::erf, 6}, Function{"Sigmoid", Sigmoid, 5},
                      Function{"Swish", Swish, 5, 1e-36}, Function{"Mish", Mish, 6, 1.1e-36},
                      Function{"SoftRelu", SoftRelu, 3, 1e-37}, Function{"Elu", Elu, 2},
                      Function{"Gelu", Gelu, 24, 1e-7, {{"approximate", false}}}),
    [](const auto& of) { return std::string(of.param.kind); });

TEST_P(VectorMath, IsAsGoodAsItSays) {
  if (!HasOpenCl()) GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  const std::vector<float> values = AllMagnitudes();
  auto graph = SharedContext()->CreateGraph();
  const auto count = static_cast<uint32_t>(values.size());
  auto x = Input(graph, {count}), y = Output(graph, {count});
  graph->CreateOperation(GetParam().kind, GetParam().attrs)->BindInput(x).BindOutput(y);
  Write(x, values);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  ASSERT_EQ(graph->Report().ops.at(0).backend, "opencl");
  const std::vector<float> got = Read(y, count);
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = GetParam().exact(values[i]);
    const auto nearest = static_cast<float>(exact);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(got[i])) << values[i];
    } else if (std::isinf(nearest) || std::isinf(got[i])) {
      EXPECT_EQ(got[i], nearest) << values[i];
    } else if (std::fabs(exact) < GetParam().absolute) {
      EXPECT_NEAR(got[i], exact, GetParam().absolute) << values[i];
    } else {
      EXPECT_EQ(std::signbit(got[i]), std::signbit(nearest)) << values[i];
      const double off = std::fabs(got[i] - exact) / UlpOf(exact);
      if (!(off <= worst)) worst = off, where = values[i];
    }
    if (HasFailure()) return;
  }
  printf("%s: %.2f ulp at %a, of %zu values\n", GetParam().kind, worst, static_cast<double>(where),
         values.size());
  EXPECT_LE(worst, GetParam().ulps) << "at " << where;
}

}  // namespace
}  // namespace tim::vx::test
