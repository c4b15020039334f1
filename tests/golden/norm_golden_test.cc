// Normalizations: the references against norm_golden.json, which norm_golden.py wrote.
#include "support/golden_reader.h"

namespace tim::vx::testing {
namespace {

TEST(NormGolden, References) {
  const auto seen = golden::CompareWithReferences(TIMCL_GOLDEN_DIR "/norm_golden.json");
  EXPECT_EQ(seen.size(), 5u);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 3) << name;
}

}  // namespace
}  // namespace tim::vx::testing
