// References against the values that the scripts with golden.py wrote: nn_golden.py for the first
// operators, one script for each that came later.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/golden.h"
#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, References) {
  const json cases = ReadGolden(GetParam() + ".json");
  ASSERT_FALSE(cases.empty());
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
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
}

std::vector<std::string> Files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TIMCL_GOLDEN_DIR)) {
    // Those of another form (an object, or by formula) have tests of their own.
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".json" && name != "pointwise_golden" &&
        name != "recurrent_golden" && ReadGolden(name + ".json").is_array() &&
        name.rfind("lenet", 0) != 0) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(, Golden, ::testing::ValuesIn(Files()),
                         [](const auto& file) { return file.param; });

TEST(GoldenFiles, EveryOperatorHasValues) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(TIMCL_GOLDEN_DIR)) {
    if (entry.path().extension() != ".json") continue;
    const json file = ReadGolden(entry.path().filename());
    for (const json& c : file.contains("cases") ? file.at("cases") : file) {
      if (c.contains("op")) seen.insert(c.at("op").get<std::string>());
    }
  }
  for (const auto& def : Builtin().All()) {
    EXPECT_TRUE(seen.count(std::string(def->name))) << def->name << " is in no *_golden.json";
  }
}

}  // namespace
}  // namespace tim::vx::testing
