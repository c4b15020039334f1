// What each operator's definition says of types and attributes holds, op by op; no kernel is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>

#include "support/conformance.h"
#include "support/ir_builder.h"
#include "support/runnable.h"

namespace tim::vx::testing {
namespace {

using ::testing::HasSubstr;

TEST(DeclaredTypes, EveryOperatorHasThem) {
  for (const auto& def : RunnableOps(Builtin())) {
    ASSERT_NE(def->types, nullptr) << def->name;
    const Status s = ParseTypes(*def);
    EXPECT_TRUE(s.ok()) << s.message();
  }
}

TEST(DeclaredTypes, BrokenOnesAreRefused) {
  OpDef def = {.name = "Broken", .inputs = "x y", .outputs = "z"};
  const std::pair<const char*, const char*> broken[] = {
      {"f32, f32", "no '->'"},
      {"f32, f32 -> f32; f32, f16", "no '->'"},
      {"f32, float -> f32", "'float' is no type"},
      {"f32, f32:row -> f32", "'f32:row' is no type"},
      {"f32, f32 -> =x", "'=x' is no type"},
      {"f32, f32| -> f32|real|", ""},  // an empty alternative at the end is nothing
      {"f32*, f32 -> f32", "'*' is not at the last operand"},
      {"f32 -> f32", "1 inputs, the op has 2"},
      {"f32, f32, f32 -> f32", "3 inputs, the op has 2"},
      {"f32, f32 -> f32, f32", "2 outputs, the op has 1"},
      {"f32, -> f32", "the op has 2"},
      {"f32, , f32 -> f32", "no type"},
  };
  for (const auto& [types, words] : broken) {
    def.types = types;
    const Status s = ParseTypes(def);
    if (*words == 0) {
      EXPECT_TRUE(s.ok()) << s.message();
      continue;
    }
    EXPECT_EQ(s.code(), Code::kInvalidArgument) << types;
    EXPECT_THAT(s.message(), HasSubstr(words));
    EXPECT_THAT(s.message(), HasSubstr("Broken"));
  }
}

/// One element type with its kind of quantization; `told`: the plain word of the type does not
/// include this one.
struct Word {
  DataType dtype;
  QuantType scheme = QuantType::NONE;
  bool told = false;
  bool per_channel() const {
    return scheme == QuantType::SYMMETRIC_PER_CHANNEL ||
           scheme == QuantType::ASYMMETRIC_PER_CHANNEL;
  }
  TensorType Of(const Shape& shape, const Shape& extents) const {
    TensorType t = {dtype, shape, {}};
    if (scheme == QuantType::ASYMMETRIC) t.quant = Quantization(scheme, 0.5f, 0);
    if (per_channel()) {
      const auto last = static_cast<int32_t>(extents.rank()) - 1;
      t.quant = cases::PerChannel(dtype, extents, last, 0.5f, scheme).quant;
    }
    return t;
  }
};

std::vector<Word> Words() {
  std::vector<Word> words;
  for (int i = static_cast<int>(DataType::INT8); i <= static_cast<int>(DataType::UINT4); ++i) {
    const auto dtype = static_cast<DataType>(i);
    if (BitsOf(dtype) != 0) words.push_back({dtype});
  }
  for (DataType d : {DataType::INT8, DataType::UINT8, DataType::INT16, DataType::UINT16,
                     DataType::INT32, DataType::INT4, DataType::UINT4}) {
    words.push_back({d, QuantType::ASYMMETRIC});
    words.push_back({d, QuantType::SYMMETRIC_PER_CHANNEL});
  }
  words.push_back({DataType::UINT8, QuantType::ASYMMETRIC_PER_CHANNEL});
  for (DataType d : {DataType::UINT32, DataType::INT64, DataType::BOOL8})
    words.push_back({d, QuantType::ASYMMETRIC, true});
  return words;
}

bool IsTold(const TensorType& t) {
  const bool wide =
      t.dtype == DataType::UINT32 || t.dtype == DataType::INT64 || t.dtype == DataType::BOOL8;
  return wide && t.quantized();
}

bool Lists(const TypeRow& row, const std::vector<Word>& words, const std::vector<bool>& absent) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (absent[i]) continue;
    bool listed = false;
    if (const int same = row.operands[i].same_as; same >= 0) {
      const Word& other = words[static_cast<size_t>(same)];
      listed = words[i].dtype == other.dtype && words[i].scheme == other.scheme;
    }
    for (const TensorType& t : row.operands[i].types) {
      const QuantType scheme = t.per_channel() ? t.quant.Type() : QuantType::NONE;
      listed = listed || (words[i].dtype == t.dtype && words[i].told == IsTold(t) &&
                          (words[i].per_channel() ? words[i].scheme : QuantType::NONE) == scheme);
    }
    if (!listed) return false;
  }
  return true;
}

/// All combinations of element types for the operands of one op, or a sample where they are many.
class Combinations {
 public:
  Combinations(size_t operands, const std::vector<TypeRow>& rows)
      : operands_(operands), rows_(rows) {
    all_ = 1;
    for (size_t i = 0; i < operands && all_ < kMany; ++i) all_ *= words_.size();
  }
  template <class F>
  void ForEach(F f) {
    constexpr size_t kMost = 15000;
    for (size_t k = 0; k < std::min(all_, kMost); ++k) {
      f(all_ <= kMost ? Number(k) : k % 2 == 0 ? Near() : Number(random_()));
    }
  }

 private:
  std::vector<Word> Number(size_t k) const {
    std::vector<Word> some;
    for (size_t i = 0; i < operands_; ++i, k /= words_.size())
      some.push_back(words_[k % words_.size()]);
    return some;
  }
  /// One that is listed, with up to two operands changed.
  std::vector<Word> Near() {
    const TypeRow& row = rows_[random_() % rows_.size()];
    std::vector<Word> some;
    for (const TypeRow::Operand& o : row.operands) {
      if (o.types.empty()) {
        some.push_back(some[static_cast<size_t>(o.same_as)]);
        continue;
      }
      const TensorType& t = o.types[random_() % o.types.size()];
      const bool told = IsTold(t);
      some.push_back({t.dtype,
                      told              ? QuantType::ASYMMETRIC
                      : t.per_channel() ? t.quant.Type()
                                        : QuantType::NONE,
                      told});
    }
    for (size_t n = random_() % 3; n > 0; --n)
      some[random_() % some.size()] = words_[random_() % words_.size()];
    return some;
  }

  static constexpr size_t kMany = size_t{1} << 32;  // more are not counted
  const std::vector<Word> words_ = Words();
  size_t operands_, all_;
  const std::vector<TypeRow>& rows_;
  std::mt19937_64 random_{42};
};

TEST(DeclaredTypes, WhatIsListedIsAcceptedAndAllElseIsRefused) {
  for (const auto& def : RunnableOps(Builtin())) {
    const std::vector<conformance::NamedCase> cases = conformance::CasesOf(*def);
    ASSERT_FALSE(cases.empty()) << def->name;
    const Case& c = cases[0].c;
    const size_t inputs = c.inputs.size(), outputs = c.outputs.size();
    const std::vector<TypeRow> rows = ListTypes(*def, inputs, outputs);
    size_t accepted = 0, refused = 0;
    Combinations(inputs + outputs, rows).ForEach([&](const std::vector<Word>& words) {
      if (::testing::Test::HasFailure()) return;  // one is enough to read
      std::vector<TensorType> in, out;
      std::vector<bool> absent(inputs + outputs, false);  // as the case leaves operands out
      for (size_t i = 0; i < inputs; ++i) {
        const Shape& shape = c.inputs[i].type.shape;
        absent[i] = c.inputs[i].type.dtype == DataType::UNKNOWN;
        in.push_back(absent[i] ? TensorType() : words[i].Of(shape, shape));
      }
      for (size_t i = 0; i < outputs; ++i)
        out.push_back(words[inputs + i].Of(c.outputs[i].shape, c.inputs[0].type.shape));
      OneOp op(*def, c.attrs, in, out);
      const Status s = op.Verify();
      const bool listed = std::any_of(
          rows.begin(), rows.end(), [&](const TypeRow& row) { return Lists(row, words, absent); });
      ++(listed ? accepted : refused);
      if (listed) {
        // Other rules may still refuse it: a quantization along an axis that is turned around, say.
        EXPECT_NE(s.code(), Code::kInvalidType) << s.message();
        return;
      }
      EXPECT_EQ(s.code(), Code::kInvalidType) << def->name << ": " << s.message();
      if (refused > 1) return;
      const std::string text = s.message().substr(
          std::min(s.message().find("one of these is expected: "), s.message().size()));
      for (const TypeRow& row : rows) {
        for (const TypeRow::Operand& o : row.operands) {
          for (const TensorType& t : o.types) EXPECT_THAT(text, HasSubstr(NameOf(t.dtype)));
        }
      }
    });
    EXPECT_GT(accepted, 0u) << def->name;
    EXPECT_GT(refused, 0u) << def->name;
    if (HasFailure()) return;
  }
}

/// Conformance runs each candidate that accepts a case. One that accepts none, on whatever device,
/// would never be tested.
TEST(Kernels, EachCandidateTakesACase) {
  DeviceCaps dot;
  dot.is_cpu = dot.shared_memory = dot.register_tiles_pay = dot.has_double = true;
  dot.compute_units = 2;
  DeviceCaps tiles = dot;
  dot.dot_product_u8s8 = dot.dot_product_bf16 = true;
  size_t candidates = 0;
  for (const auto& def : RunnableOps(Builtin())) {
    std::set<std::string> idle;
    for (const KernelCandidate& candidate : def->kernels) idle.insert(candidate.name);
    candidates += idle.size();
    for (const conformance::NamedCase& named : conformance::CasesOf(*def)) {
      if (named.c.bench || idle.empty()) continue;
      conformance::TestGraph graph;
      const int node = conformance::AddCaseOverZeros(named, &graph);
      if (node < 0) continue;
      const OpView op = graph.graph().view(node);
      for (const KernelCandidate& candidate : def->kernels) {
        if (idle.count(candidate.name) == 0) continue;
        for (const DeviceCaps& caps : {dot, tiles, DeviceCaps()}) {
          if (candidate.accepts == nullptr ||
              candidate.accepts(op, {caps, candidate.in, candidate.out, candidate.bf16}).ok())
            idle.erase(candidate.name);
        }
      }
    }
    EXPECT_THAT(idle, ::testing::IsEmpty()) << def->name;
  }
  EXPECT_GT(candidates, 200u);
}

TEST(Attributes, EnumeratorsGoByNameAndMustExist) {
  size_t found = 0;
  for (const auto& def : Builtin().All()) {
    ASSERT_NE(def->schema, nullptr) << def->name;
    const AttrMap defaults = def->schema->to_map(def->schema->make_default().get());
    for (const auto& [name, value] : defaults) {
      if (!std::holds_alternative<std::string>(value)) continue;
      auto made_with = [&](const AttrValue& v) { return def->schema->from_map({{name, v}}); };
      const Status refusal = made_with(std::string("no such name")).status();
      const size_t list = refusal.message().find("one of ");
      if (list == std::string::npos) continue;  // plain text
      ++found;
      SCOPED_TRACE(std::string(def->name) + "." + name);
      EXPECT_EQ(refusal.code(), Code::kInvalidArgument);
      for (int64_t number : {int64_t{-7}, int64_t{77}, int64_t{1} << 40})
        EXPECT_EQ(made_with(number).status().code(), Code::kInvalidArgument) << number;
      std::istringstream words(refusal.message().substr(list + 7));
      size_t names = 0;
      for (std::string word; words >> word; ++names) {
        const auto made = made_with(word);
        ASSERT_TRUE(made.ok()) << made.status().message();
        const AttrMap back = def->schema->to_map(made->get());
        EXPECT_EQ(*back.Find(name), AttrValue(word));
        EXPECT_THAT(back.ToText(), HasSubstr(name + "=\"" + word + "\""));
      }
      EXPECT_GE(names, 2u);
    }
  }
  EXPECT_GE(found, 8u);  // of Conv2d, Pad, Pool2d and RNNCell
}

}  // namespace
}  // namespace tim::vx::testing
