// Every case that every operator lists, on the oneDNN delegate against the reference, within the
// operator's tolerance; and what it takes, which must not shrink unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "backends/delegate/backend.h"
#include "backends/reference/backend.h"
#include "support/conformance.h"
#include "tim/vx/delegates/onednn.h"

namespace tim::vx::conformance {
namespace {

struct Count {
  size_t cases = 0, taken = 0;
  std::map<std::string, size_t> refusals;
};

/// The reason without the tensors it names.
std::string Short(const std::string& why) {
  std::string text = why.substr(std::min(why.find("': "), why.size() - 3) + 3);
  for (const char* of : {", not ", " may reach "}) text = text.substr(0, text.find(of));
  return text;
}

class OneDnnCases : public ::testing::Test {
 public:
  static std::shared_ptr<Backend> NewBackend() {
    auto backend = delegate::CreateBackend(CreateOneDnnDelegate());
    EXPECT_TRUE(backend.ok() && (*backend)->Init().ok());
    return *backend;
  }

  /// The cases that the delegate takes, each asked for alone; numbers that are no numbers are left
  /// out where the op would keep them and oneDNN does not.
  std::vector<NamedCase> Taken(const OpDef& def, Count* count) const {
    std::vector<NamedCase> taken;
    for (NamedCase& named : CasesOf(def)) {
      // Large: of a hundred thousand sums one may be 4.5 units off where 4 are allowed.
      if (named.c.bench) continue;
      for (CaseTensor& t : named.c.inputs) {
        t.values.erase(std::remove_if(t.values.begin(), t.values.end(),
                                      [](double v) { return std::isnan(v); }),
                       t.values.end());
      }
      TestGraph graph;
      const Made made = Make(named, &graph);
      if (made.node < 0) continue;
      const int node = made.node;
      ++count->cases;
      Selection selection;
      const Status asked = backend_->Partition(GraphView(graph.shared(), {node}), &selection);
      EXPECT_TRUE(asked.ok()) << named.text << ": " << asked.message();
      const Selection::Answer& answer = selection.answers().at(node);
      if (answer.selected) {
        ++count->taken;
        taken.push_back(std::move(named));
      } else {
        ++count->refusals[Short(answer.why)];
      }
    }
    return taken;
  }

  struct Made {
    std::vector<int> inputs, results;
    int node = -1;  // the op refuses its case
  };
  /// The case over its own numbers: what a delegate takes depends on the weights.
  static Made Make(const NamedCase& named, TestGraph* graph) {
    Made made;
    for (size_t i = 0; i < named.c.inputs.size(); ++i) {
      const CaseTensor& t = named.c.inputs[i];
      if (t.type.dtype == DataType::UNKNOWN) {
        made.inputs.push_back(-1);
        continue;
      }
      std::vector<std::byte> data(t.type.bytes());
      FillInput(t, named.c.outputs[0], 42 + Hash(named.text) + i, data.data());
      made.inputs.push_back(graph->AddInput(t.type, t.constant, data.data()));
    }
    for (const TensorType& t : named.c.outputs) made.results.push_back(graph->AddResult(t, true));
    const Status added = graph->AddOp(std::make_shared<OpDef>(*named.def), named.c.attrs,
                                      made.inputs, made.results, &made.node);
    if (!added.ok()) made.node = -1;
    return made;
  }

  void Check(const OpDef& def, const std::vector<NamedCase>& cases) const {
    for (const NamedCase& named : cases) {
      const OpRegistry none;
      TestGraph expected, actual;
      const Made wanted = Make(named, &expected), got = Make(named, &actual);
      const int result = got.results[0];
      ASSERT_TRUE(expected.Run(reference::CreateBackend(), none).ok());
      const Status ran = actual.Run(backend_, none);
      ASSERT_TRUE(ran.ok()) << named.text << ": " << ran.message();
      const TensorType& type = actual.TypeOf(result);
      EXPECT_EQ(actual.Damage(result), std::nullopt) << named.text;
      std::vector<double> sums;
      if (def.tolerance.sum && !IsInteger(type.dtype))
        sums = Magnitudes(named, actual, got.inputs, 0);
      const auto wrong = Compare(type, expected.Result(wanted.results[0]), actual.Result(result),
                                 def.tolerance, sums.empty() ? nullptr : &sums);
      EXPECT_EQ(wrong, std::nullopt) << named.text << " (" << named.c.note << ")\n  " << *wrong;
    }
  }

  const std::shared_ptr<Backend> backend_ = NewBackend();
};

TEST_F(OneDnnCases, AreWhatTheOperatorsDefine) {
  Count all;
  std::vector<std::string> kinds;
  for (const auto& def : Registry().All()) {
    Count count;
    const std::vector<NamedCase> cases = Taken(*def, &count);
    Check(*def, cases);
    all.cases += count.cases, all.taken += count.taken;
    for (const auto& [why, n] : count.refusals) all.refusals[why] += n;
    if (count.taken == 0) continue;
    kinds.emplace_back(def->name);
    std::cout << def->name << ": " << count.taken << " of " << count.cases << " cases taken\n";
    for (const auto& [why, n] : count.refusals) std::cout << "    " << n << ": " << why << "\n";
  }
  // What it takes does not shrink unnoticed.
  EXPECT_THAT(kinds, ::testing::ElementsAre(
                         "Abs", "Add", "Clip", "Conv2d", "Div", "Exp", "FullyConnected",
                         "GroupedConv2d", "HardSwish", "LeakyRelu", "Linear", "Matmul", "Maximum",
                         "Minimum", "Multiply", "Pool2d", "Rcp", "Relu", "Relu1", "Relu6", "Round",
                         "Sigmoid", "Sqrt", "Square", "Sub", "Swish", "Tanh"));
  EXPECT_GE(all.taken, 590u);
  std::cout << "all: " << all.taken << " of " << all.cases << " cases taken\n";
}

}  // namespace
}  // namespace tim::vx::conformance
