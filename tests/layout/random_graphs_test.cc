// Random graphs of several operators: layout inference computes what explicit transposes around
// every operator do. All operators take part, none less than kDraws times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "layout/draw.h"
#include "support/api_support.h"
#include "support/runnable.h"

namespace tim::vx::layout_test {
namespace {

using conformance::NamedCase;

constexpr size_t kDraws = 60;

bool IsFloat(const TensorType& t) { return t.dtype == DataType::FLOAT32; }

/// Small cases; where there are some, those whose real operands are all float32.
std::vector<NamedCase> CasesFor(const OpDef& def) {
  std::vector<NamedCase> small, real;
  for (NamedCase& named : conformance::CasesOf(def)) {
    double elements = 0;
    bool floats = true, finite = true;
    for (const CaseTensor& t : named.c.inputs) {
      if (t.type.dtype == DataType::UNKNOWN) continue;
      elements += static_cast<double>(t.type.count());
      floats = floats && (IsFloat(t.type) || (IsInteger(t.type.dtype) && !t.type.quantized()));
      for (const double v : t.values) finite = finite && std::isfinite(v);
    }
    if (named.c.bench || elements > 3000 || !finite) continue;
    if (floats && IsFloat(named.c.outputs[0])) real.push_back(named);
    small.push_back(std::move(named));
  }
  return real.empty() ? small : real;
}

struct Operator {
  std::shared_ptr<const OpDef> def;
  std::vector<NamedCase> cases;
  size_t drawn = 0;
};

std::vector<Operator>& Operators() {
  static auto* const operators = new std::vector<Operator>([] {
    std::vector<Operator> all;
    for (const auto& def : RunnableOps(conformance::Registry()))
      all.push_back({def, CasesFor(*def), 0});
    return all;
  }());
  return *operators;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), seed_(seed) {}

  DescribedGraph Make() {
    const std::vector<Shape> shapes = {{5, 4, 3, 2},    {3, 4, 2, 1}, {6, 3, 2},   {4, 5},
                                       {2, 3, 4, 2, 1}, {1, 4, 1, 3}, {7, 2, 4, 1}};
    const size_t inputs = 1 + random_.Below(2);
    for (size_t i = 0; i < inputs; ++i) AddInput(shapes[random_.Below(shapes.size())]);
    for (size_t n = 5 + random_.Below(8); n > 0; --n) AddOperator();
    Finish();
    return std::move(graph_);
  }

 private:
  /// The one that was drawn least, so that none is left behind; now and then one with layouts.
  Operator& Draw() {
    std::vector<Operator>& all = Operators();
    const size_t start = random_.Below(all.size());
    if (random_.OneIn(3)) {
      std::vector<Operator*> with_layout;
      for (Operator& op : all) {
        if (LayoutTable().count(std::string(op.def->name)) != 0) with_layout.push_back(&op);
      }
      return *with_layout[random_.Below(with_layout.size())];
    }
    size_t best = start;
    for (size_t k = 1; k < all.size(); ++k) {
      const size_t i = (start + k) % all.size();
      if (all[i].drawn < all[best].drawn) best = i;
    }
    return all[best];
  }

  void AddInput(const Shape& shape) {
    DescribedValue v;
    v.type = {DataType::FLOAT32, shape, {}};
    v.data.resize(v.type.bytes());
    conformance::FillInput({v.type, false, -2, 2}, {}, random_.Next(), v.data.data());
    pool_.push_back(graph_.AddValue(std::move(v)));
  }

  void AddOperator() {
    Operator& op = Draw();
    for (int attempt = 0; attempt < 20; ++attempt) {
      const NamedCase& c = op.cases[random_.Below(op.cases.size())];
      const auto rank = [&](size_t i) {
        return i < c.c.inputs.size() ? c.c.inputs[i].type.shape.rank() : 0;
      };
      std::optional<Layouts> layouts;
      const auto choices = LayoutsOf(std::string(op.def->name), c.c.attrs, rank(0), rank(1));
      if (!choices.empty() && !random_.OneIn(4)) layouts = choices[random_.Below(choices.size())];
      const DescribedGraph before = graph_;
      const std::vector<int> pool_before = pool_;
      // First over what is there, whatever its shape; then over parts of it.
      const auto taken = Take(c, layouts, attempt < 10);
      if (AddOp(c, layouts, taken, random_.Next(), &graph_)) {
        for (const int y : graph_.ops.back().outputs) {
          if (IsFloat(graph_.value(y).type)) pool_.push_back(y);
        }
        ++op.drawn;
        return;
      }
      graph_ = before;
      pool_ = pool_before;
    }
    // An op that refuses all of that runs over inputs of its own.
    if (AddOp(op.cases[random_.Below(op.cases.size())], std::nullopt, {}, random_.Next(), &graph_))
      ++op.drawn;
  }

  /// Values of the graph for the data of a case; -1: an input of its own.
  std::vector<int> Take(const NamedCase& c, const std::optional<Layouts>& layouts, bool as_is) {
    std::vector<int> taken;
    for (size_t i = 0; i < c.c.inputs.size(); ++i) {
      const CaseTensor& t = c.c.inputs[i];
      taken.push_back(-1);
      if (!IsFloat(t.type) || t.constant || (i > 0 && random_.OneIn(4))) continue;
      std::vector<int> same_rank;
      for (const int v : pool_) {
        if (graph_.value(v).type.shape.rank() == t.type.shape.rank()) same_rank.push_back(v);
      }
      if (as_is && i == 0) {
        taken[i] = OneOf(pool_);
        continue;
      }
      if (same_rank.empty()) continue;
      Order to_native;
      const auto entry = LayoutTable().find(std::string(c.def->name));
      if (layouts && entry != LayoutTable().end()) {
        for (const size_t data : entry->second.data_inputs) {
          if (data == i) to_native = layouts->data;
        }
        if (i == 1 && *entry->second.kernel != 0) to_native = layouts->kernel;
      }
      Shape wanted = t.type.shape;
      if (!to_native.empty()) wanted = ir::Permuted(wanted, ir::Inverse(to_native));
      taken[i] = Fit(OneOf(same_rank), wanted);
    }
    return taken;
  }

  /// Mostly one of those that came last, so that chains grow.
  int OneOf(const std::vector<int>& values) {
    const size_t last = random_.OneIn(3) ? values.size() : std::min<size_t>(values.size(), 3);
    return values[values.size() - 1 - random_.Below(last)];
  }

  /// A part of the value, padded where it is too small: operators that keep the order of memory.
  int Fit(int from, const Shape& wanted) {
    const Shape have = graph_.value(from).type.shape;
    if (have == wanted) return from;
    std::vector<int64_t> front, back, start, length;
    bool pads = false, cuts = false;
    for (size_t d = 0; d < have.rank(); ++d) {
      const int64_t missing = std::max<int64_t>(wanted[d] - have[d], 0);
      front.push_back(missing / 2);
      back.push_back(missing - missing / 2);
      const int64_t extent = have[d] + missing;
      start.push_back((extent - wanted[d]) / 2);
      length.push_back(wanted[d]);
      pads = pads || missing > 0;
      cuts = cuts || extent > wanted[d];
    }
    if (pads) {
      from = Move("PadV2", {{"front_size", front}, {"back_size", back}, {"const_val", 0.5}}, from);
    }
    if (cuts) from = Move("Slice", {{"start", start}, {"length", length}}, from);
    return from;
  }

  int Move(const char* kind, const AttrMap& attrs, int from) {
    auto def = conformance::Registry().Find(kind);
    NamedCase c;
    c.def = def.get();
    c.c.attrs = AnyAttrs(def->schema, *def->schema->from_map(attrs));
    c.c.inputs = {{graph_.value(from).type}};
    c.c.outputs = {{DataType::FLOAT32, {}, {}}};
    EXPECT_TRUE(AddOp(c, std::nullopt, {from}, 0, &graph_)) << kind << " " << attrs.ToText();
    return graph_.ops.back().outputs[0];
  }

  /// Which results are outputs, and how memory lies.
  void Finish() {
    std::set<int> read;
    for (const DescribedOp& op : graph_.ops) read.insert(op.inputs.begin(), op.inputs.end());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      DescribedValue& v = graph_.values[i];
      const size_t rank = v.type.shape.rank();
      v.output = v.role == DescribedValue::kResult &&
                 (read.count(static_cast<int>(i)) == 0 || random_.OneIn(4));
      v.open = v.output && random_.OneIn(4);
      if ((v.role != DescribedValue::kResult || v.output) && !v.open && rank >= 2 &&
          random_.OneIn(3)) {
        v.stored = random_.Permutation(rank);
      }
      if (v.role == DescribedValue::kResult && !v.output) {
        const ShapeType declared[] = {
            {}, ShapeType(rank, 0), ShapeType(rank + 1, 0), {7, 7}, v.type.shape.ToShapeType()};
        v.sloppy = declared[random_.Below(5)];
      }
    }
  }

  Random random_;
  uint64_t seed_;
  DescribedGraph graph_;
  std::vector<int> pool_;
};

struct Counts {
  size_t graphs = 0, ops = 0, edges = 0, before = 0, after = 0, rewritten = 0, outputs = 0,
         finite = 0, elements = 0;
};

/// The orders that were made for each tensor, each once. What permutes a tensor as the user asked,
/// into an output, may make the same order as an op needs of its input.
void ExpectNoTransposeTwice(const GraphPtr& graph) {
  std::set<std::tuple<const Tensor*, std::string, std::string>> seen;
  for (const auto& op : graph->OpVector()) {
    if (std::string(op->Kind()) != "Transpose" || op->Name().find("layout of") != 0) continue;
    const std::string perm = op->Attributes().ToText();
    EXPECT_TRUE(seen.insert({InputsOf(*op)[0].get(), op->Name(), perm}).second) << perm << "\n"
                                                                                << graph->ToText();
  }
}

void Check(uint64_t seed, std::shared_ptr<Context> context, Counts* counts) {
  const DescribedGraph described = Generator(seed).Make();
  const Built plain = Build(described, context, false);
  const Built source = Build(described, context, true);
  const auto inferred = transform::LayoutInference(source.graph, context, source.orders);
  std::vector<TensorPtr> mapped;
  for (const TensorPtr& t : source.tensors) {
    const auto it = inferred.second.find(t);
    mapped.push_back(it == inferred.second.end() ? nullptr : it->second);
  }
  std::string why;
  const auto expected = RunGraph(described, plain.graph, plain.tensors, false, &why);
  ASSERT_EQ(why, "") << "plain graph";
  const auto got = RunGraph(described, inferred.first, mapped, true, &why);
  ASSERT_EQ(why, "") << "inferred graph";
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [id, data] : expected) {
    // The order of sums may differ.
    const TensorType& type = described.value(id).type;
    const Tolerance tolerance = {64, 1e-6, 1, true};
    const auto wrong = conformance::Compare(type, data.data(), got.at(id).data(), tolerance);
    ASSERT_FALSE(wrong) << "value " << id << ": " << *wrong << "\nplain:\n"
                        << plain.graph->ToText() << "\ninferred:\n"
                        << inferred.first->ToText();
    const ref::Input values(data.data(), type);
    for (int64_t i = 0; i < values.count(); ++i) counts->finite += std::isfinite(values.At(i));
    counts->elements += static_cast<size_t>(values.count());
  }
  ExpectNoTransposeTwice(inferred.first);
  // At most one for each edge: between two ops, from an input, to an output.
  size_t edges = expected.size();
  for (const DescribedOp& op : described.ops) {
    for (const int x : op.inputs)
      edges += x >= 0 && described.value(x).role != DescribedValue::kConstant;
  }
  EXPECT_LE(CountOps(inferred.first, "Transpose"), edges);
  counts->edges += edges;
  ++counts->graphs;
  counts->ops += described.ops.size();
  counts->outputs += expected.size();
  counts->before += CountOps(plain.graph, "Transpose");
  for (const DescribedValue& v : described.values) {
    // Between memory and what operators see; the plain graph gets its data from the test.
    if (v.role != DescribedValue::kConstant && !v.stored.empty()) ++counts->before;
  }
  for (const auto& op : inferred.first->OpVector()) {
    const bool inserted = op->Name().find("layout of") == 0;
    const auto same = [&](const auto& o) {
      return o->Kind() == std::string(op->Kind()) && o->Attributes() == op->Attributes();
    };
    const auto& ops = source.graph->OpVector();
    if (!inserted && std::none_of(ops.begin(), ops.end(), same)) ++counts->rewritten;
  }
  counts->after += CountOps(inferred.first, "Transpose");
}

TEST(RandomGraphs, InferenceEqualsExplicitTransposes) {
  Counts counts;
  for (uint64_t seed = 1;; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " (the draws depend on those before)");
    Check(seed, HostContext(), &counts);
    if (HasFailure()) return;
    size_t least = SIZE_MAX;
    for (const Operator& op : Operators()) least = std::min(least, op.drawn);
    if (least >= kDraws) break;
    ASSERT_LT(seed, 3000u) << "an operator is never drawn";
  }
  std::map<size_t, std::string> by_count;
  for (const Operator& op : Operators()) {
    by_count[op.drawn] += " " + std::string(op.def->name);
    EXPECT_GE(op.drawn, kDraws) << op.def->name;
  }
  for (const auto& [n, names] : by_count) std::cout << "drawn " << n << " times:" << names << "\n";
  std::cout << counts.graphs << " graphs, " << counts.ops << " ops, " << counts.outputs
            << " outputs of " << counts.elements << " elements, " << counts.finite
            << " of them finite; " << counts.rewritten
            << " ops rewritten; transposes: " << counts.before << " written out, " << counts.after
            << " inferred, " << counts.edges << " edges\n";
  EXPECT_LT(counts.after, counts.before);
  EXPECT_GT(counts.finite * 10, counts.elements * 8);
}

// Compilers take their time, so these are few.
TEST(RandomGraphs, OnTheDefaultDevice) {
  Counts counts;
  for (const uint64_t seed : {1001u, 1002u}) Check(seed, test::SharedContext(), &counts);
  std::cout << counts.ops << " ops on " << test::SharedContext()->DeviceName() << "\n";
}

}  // namespace
}  // namespace tim::vx::layout_test
