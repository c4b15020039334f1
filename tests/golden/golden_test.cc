// The references against the values that the scripts of this folder computed.
#include "support/golden.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/runnable.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

/// All golden files by name: those with cases. Other tests read files of other forms.
const std::map<std::string, json>& Files() {
  static const auto* files = [] {
    auto* all = new std::map<std::string, json>;
    for (const auto& entry : std::filesystem::directory_iterator(TIMCL_GOLDEN_DIR)) {
      if (entry.path().extension() != ".json") continue;
      std::ifstream stream(entry.path());
      json file = json::parse(stream);
      if (file.contains("cases")) all->emplace(entry.path().stem(), std::move(file));
    }
    return all;
  }();
  return *files;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, file] : Files()) names.push_back(name);
  return names;
}

/// How many operators these files hold, and how many cases of each at least, so that a script that
/// loses some is noticed.
struct Contents {
  size_t ops;
  int of_each;
};
const std::map<std::string, Contents> kContents = {
    {"conv_golden", {6, 3}},    {"cumsum_golden", {1, 3}},     {"index_golden", {11, 3}},
    {"logic_golden", {13, 3}},  {"moves_golden", {9, 4}},      {"nn_golden", {9, 3}},
    {"norm_golden", {5, 3}},    {"pool_golden", {8, 3}},       {"pointwise_golden", {48, 3}},
    {"reduce_golden", {10, 4}}, {"recurrent_golden", {9, 3}},  {"spatial_golden", {11, 3}},
    {"narrow_golden", {5, 3}},  {"tiny_yolov4_golden", {1, 3}}};

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, References) {
  const json& file = Files().at(GetParam());
  ASSERT_FALSE(file.at("cases").empty());
  const auto seen = golden::CompareWithReferences(file);
  const auto contents = kContents.find(GetParam());
  if (contents == kContents.end()) return;
  EXPECT_EQ(seen.size(), contents->second.ops);
  for (const auto& [op, count] : seen) EXPECT_GE(count, contents->second.of_each) << op;
}
INSTANTIATE_TEST_SUITE_P(, Golden, ::testing::ValuesIn(Names()),
                         [](const auto& file) { return file.param; });

bool IsQuantized(const TensorType& t) { return t.quant.Type() != QuantType::NONE; }

/// Whether an operand may be quantized, in the op's form with so many.
bool HasQuantizedTypes(const OpDef& def, size_t inputs, size_t outputs) {
  for (const TypeRow& row : ListTypes(def, inputs, outputs)) {
    for (const TypeRow::Operand& operand : row.operands) {
      for (const TensorType& t : operand.types) {
        if (IsQuantized(t)) return true;
      }
    }
  }
  return false;
}

// At least three cases of each operator, one of them quantized where its types are.
TEST(GoldenFiles, EveryOperatorHasValues) {
  struct Count {
    int cases = 0, quantized = 0;
    size_t inputs = 0, outputs = 0;
  };
  std::map<std::string, Count> seen;
  for (const auto& [name, file] : Files()) {
    for (const json& c : file.at("cases")) {
      Count& count = seen[c.at("op").get<std::string>()];
      ++count.cases;
      count.inputs = c.at("inputs").size();
      count.outputs = c.at("outputs").size();
      bool quantized = false;
      for (const char* side : {"inputs", "outputs"}) {
        for (const json& operand : c.at(side)) {
          quantized = quantized || IsQuantized(golden::TypeFrom(operand));
        }
      }
      count.quantized += quantized;
    }
  }
  for (const auto& def : RunnableOps(Builtin())) {
    const Count& count = seen[std::string(def->name)];
    EXPECT_GE(count.cases, 3) << def->name << " in all *_golden.json";
    if (HasQuantizedTypes(*def, count.inputs, count.outputs)) {
      EXPECT_GE(count.quantized, 1) << def->name << " quantized, in all *_golden.json";
    }
  }
}

}  // namespace
}  // namespace tim::vx::testing
