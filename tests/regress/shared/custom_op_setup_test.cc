// SetupParams of a custom op ran again when another op of the graph was expanded: an op that fills
// its parameter list there got two lists. A global size of 0 was documented as 1 and refused.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/ops/rnn_cell.h"

namespace tim::vx::test {
namespace {

class Scale : public ops::CustomOpBase {
 public:
  explicit Scale(Graph* graph) : CustomOpBase(graph, 1, 1, -1, "tests.scale") {
    kernel_resource_ =
        "__kernel void scale(__global const float* x, __global float* y, float by) {\n"
        "  size_t at = get_global_id(0) + 4 * get_global_id(1);\n"
        "  y[at] = x[at] * by;\n"
        "}\n";
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Scale>();
  }
  std::string calls;
  bool throws = false;
  size_t rows = 1;

 protected:
  void SetupShapeInfor() override {
    calls += 's';
    outputs_size_[0] = inputs_size_[0];
  }
  void SetupParams(std::vector<DataType>, std::string&) override {
    calls += 'p';
    func_name_ = "scale";
    ops::Param by;
    by.type = DataType::FLOAT32;
    by.data.f = 3;
    param_list_.push_back(by);
    if (throws) throw std::runtime_error("not now");
  }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global, std::vector<size_t>&) override {
    calls += 'e';
    dim = 2;
    global = {4, rows, 0};
  }
};

TEST(Regress, SetupRunsOnceThoughOtherOpsExpand) {
  if (!HasOpenCl()) GTEST_SKIP() << "users' kernels need OpenCL";
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {4, 1}), y = Output(graph, {4, 1});
  auto scale = Bind<Scale>(graph, {x}, {y});
  // Composed: the compiler asks all ops again after expanding it.
  auto cell = graph->CreateOperation<ops::RNNCell>(ops::RNNCell::kRELU);
  (*cell)
      .BindInputs({Input(graph, {2, 1}), Constant(graph, {2, 3}, std::vector<float>(6, 1)),
                   Constant(graph, {3}, {0, 0, 0}), Input(graph, {3, 1}),
                   Constant(graph, {3, 3}, std::vector<float>(9, 1))})
      .BindOutputs({Output(graph, {3, 1}), Output(graph, {3, 1})});
  Write<float>(x, {1, 2, 3, 4});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{3, 6, 9, 12}));
  EXPECT_EQ(scale->calls, "spe");
  EXPECT_EQ(scale->param_list_.size(), 1u);
}

TEST(Regress, SetupThatFailedIsDoneAnew) {
  if (!HasOpenCl()) GTEST_SKIP() << "users' kernels need OpenCL";
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {4, 1}), y = Output(graph, {4, 1});
  auto scale = Bind<Scale>(graph, {x}, {y});
  scale->throws = true;
  EXPECT_FALSE(graph->Compile());
  scale->throws = false;
  graph->SetCompileOption(CompileOption());  // the graph counts as changed: Compile() tries again
  Write<float>(x, {1, 2, 3, 4});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{3, 6, 9, 12}));
}

TEST(Regress, AGlobalSizeOfZeroCountsAsOne) {
  if (!HasOpenCl()) GTEST_SKIP() << "users' kernels need OpenCL";
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {4, 1}), y = Output(graph, {4, 1});
  Bind<Scale>(graph, {x}, {y})->rows = 0;
  Write<float>(x, {1, 2, 3, 4});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{3, 6, 9, 12}));
}

}  // namespace
}  // namespace tim::vx::test
