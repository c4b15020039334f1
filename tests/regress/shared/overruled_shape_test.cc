// A declared output shape that the op overrules (pooling, custom ops): CopyDataFromTensor wrote the
// bytes of the computed shape into a buffer that the caller had sized by the tensor's own spec, and
// nobody was told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/ops/pad.h"
#include "tim/vx/ops/pool2d.h"

namespace tim::vx::test {
namespace {

constexpr float kUntouched = -77;

/// 2x2 maximum over 5x5 numbers: the op computes {4,4,1,1}, whatever is declared.
std::shared_ptr<ops::Pool2d> Pool(const GraphPtr& graph, const TensorPtr& x, const TensorPtr& y) {
  auto op = graph->CreateOperation<ops::Pool2d>(PoolType::MAX, PadType::VALID,
                                                std::array<uint32_t, 2>{2, 2},
                                                std::array<uint32_t, 2>{1, 1}, RoundType::FLOOR);
  (*op).BindInput(x).BindOutput(y);
  op->SetName("pool");
  return op;
}

TensorPtr Numbers(const GraphPtr& graph) {
  auto x = Input(graph, {5, 5, 1, 1});
  std::vector<float> values(25);
  std::iota(values.begin(), values.end(), 0.0f);
  EXPECT_TRUE(Write(x, values));
  return x;
}

TEST(Regress, OverruledLargerOutputIsCopiedOnlyAsDeclared) {
  auto graph = SharedContext()->CreateGraph();
  auto y = Output(graph, {3, 3, 1, 1});
  y->SetName("y");
  Pool(graph, Numbers(graph), y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> memory(16, kUntouched);
  ASSERT_TRUE(y->CopyDataFromTensor(memory.data()));
  // The op's own order, in as many elements as the caller knows of.
  EXPECT_EQ(std::vector<float>(memory.begin(), memory.begin() + 9),
            (std::vector<float>{6, 7, 8, 9, 11, 12, 13, 14, 16}));
  EXPECT_EQ(std::count(memory.begin() + 9, memory.end(), kUntouched), 7);
  EXPECT_THAT(graph->Report().warnings,
              testing::Contains(testing::AllOf(
                  testing::HasSubstr("Pool2d#1 'pool'"), testing::HasSubstr("output 0 'y'"),
                  testing::HasSubstr("[3,3,1,1]"), testing::HasSubstr("[4,4,1,1]"))));
  // Nor is more read than the spec says.
  auto small = std::make_unique<float[]>(9);
  EXPECT_TRUE(y->CopyDataToTensor(small.get()));
}

TEST(Regress, OverruledSmallerOutputKeepsItsMemory) {
  auto graph = SharedContext()->CreateGraph();
  auto y = Output(graph, {6, 6, 1, 1});
  Pool(graph, Numbers(graph), y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> memory(36, kUntouched);
  ASSERT_TRUE(y->CopyDataFromTensor(memory.data()));
  EXPECT_EQ(memory[15], 24);
  EXPECT_EQ(memory[16], kUntouched);
  // Whoever maps the tensor, or asks for a copy, goes by the spec: all 36 elements are there.
  float* mapped = static_cast<float*>(y->map(true));
  std::fill(mapped, mapped + 36, 1.0f);
  y->unmap();
  float* floats = y->ConvertTensorToFloat32Data();
  EXPECT_EQ(std::accumulate(floats, floats + 16, 0.0f), 16);
  EXPECT_FALSE(std::isnan(std::accumulate(floats + 16, floats + 36, 0.0f)));
  std::free(floats);
  auto* bytes = static_cast<float*>(y->ConvertTensorToData(nullptr));
  EXPECT_FALSE(std::isnan(std::accumulate(bytes, bytes + 36, 0.0f)));
  std::free(bytes);
}

TEST(Regress, OverruledShapeFitsIntoTheUsersMemory) {
  struct alignas(64) Block {
    float values[36];
  };
  auto block = std::make_unique<Block>();
  std::fill_n(block->values, 36, kUntouched);
  auto graph = SharedContext()->CreateGraph();
  auto y = graph->CreateIOTensor(
      TensorSpec(DataType::FLOAT32, {6, 6, 1, 1}, TensorAttribute::OUTPUT), block->values);
  Pool(graph, Numbers(graph), y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(block->values[15], 24);
  EXPECT_EQ(block->values[16], kUntouched);
}

TEST(Regress, AnOpenShapeIsCopiedWhole) {
  auto graph = SharedContext()->CreateGraph();
  auto y = Output(graph, {});
  Pool(graph, Numbers(graph), y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 16).back(), 24);
  EXPECT_TRUE(graph->Report().warnings.empty());
}

TEST(Regress, StateThatCannotHoldItsNextValueIsAnError) {
  auto graph = SharedContext()->CreateGraph();
  auto state = Make(graph, TensorAttribute::VARIABLE, {3, 3, 1, 1});
  auto padded = Between(graph);
  Bind<ops::Pad>(graph, {state}, {padded}, std::vector<uint32_t>{1, 1, 0, 0},
                 std::vector<uint32_t>{1, 1, 0, 0}, 0);
  Pool(graph, padded, state);  // {4,4,1,1} from {5,5,1,1}
  Bind<ops::Relu>(graph, {padded}, {Output(graph, {})});
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidShape);
  EXPECT_THAT(graph->LastStatus().message(),
              testing::AllOf(testing::HasSubstr("Pool2d#2 'pool': output 0"),
                             testing::HasSubstr("[3,3,1,1]"), testing::HasSubstr("[4,4,1,1]")));
}

class Counter : public ops::CustomOpBase {
 public:
  explicit Counter(Graph* graph) : CustomOpBase(graph, 0, 1, -1, "tests.counter") {
    kernel_resource_ =
        "__kernel void counter(__global float* y) { y[get_global_id(0)] = get_global_id(0); }";
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Counter>();
  }
  void SetupShapeInfor() override { outputs_size_[0] = {8}; }
  void SetupParams(std::vector<DataType>, std::string&) override { func_name_ = "counter"; }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global, std::vector<size_t>&) override {
    dim = 1;
    global[0] = 8;
  }
};

TEST(Regress, CustomOpsShareTheRule) {
  if (!HasOpenCl()) GTEST_SKIP() << "users' kernels need OpenCL";
  auto graph = SharedContext()->CreateGraph();
  auto y = Output(graph, {3});
  graph->CreateOperation<Counter>()->BindOutput(y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> memory(8, kUntouched);
  ASSERT_TRUE(y->CopyDataFromTensor(memory.data()));
  EXPECT_EQ(memory[2], 2);
  EXPECT_EQ(memory[3], kUntouched);
  EXPECT_THAT(graph->Report().warnings,
              testing::ElementsAre(testing::HasSubstr("tests.counter#1")));
}

}  // namespace
}  // namespace tim::vx::test
