// The estimate that decides between the main device and the caller's thread.
#include "backends/opencl/compile/place.h"

#include <gtest/gtest.h>

namespace tim::vx::opencl {
namespace {

/// `launches` of `flops` over `bytes` each.
PartitionPlan PlanOf(size_t launches, double flops, size_t bytes) {
  PartitionPlan plan;
  Launch launch;
  launch.flops = flops;
  Arg arg;
  arg.kind = Arg::Kind::kInternal, arg.bytes = bytes, arg.writes = false;
  launch.args = {arg};
  plan.launches.assign(launches, launch);
  return plan;
}
bool Small(const PartitionPlan& plan, uint32_t threads = 2) {
  return EstimateRun({&plan}, threads).small();
}

TEST(Place, WhatAWakeUpCostsDecides) {
  EXPECT_TRUE(Small(PlanOf(1, 1e6, 1000)));     // 40 us
  EXPECT_FALSE(Small(PlanOf(1, 4e6, 1000)));    // 160 us, which two threads do in 95
  EXPECT_TRUE(Small(PlanOf(1, 4e6, 1000), 1));  // nobody to share them with
  // Launches that are too short for the others to join: as many as there are.
  EXPECT_TRUE(Small(PlanOf(1000, 1e5, 1000)));
  EXPECT_FALSE(Small(PlanOf(1000, 3e6, 1000)));
}

TEST(Place, BytesCountWhereTheFlopsAreNotKnown) {
  EXPECT_TRUE(Small(PlanOf(1, 0, 100 << 10)));
  EXPECT_FALSE(Small(PlanOf(1, 0, 1 << 20)));
  EXPECT_TRUE(Small(PlanOf(1, 1, 1 << 20))) << "weights of a product are read as fast as they come";
  EXPECT_FALSE(Small(PlanOf(1, 1, 8 << 20)));
}

TEST(Place, EachPartitionWakesTheOthersUp) {
  const PartitionPlan plan = PlanOf(1, 3e6, 1000);
  EXPECT_FALSE(EstimateRun({&plan}, 2).small());
  const RunEstimate one = EstimateRun({&plan}, 2), two = EstimateRun({&plan, &plan}, 2);
  EXPECT_DOUBLE_EQ(two.main, 2 * one.main);
  EXPECT_DOUBLE_EQ(two.work, 2 * one.work);
  EXPECT_NE(Describe(one, false).find("main device: about 120 us of work"), std::string::npos)
      << Describe(one, false);
}

TEST(Place, OneThreadIsEnoughForShortSteps) {
  const auto enough = [](size_t launches, double flops, uint32_t threads = 2) {
    return OneWorkerIsEnough(PlanOf(launches, flops, 1000), threads);
  };
  EXPECT_TRUE(enough(1000, 1e4));      // steps of 0.4 us: as long as two take to meet
  EXPECT_FALSE(enough(3, 1e5));        // of 4 us
  EXPECT_FALSE(enough(1000, 1e4, 1));  // with whom
}

TEST(Place, HelpersPayWhereThereIsWorkForThem) {
  const auto estimate = [](size_t launches, double flops, uint32_t threads = 2) {
    const PartitionPlan plan = PlanOf(launches, flops, 1000);
    return EstimateRun({&plan}, threads);
  };
  EXPECT_TRUE(estimate(10, 2e5).HelpersPay());      // steps of 8 us
  EXPECT_FALSE(estimate(10, 1e4).HelpersPay());     // of 0.4: as long as two threads take to meet
  EXPECT_FALSE(estimate(10, 2e5, 1).HelpersPay());  // there is nobody
  EXPECT_FALSE(estimate(10, 2e7).HelpersPay());     // 8 ms, and many kernels to compile twice
  const RunEstimate large = estimate(1, 1e7);       // 400 us
  EXPECT_TRUE(!large.small() && large.helped < large.main);
  EXPECT_FALSE(large.early);
  EXPECT_TRUE(estimate(2, 1e8).HelpersPay() && estimate(2, 1e8).early);  // few
  EXPECT_FALSE(estimate(2, 4e9).HelpersPay());   // 320 ms: beside that a wake-up is no matter
  EXPECT_EQ(estimate(10, 2e5).Helpers(15), 4u);  // one for each 20 us
  EXPECT_EQ(estimate(10, 2e5).Helpers(1), 1u);
  const PartitionPlan plan = PlanOf(10, 2e5, 1000);
  EXPECT_FALSE(EstimateRun({&plan, &plan}, 2).HelpersPay()) << "of one partition only";
}

}  // namespace
}  // namespace tim::vx::opencl
