// 4-bit tensors as the host sees them: packed where it shares memory, a byte for each element in
// the data of constants; the same numbers on every device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint8_t kUntouched = 157;  // what Read() fills its memory with: -99

class Int4 : public ::testing::Test {
 protected:
  static Quantization Q(float scale, int32_t zero_point = 0) {
    return Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  }
  TensorPtr Tensor4(TensorAttribute attr, const ShapeType& shape, DataType type = DataType::INT4,
                    const Quantization& q = Q(1), const void* data = nullptr) {
    return Make(graph_, attr, shape, type, q, data);
  }
  GraphPtr graph_ = SharedContext()->CreateGraph();
};

// Rows of three: two bytes each, the second half empty. Low halves come first.
TEST_F(Int4, RowsOfOddLengthStartAtAByte) {
  auto x = Tensor4(TensorAttribute::INPUT, {3, 2});
  auto y = Output(graph_, {3, 2});
  auto z = Tensor4(TensorAttribute::OUTPUT, {3, 2});
  Bind<ops::DataConvert>(graph_, {x}, {y});
  Bind<ops::Neg>(graph_, {x}, {z});
  Write(x, Bytes{0x21, 0xF8, 0x7F, 0x03});  // 1 2 -8, -1 7 3; what fills up the row is ignored
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 6), (std::vector<float>{1, 2, -8, -1, 7, 3}));
  EXPECT_EQ(Read<uint8_t>(z, 5), (Bytes{0xEF, 0x07, 0x91, 0x0D, kUntouched}))
      << "4 bytes, then untouched";
  EXPECT_EQ(Read<uint8_t>(x, 5), (Bytes{0x21, 0xF8, 0x7F, 0x03, kUntouched})) << "as written";
}

TEST_F(Int4, UnsignedOnes) {
  auto x = Tensor4(TensorAttribute::INPUT, {4}, DataType::UINT4, Q(0.5f, 3));
  auto y = Output(graph_, {4});
  auto z = Tensor4(TensorAttribute::OUTPUT, {4}, DataType::UINT4, Q(0.25f, 8));
  Bind<ops::DataConvert>(graph_, {x}, {y});
  Bind<ops::DataConvert>(graph_, {x}, {z});
  Write(x, Bytes{0xF0, 0x43});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{-1.5f, 6, 0, 0.5f}));
  EXPECT_EQ(Read<uint8_t>(z, 2), (Bytes{0xF2, 0xA8})) << "6 / 0.25 + 8 saturates at 15";
}

TEST_F(Int4, ConstantsComeAsAByteForEachElement) {
  const Bytes stored = {1, 0xFE, 0x37, 0xF8, 0, 5};  // the low half counts: 1 -2 7, -8 0 5
  auto given = Tensor4(TensorAttribute::CONSTANT, {3, 2}, DataType::INT4, Q(1), stored.data());
  auto filled = Tensor4(TensorAttribute::CONSTANT, {3, 2});
  Write(filled, stored);
  for (const TensorPtr& c : {given, filled}) {
    EXPECT_EQ(Read<uint8_t>(c, 5), (Bytes{0xE1, 0x07, 0x08, 0x05, kUntouched})) << "packed";
    auto y = Output(graph_, {3, 2});
    Bind<ops::DataConvert>(graph_, {c}, {y});
  }
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  for (const auto& y : graph_->OutputsTensor())
    EXPECT_EQ(Read(y, 6), (std::vector<float>{1, -2, 7, -8, 0, 5}));
}

TEST_F(Int4, WhatFloat32ToDtypeWritesIsAConstantsData) {
  auto c = Tensor4(TensorAttribute::CONSTANT, {3}, DataType::INT4, Q(0.5f, 1));
  Bytes stored(3);
  ASSERT_TRUE(utils::Float32ToDtype(c, {-9, 1.5f, 0.9f}, stored.data()));
  EXPECT_EQ(stored, (Bytes{0xF8, 4, 3}));
  Write(c, stored);
  float* reals = c->ConvertTensorToFloat32Data();
  ASSERT_NE(reals, nullptr);
  EXPECT_EQ(std::vector<float>(reals, reals + 3), (std::vector<float>{-4.5f, 1.5f, 1}));
  std::free(reals);
}

TEST_F(Int4, FreshTensorsReadAsRealZero) {
  for (TensorAttribute attr : {TensorAttribute::INPUT, TensorAttribute::OUTPUT,
                               TensorAttribute::VARIABLE, TensorAttribute::CONSTANT}) {
    auto t = Tensor4(attr, {3}, DataType::UINT4, Q(0.5f, 9));
    EXPECT_EQ(Read<uint8_t>(t, 3), (Bytes{0x99, 0x09, kUntouched}));
    float* reals = t->ConvertTensorToFloat32Data();
    ASSERT_NE(reals, nullptr);
    EXPECT_EQ(std::vector<float>(reals, reals + 3), (std::vector<float>{0, 0, 0}));
    std::free(reals);
    void* raw = t->ConvertTensorToData(nullptr);
    EXPECT_EQ(std::memcmp(raw, "\x99\x09", 2), 0);
    std::free(raw);
  }
}

TEST_F(Int4, MappedMemoryIsPacked) {
  auto x = Tensor4(TensorAttribute::INPUT, {3});
  auto y = Tensor4(TensorAttribute::OUTPUT, {});  // left open
  Bind<ops::Relu>(graph_, {x}, {y});
  ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
  for (const Bytes& bytes : {Bytes{0xF1, 0x05}, Bytes{0x3E, 0x08}}) {
    auto* mapped = static_cast<uint8_t*>(x->map());
    ASSERT_NE(mapped, nullptr);
    std::memcpy(mapped, bytes.data(), 2);
    x->unmap();
    ASSERT_TRUE(graph_->Run());
    auto* result = static_cast<const uint8_t*>(y->map(true));
    EXPECT_EQ(result[0], bytes[0] == 0xF1 ? 0x01 : 0x30);
    EXPECT_EQ(result[1], bytes[0] == 0xF1 ? 0x05 : 0x00);
    y->unmap();
  }
}

TEST_F(Int4, OverTheUsersMemory) {
  alignas(64) uint8_t in[64] = {0x21, 0x03}, out[64], other[64] = {0x65, 0x07};
  std::memset(out, 0xCC, sizeof out);
  const TensorSpec spec(DataType::INT4, {3}, TensorAttribute::INPUT, Q(1));
  TensorSpec result = spec;
  result.SetAttribute(TensorAttribute::OUTPUT);
  auto x = graph_->CreateIOTensor(spec, in);
  auto y = graph_->CreateIOTensor(result, out);
  EXPECT_EQ(x->map(), in);
  Bind<ops::Neg>(graph_, {x}, {y});
  ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
  EXPECT_EQ(out[0], 0xCC) << "not before Run()";
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Bytes(out, out + 3), (Bytes{0xEF, 0x0D, 0xCC}));
  in[0] = 0x44;  // no call tells of it
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Bytes(out, out + 3), (Bytes{0xCC, 0x0D, 0xCC}));
  void* old = nullptr;
  ASSERT_TRUE(x->SwapHandle(other, false, &old));
  EXPECT_EQ(old, in);
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Bytes(out, out + 3), (Bytes{0xAB, 0x09, 0xCC}));
}

TEST_F(Int4, HandlesChangePlaces) {
  auto x = Tensor4(TensorAttribute::INPUT, {3});
  auto y = Tensor4(TensorAttribute::OUTPUT, {3});
  auto one = Constant(graph_, {1}, {1});
  Bind<ops::Add>(graph_, {x, one}, {y});
  Write(x, Bytes{0x21, 0x03});
  for (uint8_t first : {0x32, 0x43, 0x54}) {
    ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    EXPECT_EQ(Read<uint8_t>(y, 2)[0], first);
    ASSERT_TRUE(x->SwapHandle(y));  // the result is the next input
  }
}

TEST_F(Int4, StateKeepsItsValues) {
  auto x = Input(graph_, {3});
  auto state = Tensor4(TensorAttribute::VARIABLE, {3});
  auto y = Output(graph_, {3});
  Bind<ops::Add>(graph_, {x, state}, {state});
  Bind<ops::DataConvert>(graph_, {state}, {y});
  Write(state, Bytes{1, 2, 0xFD});
  Write<float>(x, {1, 3, -4});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read<uint8_t>(state, 2), (Bytes{0x52, 0x09}));
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Read<uint8_t>(state, 2), (Bytes{0x73, 0x08})) << "saturated";
}

// The middle tensor is one that the user made: its grid shows, fused or not.
TEST_F(Int4, ValuesBetweenOpsAreRoundedToTheirGrid) {
  auto x = Input(graph_, {5});
  auto between = Make(graph_, TensorAttribute::TRANSIENT, {}, DataType::INT4, Q(0.5f, 1));
  auto y = Output(graph_, {5});
  Bind<ops::Abs>(graph_, {x}, {between});
  Bind<ops::Neg>(graph_, {between}, {y});
  Write<float>(x, {-0.2f, 0.3f, 1.25f, 9, -1.75f});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 5), (std::vector<float>{-0.0f, -0.5f, -1.5f, -3, -1.5f}));
}

TEST_F(Int4, WeightsOfAFullyConnectedLayer) {
  const Bytes weights = {1, 0xFF, 7, 0xF8, 2, 3};  // two rows of three
  auto x = Input(graph_, {3, 1}, DataType::UINT8, Q(0.5f, 10));
  auto w = Tensor4(TensorAttribute::CONSTANT, {3, 2}, DataType::INT4, Q(0.25f), weights.data());
  auto y = Output(graph_, {2, 1});
  Bind<ops::FullyConnected>(graph_, {x, w}, {y}, 0u, 2u);
  Write(x, Bytes{12, 9, 20});  // 1, -0.5, 5
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{0.25f + 0.125f + 8.75f, -2 - 0.25f + 3.75f}));
}

TEST_F(Int4, WhoDoesNotTakeThemSaysWhatHeTakes) {
  auto x = Tensor4(TensorAttribute::INPUT, {4});
  auto y = Output(graph_, {4}, DataType::BOOL8);
  Bind<ops::LogicalNot>(graph_, {x}, {y});
  EXPECT_FALSE(graph_->Compile());
  EXPECT_EQ(graph_->LastStatus().code(), Code::kInvalidType);
  for (const char* word : {"LogicalNot#1", "i4(1,0)[4]", "bool|i8"})
    EXPECT_NE(graph_->LastStatus().message().find(word), std::string::npos) << word;
}

// Not of 4 bits: memory that is the user's keeps what the user put there, zero points or not.
TEST_F(Int4, QuantizedMemoryOfTheUserIsNotCleared) {
  alignas(64) uint8_t in[64] = {1, 2, 3};
  auto x =
      graph_->CreateIOTensor(TensorSpec(DataType::UINT8, {3}, TensorAttribute::INPUT, Q(1, 7)), in);
  auto y = Output(graph_, {3});
  Bind<ops::DataConvert>(graph_, {x}, {y});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 3), (std::vector<float>{-6, -5, -4}));
}

}  // namespace
}  // namespace tim::vx::test
