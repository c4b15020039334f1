// Pack: random lifetimes never overlap, and little space is lost.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

namespace tim::vx::runtime {
namespace {

size_t AlignUp(size_t n, size_t a) { return (n + a - 1) / a * a; }

TEST(Arena, RandomLifetimes) {
  std::mt19937 random(5);
  double sum = 0, worst = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const size_t alignment = size_t{1} << (random() % 9);
    const bool many = round % 8 == 0;  // few of them live at the same time
    const int steps = 1 + static_cast<int>(random() % (many ? 400 : 40));
    std::vector<Slot> slots(1 + random() % (many ? 400 : 60));
    for (Slot& s : slots) {
      s.bytes = random() % 8 == 0 ? 0 : random() % 100000;
      s.first = static_cast<int>(random() % static_cast<unsigned>(steps));
      s.last = std::min(
          steps - 1, s.first + static_cast<int>(random() % (many && random() % 9 == 0 ? 400 : 6)));
      s.offset = 12345;
    }
    const auto total = Pack(slots, alignment);
    ASSERT_TRUE(total.ok());
    for (size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(slots[i].offset % alignment, 0u);
      EXPECT_LE(slots[i].offset + slots[i].bytes, *total);
      for (size_t j = 0; j < i; ++j) {
        const Slot &a = slots[i], &b = slots[j];
        if (a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << "round " << round << ": slots " << j << " and " << i;
      }
    }
    size_t peak = 0;
    for (int s = 0; s < steps; ++s) {
      size_t live = 0;
      for (const Slot& slot : slots) {
        if (slot.first <= s && s <= slot.last)
          live += AlignUp(std::max<size_t>(slot.bytes, 1), alignment);
      }
      peak = std::max(peak, live);
    }
    EXPECT_GE(*total, peak);
    const double ratio = static_cast<double>(*total) / static_cast<double>(peak);
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  std::printf("arena / peak of live bytes: %.3f on average, %.3f at worst\n", sum / kRounds, worst);
  EXPECT_LT(sum / kRounds, 1.02);
  EXPECT_LT(worst, 1.2);
}

// The layers of a transformer: in units, x, q, k and v are 1, scores and weights of attention 2,
// the wide layer 4; six live at once.
TEST(Arena, LayersOfATransformerMeetTheBound) {
  std::vector<Slot> slots;
  constexpr size_t kUnit = 393216;
  for (int layer = 0; layer < 12; ++layer) {
    const int t = layer * 10;
    slots.push_back({kUnit, t + 1, t + 3, 0});      // q
    slots.push_back({kUnit, t + 1, t + 3, 0});      // k
    slots.push_back({kUnit, t + 2, t + 5, 0});      // v
    slots.push_back({2 * kUnit, t + 3, t + 4, 0});  // scores
    slots.push_back({2 * kUnit, t + 4, t + 5, 0});  // weights
    slots.push_back({kUnit, t + 5, t + 6, 0});      // what is attended to
    slots.push_back({kUnit, t + 6, t + 7, 0});      // plus x
    slots.push_back({kUnit, t + 7, t + 9, 0});      // normalized
    slots.push_back({4 * kUnit, t + 8, t + 9, 0});  // wide
    slots.push_back({kUnit, t + 9, t + 10, 0});     // narrow again
    slots.push_back({kUnit, t + 10, t + 16, 0});    // x of the next layer
  }
  EXPECT_EQ(LiveBytes(slots), 6 * kUnit);
  EXPECT_EQ(*Pack(slots, 128), 6 * kUnit);
}

// Two recurrent layers: what is between them fits only where the first layer's states were.
TEST(Arena, AnotherOrderMeetsTheBound) {
  std::vector<Slot> slots = {{409600, 0, 105, 0},   {103424, 4, 106, 0},   {1024, 5, 105, 0},
                             {102400, 106, 110, 0}, {409600, 107, 212, 0}, {103424, 111, 213, 0},
                             {1024, 112, 212, 0}};
  EXPECT_EQ(*Pack(slots, 128), LiveBytes(slots));
}

TEST(Arena, LiveBytesAreThoseOfTheWorstStep) {
  EXPECT_EQ(LiveBytes({}), 0u);
  EXPECT_EQ(LiveBytes({{100, 0, 1, 0}, {7, 1, 2, 0}, {50, 2, 5, 0}}), 107u);
}

TEST(Arena, NothingToPack) {
  std::vector<Slot> none;
  EXPECT_EQ(*Pack(none, 64), 0u);
}

TEST(Arena, SlotsThatDoNotMeetShareMemory) {
  std::vector<Slot> slots = {{100, 0, 1, 0}, {100, 2, 3, 0}};
  EXPECT_EQ(*Pack(slots, 64), 128u);
  EXPECT_EQ(slots[0].offset, slots[1].offset);
}

TEST(Arena, MoreThanTheAddressSpace) {
  std::vector<Slot> one = {{SIZE_MAX - 5, 0, 1, 0}};
  EXPECT_EQ(Pack(one, 64).status().code(), Code::kOutOfMemory);
  const size_t big = size_t{1} << 62;
  std::vector<Slot> many = {{big, 0, 1, 0}, {big, 0, 1, 0}, {big, 0, 1, 0}, {big, 0, 1, 0}};
  EXPECT_EQ(Pack(many, 64).status().code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace tim::vx::runtime
