// References once stored plain integers by way of float32, so that a running sum above 2^24 was
// wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "support/ir_builder.h"
#include "tim/vx/op_kit.h"

namespace tim::vx {
namespace {

using cases::I32;
using cases::Plain;

TEST(ReferenceSums, WideIntegersAreStoredAsTheyAre) {
  const TensorType i32 = I32({2}), u32 = Plain(DataType::UINT32, {2}),
                   i64 = Plain(DataType::INT64, {2});
  int32_t a[2];
  ref::Output(a, i32).Set(0, 16777217.0);
  ref::Output(a, i32).Put(1, 2147483646.0);
  EXPECT_EQ(a[0], 16777217);
  EXPECT_EQ(a[1], 2147483646);
  uint32_t b[2];
  ref::Output(b, u32).Set(0, 4294967293.0);
  ref::Output(b, u32).Put(1, int64_t{4294967295});
  EXPECT_EQ(b[0], 4294967293u);
  EXPECT_EQ(b[1], 4294967295u);
  int64_t c[2];
  ref::Output(c, i64).Set(0, 9007199254740991.0);
  ref::Output(c, i64).Put(1, int64_t{9007199254740993});
  EXPECT_EQ(c[0], 9007199254740991);
  EXPECT_EQ(c[1], 9007199254740993);
}

/// A running sum, written as an op's reference is.
Status RunningSum(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  return ref::Compute(op, [&](auto zero) {
    using T = decltype(zero);
    T sum = zero;
    for (int64_t i = 0; i < ins[0].count(); ++i) outs[0].Put(i, sum += ins[0].As<T>(i));
  });
}

template <class Out>
std::vector<Out> Sums(const std::vector<int32_t>& values, DataType to) {
  const OpDef def = {.name = "RunningSum",
                     .types = "number -> copyable",
                     .schema = &kAttrSchema<NoAttrs>,
                     .infer = ShapeOfInput,
                     .reference = RunningSum};
  const Shape shape = {static_cast<int64_t>(values.size())};
  testing::OneOp op(def, MakeAttrs(NoAttrs{}), {I32(shape)}, {Plain(to)});
  EXPECT_TRUE(op.Verify().ok());
  std::vector<std::byte> bytes(values.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::vector<std::vector<std::byte>> results;
  EXPECT_TRUE(op.Run({bytes}, &results).ok());
  std::vector<Out> sums(values.size());
  std::memcpy(sums.data(), results[0].data(), results[0].size());
  return sums;
}

TEST(ReferenceSums, AboveTwoToThe24) {
  EXPECT_EQ((Sums<int32_t>({1 << 24, 1, 1, 1}, DataType::INT32)),
            (std::vector<int32_t>{16777216, 16777217, 16777218, 16777219}));
  EXPECT_EQ((Sums<int64_t>({2147483647, 2147483647, 1}, DataType::INT64)),
            (std::vector<int64_t>{2147483647, 4294967294, 4294967295}));
  // What leaves the range saturates when it is stored, not while it is summed.
  EXPECT_EQ((Sums<int32_t>({2147483647, 5, -6}, DataType::INT32)),
            (std::vector<int32_t>{2147483647, 2147483647, 2147483646}));
}

}  // namespace
}  // namespace tim::vx
