// TIMCL_DELEGATE: ctest runs this program once for each value.
#include <cstdlib>

#include "delegates/support.h"

namespace tim::vx::test {
namespace {

TEST(Environment, NamesADelegateForEveryContext) {
  const char* const value = std::getenv("TIMCL_DELEGATE");
  const char* const words = std::getenv("EXPECTED_WARNING");
  ASSERT_TRUE(value != nullptr && words != nullptr) << "ctest sets both";
  for (int context = 0; context < 2; ++context) {
    Net net(NewHostContext());
    EXPECT_THAT(net.Run(net.Chain({"Relu", "Abs"})), ElementsAre(0, 0, 0, 1));
    const std::vector<std::string>& warnings = net.graph->Report().warnings;
    if (*words == 0) {
      EXPECT_THAT(warnings, IsEmpty());
      EXPECT_EQ(net.Placement("Relu#1").backend, "onednn");
    } else {
      EXPECT_THAT(
          warnings,
          Contains(AllOf(HasSubstr("TIMCL_DELEGATE '" + std::string(value) + "' is passed over: "),
                         HasSubstr(words))));
      EXPECT_EQ(net.Placement("Relu#1").backend, "reference");
    }
  }
  // Not for those who do not want the environment's choices.
  ContextOptions options;
  options.host_only = true, options.use_env = false;
  Net net(Context::Create(options));
  EXPECT_THAT(net.Run(net.Chain({"Relu"})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(net.graph->Report().warnings, IsEmpty());
  EXPECT_EQ(net.Placement("Relu#1").backend, "reference");
}

}  // namespace
}  // namespace tim::vx::test
