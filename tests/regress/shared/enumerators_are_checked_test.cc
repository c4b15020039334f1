// Enumerators that do not exist were once accepted as attributes and reached the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api_support.h"
#include "tim/vx/ops.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Op, class... Args>
void Refused(const char* attribute, const char* one_that_exists, Args... args) {
  const auto graph = SharedContext()->CreateGraph();
  const auto x = Input(graph, {4, 4, 2, 1}), y = Output(graph, {});
  Bind<Op>(graph, {x}, {y}, args...);
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidArgument) << attribute;
  EXPECT_THAT(graph->LastStatus().message(),
              AllOf(HasSubstr(attribute), HasSubstr("77"), HasSubstr(one_that_exists)));
}

TEST(Enumerators, OutOfRangeAreInvalidArguments) {
  using Two = std::array<uint32_t, 2>;
  const Two two = {2, 2};
  Refused<ops::Pool2d>("'type'", "AVG_ANDROID", static_cast<PoolType>(77), PadType::VALID, two, two,
                       RoundType::FLOOR, DataLayout::WHCN);
  Refused<ops::Pool2d>("'padding'", "SAME", PoolType::MAX, static_cast<PadType>(77), two, two,
                       RoundType::FLOOR, DataLayout::WHCN);
  Refused<ops::Pool2d>("'round_type'", "CEILING", PoolType::MAX, PadType::VALID, two, two,
                       static_cast<RoundType>(77), DataLayout::WHCN);
  const std::vector<uint32_t> none = {0, 0, 0, 0};
  Refused<ops::Pad>("'pad_mode'", "REFLECT", none, none, 0,
                    static_cast<ops::Pad::pad_mode_type>(77));
}

}  // namespace
}  // namespace tim::vx::test
