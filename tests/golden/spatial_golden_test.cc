// Resize, padding and block operators: the references against spatial_golden.json, which
// spatial_golden.py wrote.
#include "support/golden_reader.h"

namespace tim::vx::testing {
namespace {

TEST(SpatialGolden, References) {
  const auto seen = golden::CompareWithReferences(TIMCL_GOLDEN_DIR "/spatial_golden.json");
  EXPECT_EQ(seen.size(), 11u);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 3) << name;
}

}  // namespace
}  // namespace tim::vx::testing
