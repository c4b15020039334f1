// Tolerance::Ulp once allowed one quantized step that nobody had asked for, which hid wrong
// rounding.
#include <gtest/gtest.h>

#include "tim/vx/op_def.h"

namespace tim::vx {
namespace {

TEST(UlpTolerance, AllowsNoQuantizedStepUnlessTold) {
  EXPECT_EQ(Tolerance::Ulp(3).steps, 0);
  EXPECT_EQ(Tolerance::Sum().steps, 0);
  EXPECT_EQ(Tolerance::Exact().steps, 0);
  EXPECT_EQ(Tolerance::Ulp(3, 1).steps, 1);
}

}  // namespace
}  // namespace tim::vx
