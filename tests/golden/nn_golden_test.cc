// Convolution, pooling, matrix, softmax and movement ops: the references against nn_golden.json,
// which nn_golden.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "support/golden.h"
#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

TEST(NnGolden, References) {
  const json cases = ReadGolden("nn_golden.json");
  ASSERT_GT(cases.size(), 50u);
  std::set<std::string> seen;
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
    seen.insert(name);
    const auto def = Builtin().Find(name);
    ASSERT_NE(def, nullptr);
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(BytesFrom(inputs.back(), in.at("values")));
    }
    for (const json& out : c.at("outputs")) {
      outputs.push_back(TypeFrom(out));
      outputs.back().shape = {};
    }
    OneOp op(*def, AttrsFrom(*def, c.at("attrs")), inputs, outputs);
    const Status verified = op.Verify();
    ASSERT_TRUE(verified.ok()) << verified.message();
    std::vector<std::vector<std::byte>> results;
    ASSERT_TRUE(op.Run(data, &results).ok());
    for (size_t o = 0; o < outputs.size(); ++o) {
      const json& want = c.at("outputs")[o];
      const TensorType type = op.view().out(o).type();
      // FullyConnected over several dimensions gives {Oc, B} for weights that are not constant.
      ASSERT_EQ(type.shape, TypeFrom(want).shape);
      const ref::Input got(results[o].data(), type);
      const json& values = want.at("values");
      ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
      double largest = 0;
      for (const json& v : values) largest = std::max(largest, std::fabs(v.get<double>()));
      for (int64_t i = 0; i < got.count(); ++i) {
        const json& expected = values[static_cast<size_t>(i)];
        if (IsInteger(type.dtype)) {
          EXPECT_EQ(got.Raw(i), expected.get<int64_t>()) << "output " << o << " element " << i;
        } else {
          EXPECT_NEAR(got.At(i), expected.get<double>(), c.at("relative").get<double>() * largest)
              << "output " << o << " element " << i;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 9u);
}

}  // namespace
}  // namespace tim::vx::testing
