// Point-wise ops: the references against pointwise_golden.json, which pointwise_golden.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "support/golden.h"
#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

TEST(PointwiseGolden, References) {
  const json cases = ReadGolden("pointwise_golden.json");
  ASSERT_GT(cases.size(), 100u);
  std::set<std::string> seen;
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
    seen.insert(name);
    const auto def = Builtin().Find(name);
    ASSERT_NE(def, nullptr);
    std::vector<TensorType> inputs;
    std::vector<std::vector<std::byte>> data;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(BytesFrom(inputs.back(), in.at("values")));
    }
    const json& want = c.at("output");
    const TensorType declared = TypeFrom(want);
    TensorType open = declared;
    open.shape = {};
    OneOp op(*def, AttrsFrom(*def, c.at("attrs")), inputs, {open});
    const Status verified = op.Verify();
    ASSERT_TRUE(verified.ok()) << verified.message();
    ASSERT_EQ(op.view().out(0).shape(), declared.shape);
    std::vector<std::vector<std::byte>> results;
    ASSERT_TRUE(op.Run(data, &results).ok());
    const TensorType result_type = op.view().out(0).type();
    const ref::Input got(results[0].data(), result_type);
    const json& values = want.at("values");
    ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
    for (int64_t i = 0; i < got.count(); ++i) {
      const json& expected = values[static_cast<size_t>(i)];
      if (IsInteger(result_type.dtype)) {
        const int64_t difference = got.Raw(i) - expected.get<int64_t>();
        EXPECT_LE(std::abs(difference), c.at("steps").get<int64_t>()) << "element " << i;
      } else {
        const double y = expected;
        EXPECT_NEAR(got.At(i), y, 4e-7 * std::fabs(y) + 1e-7) << "element " << i;
      }
    }
  }
  // All of activations.h, elementwise.h, simple_operations.h and clip.h.
  EXPECT_EQ(seen.size(), 48u);
}

}  // namespace
}  // namespace tim::vx::testing
