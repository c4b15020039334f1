// Laws of convolutions, over whole numbers: all sums are exact.
#include <algorithm>
#include <array>

#include "laws.h"
#include "tim/vx/ops/conv1d.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/deconv.h"
#include "tim/vx/ops/slice.h"

namespace tim::vx::laws {
namespace {

using test::TensorPtr;
using Pair = std::array<uint32_t, 2>;

uint32_t Size(const char* what, int lo, int hi) {
  return static_cast<uint32_t>(Draw(what, lo, hi));
}

/// Geometry of a convolution that fits.
struct Geometry {
  Pair kernel, stride;
  std::array<uint32_t, 4> pad;  // left, right, top, bottom
  uint32_t channels, results, batch;
  ShapeType input, weights, output;

  explicit Geometry(const Machine& m, bool padded = true) {
    kernel = {Size("kernel w", 1, 3), Size("kernel h", 1, 3)};
    stride = {Size("stride w", 1, 3), Size("stride h", 1, 3)};
    for (uint32_t& p : pad) p = padded ? Size("pad", 0, 2) : 0;
    channels = Size("channels", 1, 4), results = Size("results", 1, 4), batch = Size("batch", 1, 2);
    input = {kernel[0] + Size("w", 0, m.opencl ? 40 : 5), kernel[1] + Size("h", 0, 5), channels,
             batch};
    weights = {kernel[0], kernel[1], channels, results};
    output = {(input[0] + pad[0] + pad[1] - kernel[0]) / stride[0] + 1,
              (input[1] + pad[2] + pad[3] - kernel[1]) / stride[1] + 1, results, batch};
  }
};

using Numbers = std::vector<float>;

Numbers Combine(int a, const Numbers& x, int b, const Numbers& y) {
  RC_ASSERT(x.size() == y.size());
  Numbers sum = x;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = static_cast<float>(a) * x[i] + static_cast<float>(b) * y[i];
  }
  return sum;
}

double Inner(const Numbers& x, const Numbers& y) {
  RC_ASSERT(x.size() == y.size());
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// f(input, weights) adds the operator; it must be linear in either.
void CheckLinear(const Machine& m, const ShapeType& input, const ShapeType& weights,
                 const std::function<TensorPtr(Net&, const TensorPtr&, const TensorPtr&)>& f) {
  const int a = Draw("a", -3, 3), b = Draw("b", -3, 3);
  const Array x = DrawNumbers("x", input, 9), y = DrawNumbers("y", input, 9);
  const Array v = DrawNumbers("v", weights, 5), w = DrawNumbers("w", weights, 5);
  Net net(m);
  auto of = [&](const Array& in, const Array& kernel) {
    return f(net, net.In(in), net.Constant(kernel));
  };
  const TensorPtr xv = of(x, v), yv = of(y, v), xw = of(x, w);
  const TensorPtr inputs = of({input, Combine(a, x.values, b, y.values)}, v);
  const TensorPtr kernels = of(x, {weights, Combine(a, v.values, b, w.values)});
  net.Run();
  RC_ASSERT(net(inputs) == Combine(a, net(xv), b, net(yv)));
  RC_ASSERT(net(kernels) == Combine(a, net(xv), b, net(xw)));
}

TEST(ConvolutionLaws, Conv2dIsLinear) {
  ForAll([](const Machine& m) {
    const Geometry g(m);
    CheckLinear(m, g.input, g.weights, [&g](Net& net, const TensorPtr& x, const TensorPtr& w) {
      return net.Apply<ops::Conv2d>({x, w}, g.pad, g.stride, Pair{1, 1});
    });
  });
}

TEST(ConvolutionLaws, Conv1dIsLinear) {
  ForAll([](const Machine& m) {
    const uint32_t kernel = Size("kernel", 1, 3), stride = Size("stride", 1, 3);
    const uint32_t channels = Size("channels", 1, 4), dilation = Size("dilation", 1, 2);
    const std::array<uint32_t, 2> pad = {Size("pad", 0, 2), Size("pad", 0, 2)};
    const uint32_t width = kernel * dilation + Size("w", 0, 5);
    CheckLinear(m, {width, channels, Size("batch", 1, 2)},
                {kernel, channels, Size("results", 1, 4)},
                [&](Net& net, const TensorPtr& x, const TensorPtr& w) {
                  return net.Apply<ops::Conv1d>({x, w}, pad, stride, dilation);
                });
  });
}

TEST(ConvolutionLaws, DeConv2dIsLinear) {
  ForAll([](const Machine& m) {
    const Geometry g(m, /*padded=*/false);
    CheckLinear(m, g.input, g.weights, [&g](Net& net, const TensorPtr& x, const TensorPtr& w) {
      return net.Apply<ops::DeConv2d>({x, w}, static_cast<int32_t>(g.results), PadType::AUTO,
                                      g.kernel, g.stride, Pair{0, 0}, g.pad, 1u);
    });
  });
}

TEST(ConvolutionLaws, OneTapIsASlice) {
  ForAll([](const Machine& m) {
    const Geometry g(m, /*padded=*/false);
    const auto u = Size("tap u", 0, static_cast<int>(g.kernel[0]) - 1);
    const auto v = Size("tap v", 0, static_cast<int>(g.kernel[1]) - 1);
    const auto c = Size("from channel", 0, static_cast<int>(g.channels) - 1);
    const auto o = Size("to channel", 0, static_cast<int>(g.results) - 1);
    const Array x = Counting(g.input);
    Array w{g.weights, std::vector<float>(CountOf(g.weights), 0)};
    w.values[((o * g.channels + c) * g.kernel[1] + v) * g.kernel[0] + u] = 1;
    auto list = [](uint32_t p, uint32_t q, uint32_t r, uint32_t s) {
      return std::vector<int32_t>{static_cast<int32_t>(p), static_cast<int32_t>(q),
                                  static_cast<int32_t>(r), static_cast<int32_t>(s)};
    };
    Net net(m);
    const TensorPtr in = net.In(x);
    const TensorPtr all =
        net.Apply<ops::Conv2d>({in, net.Constant(w)}, g.pad, g.stride, Pair{1, 1});
    const TensorPtr one = net.Apply<ops::Slice>({all}, 4u, list(0, 0, o, 0),
                                                list(g.output[0], g.output[1], 1, g.batch));
    const TensorPtr slice = net.Apply<ops::Slice>(
        {in}, 4u, list(u, v, c, 0),
        list((g.output[0] - 1) * g.stride[0] + 1, (g.output[1] - 1) * g.stride[1] + 1, 1, g.batch),
        list(g.stride[0], g.stride[1], 1, 1));
    net.Run();
    RC_ASSERT(net(all).size() == CountOf(g.output));
    RC_ASSERT(net(one) == net(slice));
    // No other channel has anything.
    const Numbers whole = net(all), part = net(one);
    RC_ASSERT(std::accumulate(whole.begin(), whole.end(), 0.0) ==
              std::accumulate(part.begin(), part.end(), 0.0));
  });
}

// DeConv2d is the transpose of Conv2d as a matrix, that is, the gradient with respect to its input:
// <Conv2d(x, w), y> = <x, DeConv2d(y, w)>.
TEST(ConvolutionLaws, DeConv2dIsTheGradientOfConv2d) {
  ForAll([](const Machine& m) {
    const Geometry g(m);
    const Array x = DrawNumbers("x", g.input, 9), w = DrawNumbers("w", g.weights, 5);
    const Array y = DrawNumbers("y", g.output, 9);
    // DeConv2d has input channels before output channels, and its input has those of the result.
    Array turned{{g.kernel[0], g.kernel[1], g.results, g.channels}, w.values};
    const size_t taps = g.kernel[0] * g.kernel[1];
    for (size_t o = 0; o < g.results; ++o) {
      for (size_t c = 0; c < g.channels; ++c) {
        std::copy_n(
            w.values.begin() + static_cast<std::ptrdiff_t>((o * g.channels + c) * taps), taps,
            turned.values.begin() + static_cast<std::ptrdiff_t>((c * g.results + o) * taps));
      }
    }
    // Cells that no position of the kernel reaches: extents are not what the stride leads to.
    Pair left_over;
    for (size_t d = 0; d < 2; ++d) {
      left_over[d] = g.input[d] + g.pad[2 * d] + g.pad[2 * d + 1] -
                     ((g.output[d] - 1) * g.stride[d] + g.kernel[d]);
    }
    Net net(m);
    const TensorPtr forward =
        net.Apply<ops::Conv2d>({net.In(x), net.Constant(w)}, g.pad, g.stride, Pair{1, 1});
    const TensorPtr backward = net.Apply<ops::DeConv2d>(
        {net.In(y), net.Constant(turned)}, static_cast<int32_t>(g.channels), PadType::AUTO,
        g.kernel, g.stride, left_over, g.pad, 1u);
    net.Run();
    RC_ASSERT(Inner(net(forward), y.values) == Inner(x.values, net(backward)));
  });
}

}  // namespace
}  // namespace tim::vx::laws
