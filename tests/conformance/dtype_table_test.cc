// What the original's checker accepts (dtype_table.txt), every definition accepts too.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "ir/operands.h"
#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

struct Wanted {
  DataType dtype;
  std::string scheme;  // a s d pc plain
};

/// "I16:d,a,s+plain" or "4bit".
std::vector<Wanted> ParseWord(const std::string& word) {
  static const std::map<std::string, DataType> kTypes = {
      {"F32", DataType::FLOAT32}, {"F16", DataType::FLOAT16}, {"I8", DataType::INT8},
      {"U8", DataType::UINT8},    {"I16", DataType::INT16},   {"U16", DataType::UINT16},
      {"I32", DataType::INT32},   {"U32", DataType::UINT32},  {"I64", DataType::INT64},
      {"BOOL8", DataType::BOOL8}};
  if (word == "absent") return {};
  if (word == "4bit") return {{DataType::INT4, "a"}, {DataType::UINT4, "a"}};
  const std::string name = word.substr(0, word.find_first_of(":+"));
  const auto type = kTypes.find(name);
  EXPECT_NE(type, kTypes.end()) << word;
  if (type == kTypes.end()) return {};
  if (name == word) return {{type->second, "plain"}};
  std::vector<Wanted> all;
  std::string schemes = word.substr(name.size() + 1);
  for (char& c : schemes) c = c == ',' || c == '+' ? ' ' : c;
  std::istringstream words(schemes);
  for (std::string s; words >> s;) {
    EXPECT_TRUE(s == "a" || s == "s" || s == "d" || s == "pc" || s == "plain") << word;
    all.push_back({type->second, s});
  }
  return all;
}

/// Whether the type that a definition lists takes a tensor of the wanted one.
bool Takes(const TensorType& listed, const Wanted& wanted) {
  if (listed.dtype != wanted.dtype) return false;
  if (wanted.scheme == "pc") return listed.quant.Type() == QuantType::SYMMETRIC_PER_CHANNEL;
  if (listed.per_channel()) return false;
  // A type of these is listed with the quantizations that it may have, one of others for all.
  const bool told = listed.dtype == DataType::UINT32 || listed.dtype == DataType::INT64 ||
                    listed.dtype == DataType::BOOL8;
  return !told || listed.quantized() == (wanted.scheme != "plain");
}

bool Accepts(const OpDef& def, size_t at, const Wanted& wanted) {
  for (const TypeRow& row :
       ListTypes(def, ir::OperandNames(def.inputs).size(), ir::OperandNames(def.outputs).size())) {
    const TypeRow::Operand* operand = &row.operands.at(at);
    if (operand->same_as >= 0) operand = &row.operands.at(static_cast<size_t>(operand->same_as));
    for (const TensorType& t : operand->types) {
      if (Takes(t, wanted)) return true;
    }
  }
  return false;
}

TEST(DtypeTable, EveryTypeThatTheOriginalAcceptsIsAccepted) {
  std::ifstream file(TIMCL_SOURCE_DIR "/tests/conformance/dtype_table.txt");
  ASSERT_TRUE(file.good());
  size_t ops = 0, types = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t bar = line.find('|');
    ASSERT_NE(bar, std::string::npos) << line;
    std::istringstream names(line.substr(0, bar));
    for (std::string name; names >> name; ++ops) {
      const auto def = Builtin().Find(name);
      EXPECT_NE(def, nullptr) << name;
      if (def == nullptr) continue;
      const size_t inputs = ir::OperandNames(def->inputs).size(),
                   all = inputs + ir::OperandNames(def->outputs).size();
      std::istringstream rest(line.substr(bar + 1));
      for (std::string operand; std::getline(rest, operand, ';');) {
        std::istringstream words(operand);
        std::string place;
        words >> place;
        const size_t at = place == "out:" ? inputs : std::stoul(place);
        ASSERT_LT(at, all) << name << " " << place;
        for (std::string word; words >> word;) {
          for (const Wanted& w : ParseWord(word)) {
            ++types;
            EXPECT_TRUE(Accepts(*def, at, w))
                << name << ": operand " << place << " does not take " << NameOf(w.dtype) << ":"
                << w.scheme << "; its types: " << def->types;
          }
        }
      }
    }
  }
  EXPECT_EQ(ops, 117u);
  EXPECT_GE(types, 2000u);
}

}  // namespace
}  // namespace tim::vx::testing
