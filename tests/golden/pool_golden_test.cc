// Pooling and regions: the references against pool_golden.json, which pool_golden.py wrote.
#include "support/golden_reader.h"

namespace tim::vx::testing {
namespace {

TEST(PoolGolden, References) {
  const auto seen = golden::CompareWithReferences(TIMCL_GOLDEN_DIR "/pool_golden.json");
  EXPECT_EQ(seen.size(), 8u);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 3) << name;
}

}  // namespace
}  // namespace tim::vx::testing
