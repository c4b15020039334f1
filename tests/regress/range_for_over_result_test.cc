// `for (auto& x : *Make())` walked a vector that was gone: Result's operator* on a temporary
// returned a reference.
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "tim/vx/result.h"

namespace {

tim::vx::Result<std::vector<int>> Make() { return std::vector<int>{1, 2, 3}; }

TEST(Regress, RangeForOverTemporaryResult) {
  static_assert(!std::is_reference_v<decltype(*Make())>);
  int sum = 0;
  for (int x : *Make()) sum += x;
  EXPECT_EQ(sum, 6);
}

}  // namespace
