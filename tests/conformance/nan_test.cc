// A NaN is kept (NUMERICS.md): every point-wise op, each of its inputs in turn, by each kernel,
// alone and fused behind another op, gives NaN exactly where its reference does; and the reference
// of every op but those named here does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "backends/reference/backend.h"
#include "support/conformance.h"
#include "tim/vx/pointwise.h"

namespace tim::vx {
namespace conformance {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Ops that turn some NaN into a number by their definition. Pow: pow(1, NaN) and pow(NaN, 0) are 1
/// (IEEE 754). Sign: -1, 0 or 1, as OpenCL's sign(), which gives 0 (api/ops.md). Prelu does not
/// look at the slope of what is not negative. Ops on bool and int8 (LogicalNot) never see one.
bool MayDropNaN(std::string_view op, size_t input) {
  return op == "Pow" || op == "Sign" || (op == "Prelu" && input == 1);
}

TensorType F32(const Shape& shape) { return {DataType::FLOAT32, shape, Quantization()}; }

/// Two vectors of 16 and a rest; of rank 3, so that every case's axis is there.
const Shape kShape = {35, 1, 1};
/// Numbers for every branch of an op, with a NaN in every third place if asked for.
std::vector<float> Values(bool with_nan) {
  const float some[] = {0.5f, -2.5f, 0.0f, 7.0f, -0.0f, kInfinity, 1.0f, -kInfinity, 3.25f};
  std::vector<float> v(35);
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = with_nan && i % 3 == 1 ? kNaN : some[i % std::size(some)];
  return v;
}

std::vector<float> FloatsOf(const TestGraph& graph, int value) {
  const ref::Input in(graph.Result(value), graph.TypeOf(value));
  std::vector<float> v;
  for (int64_t i = 0; i < in.count(); ++i) v.push_back(in.Float(i));
  return v;
}

/// "" when the same elements are NaN.
std::string Difference(const std::vector<float>& expected, const std::vector<float>& got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) != std::isnan(got[i]))
      return fmt::format("[{}] is {} on the reference and {} on the device", i, expected[i],
                         got[i]);
  }
  return "";
}

class NaNTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = OpenDevice();
    ASSERT_TRUE(made.ok()) << made.status().message();
    device_ = *made;
  }
  static void TearDownTestSuite() { device_.reset(); }
  /// Whether a kernel of the graph's only op suits the device.
  static bool Accepts(TestGraph& graph) {
    Selection selection;
    return device_->Partition(GraphView(graph.shared(), {0}), &selection).ok() &&
           selection.answers().at(0).selected;
  }
  static std::shared_ptr<Backend> device_;
};
std::shared_ptr<Backend> NaNTest::device_;

/// The first case whose operands are all float32: attributes that make sense.
bool FloatCase(const OpDef& def, NamedCase* found) {
  for (NamedCase& named : CasesOf(def)) {
    bool floats = named.c.outputs[0].dtype == DataType::FLOAT32;
    for (const CaseTensor& t : named.c.inputs) floats = floats && t.type.dtype == DataType::FLOAT32;
    if (!floats) continue;
    *found = std::move(named);
    return true;
  }
  return false;
}

/// An op of the graph under test, and the same in the reference's graph.
struct Trial {
  std::string what;
  int expected = -1, got = -1;
  bool must_keep = false;
};

TEST_F(NaNTest, EveryPointwiseOpKeepsIt) {
  TestGraph expected, actual;
  std::vector<Trial> trials;
  size_t pointwise = 0;
  const OpDef& add = *Registry().Find("Add");
  for (const auto& def : Registry().All()) {
    if (def->pointwise == nullptr) continue;
    NamedCase named;
    if (!FloatCase(*def, &named)) continue;  // ops on bool and int8
    ++pointwise;
    const size_t inputs = named.c.inputs.size();
    for (size_t k = 0; k < inputs; ++k) {
      for (const DataType result : {DataType::FLOAT32, DataType::UINT8}) {
        const Quantization q = result == DataType::UINT8
                                   ? Quantization(QuantType::ASYMMETRIC, 0.05f, 77)
                                   : Quantization();
        for (const KernelCandidate& candidate : def->kernels) {
          // The store of a quantized result is the same for all kernels.
          if (result == DataType::UINT8 && &candidate != def->kernels.begin()) continue;
          Trial t;
          auto make = [&](TestGraph& g, const OpDef& copy, int* out) {
            std::vector<int> in;
            for (size_t j = 0; j < inputs; ++j)
              in.push_back(g.AddInput(F32(kShape), false, Values(j == k).data()));
            *out = g.AddResult({result, kShape, q}, true);
            return g.AddOp(std::make_shared<OpDef>(copy), named.c.attrs, in, {*out});
          };
          OpDef only = *def;
          only.kernels = KernelList(&candidate, 1);
          t.what = fmt::format("{} by '{}', NaN in input {}, to {}", def->name, candidate.name, k,
                               NameOf(result));
          t.must_keep = !MayDropNaN(def->name, k);
          TestGraph alone;
          ASSERT_TRUE(make(alone, only, &t.got).ok()) << t.what;
          if (!Accepts(alone)) continue;
          ASSERT_TRUE(make(expected, *def, &t.expected).ok()) << t.what;
          ASSERT_TRUE(make(actual, only, &t.got).ok()) << t.what;
          trials.push_back(t);
        }
      }
    }
    if (inputs != 1) continue;
    // Behind Add's vector kernel, and behind its general one with a half in between.
    for (const DataType between : {DataType::FLOAT32, DataType::FLOAT16}) {
      Trial t;
      auto make = [&](TestGraph& g, int* out) -> Status {
        const int x = g.AddInput(F32(kShape), false, Values(true).data());
        const std::vector<float> zeros(35);
        const int y = g.AddInput(F32(kShape), false, zeros.data());
        const int sum = g.AddResult({between, kShape, Quantization()}, false);
        *out = g.AddResult(F32(kShape), true);
        TIMCL_TRY(g.AddOp(std::make_shared<OpDef>(add), MakeAttrs(NoAttrs{}), {x, y}, {sum}));
        return g.AddOp(std::make_shared<OpDef>(*def), named.c.attrs, {sum}, {*out});
      };
      t.what = fmt::format("{} fused behind Add to {}", def->name, NameOf(between));
      t.must_keep = !MayDropNaN(def->name, 0);
      ASSERT_TRUE(make(expected, &t.expected).ok()) << t.what;
      ASSERT_TRUE(make(actual, &t.got).ok()) << t.what;
      trials.push_back(t);
    }
  }
  EXPECT_GE(pointwise, 30u);
  const Status reference = expected.Run(reference::CreateBackend(), Registry());
  ASSERT_TRUE(reference.ok()) << reference.message();
  const Status run = actual.Run(device_, Registry());
  ASSERT_TRUE(run.ok()) << run.message();
  const auto fused =
      std::count_if(actual.kernels().begin(), actual.kernels().end(),
                    [](const std::string& k) { return k.find("fused") != std::string::npos; });
  EXPECT_GT(fused, 30);
  for (const Trial& t : trials) {
    const std::vector<float> want = FloatsOf(expected, t.expected), got = FloatsOf(actual, t.got);
    EXPECT_EQ(Difference(want, got), "") << t.what;
    if (!t.must_keep) continue;
    const bool quantized = expected.TypeOf(t.expected).quantized();
    for (size_t i = 1; i < want.size(); i += 3) {
      // The zero point stands for a NaN.
      EXPECT_TRUE(quantized ? want[i] == 0 && got[i] == 0 : std::isnan(want[i]))
          << t.what << ": [" << i << "] is " << want[i] << " and " << got[i];
    }
  }
}

/// One NaN in each window, at the first, a middle and the last cell, along both code paths.
TEST_F(NaNTest, PoolingAndSoftmaxKeepIt) {
  TestGraph expected, actual;
  std::vector<Trial> trials;
  for (const char* name : {"Pool2d", "Softmax"}) {
    const OpDef& def = *Registry().Find(name);
    std::set<std::string> seen;
    for (const NamedCase& named : CasesOf(def)) {
      if (named.c.bench || named.c.inputs[0].type.dtype != DataType::FLOAT32 ||
          named.c.outputs[0].dtype != DataType::FLOAT32)
        continue;
      const TensorType& type = named.c.inputs[0].type;
      for (const int64_t every : {5, 7}) {
        std::vector<float> data(static_cast<size_t>(type.count()));
        for (size_t i = 0; i < data.size(); ++i) {
          const auto n = static_cast<int64_t>(i);
          data[i] = n % every == 2 ? kNaN
                    : n % 11 == 3  ? -kInfinity
                                   : static_cast<float>(n % 13) - 6;
        }
        Trial t;
        t.what = named.text;
        auto make = [&](TestGraph& g, int* out) {
          const int x = g.AddInput(type, false, data.data());
          *out = g.AddResult(named.c.outputs[0], true);
          return g.AddOp(std::make_shared<OpDef>(def), named.c.attrs, {x}, {*out});
        };
        ASSERT_TRUE(make(expected, &t.expected).ok()) << t.what;
        ASSERT_TRUE(make(actual, &t.got).ok()) << t.what;
        trials.push_back(t);
      }
    }
  }
  const Status reference = expected.Run(reference::CreateBackend(), Registry());
  ASSERT_TRUE(reference.ok()) << reference.message();
  const Status run = actual.Run(device_, Registry());
  ASSERT_TRUE(run.ok()) << run.message();
  for (const Trial& t : trials) {
    EXPECT_EQ(Difference(FloatsOf(expected, t.expected), FloatsOf(actual, t.got)), "") << t.what;
  }
}

/// The definition itself, in numbers: one window with a NaN at each of its places.
TEST_F(NaNTest, MaximumOfAWindowWithNaNIsNaN) {
  const OpDef& def = *Registry().Find("Pool2d");
  const auto cases = CasesOf(def);
  const auto two_by_two = std::find_if(cases.begin(), cases.end(), [](const NamedCase& n) {
    return std::string_view(n.c.note) == "beyond a work-group";
  });
  ASSERT_NE(two_by_two, cases.end());  // maximum, windows of 2x2, stride 2
  for (const auto& backend : {device_, reference::CreateBackend()}) {
    TestGraph graph;
    std::vector<float> data(18 * 2, -1.0f);  // nine windows
    data[0] = data[3] = data[18 + 4] = data[18 + 7] = data[16] = kNaN;
    const int x = graph.AddInput(F32({18, 2, 1, 1}), false, data.data());
    const int y = graph.AddResult(F32({}), true);
    ASSERT_TRUE(graph.AddOp(std::make_shared<OpDef>(def), two_by_two->c.attrs, {x}, {y}).ok());
    const Status run = graph.Run(backend, Registry());
    ASSERT_TRUE(run.ok()) << run.message();
    const std::vector<float> got = FloatsOf(graph, y);
    ASSERT_EQ(got.size(), 9u);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::isnan(got[i]), i < 4 || i == 8) << i << " on " << backend->Info().name;
    }
  }
}

}  // namespace
}  // namespace conformance
}  // namespace tim::vx
