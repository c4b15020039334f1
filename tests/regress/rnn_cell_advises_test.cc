// RNNCell refused float weights beside a quantized input, which its FullyConnected accepts with a
// warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/ir_builder.h"
#include "tim/vx/testing.h"

namespace tim::vx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Advice(const TensorType& x, const TensorType& w, const TensorType& h) {
  const auto def = testing::Builtin().Find("RNNCell");
  auto shaped = [](TensorType t, const Shape& shape) { return t.shape = shape, t; };
  const TensorType bias = w.quantized() ? cases::I32({4}) : cases::F32({4});
  testing::OneOp op(
      *def, AnyAttrs(def->schema, def->schema->make_default()),
      {shaped(x, {3, 2}), shaped(w, {3, 4}), bias, shaped(h, {4, 2}), shaped(w, {4, 4})},
      {cases::F32(), cases::F32()});
  const Status s = op.Verify();
  EXPECT_TRUE(s.ok()) << s.message();
  std::vector<std::string> warnings;
  def->advise(op.view(), &warnings);
  return warnings;
}

TEST(RNNCellAdvice, FloatWeightsWithAQuantizedInput) {
  using namespace cases;
  EXPECT_THAT(Advice(U8(), F32(), U8()),
              ElementsAre(HasSubstr("input 1 'weight'"), HasSubstr("input 4 'recurrent'")));
  EXPECT_THAT(Advice(F32(), F32(), U8()), ElementsAre(HasSubstr("input 4 'recurrent'")));
  EXPECT_TRUE(Advice(U8(), U8(), U8()).empty());
  EXPECT_TRUE(Advice(F32(), F32(), F32()).empty());
}

}  // namespace
}  // namespace tim::vx
