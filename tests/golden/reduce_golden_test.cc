// Ops that reduce, multiply matrices and follow indices: the references against reduce_golden.json
// and index_golden.json, which reduce_golden.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

TensorType TypeFrom(const json& j) {
  TensorType t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT16,
                     DataType::INT32, DataType::BOOL8}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const float scale = j.at("scale");
  const int32_t zero_point = j.at("zero_point");
  if (scale != 1.0f || zero_point != 0) {
    t.quant = Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  }
  return t;
}

AnyAttrs AttrsFrom(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_array()) {
      map.Set(name, value.get<std::vector<int64_t>>());
    } else if (value.is_boolean()) {
      map.Set(name, value.get<bool>());
    } else if (value.is_number_integer()) {
      map.Set(name, value.get<int64_t>());
    } else {
      map.Set(name, value.get<double>());
    }
  }
  auto data = def.schema->from_map(map);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return AnyAttrs(def.schema, data.ok() ? *data : nullptr);
}

double RealFrom(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<std::byte> BytesFrom(const TensorType& t, const json& values) {
  std::vector<std::byte> bytes(t.bytes());
  ref::Output out(bytes.data(), t);
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsInteger(t.dtype)) {
      out.SetRaw(static_cast<int64_t>(i), values[i].get<int64_t>());
    } else {
      out.Set(static_cast<int64_t>(i), RealFrom(values[i]));
    }
  }
  return bytes;
}

/// Runs every case of the file; counts them by op.
std::map<std::string, int> Check(const std::string& file_name) {
  std::map<std::string, int> seen;
  std::ifstream file(TIMCL_GOLDEN_DIR "/" + file_name);
  const json cases = json::parse(file).at("cases");
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
    ++seen[name];
    const auto def = Builtin().Find(name);
    if (def == nullptr) {
      ADD_FAILURE() << "no such op";
      continue;
    }
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data, results;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(BytesFrom(inputs.back(), in.at("values")));
    }
    for (const json& out : c.at("outputs")) {
      outputs.push_back(TypeFrom(out));
      outputs.back().shape = {};
    }
    OneOp op(*def, AttrsFrom(*def, c.at("attrs")), inputs, outputs);
    Status status = op.Verify();
    if (status.ok()) status = op.Run(data, &results);
    EXPECT_TRUE(status.ok()) << status.message();
    for (size_t o = 0; o < outputs.size() && status.ok(); ++o) {
      const json& want = c.at("outputs")[o];
      const TensorType type = op.view().out(o).type();
      EXPECT_EQ(type.shape, TypeFrom(want).shape) << "output " << o;
      if (type.shape != TypeFrom(want).shape) continue;
      const ref::Input got(results[o].data(), type);
      for (int64_t i = 0; i < got.count(); ++i) {
        const json& expected = want.at("values")[static_cast<size_t>(i)];
        if (IsInteger(type.dtype)) {
          EXPECT_LE(std::abs(got.Raw(i) - expected.get<int64_t>()), c.at("steps").get<int64_t>())
              << "output " << o << " element " << i;
        } else {
          // Nine digits of the file name a float32 exactly.
          const double y = static_cast<float>(RealFrom(expected));
          EXPECT_LE(std::fabs(got.At(i) - y), c.at("relative").get<double>() * std::fabs(y))
              << "output " << o << " element " << i;
        }
      }
    }
  }
  return seen;
}

TEST(ReduceGolden, References) {
  const auto seen = Check("reduce_golden.json");
  for (const char* op : {"ReduceMin", "ReduceMax", "ReduceAny", "ReduceAll", "ReduceProd",
                         "ReduceMean", "ReduceSum", "Moments", "LogSoftmax", "Matmul"}) {
    EXPECT_GE(seen.count(op) == 0 ? 0 : seen.at(op), 4) << op;
  }
}

TEST(IndexGolden, References) {
  const auto seen = Check("index_golden.json");
  for (const char* op :
       {"Gather", "GatherNd", "GatherElements", "ArgMin", "ArgMax", "Topk", "OneHot", "ScatterND",
        "ScatterND_ONNX_V16", "EmbeddingLookup", "HashtableLookup"}) {
    EXPECT_GE(seen.count(op) == 0 ? 0 : seen.at(op), 3) << op;
  }
}

}  // namespace
}  // namespace tim::vx::testing
