// Laws of partitioning on random graphs, with backends that take single ops, slices and sets at
// random: what comes out is a schedule, its borders fit together, and the values are those of one
// backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

constexpr PartitionStrategy kStrategies[] = {
    PartitionStrategy::kConvex, PartitionStrategy::kExecutionOrder, PartitionStrategy::kPerOp};

/// Any strategy with any limits, excludes and a pin.
Options DrawOptions(std::mt19937& random) {
  Options options;
  options.fallback = Fallback::kAllow;
  options.strategy = kStrategies[random() % 3];
  options.max_partitions = random() % 2 == 0 ? 0 : 1 + random() % 4;
  options.min_ops = random() % 2 == 0 ? 1 : 1 + random() % 4;
  if (random() % 4 == 0) options.excludes.emplace_back("Relu", random() % 2 == 0 ? "one" : "two");
  if (random() % 4 == 0) options.excludes.emplace_back("Add", "one");
  return options;
}

/// What the options promise of backends that are not the library's own.
void CheckLimits(const ir::Graph& graph, const Division& d, const Options& options) {
  size_t count[2] = {0, 0};
  for (const Partition& p : d.partitions) {
    if (p.backend == 2) continue;  // the reference
    ++count[p.backend];
    EXPECT_GE(p.nodes.size(), options.min_ops);
    for (int id : p.nodes) {
      for (const auto& [kind, name] : options.excludes)
        EXPECT_FALSE(graph.node(id).def->name == kind && name == (p.backend == 0 ? "one" : "two"));
    }
  }
  if (options.max_partitions != 0) {
    EXPECT_LE(std::max(count[0], count[1]), options.max_partitions);
  }
  // The reason of whoever comes second is the first refusal.
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const auto& refusals = d.assignment.refusals_of[id];
    EXPECT_EQ(d.assignment.reason_of[id], refusals.empty() ? "first choice" : refusals[0]);
    EXPECT_EQ(refusals.size(), At(d.assignment.backend_of[id]));
  }
}

/// What each strategy promises, beside what all of them do.
void CheckStrategy(const ir::Graph& graph, const Division& d, PartitionStrategy strategy) {
  const auto key = [&](const Partition& p) {
    return std::make_pair(p.backend, d.assignment.partition_index_of[At(p.nodes[0])]);
  };
  const auto whole = [&](const Partition& p) { return d.assignment.wholes.count(key(p)) != 0; };
  const auto& parts = d.partitions;
  const auto in_order = Group(graph, d.assignment, PartitionStrategy::kExecutionOrder);
  if (strategy == PartitionStrategy::kConvex) {
    EXPECT_LE(parts.size(), in_order.size());
    return;
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    if (strategy == PartitionStrategy::kPerOp) {
      EXPECT_TRUE(whole(parts[p]) || parts[p].nodes.size() == 1);
    } else if (p > 0 && key(parts[p - 1]) == key(parts[p])) {
      EXPECT_TRUE(whole(parts[p])) << "neighbours that could be one";
    }
  }
  if (!d.assignment.wholes.empty()) return;
  // Without wholes the order is that of the graph.
  std::vector<int> order;
  for (const Partition& p : parts) order.insert(order.end(), p.nodes.begin(), p.nodes.end());
  EXPECT_EQ(order, *graph.TopologicalOrder());
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
  for (size_t p = 0; p < parts.size(); ++p) {
    // In the order of first use.
    std::vector<int> first_use, listed;
    for (int id : parts[p].nodes) {
      for (int v : graph->node(id).inputs) {
        const ir::Value& value = graph->value(v);
        const bool inside =
            value.producer >= 0 && part_of[At(value.producer)] == static_cast<int>(p);
        if (inside || value.role == ir::Role::kConstant) continue;
        if (std::find(first_use.begin(), first_use.end(), v) == first_use.end())
          first_use.push_back(v);
      }
    }
    for (const TensorView& t : views[p].Inputs()) listed.push_back(t.id());
    EXPECT_EQ(listed, first_use);
    // Constants are the graph's own, not copies.
    for (const OpView& op : views[p].Ops()) {
      for (size_t i = 0; i < op.num_inputs(); ++i) {
        if (!op.in(i).is_const()) continue;
        EXPECT_EQ(op.in(i).data(), graph->value(op.in(i).id()).storage->data());
      }
    }
  }
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
  size_t wholes = 0, refused = 0, partitions = 0, limited = 0;
  for (int round = 0; round < 10000; ++round) {
    const std::shared_ptr<ir::Graph> graph =
        RandomGraph(random, 1 + static_cast<int>(random() % 24), round % 2 == 0);
    ASSERT_TRUE(InferTypes(*graph).ok());
    const auto backends = DrawBackends(random);
    const Options options = DrawOptions(random);
    Excluded excluded;
    const auto d = Divide(graph, Builtin(), backends, options, &excluded);
    ASSERT_TRUE(d.ok()) << d.status().message();
    const std::vector<int> part_of = CheckMembers(*graph, d->assignment, d->partitions);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << ir::Print(*graph);
    CheckQuotient(*graph, part_of, d->partitions.size());
    CheckOutline(graph, d->partitions, part_of);
    CheckLimits(*graph, *d, options);
    CheckStrategy(*graph, *d, options.strategy);
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << ir::Print(*graph);
    for (const auto& [id, why] : excluded)
      EXPECT_THAT(why.begin()->second.detail(), ::testing::HasSubstr("cannot run as one"));
    refused += excluded.empty() ? 0 : 1;
    wholes += d->assignment.wholes.size();
    partitions += d->partitions.size();
    for (const auto& refusals : d->assignment.refusals_of) {
      for (const std::string& r : refusals)
        limited += r.find("min_ops is") != std::string::npos ||
                           r.find("max_partitions is") != std::string::npos
                       ? 1
                       : 0;
    }
  }
  std::printf(
      "%zu partitions, %zu wholes, %zu times some could not run as one, %zu ops given back\n",
      partitions, wholes, refused, limited);
  EXPECT_GT(wholes, 10000u);
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(limited, 10000u);
}

TEST(RandomGraphs, ValuesAreThoseOfOneBackend) {
  std::mt19937 random(12);
  size_t parts = 0;
  for (int round = 0; round < 10000; ++round) {
    const auto graph = RandomGraph(random, 1 + static_cast<int>(random() % 24), round % 2 == 0);
    CompileReport alone, mixed;
    const auto expected = RunCopy(*graph, {Reference()}, {}, &alone);
    const Options options = DrawOptions(random);
    const auto got = RunCopy(*graph, DrawBackends(random), options, &mixed);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_FALSE(expected->empty());
    ASSERT_EQ(*got, *expected) << "round " << round << "\n" << ir::Print(*graph) << mixed.ToText();
    parts += mixed.partitions;
  }
  EXPECT_GT(parts, 20000u);
}

/// Takes the ops whose numbers modulo `of` are below `takes`.
class Takes : public test::HostBackend {
 public:
  Takes(std::string name, int of, int takes)
      : HostBackend(std::move(name), [of, takes](const OpView& op) {
          return op.id() % of < takes ? "" : "not one of mine";
        }) {}
};

// More ops than the promise is made for: what looked at all ops for each op, or at all
// partitions for each partition, would not come to its end.
TEST(ManyOps, EveryStrategyComesToItsEnd) {
  constexpr int kOps = 50000;
  for (const bool chain : {true, false}) {
    const auto graph = std::make_shared<ir::Graph>();
    const TensorType type = {DataType::FLOAT32, {1}, Quantization()};
    ir::Value v;
    v.type = type;
    v.role = ir::Role::kInput;
    graph->AddValue(v);
    v.role = ir::Role::kTransient;
    for (int i = 0; i < kOps; ++i) {
      ir::Node n;
      n.def = Builtin().Find("Relu");
      n.attrs = AnyAttrs(n.def->schema, n.def->schema->make_default());
      n.number = i;
      n.inputs = {chain ? i : 0};
      v.role = chain ? ir::Role::kTransient : ir::Role::kOutput;
      n.outputs = {graph->AddValue(v)};
      graph->AddNode(std::move(n));
    }
    ASSERT_TRUE(InferTypes(*graph).ok());
    const std::vector<RankedBackend> backends = {{std::make_shared<Takes>("one", 2, 1), 1},
                                                 Reference()};
    for (const PartitionStrategy strategy : kStrategies) {
      for (const size_t most : {0, 3}) {
        Options options;
        options.strategy = strategy;
        options.max_partitions = most;
        Excluded excluded;
        const auto d = Divide(graph, Builtin(), backends, options, &excluded);
        ASSERT_TRUE(d.ok()) << d.status().message();
        const bool one_by_one = strategy == PartitionStrategy::kPerOp || chain ||
                                strategy == PartitionStrategy::kExecutionOrder;
        if (most == 0) {
          EXPECT_EQ(d->partitions.size(), one_by_one ? kOps : 2u);
        } else if (strategy == PartitionStrategy::kPerOp) {
          EXPECT_EQ(d->partitions.size(), At(kOps));
        } else {
          EXPECT_LE(d->partitions.size(), 7u);
        }
        const std::vector<int> part_of = CheckMembers(*graph, d->assignment, d->partitions);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

// Whatever is given back, the rest is answered for anew, here otherwise each time.
TEST(ManyOps, WithLimitsAndFickleBackends) {
  std::mt19937 random(14);
  const std::shared_ptr<ir::Graph> graph = RandomGraph(random, 10000, true);
  ASSERT_TRUE(InferTypes(*graph).ok());
  for (const Random::Takes takes : {Random::Takes::kOps, Random::Takes::kSlices}) {
    const std::vector<RankedBackend> backends = {{std::make_shared<Random>("one", takes, 1), 2},
                                                 {std::make_shared<Random>("two", takes, 2), 1},
                                                 Reference()};
    Options options;
    options.strategy = PartitionStrategy::kExecutionOrder;
    options.min_ops = 4;
    options.max_partitions = 50;
    Excluded excluded;
    const auto d = Divide(graph, Builtin(), backends, options, &excluded);
    ASSERT_TRUE(d.ok()) << d.status().message();
    CheckLimits(*graph, *d, options);
    (void)CheckMembers(*graph, d->assignment, d->partitions);
  }
}

// Every slice is a key of its own: what is done for each must not look at all others.
TEST(ManyOps, InThousandsOfWholes) {
  std::mt19937 random(13);
  constexpr int kOps = 50000;
  const std::shared_ptr<ir::Graph> graph = RandomGraph(random, kOps, true);
  ASSERT_TRUE(InferTypes(*graph).ok());
  const std::vector<RankedBackend> backends = {
      {std::make_shared<Random>("one", Random::Takes::kSlices, 1), 2},
      {std::make_shared<Random>("two", Random::Takes::kSlices, 2), 1},
      Reference()};
  Excluded excluded;
  const auto d = Divide(graph, Builtin(), backends, {}, &excluded);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_TRUE(excluded.empty()) << "slices of one order can always run";
  EXPECT_GT(d->assignment.wholes.size(), At(kOps) / 5);
  (void)CheckMembers(*graph, d->assignment, d->partitions);
}

}  // namespace
}  // namespace tim::vx::compiler
