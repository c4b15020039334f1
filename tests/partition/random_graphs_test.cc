// Laws of partitioning on random graphs, with backends that take single ops, slices and sets at
// random: what comes out is a schedule, its borders fit together, and the values are those of one
// backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "support/host_backend.h"
#include "support/random_graph.h"

namespace tim::vx::compiler {
namespace {

using tim::vx::testing::At;
using tim::vx::testing::Builtin;
using tim::vx::testing::RandomGraph;
using tim::vx::testing::Reference;
using tim::vx::testing::RunCopy;

/// Takes ops at random, the same ones of the same graph each time.
class Random : public test::HostBackend {
 public:
  enum class Takes {
    kOps,     // single ones, with one of three partition indices
    kSlices,  // of the topological order, which always can run as one
    kSets,    // of any ops, which often cannot
  };
  Random(std::string name, Takes takes, unsigned seed)
      : HostBackend(std::move(name)), takes_(takes), seed_(seed) {}

  Status Partition(const GraphView& graph, Selection* selection) override {
    std::mt19937 random(seed_);
    const auto below = [&](unsigned n) { return random() % n; };
    std::set<int> offered;
    for (const OpView& op : graph.Ops()) offered.insert(op.id());
    const std::vector<OpView> all = graph.AllOps();
    int whole = 3;
    for (size_t at = 0; at < all.size(); ++at) {
      size_t end = at;
      if (takes_ != Takes::kOps && below(2) == 0) {
        const size_t most = std::min(all.size(), at + 1 + below(6));
        while (end < most && offered.count(all[end].id()) != 0) ++end;
      }
      for (size_t i = at; i < end; ++i) selection->Select(all[i], whole);
      if (end > at) {
        selection->Whole(whole++);
        at = end - 1;
      } else if (offered.count(all[at].id()) != 0 && below(3) != 0) {
        selection->Select(all[at], static_cast<int>(below(3)));
      }
    }
    for (int set = 0; takes_ == Takes::kSets && set < 2; ++set) {
      for (const OpView& op : graph.Ops()) {
        if (below(5) == 0) selection->Select(op, whole);
      }
      selection->Whole(whole++);
    }
    return Status();
  }

 private:
  Takes takes_;
  unsigned seed_;
};

std::vector<RankedBackend> DrawBackends(std::mt19937& random) {
  std::vector<RankedBackend> backends;
  for (const char* name : {"one", "two"}) {
    const auto takes = static_cast<Random::Takes>(random() % 3);
    backends.push_back({std::make_shared<Random>(name, takes, random()), 1});
  }
  backends.push_back(Reference());
  return backends;
}

/// The partitions as Compile makes them. The number of sets that cannot run as one is added to
/// `refused`.
Result<std::vector<Partition>> Divide(const std::shared_ptr<ir::Graph>& graph,
                                      const std::vector<RankedBackend>& backends, Assignment* a,
                                      size_t* refused) {
  Excluded excluded;
  for (;;) {
    TIMCL_ASSIGN(*a, Assign(graph, Builtin(), backends, {}, excluded));
    const Excluded apart = CannotRunAsOne(*graph, *a, backends);
    if (apart.empty()) return Group(*graph, *a);
    for (const auto& [id, why] : apart) {
      excluded[id].insert(why.begin(), why.end());
      EXPECT_THAT(why.begin()->second.detail(), ::testing::HasSubstr("cannot run as one"));
    }
    ++*refused;
  }
}

/// Each op is in one partition, with ops of its own backend and index; a whole is a partition.
std::vector<int> CheckMembers(const ir::Graph& graph, const Assignment& a,
                              const std::vector<Partition>& parts) {
  std::vector<int> part_of(graph.nodes().size(), -1);
  std::map<std::pair<int, int>, int> parts_of_whole;
  for (size_t p = 0; p < parts.size(); ++p) {
    EXPECT_FALSE(parts[p].nodes.empty());
    if (parts[p].nodes.empty()) return part_of;
    const size_t first = At(parts[p].nodes[0]);
    const std::pair<int, int> key = {parts[p].backend, a.partition_index_of[first]};
    for (int id : parts[p].nodes) {
      EXPECT_EQ(part_of[At(id)], -1) << "node " << id << " is in two partitions";
      part_of[At(id)] = static_cast<int>(p);
      EXPECT_EQ(a.backend_of[At(id)], key.first);
      EXPECT_EQ(a.partition_index_of[At(id)], key.second);
    }
    if (a.wholes.count(key) != 0) {
      EXPECT_EQ(++parts_of_whole[key], 1) << "a whole in two partitions";
    }
  }
  EXPECT_EQ(std::count(part_of.begin(), part_of.end(), -1), 0);
  return part_of;
}

/// Partitions that wait for each other would never start. Without use of the order in which they
/// are.
void CheckQuotient(const ir::Graph& graph, const std::vector<int>& part_of, size_t count) {
  std::vector<std::set<int>> before(count);
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    for (int v : graph.nodes()[id].inputs) {
      const int producer = graph.value(v).producer;
      if (producer >= 0 && part_of[At(producer)] != part_of[id])
        before[At(part_of[id])].insert(part_of[At(producer)]);
    }
  }
  std::set<int> done;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t p = 0; p < count; ++p) {
      if (done.count(static_cast<int>(p)) != 0 ||
          !std::includes(done.begin(), done.end(), before[p].begin(), before[p].end()))
        continue;
      done.insert(static_cast<int>(p));
      moved = true;
    }
  }
  EXPECT_EQ(done.size(), count) << "the partitions have a cycle";
  // And the order given is one in which they run.
  for (size_t p = 0; p < count; ++p) {
    EXPECT_TRUE(before[p].empty() || *before[p].rbegin() < static_cast<int>(p));
  }
}

/// What one partition gives, others take, and nothing else: every value that crosses a border is an
/// output of exactly one partition and an input, once, of each that reads it.
void CheckOutline(const std::shared_ptr<ir::Graph>& graph, const std::vector<Partition>& parts,
                  const std::vector<int>& part_of) {
  std::vector<std::vector<int>> pieces;
  for (const Partition& p : parts) pieces.push_back(p.nodes);
  const std::vector<GraphView> views = GraphView::Divide(graph, pieces);
  std::vector<std::multiset<int>> inputs(parts.size()), outputs(parts.size());
  std::vector<std::multiset<int>> wanted_in(parts.size()), wanted_out(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const TensorView& t : views[p].Inputs()) inputs[p].insert(t.id());
    for (const TensorView& t : views[p].Outputs()) outputs[p].insert(t.id());
  }
  for (size_t v = 0; v < graph->values().size(); ++v) {
    const ir::Value& value = graph->values()[v];
    if (value.role == ir::Role::kConstant) continue;
    const int from = value.producer < 0 ? -1 : part_of[At(value.producer)];
    bool crosses = value.role == ir::Role::kOutput;
    std::set<int> readers;
    for (size_t id = 0; id < graph->nodes().size(); ++id) {
      const auto& ins = graph->nodes()[id].inputs;
      if (std::find(ins.begin(), ins.end(), static_cast<int>(v)) == ins.end()) continue;
      if (part_of[id] != from) readers.insert(part_of[id]);
    }
    crosses = crosses || !readers.empty();
    for (int p : readers) wanted_in[At(p)].insert(static_cast<int>(v));
    if (from >= 0 && crosses) wanted_out[At(from)].insert(static_cast<int>(v));
  }
  EXPECT_EQ(inputs, wanted_in);
  EXPECT_EQ(outputs, wanted_out);
}

TEST(RandomGraphs, PartitionsAreJointlyAcyclicAndTheirBordersFit) {
  std::mt19937 random(11);
  size_t wholes = 0, refused = 0, partitions = 0;
  for (int round = 0; round < 10000; ++round) {
    const std::shared_ptr<ir::Graph> graph =
        RandomGraph(random, 1 + static_cast<int>(random() % 24), round % 2 == 0);
    ASSERT_TRUE(InferTypes(*graph).ok());
    const auto backends = DrawBackends(random);
    Assignment a;
    const auto parts = Divide(graph, backends, &a, &refused);
    ASSERT_TRUE(parts.ok()) << parts.status().message();
    const std::vector<int> part_of = CheckMembers(*graph, a, *parts);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << ir::Print(*graph);
    CheckQuotient(*graph, part_of, parts->size());
    CheckOutline(graph, *parts, part_of);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << ir::Print(*graph);
    wholes += a.wholes.size();
    partitions += parts->size();
  }
  std::printf("%zu partitions, %zu wholes, %zu times some could not run as one\n", partitions,
              wholes, refused);
  EXPECT_GT(wholes, 10000u);
  EXPECT_GT(refused, 1000u);
}

TEST(RandomGraphs, ValuesAreThoseOfOneBackend) {
  std::mt19937 random(12);
  Options options;
  options.fallback = Fallback::kAllow;
  size_t parts = 0;
  for (int round = 0; round < 10000; ++round) {
    const auto graph = RandomGraph(random, 1 + static_cast<int>(random() % 24), round % 2 == 0);
    CompileReport alone, mixed;
    const auto expected = RunCopy(*graph, {Reference()}, options, &alone);
    const auto got = RunCopy(*graph, DrawBackends(random), options, &mixed);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_FALSE(expected->empty());
    ASSERT_EQ(*got, *expected) << "round " << round << "\n" << ir::Print(*graph) << mixed.ToText();
    parts += mixed.partitions;
  }
  EXPECT_GT(parts, 20000u);
}

// Every slice is a key of its own: what is done for each must not look at all others.
TEST(RandomGraphs, TenThousandOpsInThousandsOfWholes) {
  double seconds[2];
  for (const int half : {0, 1}) {
    std::mt19937 random(13);
    const int ops = half == 0 ? 5000 : 10000;
    const std::shared_ptr<ir::Graph> graph = RandomGraph(random, ops, true);
    ASSERT_TRUE(InferTypes(*graph).ok());
    const std::vector<RankedBackend> backends = {
        {std::make_shared<Random>("one", Random::Takes::kSlices, 1), 2},
        {std::make_shared<Random>("two", Random::Takes::kSlices, 2), 1},
        Reference()};
    Assignment a;
    size_t refused = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto parts = Divide(graph, backends, &a, &refused);
    seconds[half] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_TRUE(parts.ok()) << parts.status().message();
    EXPECT_EQ(refused, 0u) << "slices of one order can always run";
    EXPECT_GT(a.wholes.size(), static_cast<size_t>(ops) / 5);
    const std::vector<int> part_of = CheckMembers(*graph, a, *parts);
    std::printf("%d ops, %zu wholes, %zu partitions: %.3f s\n", ops, a.wholes.size(), parts->size(),
                seconds[half]);
  }
}

}  // namespace
}  // namespace tim::vx::compiler
