// What the caller says of partitions: strategies, limits, pins and excludes, and the words in which
// the report repeats it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tim::vx::testing::Builtin;
using tim::vx::testing::ReadGraph;
using tim::vx::testing::Reference;

/// Takes ops of some kinds; each set of kinds has an index, and is a whole where `wholes` says so.
class TakesKinds : public test::HostBackend {
 public:
  TakesKinds(std::string name, std::vector<std::vector<std::string>> sets, bool wholes = false)
      : HostBackend(std::move(name)), sets_(std::move(sets)), wholes_(wholes) {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (size_t s = 0; s < sets_.size(); ++s) {
      bool any = false;
      for (const OpView& op : graph.Ops()) {
        for (const std::string& kind : sets_[s]) {
          if (op.kind() != kind) continue;
          selection->Select(op, static_cast<int>(s));
          any = true;
        }
      }
      if (any && wholes_) selection->Whole(static_cast<int>(s));
    }
    return Status();
  }

 private:
  std::vector<std::vector<std::string>> sets_;
  bool wholes_;
};

RankedBackend Backend(std::string name, std::vector<std::vector<std::string>> sets,
                      bool wholes = false) {
  return {std::make_shared<TakesKinds>(std::move(name), std::move(sets), wholes), 1};
}

// Relu and Neg are the npu's: a run of two, one, and two; Abs stands between.
constexpr const char* kRuns =
    "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Neg(%1) : f32[4]\n%3 = Abs(%2) : f32[4]\n"
    "%4 = Relu \"lonely\"(%3) : f32[4]\n%5 = Abs(%4) : f32[4]\n%6 = Neg(%5) : f32[4]\n"
    "%7 = Relu(%6) : f32[4]\n%8 = Neg(%7) : output f32[4]\n";
constexpr const char* kNames[] = {"Relu#0", "Neg#1", "Abs#2",  "Relu#3 'lonely'",
                                  "Abs#4",  "Neg#5", "Relu#6", "Neg#7"};

struct Outcome {
  Status status;
  CompileReport report;
  std::string backends;  // the first letters, in the order of the ops
  std::map<std::string, OpPlacement> op;
};
Outcome RunOn(const std::vector<RankedBackend>& backends, Options options,
              const std::string& text = kRuns) {
  Outcome o;
  options.fallback = Fallback::kForbid;  // what the caller chose is never a failure
  o.status = tim::vx::testing::RunGraph(ReadGraph(text, Builtin()), Builtin(), backends, options,
                                        &o.report);
  for (const OpPlacement& p : o.report.ops) o.op[p.op] = p;
  for (const char* name : kNames) {
    if (o.op.count(name) != 0) o.backends += o.op[name].backend[0];
  }
  if (!o.status.ok()) o.backends = o.status.message();
  return o;
}

/// Takes all that is left and knows no limits, as OpenCL does; it is no fallback.
RankedBackend Cpu() { return {std::make_shared<test::HostBackend>("cpu"), 0, false, true}; }
std::vector<RankedBackend> NpuThenCpu() { return {Backend("npu", {{"Relu", "Neg"}}), Cpu()}; }

/// Selects ops that it was not offered.
class Greedy : public test::HostBackend {
 public:
  explicit Greedy(GraphView other) : HostBackend("greedy"), other_(std::move(other)) {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : other_.Ops().empty() ? graph.AllOps() : other_.Ops())
      selection->Select(op);
    return Status();
  }

 private:
  GraphView other_;
};

TEST(Selection, OfAnOpThatOthersRunOrThatIsOfAnotherGraph) {
  Options options;
  options.pins = {{"Abs", "cpu"}};
  EXPECT_EQ(RunOn({{std::make_shared<Greedy>(GraphView()), 1}, Cpu()}, options).status.message(),
            "kInternal: backend 'greedy' selects Abs#2, which it was not offered");
  std::string longer = kRuns;
  longer += "%9 = Neg(%8) : output f32[4]\n";
  const std::shared_ptr<ir::Graph> other = ReadGraph(longer, Builtin());
  const GraphView last(other, {8});
  EXPECT_EQ(RunOn({{std::make_shared<Greedy>(last), 1}, Cpu()}, {}).status.message(),
            "kInternal: backend 'greedy' selects an op of another graph, which it was not offered");
}

TEST(Strategy, OrderAndOneByOne) {
  // Two arms: Relu, Abs and again Relu, Abs. The convex way runs both Relus, then both Abs.
  const std::string arms =
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Abs(%1) : output f32[4]\n"
      "%5 = input f32[4]\n%3 = Relu(%5) : f32[4]\n%4 = Abs(%3) : output f32[4]\n";
  const std::map<PartitionStrategy, size_t> parts = {{PartitionStrategy::kConvex, 2},
                                                     {PartitionStrategy::kExecutionOrder, 4},
                                                     {PartitionStrategy::kPerOp, 4}};
  for (const auto& [strategy, count] : parts) {
    Options options;
    options.strategy = strategy;
    const Outcome o = RunOn(NpuThenCpu(), options, arms);
    ASSERT_TRUE(o.status.ok()) << o.status.message();
    EXPECT_EQ(o.report.partitions, count);
    EXPECT_EQ(o.report.steps, count);
  }
  Options options;
  options.strategy = PartitionStrategy::kExecutionOrder;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).report.partitions, 5u);
  options.strategy = PartitionStrategy::kPerOp;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).report.partitions, 8u);
}

TEST(Strategy, HoldsForTheLibraryToo) {
  Options options;
  options.strategy = PartitionStrategy::kPerOp;
  EXPECT_EQ(RunOn({Reference()}, options).report.partitions, 8u);
  options.min_ops = 100;  // limits do not
  options.max_partitions = 1;
  const Outcome o = RunOn({Reference()}, options);
  EXPECT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.report.partitions, 8u);
}

TEST(Limits, TooFewOps) {
  Options options;
  options.min_ops = 2;
  const Outcome o = RunOn(NpuThenCpu(), options);
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backends, "nncccnnn");
  const OpPlacement& lonely = o.op.at("Relu#3 'lonely'");
  EXPECT_EQ(lonely.reason, "npu: min_ops is 2, and this partition has 1 op (Relu#3 'lonely')");
  EXPECT_THAT(lonely.refusals, ElementsAre(lonely.reason));
  EXPECT_THAT(o.report.fallbacks, IsEmpty());
  EXPECT_THAT(o.report.warnings, IsEmpty());

  options.min_ops = 3;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "cccccnnn");
  options.min_ops = 4;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "cccccccc");
}

TEST(Limits, TooManyPartitions) {
  Options options;
  options.max_partitions = 2;
  Outcome o = RunOn(NpuThenCpu(), options);
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backends, "nncccnnn");
  EXPECT_EQ(o.op.at("Relu#3 'lonely'").reason,
            "npu: max_partitions is 2, and of its 3 partitions this one of 1 op (Relu#3 'lonely') "
            "is among the smallest 1");
  options.max_partitions = 1;
  o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.backends, "cccccnnn");
  EXPECT_EQ(o.op.at("Neg#1").reason,
            "npu: max_partitions is 1, and of its 3 partitions this one of 2 ops (Relu#0 to Neg#1) "
            "is among the smallest 2");
  options.max_partitions = 3;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "nncncnnn");
}

// What one gives back makes the next one's partition large enough.
TEST(Limits, TheNextIsLookedAtWithWhatItIsGiven) {
  Options options;
  options.min_ops = 3;
  const std::vector<RankedBackend> backends = {Backend("npu", {{"Neg"}}),
                                               Backend("second", {{"Neg", "Relu"}}), Cpu()};
  const Outcome o = RunOn(backends, options);
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backends, "cccccsss");
  EXPECT_THAT(o.op.at("Neg#1").refusals,
              ElementsAre("npu: min_ops is 3, and this partition has 1 op (Neg#1)",
                          "second: min_ops is 3, and this partition has 2 ops (Relu#0 to Neg#1)"));
}

TEST(Limits, WholesCountAndStayWhole) {
  const std::vector<RankedBackend> backends = {Backend("npu", {{"Relu"}, {"Neg"}}, true), Cpu()};
  const std::string text =
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Relu(%1) : f32[4]\n%3 = Neg(%2) : f32[4]\n"
      "%4 = Abs(%3) : output f32[4]\n";
  for (const PartitionStrategy strategy :
       {PartitionStrategy::kConvex, PartitionStrategy::kExecutionOrder,
        PartitionStrategy::kPerOp}) {
    Options options;
    options.strategy = strategy;
    Outcome o = RunOn(backends, options, text);
    ASSERT_TRUE(o.status.ok()) << o.status.message();
    ASSERT_EQ(o.report.parts.size(), 3u);
    EXPECT_EQ(o.report.parts[0].ops.size(), 2u) << "a whole, whatever the strategy";
    options.max_partitions = 1;
    o = RunOn(backends, options, text);
    EXPECT_EQ(o.op.at("Relu#0").backend, "npu");
    EXPECT_EQ(o.op.at("Neg#2").backend, "cpu");
    options.max_partitions = 0;
    options.min_ops = 2;
    o = RunOn(backends, options, text);
    EXPECT_EQ(o.op.at("Relu#1").backend, "npu");
    EXPECT_THAT(o.op.at("Neg#2").reason, HasSubstr("min_ops is 2"));
  }
}

// A pin says more than min_ops, and its partition is the last to go for max_partitions.
TEST(Limits, AndPins) {
  Options options;
  options.pins = {{"lonely", "npu"}};
  options.min_ops = 3;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "cccncnnn");
  options.min_ops = 1;
  options.max_partitions = 1;
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "cccncccc");
  options.pins = {{"Relu", "npu"}};
  const Outcome o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.status.code(), Code::kUnsupported);
  EXPECT_THAT(o.status.message(), HasSubstr("no backend runs"));
  EXPECT_THAT(o.status.message(), HasSubstr("npu: max_partitions is 1, and of its 3 partitions"));
  EXPECT_THAT(o.status.message(), HasSubstr("cpu: pinned to 'npu'"));
}

// An op that falls to the last resort because of the caller's choices alone did not fail anywhere.
TEST(Limits, AreNoFallback) {
  Options options;
  options.max_partitions = 1;
  options.excludes = {{"Abs", "npu"}};
  const Outcome o = RunOn({Backend("npu", {{"Relu", "Neg", "Abs"}}), Reference()}, options);
  EXPECT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backends, "rrrrrnnn");
  EXPECT_THAT(o.report.warnings, IsEmpty());
  EXPECT_THAT(o.report.fallbacks, IsEmpty());
  // But what was refused was, and that is the reason of the error.
  options.excludes = {};
  const Outcome refused = RunOn({Backend("npu", {{"Relu", "Neg"}}), Reference()}, options);
  EXPECT_EQ(refused.status.code(), Code::kUnsupported);
  EXPECT_THAT(refused.status.message(),
              HasSubstr("Abs#2 runs on the fallback backend 'reference': npu: not selected"));
}

TEST(Excludes, ByNameAndByKind) {
  Options options;
  options.excludes = {{"lonely", "npu"}};
  Outcome o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.backends, "nncccnnn");
  EXPECT_EQ(o.op.at("Relu#3 'lonely'").reason, "npu: the options exclude 'lonely' from it");
  options.excludes = {{"Relu", "npu"}};
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "cncccncn");
  options.excludes = {{"Relu", "npu"}, {"Relu", "cpu"}};
  o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.status.code(), Code::kUnsupported);
  EXPECT_THAT(o.status.message(), HasSubstr("npu: the options exclude 'Relu' from it"));
  EXPECT_THAT(o.status.message(), HasSubstr("cpu: the options exclude 'Relu' from it"));
}

TEST(Excludes, FromABackendThatIsNotThere) {
  Options options;
  options.excludes = {{"Relu", "tpu"}};
  const Outcome o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.status.code(), Code::kNotFound);
  EXPECT_EQ(o.status.message(),
            "kNotFound: Relu#0: it is excluded from backend 'tpu'; there are: npu, cpu");
}

TEST(Excludes, WhatIsPinned) {
  Options options;
  options.pins = {{"Relu", "npu"}};
  options.excludes = {{"lonely", "npu"}};
  const Outcome o = RunOn(NpuThenCpu(), options);
  EXPECT_EQ(o.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(o.status.message(),
            "kInvalidArgument: Relu#3 'lonely': it is pinned to backend 'npu', as 'Relu', and "
            "excluded from it, as 'lonely'");
  options.excludes = {{"lonely", "cpu"}};
  EXPECT_TRUE(RunOn(NpuThenCpu(), options).status.ok()) << "from another one it may be";
}

TEST(Pins, ANameSaysMoreThanAKind) {
  Options options;
  options.pins = {{"Relu", "npu"}, {"lonely", "cpu"}};
  EXPECT_EQ(RunOn(NpuThenCpu(), options).backends, "nncccnnn");
}

TEST(Pins, OfNothingAreAWarning) {
  Options options;
  options.pins = {{"lonly", "npu"}, {"Conv2d", "npu"}};
  options.excludes = {{"relu", "cpu"}};
  const Outcome o = RunOn(NpuThenCpu(), options);
  EXPECT_TRUE(o.status.ok());
  EXPECT_THAT(o.report.warnings,
              ElementsAre("'lonly' is pinned to 'npu', but it is no operation of the graph and no "
                          "kind of operations",
                          "'relu' is excluded from 'cpu', but it is no operation of the graph and "
                          "no kind of operations"));
}

}  // namespace
}  // namespace tim::vx::compiler
