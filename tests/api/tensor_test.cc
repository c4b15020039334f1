// Tensor: memory, copies and their habits, mapping, swapping, conversions, by kind of tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

class TensorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
    graph_ = SharedContext()->CreateGraph();
  }
  void Run() { ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message(); }
  GraphPtr graph_;
};

TEST_F(TensorTest, SpecIsAsGiven) {
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 3);
  auto t = Make(graph_, TensorAttribute::INPUT, {4, 2}, DataType::UINT8, q);
  EXPECT_EQ(t->GetShape(), (ShapeType{4, 2}));
  EXPECT_EQ(t->GetDataType(), DataType::UINT8);
  EXPECT_EQ(t->GetQuantization(), q);
  EXPECT_EQ(t->GetSpec(), TensorSpec(DataType::UINT8, {4, 2}, TensorAttribute::INPUT, q));
  EXPECT_FALSE(t->IsPlaceHolder());
  EXPECT_FALSE(t->IsScalar());
  t->SetScalar(1);
  EXPECT_TRUE(t->IsScalar());
  t->SetScalar(0);
  EXPECT_FALSE(t->IsScalar());
  t->GetSpec().SetDataType(DataType::INT8);
  EXPECT_EQ(t->GetDataType(), DataType::INT8) << "the spec is the stored one";
}

TEST_F(TensorTest, OnlyPureConstantsAreConstant) {
  EXPECT_TRUE(Make(graph_, TensorAttribute::CONSTANT, {1})->IsConstTensor());
  EXPECT_FALSE(
      Make(graph_,
           static_cast<TensorAttribute>(TensorAttribute::CONSTANT | TensorAttribute::OUTPUT), {1})
          ->IsConstTensor());
  EXPECT_FALSE(Make(graph_, TensorAttribute::VARIABLE, {1})->IsConstTensor());
}

TEST_F(TensorTest, TheSizeArgumentMeansNothing) {
  auto x = Input(graph_, {4});
  const std::vector<float> values = {1, 2, 3, 4};
  for (const uint32_t size : {0u, 1u, 4u, 16u, 1000000u}) {
    const std::vector<float> zeros(4, 0.0f);
    ASSERT_TRUE(x->CopyDataToTensor(zeros.data()));
    EXPECT_TRUE(x->CopyDataToTensor(values.data(), size)) << size;
    EXPECT_EQ(Read(x, 4), values) << size;
  }
}

TEST_F(TensorTest, NullPointersDoNothing) {
  auto x = Input(graph_, {2});
  ASSERT_TRUE(Write<float>(x, {1, 2}));
  EXPECT_TRUE(x->CopyDataToTensor(nullptr, 8));
  EXPECT_TRUE(x->CopyDataFromTensor(nullptr));
  EXPECT_EQ(Read(x, 2), (std::vector<float>{1, 2}));
}

TEST_F(TensorTest, TransientsHaveNoHostAccess) {
  const float data[2] = {1, 2};
  auto t = Make(graph_, TensorAttribute::TRANSIENT, {2}, DataType::FLOAT32, Quantization(), data);
  ASSERT_NE(t, nullptr);
  EXPECT_NE(t->GetId(), static_cast<uint32_t>(-1));
  float out[2] = {};
  EXPECT_FALSE(t->CopyDataToTensor(data, sizeof data));
  EXPECT_FALSE(t->CopyDataFromTensor(out));
  EXPECT_FALSE(t->CopyDataToTensor(nullptr));
  EXPECT_EQ(t->map(), nullptr);
  EXPECT_FALSE(t->SwapHandle(out, false, nullptr));
  EXPECT_EQ(t->ConvertTensorToData(nullptr), nullptr);
}

TEST_F(TensorTest, DataAtCreationIsCopied) {
  for (const auto attr : {TensorAttribute::CONSTANT, TensorAttribute::INPUT,
                          TensorAttribute::OUTPUT, TensorAttribute::VARIABLE}) {
    std::vector<float> values = {1, 2, 3};
    auto t = Make(graph_, attr, {3}, DataType::FLOAT32, Quantization(), values.data());
    values.assign(3, 9.0f);
    EXPECT_EQ(Read(t, 3), (std::vector<float>{1, 2, 3}));
  }
}

TEST_F(TensorTest, WithoutDataTheyReadAsRealZero) {
  for (const auto attr : {TensorAttribute::CONSTANT, TensorAttribute::INPUT,
                          TensorAttribute::OUTPUT, TensorAttribute::VARIABLE}) {
    SCOPED_TRACE(static_cast<int>(attr));
    EXPECT_EQ(Read(Make(graph_, attr, {3}), 3), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(Read<uint8_t>(Make(graph_, attr, {3}, DataType::UINT8,
                                 Quantization(QuantType::ASYMMETRIC, 0.5f, 128)),
                            3),
              (std::vector<uint8_t>{128, 128, 128}));
    EXPECT_EQ(Read<int16_t>(Make(graph_, attr, {3}, DataType::INT16,
                                 Quantization(QuantType::ASYMMETRIC, 0.5f, -300)),
                            3),
              (std::vector<int16_t>{-300, -300, -300}));
    EXPECT_EQ(Read<int8_t>(Make(graph_, attr, {3}, DataType::INT8,
                                Quantization(QuantType::DYNAMIC_FIXED_POINT, int8_t{3})),
                           3),
              (std::vector<int8_t>{0, 0, 0}));
    EXPECT_EQ(
        Read<uint8_t>(Make(graph_, attr, {1, 2}, DataType::UINT8,
                           Quantization(QuantType::ASYMMETRIC_PER_CHANNEL, 1, {1, 1}, {7, 9})),
                      2),
        (std::vector<uint8_t>{7, 9}));
  }
}

TEST_F(TensorTest, AnInferredOutputReadsAsRealZeroBeforeTheRun) {
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 128);
  auto y = Output(graph_, {}, DataType::UINT8, q);
  uint8_t out[3] = {1, 1, 1};
  EXPECT_FALSE(y->CopyDataFromTensor(out)) << "no memory yet";
  Bind<ops::Relu>(graph_, {Input(graph_, {3}, DataType::UINT8, q)}, {y});
  ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
  EXPECT_EQ(Read<uint8_t>(y, 3), (std::vector<uint8_t>{128, 128, 128}));
}

TEST_F(TensorTest, ConstantsAreFilledAnyTimeBeforeCompile) {
  auto c = Make(graph_, TensorAttribute::CONSTANT, {2});
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Add>(graph_, {x, c}, {y});
  ASSERT_TRUE(Write<float>(c, {10, 20}));
  EXPECT_EQ(Read(c, 2), (std::vector<float>{10, 20})) << "and read back";
  Write<float>(x, {1, 2});
  Run();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{11, 22}));
}

TEST_F(TensorTest, OutputOfOpenShape) {
  auto x = Input(graph_, {3, 2});
  auto y = Output(graph_, {});
  Bind<ops::Neg>(graph_, {x}, {y});
  Write<float>(x, {1, 2, 3, 4, 5, 6});
  Run();
  EXPECT_TRUE(y->GetShape().empty()) << "the declared shape stays";
  std::vector<float> out(8, 99.0f);
  ASSERT_TRUE(y->CopyDataFromTensor(out.data()));
  EXPECT_EQ(out, (std::vector<float>{-1, -2, -3, -4, -5, -6, 99, 99})) << "nothing behind the end";
  EXPECT_NE(y->map(true), nullptr);
  y->unmap();
}

TEST_F(TensorTest, TransientShapesAreReplaced) {
  for (const ShapeType& wrong : {ShapeType{}, ShapeType{0, 0, 0, 0}, ShapeType{9}, ShapeType{2, 3},
                                 ShapeType{1, 2, 3, 4, 5}}) {
    graph_ = SharedContext()->CreateGraph();
    auto x = Input(graph_, {3, 2});
    auto t = Between(graph_, wrong);
    auto y = Output(graph_, {3, 2});
    Bind<ops::Neg>(graph_, {x}, {t});
    Bind<ops::Abs>(graph_, {t}, {y});
    Write<float>(x, {1, -2, 3, -4, 5, -6});
    Run();
    EXPECT_EQ(Read(y, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(t->GetShape(), wrong) << "GetShape is never updated";
  }
}

TEST_F(TensorTest, DeclaredOutputOfTheSameSizeWins) {
  auto x = Input(graph_, {3, 2});
  auto y = Output(graph_, {6, 1, 1});
  Bind<ops::Neg>(graph_, {x}, {y});
  Write<float>(x, {1, 2, 3, 4, 5, 6});
  Run();
  EXPECT_EQ(Read(y, 6), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(y->GetShape(), (ShapeType{6, 1, 1}));
}

TEST_F(TensorTest, VariablesKeepTheirContents) {
  auto v = Make(graph_, TensorAttribute::VARIABLE, {2});
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Add>(graph_, {x, v}, {y});
  Write<float>(v, {100, 200});
  for (int i = 0; i < 3; ++i) {
    Write<float>(x, {static_cast<float>(i), 1});
    Run();
    EXPECT_EQ(Read(y, 2), (std::vector<float>{100.0f + static_cast<float>(i), 201}));
    EXPECT_EQ(Read(v, 2), (std::vector<float>{100, 200}));
  }
}

TEST_F(TensorTest, VariablesCarryStateFromRunToRun) {
  auto state = Make(graph_, TensorAttribute::VARIABLE, {2});
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Add>(graph_, {x, state}, {state});  // sees what the last run left
  Bind<ops::Neg>(graph_, {state}, {y});         // sees what this run wrote
  Write<float>(x, {1, 10});
  for (int i = 1; i <= 4; ++i) {
    const auto f = static_cast<float>(i);
    Run();
    EXPECT_EQ(Read(state, 2), (std::vector<float>{f, 10 * f}));
    EXPECT_EQ(Read(y, 2), (std::vector<float>{-f, -10 * f}));
  }
  ASSERT_TRUE(Write<float>(state, {1000, 2000}));
  Run();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{-1001, -2010}));
}

TEST_F(TensorTest, MapGivesTheMemoryOfInputsAndOutputs) {
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Neg>(graph_, {x}, {y});
  EXPECT_EQ(Make(graph_, TensorAttribute::CONSTANT, {2})->map(), nullptr);
  EXPECT_EQ(Make(graph_, TensorAttribute::VARIABLE, {2})->map(), nullptr);
  for (int i = 1; i < 4; ++i) {
    auto* in = static_cast<float*>(x->map());
    ASSERT_NE(in, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(in) % 64, 0u);
    in[0] = static_cast<float>(i);
    in[1] = 5;
    x->unmap();
    Run();
    const auto* out = static_cast<const float*>(y->map(true));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out[0], static_cast<float>(-i));
    EXPECT_EQ(out[1], -5);
    y->unmap();
  }
  // Without pairing.
  x->unmap();
  y->unmap();
  auto* in = static_cast<float*>(x->map());
  in[0] = 44;
  x->unmap();
  EXPECT_EQ(Read(x, 2), (std::vector<float>{44, 5}));
  EXPECT_TRUE(x->FlushCacheForHandle());
  EXPECT_FALSE(x->InvalidateCacheForHandle());
  EXPECT_FALSE(y->FlushCacheForHandle());
  EXPECT_TRUE(y->InvalidateCacheForHandle());
}

TEST_F(TensorTest, TheMemoryOfTheCallerIsUsedItself) {
  struct Block {
    alignas(64) float f[16];
  };
  auto in = std::make_unique<Block>(), out = std::make_unique<Block>();
  for (int i = 0; i < 16; ++i) in->f[i] = static_cast<float>(i), out->f[i] = 77;
  auto x =
      graph_->CreateIOTensor(TensorSpec(DataType::FLOAT32, {16}, TensorAttribute::INPUT), in->f);
  auto y =
      graph_->CreateIOTensor(TensorSpec(DataType::FLOAT32, {16}, TensorAttribute::OUTPUT), out->f);
  EXPECT_EQ(x->map(false), in->f);
  EXPECT_EQ(y->map(false), out->f);
  EXPECT_EQ(out->f[3], 77) << "the memory is left as it is";
  Bind<ops::Neg>(graph_, {x}, {y});
  Run();
  EXPECT_EQ(out->f[3], -3.0f) << "no CopyDataFromTensor is needed";
  EXPECT_EQ(out->f[15], -15.0f);
  in->f[3] = 42;  // no CopyDataToTensor either
  x->unmap();
  Run();
  EXPECT_EQ(out->f[3], -42.0f);
  EXPECT_EQ(Read(y, 16)[3], -42.0f);
  const std::vector<float> fives(16, 5.0f);
  ASSERT_TRUE(x->CopyDataToTensor(fives.data(), 64));
  EXPECT_EQ(in->f[7], 5.0f);
}

TEST_F(TensorTest, CreateIOTensorMayAllocate) {
  auto x = graph_->CreateIOTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::INPUT));
  ASSERT_NE(x->map(), nullptr);
  EXPECT_EQ(Read(x, 4), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(graph_->InputsTensor(), (std::vector<TensorPtr>{x}));
}

TEST_F(TensorTest, SwapHandleByPointer) {
  alignas(64) static float other[4] = {5, 6, 7, 8};
  auto x = Input(graph_, {4});
  auto y = Output(graph_, {4});
  Bind<ops::Neg>(graph_, {x}, {y});
  Write<float>(x, {1, 2, 3, 4});
  Run();
  void* old = nullptr;
  ASSERT_TRUE(x->SwapHandle(other, false, &old));
  ASSERT_NE(old, nullptr);
  EXPECT_EQ(static_cast<float*>(old)[1], 2.0f);
  EXPECT_EQ(x->map(), other);
  x->unmap();
  Run();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{-5, -6, -7, -8}));
  void* back = nullptr;
  ASSERT_TRUE(x->SwapHandle(old, true, &back));
  EXPECT_EQ(back, other);
  Run();
  EXPECT_EQ(Read(y, 4), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_FALSE(x->SwapHandle(reinterpret_cast<char*>(other) + 4, false, &back)) << "misaligned";
  EXPECT_FALSE(Make(graph_, TensorAttribute::CONSTANT, {4})->SwapHandle(other, false, &back));
}

TEST_F(TensorTest, SwapHandleByTensor) {
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Square>(graph_, {x}, {y});
  Write<float>(x, {2, 3});
  const uint32_t id = x->GetId();
  float expected[2] = {2, 3};
  for (int i = 0; i < 3; ++i) {  // the output of one step is the input of the next
    Run();
    for (float& e : expected) e *= e;
    EXPECT_EQ(Read(y, 2), (std::vector<float>{expected[0], expected[1]}));
    ASSERT_TRUE(i % 2 == 0 ? x->SwapHandle(y) : x->SwapHandleWithCache(y));
    EXPECT_EQ(Read(x, 2), (std::vector<float>{expected[0], expected[1]}));
  }
  EXPECT_EQ(x->GetId(), id);
  EXPECT_FALSE(x->SwapHandle(Input(graph_, {3}))) << "another size";
  EXPECT_FALSE(x->SwapHandle(Make(graph_, TensorAttribute::VARIABLE, {2})));
  EXPECT_FALSE(x->SwapHandle(Input(SharedContext()->CreateGraph(), {2}))) << "another graph";
  EXPECT_FALSE(x->SwapHandle(TensorPtr()));
}

TEST_F(TensorTest, ConversionsToData) {
  auto x = Input(graph_, {3}, DataType::UINT8, Quantization(QuantType::ASYMMETRIC, 0.5f, 10));
  Write<uint8_t>(x, {10, 12, 7});
  auto* raw = static_cast<uint8_t*>(x->ConvertTensorToData(nullptr));
  ASSERT_NE(raw, nullptr);
  EXPECT_EQ(std::vector<uint8_t>(raw, raw + 3), (std::vector<uint8_t>{10, 12, 7}));
  std::free(raw);
  float* real = x->ConvertTensorToFloat32Data();
  ASSERT_NE(real, nullptr);
  EXPECT_EQ(std::vector<float>(real, real + 3), (std::vector<float>{0.0f, 1.0f, -1.5f}));
  std::free(real);
}

TEST_F(TensorTest, SaveAsText) {
  auto x = Input(graph_, {2, 2}, DataType::INT8,
                 Quantization(QuantType::DYNAMIC_FIXED_POINT, int8_t{2}));
  Write<int8_t>(x, {1, -2, 3, 0});
  const std::string path = testing::TempDir() + "timcl_tensor_test.txt";
  EXPECT_TRUE(x->SaveTensorToTextByFp32(path));
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(),
            "0.2500000000000000\n-0.5000000000000000\n0.7500000000000000\n0.0000000000000000\n");
  EXPECT_TRUE(x->SaveTensorToTextByFp32("/nonexistent/folder/file")) << "only a warning";
}

TEST_F(TensorTest, ATensorThatCouldNotBeMadeAnswersHarmlessly) {
  auto t = Input(graph_, {});
  EXPECT_EQ(t->GetId(), static_cast<uint32_t>(-1));
  float f[4] = {};
  EXPECT_TRUE(t->CopyDataToTensor(f, 4));
  EXPECT_FALSE(t->CopyDataFromTensor(f));
  EXPECT_EQ(t->map(), nullptr);
  t->unmap();
  EXPECT_TRUE(t->SwapHandle(f, false, nullptr));
  EXPECT_EQ(t->ConvertTensorToFloat32Data(), nullptr);
}

}  // namespace
}  // namespace tim::vx::test
