// Permute vectors, and the orders that layouts stand for.
#include "permute_vector.h"

#include <gtest/gtest.h>

#include "ir/layout.h"

namespace tim::transform {
namespace {

using List = std::vector<uint32_t>;

TEST(PermuteVector, StartsAsIdentity) {
  EXPECT_EQ(PermuteVector<4>().AsStdVec(), (List{0, 1, 2, 3}));
  EXPECT_TRUE(PermuteVector<4>().IsAligned());
  EXPECT_EQ(MakeShared(0)->Rank(), 1u);
  for (uint32_t rank = 1; rank <= PermuteVector<1>::kMaxRank; ++rank) {
    EXPECT_EQ(MakeShared(rank)->Rank(), rank);
    EXPECT_TRUE(MakeShared(rank)->IsAligned());
  }
  EXPECT_EQ(MakeShared(11), nullptr);
}

TEST(PermuteVector, ContinuesASmallerOne) {
  EXPECT_EQ(PermuteVector<4>(PermuteVector<2>{1, 0}).AsStdVec(), (List{1, 0, 2, 3}));
}

TEST(PermuteVector, CopiesAndMoves) {
  PermuteVector<3> a = {2, 0, 1};
  PermuteVector<3> b(a), c;
  c = a;
  b.At(0) = 1;
  EXPECT_EQ(a.AsStdVec(), (List{2, 0, 1}));
  EXPECT_EQ(b.AsStdVec(), (List{1, 0, 1}));
  EXPECT_EQ(PermuteVector<3>(std::move(c)).AsStdVec(), (List{2, 0, 1}));
}

TEST(PermuteVector, ReverseIsTheInverse) {
  PermuteVector<4> cwhn = {1, 2, 0, 3};
  EXPECT_EQ(cwhn.Reverse()->AsStdVec(), (List{2, 0, 1, 3}));
  EXPECT_TRUE(cwhn.Add(cwhn.Reverse())->IsAligned());
  EXPECT_TRUE(cwhn.Reverse()->Add(std::make_shared<PermuteVector<4>>(cwhn))->IsAligned());
}

TEST(PermuteVector, AddAppliesOneAfterTheOther) {
  const PermuteVector<3> a = {2, 0, 1};
  EXPECT_EQ(a.Add(std::make_shared<PermuteVector<3>>(PermuteVector<3>{1, 0, 2}))->AsStdVec(),
            (List{0, 2, 1}));
  EXPECT_EQ(a.Add(MakeShared(4)), nullptr);
  EXPECT_EQ(a.Add(nullptr), nullptr);
}

TEST(PermuteVector, ReadsAndWrites) {
  const IPermuteVectorPtr v = std::make_shared<PermuteVector<3>>(PermuteVector<3>{1, 2, 0});
  EXPECT_EQ(v->AsText(), "{1, 2, 0}");
  EXPECT_EQ(v->At(1), 2u);
  EXPECT_FALSE(v->IsAligned());
  v->ReInitialize();
  EXPECT_TRUE(v->IsAligned());
}

TEST(Order, NamesStandForPermutations) {
  using vx::DataLayout;
  using vx::ir::NativeOrder;
  EXPECT_EQ(NativeOrder(DataLayout::CWHN, 4), (List{1, 2, 0, 3}));
  EXPECT_EQ(NativeOrder(DataLayout::IcWHOc, 4), (List{1, 2, 0, 3}));
  EXPECT_EQ(NativeOrder(DataLayout::OcIcWH, 4), (List{2, 3, 1, 0}));
  EXPECT_EQ(NativeOrder(DataLayout::IcOcWH, 4), (List{2, 3, 0, 1}));
  EXPECT_EQ(NativeOrder(DataLayout::CWHDN, 5), (List{1, 2, 3, 0, 4}));
  EXPECT_EQ(NativeOrder(DataLayout::OcIcWHD, 5), (List{2, 3, 4, 1, 0}));
  EXPECT_EQ(NativeOrder(DataLayout::CWHN, 3), (List{0, 1, 2}));
  EXPECT_EQ(NativeOrder(DataLayout::WHCN, 4), (List{0, 1, 2, 3}));
  EXPECT_EQ(vx::ir::NativeKernelOrder(DataLayout::WHDIcOc, DataLayout::CWHDN, 5),
            (List{1, 2, 3, 0, 4}));
  EXPECT_EQ(vx::ir::NativeKernelOrder(DataLayout::OcIcWHD, DataLayout::CWHDN, 5),
            (List{2, 3, 4, 1, 0}));
  EXPECT_EQ(vx::ir::NativeKernelOrder(DataLayout::WHDIcOc, DataLayout::WHDCN, 5),
            (List{0, 1, 2, 3, 4}));
}

TEST(Order, Arithmetic) {
  using vx::Shape;
  const vx::ir::Order order = {2, 0, 1};
  EXPECT_EQ(vx::ir::Inverse(order), (List{1, 2, 0}));
  EXPECT_EQ(vx::ir::Then(order, vx::ir::Inverse(order)), vx::ir::Identity(3));
  EXPECT_EQ(vx::ir::Permuted(Shape{5, 6, 7}, order), (Shape{7, 5, 6}));
  EXPECT_EQ(vx::ir::Permuted(Shape{5}, {1, 0}), (Shape{1, 5}));
  EXPECT_TRUE(vx::ir::IsPermutation(order));
  EXPECT_FALSE(vx::ir::IsPermutation({0, 0}));
  EXPECT_FALSE(vx::ir::IsPermutation({0, 2}));
}

}  // namespace
}  // namespace tim::transform
