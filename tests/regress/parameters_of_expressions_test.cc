// The parameters p0..p3 of a point-wise expression were once found within longer words as well.
#include <gtest/gtest.h>

#include "support/ir_builder.h"
#include "tim/vx/pointwise.h"

namespace tim::vx {
namespace {

struct OneAttr {
  float a = 2;
  TIMCL_FIELDS(a)
};

TIMCL_POINTWISE(Words, OneAttr, "input", Tolerance::Exact(),
                Pointwise("exp2(x) + p0 * clamp1(x, step2, p10, _p3, p3x)",
                          []<class T>(T x, T, T, const float*) { return x; }));
TIMCL_POINTWISE(Two, OneAttr, "input", Tolerance::Exact(),
                Pointwise("p1+x", []<class T>(T x, T, T, const float*) { return x; }));

size_t RealsOf(const OpDef& def) {
  testing::OneOp op(def, MakeAttrs(OneAttr{}), {cases::F32({3})}, {cases::F32()});
  EXPECT_TRUE(op.Verify().ok());
  const auto launches = pointwise::General(op.view(), {DeviceCaps()});
  EXPECT_TRUE(launches.ok());
  return (*launches)[0].reals.size();
}

TEST(PointwiseParameters, AreWholeWords) {
  EXPECT_EQ(RealsOf(kWords), 1u);
  EXPECT_EQ(RealsOf(kTwo), 2u);
}

}  // namespace
}  // namespace tim::vx
