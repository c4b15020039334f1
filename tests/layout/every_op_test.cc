// Every operator by its conformance cases: in each layout that it can be given, and over operands
// whose memory is permuted, layout inference computes what the op does between explicit transposes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "layout/draw.h"
#include "support/runnable.h"

namespace tim::vx::layout_test {
namespace {

using conformance::NamedCase;

double Elements(const Case& c) {
  double elements = 0;
  for (const CaseTensor& t : c.inputs) {
    if (t.type.dtype != DataType::UNKNOWN) elements += static_cast<double>(t.type.count());
  }
  return elements;
}

/// At most `most` cases, evenly taken from those that are small.
std::vector<NamedCase> SmallCases(const OpDef& def, size_t most) {
  std::vector<NamedCase> small, some;
  for (NamedCase& named : conformance::CasesOf(def)) {
    if (!named.c.bench && Elements(named.c) <= 12000) small.push_back(std::move(named));
  }
  const size_t count = std::min(most, small.size());
  for (size_t i = 0; i < count; ++i) some.push_back(small[i * small.size() / count]);
  return some;
}

/// What one comparison says; "" if all is well.
std::string Check(const DescribedGraph& described, const Tolerance& tolerance, size_t* before,
                  size_t* after) {
  auto context = HostContext();
  const Built plain = Build(described, context, false);
  const Built source = Build(described, context, true);
  const std::string text = source.graph->ToText();
  const auto inferred = transform::LayoutInference(source.graph, context, source.orders);
  *before += CountOps(plain.graph, "Transpose");
  *after += CountOps(inferred.first, "Transpose");
  std::vector<TensorPtr> mapped;
  for (const TensorPtr& t : source.tensors) {
    const auto it = inferred.second.find(t);
    mapped.push_back(it == inferred.second.end() ? nullptr : it->second);
    if (mapped.back() != nullptr && mapped.back()->GetSpec() != t->GetSpec())
      return "a mapped tensor has another spec";
  }
  if (source.graph->ToText() != text) return "the source graph was changed";
  std::string why;
  const auto expected = RunGraph(described, plain.graph, plain.tensors, false, &why);
  if (!why.empty()) return "plain graph: " + why;
  const auto got = RunGraph(described, inferred.first, mapped, true, &why);
  if (!why.empty()) return "inferred graph: " + why;
  if (expected.empty() || got.size() != expected.size()) return "no results";
  for (const auto& [id, data] : expected) {
    if (auto wrong = conformance::Compare(described.value(id).type, data.data(), got.at(id).data(),
                                          tolerance)) {
      return "value " + std::to_string(id) + ": " + *wrong + "\n" + inferred.first->ToText();
    }
  }
  return "";
}

class EveryOp : public testing::Test {
 public:
  explicit EveryOp(const OpDef& def) : def_(def) {}

  void TestBody() override {
    size_t layouts_run = 0, orders_run = 0, before = 0, after = 0;
    const bool named = LayoutTable().count(std::string(def_.name)) != 0;
    for (const NamedCase& c : SmallCases(def_, 60)) {
      const uint64_t seed = conformance::Hash(c.text);
      const auto rank = [&](size_t i) {
        return i < c.c.inputs.size() ? c.c.inputs[i].type.shape.rank() : 0;
      };
      for (const Layouts& layouts :
           LayoutsOf(std::string(def_.name), c.c.attrs, rank(0), rank(1))) {
        Random random(seed + layouts_run);
        layouts_run += Run(c, layouts, random, &before, &after);
      }
      for (int k = 0; k < 2; ++k) {
        Random random(seed + 77 * static_cast<uint64_t>(k));
        orders_run += Run(c, std::nullopt, random, &before, &after);
      }
      if (HasFailure()) break;
    }
    std::cout << def_.name << ": " << layouts_run << " by layouts, " << orders_run
              << " by orders of memory, transposes " << before << " written out, " << after
              << " inferred\n";
    EXPECT_GT(orders_run, 0u);
    // 1-D operators have no layout with a name.
    const bool one_d = def_.name.find("1d") != std::string_view::npos;
    if (named && !one_d) {
      EXPECT_GT(layouts_run, 0u);
    }
  }

 private:
  /// 1 if the case could be run that way.
  size_t Run(const NamedCase& named, const std::optional<Layouts>& layouts, Random& random,
             size_t* before, size_t* after) {
    DescribedGraph graph;
    NamedCase c = named;
    // Kernels that are computed get a Transpose, constants are permuted on the host.
    for (CaseTensor& t : c.c.inputs) {
      if (t.constant && random.OneIn(3)) t.constant = false;
    }
    if (!AddOp(c, layouts, {}, 42, &graph)) return 0;
    const DescribedOp& op = graph.ops.front();
    if (layouts && !op.out_order.empty()) {
      // A shape that overrules the op's cannot be written between transposes.
      for (TensorType& t : c.c.outputs) t.shape = Shape();
      DescribedGraph open;
      if (!AddOp(c, layouts, {}, 42, &open)) return 0;
      for (size_t j = 0; j < op.outputs.size(); ++j) {
        if (open.value(open.ops[0].outputs[j]).type.shape != graph.value(op.outputs[j]).type.shape)
          return 0;
      }
    }
    for (DescribedValue& v : graph.values) {
      v.output = v.role == DescribedValue::kResult;
      v.open = v.output && named.c.outputs[0].shape.empty() && random.OneIn(2);
      if (!layouts && !v.open && v.type.shape.rank() >= 2 && !random.OneIn(4))
        v.stored = random.Permutation(v.type.shape.rank());
    }
    const std::string wrong = Check(graph, def_.tolerance, before, after);
    EXPECT_EQ(wrong, "") << named.text << (layouts ? " " + layouts->attrs.Map().ToText() : "");
    return 1;
  }

  const OpDef& def_;
};

TEST(LayoutTable, HasEveryOperatorWithALayout) {
  for (const auto& def : conformance::Registry().All()) {
    if (def->schema == nullptr) continue;
    std::vector<std::string> names;
    const AttrMap attrs = def->schema->to_map(def->schema->make_default().get());
    for (const auto& [name, value] : attrs) {
      if (name == "layout" || name == "input_layout" || name == "kernel_layout")
        names.push_back(name);
    }
    const auto it = LayoutTable().find(std::string(def->name));
    if (names.empty()) {
      EXPECT_EQ(it, LayoutTable().end()) << def->name;
      continue;
    }
    ASSERT_NE(it, LayoutTable().end()) << def->name;
    EXPECT_EQ(names[0], it->second.data) << def->name;
    EXPECT_EQ(names.size() > 1 ? names[1] : "", it->second.kernel) << def->name;
  }
}

}  // namespace
}  // namespace tim::vx::layout_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const auto& def : tim::vx::RunnableOps(tim::vx::conformance::Registry())) {
    testing::RegisterTest(
        "EveryOp", std::string(def->name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [def]() -> testing::Test* { return new tim::vx::layout_test::EveryOp(*def); });
  }
  return RUN_ALL_TESTS();
}
