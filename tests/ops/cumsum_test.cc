// CumSum as its caller sees it.
#include "tim/vx/ops/cumsum.h"

#include "errors/error_fixture.h"
#include "support/clone.h"

namespace tim::vx::test {
namespace {

class CumSumTest : public ErrorTest {};

TEST_F(CumSumTest, AxisOutOfRange) {
  Bind<ops::CumSum>(graph_, {Input(graph_, {4, 2})}, {Output(graph_, {})}, -3)->SetName("sum");
  ExpectFailure(Code::kInvalidArgument,
                {"CumSum#1 'sum'", "axis -3 is outside [-2, 2)", "input 0 'input' f32[4,2]"});
}

TEST_F(CumSumTest, TypeThatIsNotSupported) {
  Bind<ops::CumSum>(graph_, {Input(graph_, {4}, DataType::BOOL8)}, {Output(graph_, {4})});
  ExpectFailure(Code::kInvalidType, {"CumSum#1", "input 0", "bool[4]", "is expected"});
}

TEST_F(CumSumTest, DeclaredOutputOfAnotherSize) {
  Bind<ops::CumSum>(graph_, {Input(graph_, {4, 2})}, {Output(graph_, {4})});
  ExpectFailure(Code::kInvalidShape, {"CumSum#1", "declared [4]", "computes [4,2]"});
}

TEST_F(CumSumTest, ExclusiveAlongOneElementIsAWarning) {
  Bind<ops::CumSum>(graph_, {Input(graph_, {4, 1})}, {Output(graph_, {})}, 1, 1);
  ExpectSuccess();
  EXPECT_THAT(graph_->Report().warnings, testing::Contains(testing::HasSubstr("are all 0")));
}

TEST_F(CumSumTest, NegativeAxis) {
  auto x = Input(graph_, {2, 3}), y = Output(graph_, {2, 3});
  Bind<ops::CumSum>(graph_, {x}, {y}, -1);
  ASSERT_TRUE(Write<float>(x, {1, 2, 3, 4, 5, 6}));
  ExpectSuccess();
  EXPECT_EQ(Read(y, 6), (std::vector<float>{1, 2, 4, 6, 9, 12}));
}

TEST_F(CumSumTest, Clone) {
  ExpectClones<ops::CumSum>();
  ExpectClones<ops::CumSum>(-1, 1);
  ExpectClones<ops::CumSum>(0, 0, 1);
}

// As in the original, also that a negative axis is counted from 0 once the input is bound.
TEST_F(CumSumTest, ProtectedMembers) {
  struct MyCumSum : ops::CumSum {
    using CumSum::CumSum;
    void Check(int32_t axis) {
      EXPECT_EQ(axis_, axis);
      EXPECT_EQ(exclusive_, 1);
      EXPECT_EQ(reverse_, 0);
    }
  };
  MyCumSum op(graph_.get(), -1, 1, 0);
  op.Check(-1);
  op.BindInput(Input(graph_, {4, 3, 2}));
  op.Check(2);
}

}  // namespace
}  // namespace tim::vx::test
