// Convolutions: the references against conv_golden.json, which conv_golden.py wrote.
#include "support/golden_reader.h"

namespace tim::vx::testing {
namespace {

TEST(ConvGolden, References) {
  const auto seen = golden::CompareWithReferences(TIMCL_GOLDEN_DIR "/conv_golden.json");
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 3) << name;
}

}  // namespace
}  // namespace tim::vx::testing
