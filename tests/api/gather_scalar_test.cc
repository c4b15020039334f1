// Indices of one element that are flagged as a scalar take no dimension of Gather's result.
#include <gtest/gtest.h>

#include "support/api_support.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/gather.h"

namespace tim::vx::test {
namespace {

/// x[0, 1] + column, by Gather along the fastest axis; {2} against {1,2} shows in the sum.
std::vector<float> RowPlusColumn(bool scalar, bool flag_late, size_t count) {
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {3, 2}), y = Output(graph, {});
  auto index = Input(graph, {1}, DataType::INT32);
  auto row = Between(graph);
  if (scalar && !flag_late) index->SetScalar(1);
  Bind<ops::Gather>(graph, {x, index}, {row}, 0, 0);
  if (scalar && flag_late) index->SetScalar(1);
  Bind<ops::Add>(graph, {row, Constant(graph, {2}, {10, 20})}, {y});
  EXPECT_TRUE(Write<float>(x, {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(Write<int32_t>(index, {2}));
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  return Read(y, count);
}

TEST(GatherTest, ScalarIndexTakesNoDimension) {
  EXPECT_EQ(RowPlusColumn(true, false, 2), (std::vector<float>{13, 26}));
  EXPECT_EQ(RowPlusColumn(true, true, 2), (std::vector<float>{13, 26}));
  EXPECT_EQ(RowPlusColumn(false, false, 4), (std::vector<float>{13, 23, 16, 26}));
}

TEST(GatherTest, ScalarOfAVector) {
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {3}), y = Output(graph, {});
  auto index = Input(graph, {1}, DataType::INT32);
  index->SetScalar(1);
  Bind<ops::Gather>(graph, {x, index}, {y}, 0, 0);
  ASSERT_TRUE(Write<float>(x, {1, 2, 3}));
  ASSERT_TRUE(Write<int32_t>(index, {1}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 1), (std::vector<float>{2}));
}

}  // namespace
}  // namespace tim::vx::test
