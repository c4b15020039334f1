// Group on random graphs, and the pipeline with a backend that only these tests know: the compiler
// knows none by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "support/host_backend.h"
#include "support/pipeline.h"
#include "support/random_graph.h"

namespace tim::vx::compiler {
namespace {

using ::testing::HasSubstr;
using tim::vx::testing::At;
using tim::vx::testing::Builtin;
using tim::vx::testing::RandomGraph;
using tim::vx::testing::Reference;

Assignment RandomAssignment(std::mt19937& random, const ir::Graph& graph, unsigned backends) {
  Assignment a;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    a.backend_of.push_back(static_cast<int>(random() % backends));
    a.partition_index_of.push_back(static_cast<int>(random() % 8 == 0));
  }
  return a;
}

TEST(Group, PartitionsOfRandomGraphsAreASchedule) {
  std::mt19937 random(3);
  for (int round = 0; round < 700; ++round) {
    const auto graph = RandomGraph(random, 1 + static_cast<int>(random() % 60), round % 2 == 0);
    const Assignment a = RandomAssignment(random, *graph, 1 + random() % 4);
    const std::vector<Partition> parts = Group(*graph, a);
    std::vector<int> part_of(graph->nodes().size(), -1), place_of(graph->nodes().size(), -1);
    int place = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      ASSERT_FALSE(parts[p].nodes.empty());
      for (int id : parts[p].nodes) {
        ASSERT_EQ(part_of[At(id)], -1) << "node " << id << " is in two partitions";
        part_of[At(id)] = static_cast<int>(p);
        place_of[At(id)] = place++;
        EXPECT_EQ(a.backend_of[At(id)], parts[p].backend);
        EXPECT_EQ(a.partition_index_of[At(id)], a.partition_index_of[At(parts[p].nodes[0])]);
      }
    }
    ASSERT_EQ(place, static_cast<int>(graph->nodes().size()));
    // Producers first, in the partitions and between them: the order runs, and because an edge
    // never points back to an earlier partition, the quotient has no cycle.
    for (size_t id = 0; id < graph->nodes().size(); ++id) {
      for (int v : graph->nodes()[id].inputs) {
        const int producer = graph->value(v).producer;
        if (producer < 0) continue;
        EXPECT_LE(part_of[At(producer)], part_of[id]);
        EXPECT_LT(place_of[At(producer)], place_of[id]);
      }
    }
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << ir::Print(*graph);
  }
}

TEST(Group, OneBackendIsOnePartition) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    const auto graph = RandomGraph(random, 40, round % 2 == 0);
    Assignment a;
    a.backend_of.assign(40, 2);
    a.partition_index_of.assign(40, 0);
    EXPECT_EQ(Group(*graph, a).size(), 1u);
  }
}

TEST(Group, DisconnectedOpsShareAPartition) {
  // Two chains, backends 0 1 0 and 0 1 0: three partitions of two ops.
  auto graph = ir::Parse(
      "%0 = input f32[2]\n%1 = Relu(%0) : f32[2]\n%2 = Abs(%1) : f32[2]\n%3 = Neg(%2) : f32[2]\n"
      "%4 = input f32[2]\n%5 = Relu(%4) : f32[2]\n%6 = Abs(%5) : f32[2]\n%7 = Neg(%6) : f32[2]\n",
      Builtin());
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  Assignment a;
  a.backend_of = {0, 1, 0, 0, 1, 0};
  a.partition_index_of.assign(6, 0);
  const auto parts = Group(**graph, a);
  ASSERT_EQ(parts.size(), 3u);
  for (const Partition& p : parts) EXPECT_EQ(p.nodes.size(), 2u);
  // Different indices of the same backend are kept apart.
  a.backend_of.assign(6, 0);
  a.partition_index_of = {0, 0, 0, 1, 1, 1};
  EXPECT_EQ(Group(**graph, a).size(), 2u);
}

TEST(Group, TenThousandNodes) {
  std::mt19937 random(6);
  const auto graph = RandomGraph(random, 10000, true);
  const Assignment a = RandomAssignment(random, *graph, 3);
  const auto start = std::chrono::steady_clock::now();
  const size_t parts = Group(*graph, a).size();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("10000 nodes, 3 backends: %zu partitions in %.3f s\n", parts, elapsed.count());
  EXPECT_GT(parts, 1u);
}

/// Takes every second op of those it is offered.
class EverySecondOp : public test::HostBackend {
 public:
  explicit EverySecondOp(std::string refused_kind = "")
      : HostBackend("every_second_op"), refused_(std::move(refused_kind)) {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    size_t turn = 0;
    for (const OpView& op : graph.Ops()) {
      if (turn++ % 2 == 0) {
        selection->Select(op);
      } else {
        selection->Reject(op, "every second op only");
      }
    }
    return Status();
  }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    for (const GraphView& part : parts) {
      for (const OpView& op : part.Ops()) {
        if (op.kind() == refused_) {
          units->refusals[op.id()] =
              Status::Error(Code::kUnsupported, "cannot compile " + refused_ + " after all");
        }
      }
    }
    return HostBackend::Compile(parts, env, units);
  }

 private:
  std::string refused_;
};

RankedBackend EverySecond(const std::string& refused = "") {
  return {std::make_shared<EverySecondOp>(refused), 100};
}

using tim::vx::testing::RunCopy;

TEST(EverySecondOp, AnyMixtureGivesTheResultsOfTheReference) {
  std::vector<RankedBackend> all = {EverySecond()};
  if (auto opencl = opencl::CreateBackend({}); opencl.ok()) {
    all.push_back({*opencl, 50});
  } else {
    std::printf("without OpenCL: %s\n", opencl.status().message().c_str());
  }
  all.push_back(Reference());
  std::mt19937 random(8);
  std::set<std::string> used;
  for (int round = 0; round < 12; ++round) {
    const auto graph = RandomGraph(random, 2 + static_cast<int>(random() % 25), round % 2 == 0);
    CompileReport alone, mixed;
    const auto expected = RunCopy(*graph, {Reference()}, {}, &alone);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto got = RunCopy(*graph, all, {}, &mixed);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_FALSE(expected->empty());
    EXPECT_EQ(*got, *expected) << ir::Print(*graph) << mixed.ToText();
    EXPECT_LE(alone.partitions, 1u);
    EXPECT_EQ(alone.syncs, 0u);
    for (const OpPlacement& p : mixed.ops) used.insert(p.backend);
  }
  EXPECT_EQ(used.count("every_second_op"), 1u);
  EXPECT_GE(used.size(), 2u);
}

TEST(EverySecondOp, APartitionRefusedAtCompileGoesToTheNextBackend) {
  std::mt19937 random(9);
  size_t refused = 0;
  for (int round = 0; round < 20; ++round) {
    const auto graph = RandomGraph(random, 20, true);
    CompileReport report;
    const auto expected = RunCopy(*graph, {Reference()}, {}, &report);
    Options options;
    options.fallback = Fallback::kAllow;
    const auto got = RunCopy(*graph, {EverySecond("Add"), Reference()}, options, &report);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, *expected);
    for (const OpPlacement& p : report.ops) {
      if (p.kind == "Add") {
        EXPECT_EQ(p.backend, "reference");
      }
      refused += p.reason == "every_second_op: cannot compile Add after all";
    }
  }
  EXPECT_GT(refused, 0u);
}

// Every op is a partition of its own: what is done for each must not look at all others.
TEST(EverySecondOp, TenThousandPartitions) {
  constexpr int kOps = 10000;
  std::string text = "%0 = input f32[4]\n%1 = constant f32[1] {1}\n";
  for (int i = 0; i < kOps; ++i) {
    text += "%" + std::to_string(i + 2) + " = Add(%" + std::to_string(i == 0 ? 0 : i + 1) +
            ", %1) : " + (i + 1 < kOps ? "" : "output ") + "f32[4]\n";
  }
  const auto graph = tim::vx::testing::ReadGraph(text, Builtin());
  CompileReport report;
  const auto start = std::chrono::steady_clock::now();
  const auto executable = Compile(graph, Builtin(), {EverySecond(), Reference()}, {}, &report);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::printf("%d ops in %zu partitions: %.3f s\n", kOps, report.partitions, elapsed.count());
  EXPECT_EQ(report.partitions, static_cast<size_t>(kOps));
  ASSERT_TRUE((*executable)->Run().ok());
  EXPECT_THAT(tim::vx::testing::OutputsOf(*graph).at(kOps + 1),
              ::testing::ElementsAre(9998, 9999, 10000, 10001));
}

TEST(EverySecondOp, PinsAreObeyed) {
  auto graph = ir::Parse(
      "%0 = input f32[2]\n%1 = Relu \"r\"(%0) : f32[2]\n%2 = Abs(%1) : f32[2]\n"
      "%3 = Neg(%2) : output f32[2]\n",
      Builtin());
  ASSERT_TRUE(graph.ok());
  (*graph)->value(0).storage = base::Storage::Allocate(8);
  static_cast<float*>((*graph)->value(0).storage->data())[1] = 3;
  Options options;
  options.pins = {{"r", "reference"}, {"Abs", "reference"}, {"Neg", "every_second_op"}};
  CompileReport report;
  const auto got = RunCopy(**graph, {EverySecond(), Reference()}, options, &report);
  ASSERT_TRUE(got.ok()) << got.status().message();
  std::map<std::string, std::string> backend, reason;
  for (const OpPlacement& p : report.ops) backend[p.kind] = p.backend, reason[p.kind] = p.reason;
  EXPECT_EQ(backend["Relu"], "reference");
  EXPECT_EQ(reason["Relu"], "pinned");
  EXPECT_EQ(backend["Abs"], "reference");
  EXPECT_EQ(backend["Neg"], "every_second_op");
  EXPECT_EQ(reason["Neg"], "pinned");
  float result[2];
  std::memcpy(result, got->at(3).data(), sizeof result);
  EXPECT_EQ(result[1], -3.0f);
}

TEST(Fallback, ForbiddenWarnedAllowed) {
  auto graph = ir::Parse(
      "%0 = input f32[2]\n%1 = Relu(%0) : f32[2]\n%2 = Abs \"second\"(%1) : output f32[2]\n",
      Builtin());
  ASSERT_TRUE(graph.ok());
  (*graph)->value(0).storage = base::Storage::Allocate(8);
  const std::string words =
      "Abs#1 'second' runs on the fallback backend 'reference': every_second_op: every second op "
      "only";
  for (const Fallback f : {Fallback::kForbid, Fallback::kWarn, Fallback::kAllow}) {
    CompileReport report;
    Options options;
    options.fallback = f;
    const auto got = RunCopy(**graph, {EverySecond(), Reference()}, options, &report);
    EXPECT_EQ(got.ok(), f != Fallback::kForbid);
    if (f == Fallback::kForbid) {
      EXPECT_EQ(got.status().code(), Code::kUnsupported);
      EXPECT_EQ(got.status().op(), "Abs#1 'second'");
      EXPECT_THAT(got.status().message(), HasSubstr(words));
    } else if (f == Fallback::kWarn) {
      EXPECT_THAT(report.warnings, ::testing::ElementsAre(words));
    } else {
      EXPECT_THAT(report.warnings, ::testing::IsEmpty());
    }
  }
  // Alone, the reference is nobody's fallback.
  CompileReport report;
  Options options;
  options.fallback = Fallback::kForbid;
  EXPECT_TRUE(RunCopy(**graph, {Reference()}, options, &report).ok());
}

}  // namespace
}  // namespace tim::vx::compiler
