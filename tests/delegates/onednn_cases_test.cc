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
      const int node = AddCaseOverZeros(named, &graph);
      if (node < 0) continue;
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

  void Check(const OpDef& def, const std::vector<NamedCase>& cases) const {
    for (const NamedCase& named : cases) {
      const OpRegistry none;
      TestGraph expected, actual;
      auto make = [&](TestGraph& g, std::vector<int>* results, std::vector<int>* inputs) {
        for (size_t i = 0; i < named.c.inputs.size(); ++i) {
          const CaseTensor& t = named.c.inputs[i];
          std::vector<std::byte> data(t.type.bytes());
          if (t.type.dtype != DataType::UNKNOWN)
            FillInput(t, named.c.outputs[0], 42 + Hash(named.text) + i, data.data());
          inputs->push_back(
              t.type.dtype == DataType::UNKNOWN ? -1 : g.AddInput(t.type, t.constant, data.data()));
        }
        for (const TensorType& t : named.c.outputs) results->push_back(g.AddResult(t, true));
        return g.AddOp(std::make_shared<OpDef>(def), named.c.attrs, *inputs, *results);
      };
      std::vector<int> wanted, got, inputs, unused;
      ASSERT_TRUE(make(expected, &wanted, &unused).ok());
      ASSERT_TRUE(make(actual, &got, &inputs).ok());
      ASSERT_TRUE(expected.Run(reference::CreateBackend(), none).ok());
      const Status ran = actual.Run(backend_, none);
      ASSERT_TRUE(ran.ok()) << named.text << ": " << ran.message();
      const TensorType& type = actual.TypeOf(got[0]);
      EXPECT_EQ(actual.Damage(got[0]), std::nullopt) << named.text;
      std::vector<double> sums;
      if (def.tolerance.sum && !IsInteger(type.dtype)) sums = Magnitudes(named, actual, inputs, 0);
      const auto wrong = Compare(type, expected.Result(wanted[0]), actual.Result(got[0]),
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
