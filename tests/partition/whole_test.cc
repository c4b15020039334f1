// Selection::Whole: ops that run as one or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
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
using tim::vx::testing::OutputsOf;
using tim::vx::testing::ReadGraph;
using tim::vx::testing::Reference;

/// Takes sets of ops, by their kinds.
class TakesSets : public test::HostBackend {
 public:
  TakesSets(std::string name, std::vector<std::set<std::string>> sets)
      : HostBackend(std::move(name)), sets_(std::move(sets)) {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (size_t s = 0; s < sets_.size(); ++s) {
      for (const OpView& op : graph.Ops()) {
        if (sets_[s].count(std::string(op.kind())) != 0) selection->Select(op, static_cast<int>(s));
      }
      selection->Whole(static_cast<int>(s));
    }
    return Status();
  }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    for (const GraphView& part : parts) {
      compiled.emplace_back();
      for (const OpView& op : part.Ops()) compiled.back().push_back(op.label());
    }
    return HostBackend::Compile(parts, env, units);
  }
  std::vector<std::vector<std::string>> compiled;

 private:
  std::vector<std::set<std::string>> sets_;
};

struct Outcome {
  CompileReport report;
  // By label.
  std::map<std::string, std::string> backend, reason;
  std::map<std::string, std::vector<std::string>> refusals;
  tim::vx::testing::Floats results;
};
Outcome RunOn(const std::string& text, const std::vector<RankedBackend>& backends) {
  Outcome o;
  const auto graph = ReadGraph(text, Builtin());
  const auto alone = std::make_shared<ir::Graph>(*graph);
  Options options;
  options.fallback = Fallback::kAllow;
  CompileReport unused;
  EXPECT_TRUE(tim::vx::testing::RunGraph(alone, Builtin(), {Reference()}, options, &unused).ok());
  const Status status = tim::vx::testing::RunGraph(graph, Builtin(), backends, options, &o.report);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return o;
  for (const OpPlacement& p : o.report.ops)
    o.backend[p.op] = p.backend, o.reason[p.op] = p.reason, o.refusals[p.op] = p.refusals;
  o.results = OutputsOf(*graph);
  EXPECT_EQ(o.results, OutputsOf(*alone));
  return o;
}

constexpr const char* kChain =
    "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Abs(%1) : f32[4]\n%3 = Neg(%2) : f32[4]\n"
    "%4 = Square(%3) : output f32[4]\n";

TEST(Whole, IsNeitherSplitNorMerged) {
  // Abs and Neg are one, Relu and Square others, although all are ready for the same backend.
  auto sets = std::make_shared<TakesSets>(
      "sets", std::vector<std::set<std::string>>{{"Abs", "Neg"}, {"Relu"}, {"Square"}});
  const Outcome o = RunOn(kChain, {{sets, 1}, Reference()});
  EXPECT_EQ(o.report.partitions, 3u);
  EXPECT_THAT(sets->compiled, ElementsAre(ElementsAre("Relu#0"), ElementsAre("Abs#1", "Neg#2"),
                                          ElementsAre("Square#3")));
}

TEST(Whole, OpsWithoutAConnectionAreOneToo) {
  auto sets =
      std::make_shared<TakesSets>("sets", std::vector<std::set<std::string>>{{"Relu", "Neg"}});
  const Outcome o = RunOn(
      "%0 = input f32[4]\n%1 = Relu(%0) : output f32[4]\n%2 = Abs(%0) : f32[4]\n"
      "%3 = Neg(%2) : output f32[4]\n",
      {{sets, 1}, Reference()});
  EXPECT_THAT(sets->compiled, ElementsAre(ElementsAre("Relu#0", "Neg#2")));
  EXPECT_EQ(o.report.partitions, 2u);
}

TEST(Whole, AnOpBetweenIsTheReason) {
  auto sets = std::make_shared<TakesSets>(
      "sets", std::vector<std::set<std::string>>{{"Relu", "Neg"}, {"Square"}});
  const Outcome o = RunOn(kChain, {{sets, 1}, Reference()});
  const std::string why =
      "sets: Relu#0 to Neg#2 (2 ops) cannot run as one: Abs#1 of 'reference' has to run between "
      "them";
  EXPECT_EQ(o.backend.at("Relu#0"), "reference");
  EXPECT_EQ(o.reason.at("Relu#0"), why);
  EXPECT_EQ(o.reason.at("Neg#2"), why);
  EXPECT_EQ(o.backend.at("Square#3"), "sets") << "its other sets are as good as before";
  EXPECT_THAT(sets->compiled, ElementsAre(ElementsAre("Square#3")));
}

// Each of the two could run, but not both: {0, 3} and {1, 2} with 0 -> 1 and 2 -> 3.
constexpr const char* kDeadlock =
    "%0 = input f32[4]\n%1 = input f32[4]\n%2 = Relu(%0) : f32[4]\n%3 = Abs(%2) : output f32[4]\n"
    "%4 = Neg(%1) : f32[4]\n%5 = Square(%4) : output f32[4]\n";

TEST(Whole, TwoInEachOthersWay) {
  auto first =
      std::make_shared<TakesSets>("first", std::vector<std::set<std::string>>{{"Relu", "Square"}});
  auto second =
      std::make_shared<TakesSets>("second", std::vector<std::set<std::string>>{{"Abs", "Neg"}});
  const Outcome o = RunOn(kDeadlock, {{first, 2}, {second, 1}, Reference()});
  EXPECT_THAT(first->compiled, ElementsAre(ElementsAre("Relu#0", "Square#3")));
  EXPECT_THAT(second->compiled, IsEmpty()) << "who was asked last gives in";
  EXPECT_THAT(o.reason.at("Abs#1"), HasSubstr("first: not selected"));
  EXPECT_THAT(o.refusals.at("Abs#1"),
              ::testing::Contains("second: Abs#1 to Neg#2 (2 ops) cannot run as one: Relu#0 of "
                                  "'first' has to run between them"));
}

TEST(AllOps, ShowsTheWholeGraphInOrder) {
  const std::shared_ptr<ir::Graph> graph = ReadGraph(kDeadlock, Builtin());
  ASSERT_TRUE(InferTypes(*graph).ok());
  std::vector<std::string> labels;
  for (const OpView& op : GraphView(graph, {2}).AllOps()) labels.push_back(op.label());
  EXPECT_THAT(labels, ElementsAre("Relu#0", "Abs#1", "Neg#2", "Square#3"));
  EXPECT_THAT(GraphView().AllOps(), IsEmpty());
}

// Unless the caller allows fallbacks, a backend that does not want to is an error.
TEST(Fallback, ABackendThatDoesNotWantToPartition) {
  class Unwilling : public test::HostBackend {
   public:
    Unwilling() : HostBackend("unwilling") {}
    Status Partition(const GraphView& graph, Selection* selection) override {
      selection->Select(graph.Ops()[0]);
      return Status::Error(Code::kUnsupported, "not in the mood");
    }
  };
  for (const Fallback f : {Fallback::kAllow, Fallback::kWarn, Fallback::kForbid}) {
    Options options;
    options.fallback = f;
    CompileReport report;
    const auto executable =
        Compile(ReadGraph(kChain, Builtin()), Builtin(),
                {{std::make_shared<Unwilling>(), 1}, Reference()}, options, &report);
    EXPECT_EQ(executable.ok(), f == Fallback::kAllow);
    if (!executable.ok()) {
      EXPECT_EQ(executable.status().detail(), "not in the mood");
      continue;
    }
    for (const OpPlacement& p : report.ops) EXPECT_EQ(p.reason, "unwilling: not in the mood");
  }
}

}  // namespace
}  // namespace tim::vx::compiler
