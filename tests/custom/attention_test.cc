// custom_ops/attention: by hand, against values of a script, and against its reference.
#include "attention.h"

#include <cmath>
#include <limits>

#include "attention_values.h"
#include "fixture.h"
#include "tim/vx/check_op.h"
#include "tim/vx/status.h"
#include "tim/vx/testing.h"

namespace custom_test {
namespace {

using custom_ops::Attention;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using vx::Code;
using vx::Shape;
using vx::ShapeType;

struct Values {
  ShapeType shape;
  std::vector<float> data;
};

class AttentionTest : public CustomOp {
 protected:
  static vx::ref::Input In(const std::vector<uint16_t>& bits, const vx::TensorType& type) {
    return vx::ref::Input(bits.data(), type);
  }
  /// The result for these inputs, which are query, key, value and perhaps sink.
  std::vector<float> Of(const Attention::Attrs& attrs, const std::vector<Values>& inputs,
                        DataType dtype = DataType::FLOAT32) {
    SetUp();
    const auto op = graph_->CreateOperation<Attention>(attrs);
    std::vector<TensorPtr> tensors;
    for (const Values& v : inputs) {
      tensors.push_back(graph_->CreateTensor({dtype, v.shape, vx::INPUT}));
      op->BindInput(tensors.back());
    }
    ShapeType shape = inputs[0].shape;
    shape[0] = inputs[2].shape[0];
    const auto out = graph_->CreateTensor({dtype, shape, vx::OUTPUT});
    op->BindOutput(out);
    EXPECT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
    EXPECT_THAT(graph_->Report().ToText(), HasSubstr("opencl"));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (dtype == DataType::FLOAT32) {
        Write(tensors[i], inputs[i].data);
        continue;
      }
      std::vector<uint16_t> halves;
      for (const float x : inputs[i].data) halves.push_back(vx::ops::Half(x).bits);
      Write(tensors[i], halves);
    }
    EXPECT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    const auto count = static_cast<size_t>(Shape(shape).count());
    if (dtype == DataType::FLOAT32) return Read<float>(out, count);
    const auto halves = Read<uint16_t>(out, count);
    const vx::TensorType type{dtype, Shape(shape), {}};
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(In(halves, type).Float(static_cast<int64_t>(i)));
    }
    return values;
  }
  std::string Refused(const Attention::Attrs& attrs, const std::vector<ShapeType>& shapes,
                      Code code = Code::kInvalidShape, DataType dtype = DataType::FLOAT32) {
    SetUp();
    const auto op = graph_->CreateOperation<Attention>(attrs);
    for (const ShapeType& shape : shapes)
      op->BindInput(graph_->CreateTensor({dtype, shape, vx::INPUT}));
    op->BindOutput(graph_->CreateTensor({dtype, {}, vx::OUTPUT}));
    EXPECT_FALSE(graph_->Compile());
    EXPECT_EQ(graph_->LastStatus().code(), code);
    EXPECT_THAT(graph_->LastStatus().message(), HasSubstr("custom_ops.attention#1"));
    return graph_->LastStatus().message();
  }
};

const float kLog2 = std::log(2.0f), kLog3 = std::log(3.0f), kLog6 = std::log(6.0f);
// One head of size 1: with query 1 and scale 1 the weights of the keys are as 1 to 2 to 3.
const Values kOne = {{1, 1, 1, 1}, {1}};
const Values kKeys = {{1, 3, 1, 1}, {0, kLog2, kLog3}};
const Values kNumbers = {{1, 3, 1, 1}, {6, 12, 18}};

TEST_F(AttentionTest, ByHand) {
  // (1 * 6 + 2 * 12 + 3 * 18) / 6 = 14
  EXPECT_THAT(Of({1}, {kOne, kKeys, kNumbers}), ElementsAre(FloatNear(14, 1e-5f)));
  // scale 0 is 1 / sqrt(1)
  EXPECT_THAT(Of({}, {kOne, kKeys, kNumbers}), ElementsAre(FloatNear(14, 1e-5f)));
  // scale 2: weights 1, 4, 9: (6 + 48 + 162) / 14
  EXPECT_THAT(Of({2}, {kOne, kKeys, kNumbers}), ElementsAre(FloatNear(216.0f / 14, 1e-5f)));
  // A window of 2: (2 * 12 + 3 * 18) / 5; of 1: the last value; one that is larger than all
  EXPECT_THAT(Of({1, 2}, {kOne, kKeys, kNumbers}), ElementsAre(FloatNear(15.6f, 1e-5f)));
  EXPECT_THAT(Of({1, 1}, {kOne, kKeys, kNumbers}), ElementsAre(18));
  EXPECT_THAT(Of({1, std::numeric_limits<int32_t>::max()}, {kOne, kKeys, kNumbers}),
              ElementsAre(FloatNear(14, 1e-5f)));
  // A sink of log 6 takes the half of all weight: 84 / 12
  EXPECT_THAT(Of({1, 0, true}, {kOne, kKeys, kNumbers, {{1}, {kLog6}}}),
              ElementsAre(FloatNear(7, 1e-5f)));
}

TEST_F(AttentionTest, TheLastQueryIsAtTheLastKey) {
  // Of two queries the first sees two keys: (1 * 6 + 2 * 12) / 3 = 10, with a window of 1 the one.
  const Values two = {{1, 2, 1, 1}, {1, 1}};
  EXPECT_THAT(Of({1}, {two, kKeys, kNumbers}),
              ElementsAre(FloatNear(10, 1e-5f), FloatNear(14, 1e-5f)));
  EXPECT_THAT(Of({1, 1}, {two, kKeys, kNumbers}), ElementsAre(12, 18));
  const Values three = {{1, 3, 1, 1}, {1, 1, 1}};
  EXPECT_THAT(Of({1}, {three, kKeys, kNumbers}),
              ElementsAre(6, FloatNear(10, 1e-5f), FloatNear(14, 1e-5f)));
}

TEST_F(AttentionTest, HeadsShareKeysAndSinksAreTheirOwn) {
  // Query 2 makes the weights 1, 4, 9: (6 + 48 + 162) / 14, with a sink of log 14 half of it.
  const Values heads = {{1, 1, 2, 1}, {1, 2}};
  EXPECT_THAT(Of({1}, {heads, kKeys, kNumbers}),
              ElementsAre(FloatNear(14, 1e-5f), FloatNear(216.0f / 14, 1e-5f)));
  EXPECT_THAT(Of({1, 0, true}, {heads, kKeys, kNumbers, {{2}, {kLog6, std::log(14.0f)}}}),
              ElementsAre(FloatNear(7, 1e-5f), FloatNear(216.0f / 28, 1e-5f)));
}

TEST_F(AttentionTest, LargeScoresDoNotOverflow) {
  // exp(1000) is far beyond float32. Rising, falling, and a sink that outweighs all.
  const Values rising = {{1, 3, 1, 1}, {-1000, 0, 1000}}, falling = {{1, 3, 1, 1}, {1000, 0, -9}};
  EXPECT_THAT(Of({1}, {kOne, rising, kNumbers}), ElementsAre(18));
  EXPECT_THAT(Of({1}, {kOne, falling, kNumbers}), ElementsAre(6));
  EXPECT_THAT(Of({1, 0, true}, {kOne, falling, kNumbers, {{1}, {3000}}}), ElementsAre(0));
}

TEST_F(AttentionTest, NumbersThatAreNone) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  // exp(-inf) is 0, wherever the key stands.
  const Values masked = {{1, 3, 1, 1}, {-inf, kLog2, -inf}};
  EXPECT_THAT(Of({1}, {kOne, masked, kNumbers}), ElementsAre(12));
  // A sink of -inf is none.
  EXPECT_THAT(Of({1, 0, true}, {kOne, kKeys, kNumbers, {{1}, {-inf}}}),
              ElementsAre(FloatNear(14, 1e-5f)));
  const Values spoilt = {{1, 3, 1, 1}, {nan, 0, 0}};
  EXPECT_THAT(Of({1}, {kOne, spoilt, kNumbers}), ElementsAre(::testing::IsNan()));
  EXPECT_THAT(Of({1, 2}, {kOne, spoilt, kNumbers}), ElementsAre(15)) << "the NaN is out of sight";
  EXPECT_THAT(Of({1, 0, true}, {kOne, kKeys, kNumbers, {{1}, {nan}}}),
              ElementsAre(::testing::IsNan()));
}

/// As in attention_values.py.
Values Formula(const ShapeType& shape, int seed) {
  Values v = {shape, {}};
  for (int i = 0; i < static_cast<int>(Shape(shape).count()); ++i)
    v.data.push_back(static_cast<float>((37 * i + seed) % 64 - 32) / 16);
  return v;
}

TEST_F(AttentionTest, ValuesOfTheScript) {
  std::vector<Values> inputs = {Formula({5, 3, 4, 2}, 11), Formula({5, 7, 2, 2}, 5),
                                Formula({3, 7, 2, 2}, 23)};
  EXPECT_THAT(Of({}, inputs), Pointwise(FloatNear(2e-6f), kAttentionToAll));
  EXPECT_THAT(Of({}, inputs, DataType::FLOAT16), Pointwise(FloatNear(1.1e-3f), kAttentionToAll));
  inputs.push_back(Formula({4}, 40));
  EXPECT_THAT(Of({0, 4, true}, inputs), Pointwise(FloatNear(2e-6f), kAttentionInWindow));
  EXPECT_THAT(Of({0, 4, true}, inputs, DataType::FLOAT16),
              Pointwise(FloatNear(1.1e-3f), kAttentionInWindow));
}

TEST(CheckOp, Attention) {
  for (const vx::TensorType& type : {vx::cases::F32(), vx::cases::F16()}) {
    for (const bool sink : {false, true}) {
      vx::testing::CheckOptions options;
      options.inputs.assign(sink ? 4 : 3, type);
      options.outputs = {type};
      options.tolerance = vx::Tolerance::Ulp(64, 0, 1e-5);
      options.shapes = [=](int64_t size, int64_t queries, int64_t more_keys, int64_t kv_heads) {
        const int64_t keys = queries + more_keys - 1, values = size % 2 ? 3 : 4, batch = kv_heads;
        std::vector<Shape> shapes = {{size, queries, 2 * kv_heads, batch},
                                     {size, keys, kv_heads, batch},
                                     {values, keys, kv_heads, batch}};
        if (sink) shapes.push_back({2 * kv_heads});
        return shapes;
      };
      EXPECT_EQ(vx::testing::CheckOp<Attention>(options, Attention::Attrs{0, sink ? 5 : 0, sink}),
                "")
          << type.ToString() << " sink " << sink;
    }
  }
}

TEST_F(AttentionTest, ClonesHaveTheAttributes) {
  auto other = context_->CreateGraph();
  const auto clone = graph_->CreateOperation<Attention>(Attention::Attrs{1, 2})->Clone(other);
  std::vector<TensorPtr> in;
  for (const Values* v : {&kOne, &kKeys, &kNumbers})
    in.push_back(other->CreateTensor({DataType::FLOAT32, v->shape, vx::INPUT}, v->data.data()));
  const auto out = other->CreateTensor({DataType::FLOAT32, {1, 1, 1, 1}, vx::OUTPUT});
  clone->BindInputs(in).BindOutput(out);
  ASSERT_TRUE(other->Run()) << other->LastStatus().message();
  EXPECT_THAT(Read<float>(out, 1), ElementsAre(FloatNear(15.6f, 1e-5f)));
}

TEST_F(AttentionTest, LongValuesGoToTheReference) {
  const auto q = Input<float>({1, 1, 1, 1}), k = Input<float>({1, 2, 1, 1}),
             v = Input<float>({1025, 2, 1, 1}), y = Output<float>({1025, 1, 1, 1});
  graph_->CreateOperation<Attention>(Attention::Attrs{})->BindInputs({q, k, v}).BindOutput(y);
  Compile();
  EXPECT_EQ(graph_->Report().ops[0].backend, "reference");
  EXPECT_THAT(graph_->Report().ToText(), HasSubstr("values of up to 1024 elements, not 1025"));
}

TEST_F(AttentionTest, WrongShapes) {
  const ShapeType q = {8, 3, 4, 1}, k = {8, 5, 2, 1}, v = {6, 5, 2, 1};
  EXPECT_THAT(Refused({}, {{8, 3, 4}, k, v}),
              HasSubstr("query is [8,3,4], expected [size, length, heads, batch]"));
  EXPECT_THAT(Refused({}, {q, k, {6, 5}}), HasSubstr("value is [6,5]"));
  EXPECT_THAT(Refused({}, {q, {7, 5, 2, 1}, v}),
              HasSubstr("query [8,3,4,1] and key [7,5,2,1] differ in head_size or batch"));
  EXPECT_THAT(Refused({}, {q, {8, 5, 2, 2}, v}), HasSubstr("differ in head_size or batch"));
  EXPECT_THAT(Refused({}, {q, k, {6, 4, 2, 1}}),
              HasSubstr("key [8,5,2,1] and value [6,4,2,1] differ behind their size"));
  EXPECT_THAT(Refused({}, {{8, 6, 4, 1}, k, v}), HasSubstr("there are fewer keys than queries"));
  EXPECT_THAT(Refused({}, {{8, 3, 5, 1}, k, v}), HasSubstr("heads is no multiple of kv_heads"));
  EXPECT_THAT(Refused({0, 0, true}, {q, k, v, {5}}),
              HasSubstr("sink is [5], expected one number per head [4]"));
  EXPECT_THAT(Refused({0, 0, true}, {q, k, v}, Code::kInvalidGraph),
              HasSubstr("3 inputs are bound, 4 expected"));
}

TEST_F(AttentionTest, WrongAttributesAndTypes) {
  const std::vector<ShapeType> shapes = {{8, 3, 4, 1}, {8, 5, 2, 1}, {6, 5, 2, 1}};
  EXPECT_THAT(Refused({0, -1}, shapes, Code::kInvalidArgument), HasSubstr("window is -1, below 0"));
  EXPECT_THAT(Refused({std::nanf("")}, shapes, Code::kInvalidArgument),
              HasSubstr("scale is nan, not finite"));
  EXPECT_THAT(Refused({}, shapes, Code::kInvalidType, DataType::INT32), HasSubstr("i32"));
}

}  // namespace
}  // namespace custom_test
