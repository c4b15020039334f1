// Reads the golden files of tests/golden (their form: golden.py there) and compares references with
// them.
#ifndef TIMCL_TESTS_SUPPORT_GOLDEN_H_
#define TIMCL_TESTS_SUPPORT_GOLDEN_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/ir_builder.h"
#include "tim/vx/op_def.h"

namespace tim::vx::testing::golden {

using nlohmann::json;

/// Null: the operand is left out.
inline TensorType TypeFrom(const json& j) {
  TensorType t;
  if (j.is_null()) return t;
  for (DataType d :
       {DataType::FLOAT16, DataType::FLOAT32, DataType::INT8, DataType::UINT8, DataType::INT16,
        DataType::UINT16, DataType::INT32, DataType::UINT32, DataType::INT64, DataType::BOOL8}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  EXPECT_NE(t.dtype, DataType::UNKNOWN) << j.at("dtype");
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  if (j.contains("channel_dim")) {
    const auto scales = j.at("scales").get<std::vector<float>>();
    t.quant = Quantization(QuantType::SYMMETRIC_PER_CHANNEL, j.at("channel_dim").get<int32_t>(),
                           scales, std::vector<int32_t>(scales.size(), 0));
  } else if (j.contains("scale")) {
    t.quant = Quantization(QuantType::ASYMMETRIC, j.at("scale").get<float>(),
                           j.at("zero_point").get<int32_t>());
  }
  return t;
}

inline AttrValue AttrFrom(const json& value) {
  if (value.is_array()) {
    const bool whole = std::all_of(value.begin(), value.end(),
                                   [](const json& v) { return v.is_number_integer(); });
    if (whole) return value.get<std::vector<int64_t>>();
    return value.get<std::vector<double>>();
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  return value.get<double>();
}

inline AnyAttrs AttrsFrom(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) map.Set(name, AttrFrom(value));
  auto data = def.schema->from_map(map);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return AnyAttrs(def.schema, data.ok() ? *data : nullptr);
}

/// Null: a NaN.
inline double RealFrom(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Stored values, as they are in the file.
inline std::vector<std::byte> BytesFrom(const TensorType& t, const json& values) {
  std::vector<std::byte> bytes(t.bytes());
  ref::Output out(bytes.data(), t);
  EXPECT_EQ(values.size(), static_cast<size_t>(t.count()));
  if (values.size() != static_cast<size_t>(t.count())) return bytes;
  for (int64_t i = 0; i < t.count(); ++i) {
    const json& value = values[static_cast<size_t>(i)];
    if (IsInteger(t.dtype)) {
      out.SetRaw(i, value.get<int64_t>());
    } else {
      out.Set(i, RealFrom(value));
    }
  }
  return bytes;
}

/// What a case's "tolerance" allows. It says nothing of what must be equal.
struct Allowed {
  explicit Allowed(const json& j) {
    for (const auto& [name, value] : j.items()) {
      if (name == "steps") {
        steps = value.get<int64_t>();
      } else if (name == "absolute") {
        absolute = value.get<double>();
      } else if (name == "relative") {
        relative = value.get<double>();
      } else if (name == "of_largest") {
        of_largest = value.get<double>();
      } else {
        ADD_FAILURE() << "tolerance has no " << name;
      }
    }
  }
  int64_t steps = 0;
  double absolute = 0, relative = 0, of_largest = 0;
};

/// One result against its golden values.
inline void Compare(const ref::Input& got, const json& values, const Allowed& allowed) {
  ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
  double largest = 0;
  for (const json& v : values) largest = std::fmax(largest, std::fabs(RealFrom(v)));
  for (int64_t i = 0; i < got.count(); ++i) {
    const json& expected = values[static_cast<size_t>(i)];
    if (IsInteger(got.type().dtype)) {
      EXPECT_LE(std::abs(got.Raw(i) - expected.get<int64_t>()), allowed.steps)
          << "element " << i << " is " << got.Raw(i) << " instead of " << expected;
    } else if (expected.is_null()) {
      EXPECT_TRUE(std::isnan(got.At(i))) << "element " << i << " is " << got.At(i);
    } else {
      double y = expected.get<double>();
      // Where nothing but equality, or a share of y itself, is asked for, y is the float32 that its
      // nine digits name.
      if (allowed.absolute == 0 && allowed.of_largest == 0) y = static_cast<float>(y);
      EXPECT_NEAR(got.At(i), y,
                  allowed.absolute + allowed.relative * std::fabs(y) + allowed.of_largest * largest)
          << "element " << i;
    }
  }
}

/// Runs the reference of every case; returns how many each operator has.
inline std::map<std::string, int> CompareWithReferences(const json& file) {
  std::map<std::string, int> seen;
  const json& cases = file.at("cases");
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + " of " + file.at("generator").get<std::string>() +
                 ": " + name + " " + c.at("attrs").dump() + " by " +
                 c.at("source").get<std::string>());
    ++seen[name];
    const auto def = Builtin().Find(name);
    if (def == nullptr) {
      ADD_FAILURE() << "no operator of that name";
      continue;
    }
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data, results;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(in.is_null() ? std::vector<std::byte>()
                                  : BytesFrom(inputs.back(), in.at("values")));
    }
    for (const json& out : c.at("outputs")) {
      outputs.push_back(TypeFrom(out));
      outputs.back().shape = {};  // inferred, then compared
    }
    OneOp op(*def, AttrsFrom(*def, c.at("attrs")), inputs, outputs);
    Status status = op.Verify();
    if (status.ok()) status = op.Run(data, &results);
    EXPECT_TRUE(status.ok()) << status.message();
    for (size_t o = 0; o < outputs.size() && status.ok(); ++o) {
      SCOPED_TRACE("output " + std::to_string(o));
      const json& want = c.at("outputs")[o];
      const TensorType type = op.view().out(o).type();
      EXPECT_EQ(type.shape, TypeFrom(want).shape);
      if (type.shape != TypeFrom(want).shape) continue;
      Compare(ref::Input(results[o].data(), type), want.at("values"), Allowed(c.at("tolerance")));
    }
  }
  return seen;
}

}  // namespace tim::vx::testing::golden
#endif  // TIMCL_TESTS_SUPPORT_GOLDEN_H_
