// custom_ops/gemm against scalar code: shapes that are not square, transposed operands, uint8.
#include "gemm.h"

#include <algorithm>
#include <cmath>

#include "fixture.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/status.h"

namespace custom_test {
namespace {

using custom_ops::CustomGemm;
class GemmTest : public CustomOp {};

CustomGemm::ParamTuple Params(int m, int k, int n) {
  return CustomGemm::ParamTuple(m, k, n, 0, 0, 1, 0, 1, 0, 1, 0);
}

/// The product in double; `at(matrix, row, column)` is the real value of an element.
template <class T, class At>
std::vector<double> Product(const std::vector<T>& a, const std::vector<T>& b, int m, int k, int n,
                            bool trans_a, bool trans_b, At a_real, At b_real) {
  std::vector<double> c(m * n);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      for (int i = 0; i < k; ++i) {
        c[row * n + column] += a_real(a[trans_a ? i * m + row : row * k + i]) *
                               b_real(b[trans_b ? column * k + i : i * n + column]);
      }
    }
  }
  return c;
}
std::vector<double> Product(const std::vector<float>& a, const std::vector<float>& b, int m, int k,
                            int n, bool trans_a = false, bool trans_b = false) {
  const auto same = [](float v) { return double{v}; };
  return Product(a, b, m, k, n, trans_a, trans_b, same, same);
}

struct Size {
  int m, k, n;
};
constexpr Size kSizes[] = {{1, 1, 1}, {5, 7, 3}, {2, 6, 2}, {17, 9, 33}};

vx::ShapeType Shape(bool transposed, int rows, int columns) {
  const auto r = static_cast<uint32_t>(rows), c = static_cast<uint32_t>(columns);
  return transposed ? vx::ShapeType{r, c} : vx::ShapeType{c, r};
}

TEST_F(GemmTest, Float) {
  for (const auto [m, k, n] : kSizes) {
    for (const int trans : {0, 1, 2, 3}) {
      const bool trans_a = trans & 1, trans_b = trans & 2;
      SCOPED_TRACE(::testing::Message() << m << 'x' << k << 'x' << n << ' ' << trans);
      SetUp();
      const auto in_a = Input<float>(Shape(trans_a, m, k)),
                 in_b = Input<float>(Shape(trans_b, k, n));
      const auto out = Output<float>({static_cast<uint32_t>(n), static_cast<uint32_t>(m)});
      graph_->CreateOperation<CustomGemm>(trans_a, trans_b, Params(m, k, n))
          ->BindInputs({in_a, in_b})
          .BindOutput(out);
      Compile();
      const auto a = RandomFloats(m * k, 1), b = RandomFloats(k * n, 2);
      Write(in_a, a);
      Write(in_b, b);
      Run();
      const auto c = Read<float>(out, m * n);
      const auto expected = Product(a, b, m, k, n, trans_a, trans_b);
      for (int i = 0; i < m * n; ++i) ASSERT_NEAR(c[i], expected[i], k * 4e-6) << "at " << i;
    }
  }
}

TEST_F(GemmTest, Uint8) {
  const float scale_a = 0.031f, scale_b = 0.017f;
  const int zero_a = 120, zero_b = 131, zero_out = 119;
  for (const auto [m, k, n] : kSizes) {
    for (const int trans : {0, 1, 2, 3}) {
      const bool trans_a = trans & 1, trans_b = trans & 2;
      SCOPED_TRACE(::testing::Message() << m << 'x' << k << 'x' << n << ' ' << trans);
      SetUp();
      const float scale_out = 0.021f * static_cast<float>(std::sqrt(k));
      const auto in_a =
          Input<uint8_t>(Shape(trans_a, m, k), {vx::QuantType::ASYMMETRIC, scale_a, zero_a});
      const auto in_b =
          Input<uint8_t>(Shape(trans_b, k, n), {vx::QuantType::ASYMMETRIC, scale_b, zero_b});
      const auto out = Output<uint8_t>({static_cast<uint32_t>(n), static_cast<uint32_t>(m)},
                                       {vx::QuantType::ASYMMETRIC, scale_out, zero_out});
      const CustomGemm::ParamTuple params(m, k, n, 0, 0, scale_a, zero_a, scale_b, zero_b,
                                          scale_out, zero_out);
      graph_->CreateOperation<CustomGemm>(trans_a, trans_b, params)
          ->BindInputs({in_a, in_b})
          .BindOutput(out);
      Compile();
      const auto a = RandomBytes(m * k, 3), b = RandomBytes(k * n, 4);
      Write(in_a, a);
      Write(in_b, b);
      Run();
      const auto c = Read<uint8_t>(out, m * n);
      const auto real = [](float scale, int zero) {
        return [scale, zero](uint8_t q) { return (q - zero) * double{scale}; };
      };
      const auto expected =
          Product(a, b, m, k, n, trans_a, trans_b, real(scale_a, zero_a), real(scale_b, zero_b));
      for (int i = 0; i < m * n; ++i) {
        const double exact = std::clamp(expected[i] / scale_out + zero_out, 0.0, 255.0);
        ASSERT_NEAR(c[i], exact, 0.501) << "at " << i;
      }
    }
  }
}

// The second product takes what the first made of a sum; nothing between has a declared shape.
TEST_F(GemmTest, AddThenGemmThenGemm) {
  const int m = 3, k = 5, n = 7, p = 2;
  const auto a1 = Input<float>({5, 3}), a2 = Input<float>({5, 3}), b = Input<float>({7, 5}),
             c = Input<float>({2, 7}), out = Output<float>({2, 3});
  const auto sum = Transient<float>(), product = Transient<float>();
  graph_->CreateOperation<vx::ops::Add>()->BindInputs({a1, a2}).BindOutput(sum);
  graph_->CreateOperation<CustomGemm>(false, false, Params(m, k, n))
      ->BindInputs({sum, b})
      .BindOutput(product);
  graph_->CreateOperation<CustomGemm>(false, false, Params(m, n, p))
      ->BindInputs({product, c})
      .BindOutput(out);
  Compile();
  EXPECT_EQ(graph_->Report().syncs, 1u);
  // Twice, with other numbers: nothing of the first run may stay.
  for (const uint32_t seed : {10u, 20u}) {
    const auto va1 = RandomFloats(m * k, seed), va2 = RandomFloats(m * k, seed + 1),
               vb = RandomFloats(k * n, seed + 2), vc = RandomFloats(n * p, seed + 3);
    Write(a1, va1);
    Write(a2, va2);
    Write(b, vb);
    Write(c, vc);
    Run();
    std::vector<float> added(m * k);
    for (int i = 0; i < m * k; ++i) added[i] = va1[i] + va2[i];
    const auto ab = Product(added, vb, m, k, n);
    const auto expected = Product(std::vector<float>(ab.begin(), ab.end()), vc, m, n, p);
    const auto result = Read<float>(out, m * p);
    for (int i = 0; i < m * p; ++i) ASSERT_NEAR(result[i], expected[i], 1e-4) << "at " << i;
  }
}

// One source with two sets of compiler options, and one class with two sets of numbers.
TEST_F(GemmTest, TwiceWithParametersOfTheirOwn) {
  const auto a = Input<float>({2, 3}), b = Input<float>({4, 2});
  const auto ab = Output<float>({4, 3}), atb = Output<float>({3, 4});
  graph_->CreateOperation<CustomGemm>(false, false, Params(3, 2, 4))
      ->BindInputs({a, b})
      .BindOutput(ab);
  graph_
      ->CreateOperation<CustomGemm>(true, true, Params(4, 2, 3))  // (A B)^T = B^T A^T
      ->BindInputs({b, a})
      .BindOutput(atb);
  Compile();
  const auto va = RandomFloats(6, 5), vb = RandomFloats(8, 6);
  Write(a, va);
  Write(b, vb);
  Run();
  const auto c = Read<float>(ab, 12), ct = Read<float>(atb, 12);
  const auto expected = Product(va, vb, 3, 2, 4);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      ASSERT_NEAR(c[row * 4 + column], expected[row * 4 + column], 1e-5);
      ASSERT_NEAR(ct[column * 3 + row], expected[row * 4 + column], 1e-5);
    }
  }
}

TEST_F(GemmTest, ConstantOperand) {
  const auto a = Input<float>({5, 3}), out = Output<float>({2, 3});
  const auto vb = RandomFloats(10, 8);
  const auto b = graph_->CreateTensor({DataType::FLOAT32, {2, 5}, vx::CONSTANT}, vb.data());
  graph_->CreateOperation<CustomGemm>(false, false, Params(3, 5, 2))
      ->BindInputs({a, b})
      .BindOutput(out);
  Compile();
  const auto va = RandomFloats(15, 7);
  Write(a, va);
  Run();
  const auto c = Read<float>(out, 6);
  const auto expected = Product(va, vb, 3, 5, 2);
  for (int i = 0; i < 6; ++i) ASSERT_NEAR(c[i], expected[i], 1e-5);
}

TEST_F(GemmTest, NumbersThatDoNotFitTheTensorsAreRefused) {
  const auto a = Input<float>({5, 3}), b = Input<float>({2, 5}), out = Output<float>({2, 3});
  graph_->CreateOperation<CustomGemm>(false, false, Params(3, 6, 2))
      ->BindInputs({a, b})
      .BindOutput(out);
  EXPECT_FALSE(graph_->Compile());
  EXPECT_EQ(graph_->LastStatus().code(), vx::Code::kInvalidShape);
  EXPECT_THAT(graph_->LastStatus().message(), ::testing::HasSubstr("outputs_size_[0]"));
}

}  // namespace
}  // namespace custom_test
