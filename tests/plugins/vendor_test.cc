// Vendors' compilers and dispatchers behind plugin.h as a program meets them. Against the shared
// library.
#include <algorithm>

#include "plugins/vendor_support.h"
#include "tim/vx/backend.h"
#include "tim/vx/context.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Vendor, ValuesAreThoseOfTheReference) {
  auto context = NewHostContext();
  std::vector<PluginInfo> loaded;
  const Status s = context->LoadPlugin(Made("vendor"), &loaded);
  ASSERT_TRUE(s.ok()) << s.message();
  Mixed mixed(*context);
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(mixed.Of(2), Expected({4, 3}, 2));
  EXPECT_EQ(mixed.BackendOf(0), "acme") << mixed.graph->Report().ToText();
}

}  // namespace
}  // namespace tim::vx::test
