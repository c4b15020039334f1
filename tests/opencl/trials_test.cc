// When helpers are sent away, and when they come again.
#include "backends/opencl/run/trials.h"

#include <gtest/gtest.h>

namespace tim::vx::opencl {
namespace {

constexpr double kAlone = 100e-6;
constexpr int kTrial = 32;

/// A graph that is run again and again, with helpers as soon as they may come.
class TrialsTest : public ::testing::Test {
 protected:
  TrialsTest() {
    for (int run = 0; run < 4; ++run) Alone();
    Launch();
  }
  /// Whether helpers may stay.
  bool After(double seconds, bool shared) {
    return !trials_.After(seconds, shared, counts_.late) || trials_.AreOfUse(counts_);
  }
  void Alone(double seconds = kAlone) {
    trials_.Before(true);
    EXPECT_TRUE(After(seconds, false));
  }
  bool Shared(double seconds) {
    trials_.Before(true);
    ++counts_.helped;
    return After(seconds, true);
  }
  void Launch() {
    ASSERT_TRUE(trials_.MayLaunch(4));
    trials_.Launched(counts_);
  }
  /// How many Runs it takes until they are sent away; at most a few trials.
  int RunsUntilSentAway(double seconds) {
    for (int run = 1; run <= 4 * kTrial; ++run) {
      if (!Shared(seconds)) return run;
    }
    return 0;
  }
  /// Runs alone, in bursts of that many, before helpers may come again.
  int RunsUntilTheyMay(int burst, double seconds = kAlone) {
    int runs = 0;
    for (; runs < 10000 && !trials_.MayLaunch(4); ++runs) {
      if (runs % burst == 0) {
        trials_.Before(false);
        EXPECT_TRUE(After(10 * seconds, false));
      }
      Alone(seconds);
    }
    return runs;
  }

  Trials trials_;
  Trials::Counts counts_;
};

TEST_F(TrialsTest, NotBeforeRunsFollowEachOther) {
  Trials fresh;
  for (int run = 0; run < 3; ++run) fresh.Before(true);
  EXPECT_FALSE(fresh.MayLaunch(4));
  fresh.Before(true);
  EXPECT_TRUE(fresh.MayLaunch(4));
  fresh.Before(false);
  EXPECT_FALSE(fresh.MayLaunch(4));
}

TEST_F(TrialsTest, OfUseTheyStay) { EXPECT_EQ(RunsUntilSentAway(0.6 * kAlone), 0); }

TEST_F(TrialsTest, OfNoUseTheyLeaveAfterATrial) {
  EXPECT_EQ(RunsUntilSentAway(kAlone), kTrial);
  EXPECT_EQ(trials_.best().alone, kAlone);
  EXPECT_EQ(trials_.best().shared, kAlone);
}

// The host moved the cores apart.
TEST_F(TrialsTest, TheyAreJudgedAgainAndAgain) {
  for (int run = 0; run < 3 * kTrial; ++run) ASSERT_TRUE(Shared(0.6 * kAlone));
  EXPECT_EQ(RunsUntilSentAway(1.2 * kAlone), kTrial);
}

// A program that pauses from time to time waited for ever for so many Runs in a row.
TEST_F(TrialsTest, TheyComeAgainHoweverShortTheBursts) {
  int runs = 0;
  for (const int expected : {16, 64, 256, 1024, 1024}) {
    ASSERT_EQ(RunsUntilSentAway(1.2 * kAlone), kTrial);
    EXPECT_EQ(trials_.runs_until_next(), static_cast<uint32_t>(expected));
    runs = RunsUntilTheyMay(10);
    EXPECT_GE(runs, expected);
    EXPECT_LE(runs, expected + 10);
    Launch();
  }
  for (int run = 0; run < kTrial; ++run) ASSERT_TRUE(Shared(0.6 * kAlone));
  ASSERT_EQ(RunsUntilSentAway(1.2 * kAlone), kTrial);
  EXPECT_EQ(trials_.runs_until_next(), 16u) << "they were of use in between";
}

// What a Run takes alone is no longer what it took an hour ago.
TEST_F(TrialsTest, AloneTellsAnew) {
  ASSERT_EQ(RunsUntilSentAway(kAlone), kTrial);
  RunsUntilTheyMay(100, 2 * kAlone);
  Launch();
  EXPECT_EQ(RunsUntilSentAway(1.5 * kAlone), 0);
}

TEST_F(TrialsTest, OnesThatAreLateTwiceLeaveAtOnce) {
  counts_.late += 1;
  EXPECT_TRUE(Shared(0.6 * kAlone));
  counts_.late += 1;
  EXPECT_FALSE(Shared(0.6 * kAlone));
  const uint32_t later = trials_.runs_until_next();
  EXPECT_TRUE(Shared(0.6 * kAlone)) << "it has not seen yet that it is to leave";
  EXPECT_FALSE(trials_.LeftSoon()) << "that has been judged";
  EXPECT_LE(trials_.runs_until_next(), later);
}

TEST_F(TrialsTest, OnesThatAreLateNowAndThenStay) {
  for (int trial = 0; trial < 8; ++trial) {
    counts_.late += 1;
    for (int run = 0; run < kTrial; ++run) ASSERT_TRUE(Shared(0.6 * kAlone));
  }
}

TEST_F(TrialsTest, OnesThatDoNotHelpAreTriedSoonAgain) {
  for (int time = 0; time < 3; ++time) {
    for (int run = 1; run < kTrial; ++run) {
      trials_.Before(true);
      ASSERT_TRUE(After(0.6 * kAlone, true));
    }
    trials_.Before(true);
    EXPECT_FALSE(After(0.6 * kAlone, true));
    EXPECT_EQ(trials_.runs_until_next(), 16u);
    RunsUntilTheyMay(100);
    Launch();
  }
}

TEST_F(TrialsTest, OnesThatLeaveAtOnceComeLater) {
  EXPECT_TRUE(trials_.LeftSoon());
  EXPECT_EQ(RunsUntilTheyMay(100), 16);
  Launch();
  EXPECT_TRUE(trials_.LeftSoon());
  EXPECT_EQ(trials_.runs_until_next(), 32u);
  RunsUntilTheyMay(100);
  Launch();
  for (int run = 0; run < 4; ++run) EXPECT_TRUE(Shared(0.6 * kAlone));
  EXPECT_FALSE(trials_.LeftSoon()) << "nobody runs any more, perhaps";
}

}  // namespace
}  // namespace tim::vx::opencl
