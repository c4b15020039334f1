// Quantization, TensorSpec and the host conversions, with the habits of the original that callers
// can see.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "tim/vx/tensor.h"

namespace tim::vx {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(QuantizationTest, DefaultIsNone) {
  const Quantization quantization;
  EXPECT_EQ(quantization.Type(), QuantType::NONE);
  EXPECT_EQ(quantization.ChannelDim(), -1);
  EXPECT_TRUE(quantization.Scales().empty());
  EXPECT_TRUE(quantization.ZeroPoints().empty());
  EXPECT_EQ(quantization.Fl(), 0);
}

TEST(QuantizationTest, ConstructorsFillTheirParts) {
  const Quantization per_tensor(QuantType::ASYMMETRIC, 0.5f, 7);
  EXPECT_EQ(per_tensor.Type(), QuantType::ASYMMETRIC);
  EXPECT_EQ(per_tensor.Scales(), std::vector<float>{0.5f});
  EXPECT_EQ(per_tensor.ZeroPoints(), std::vector<int32_t>{7});
  EXPECT_EQ(per_tensor.ChannelDim(), -1);

  const Quantization per_channel(QuantType::SYMMETRIC_PER_CHANNEL, 3, {0.5f, 0.25f}, {0, 0});
  EXPECT_EQ(per_channel.ChannelDim(), 3);
  EXPECT_EQ(per_channel.Scales(), (std::vector<float>{0.5f, 0.25f}));
  EXPECT_EQ(per_channel.ZeroPoints(), (std::vector<int32_t>{0, 0}));

  const Quantization fixed(QuantType::DYNAMIC_FIXED_POINT, int8_t{-3});
  EXPECT_EQ(fixed.Type(), QuantType::DYNAMIC_FIXED_POINT);
  EXPECT_EQ(fixed.Fl(), -3);
  EXPECT_TRUE(fixed.Scales().empty());
}

TEST(QuantizationTest, SettersChainAndGettersGiveReferences) {
  Quantization quantization;
  quantization.SetType(QuantType::ASYMMETRIC)
      .SetChannelDim(2)
      .SetScales({1.0f, 2.0f})
      .SetZeroPoints({3, 4});
  EXPECT_EQ(quantization.ChannelDim(), 2);
  quantization.Scales()[1] = 5.0f;
  quantization.ZeroPoints().push_back(6);
  quantization.ChannelDim() = 1;
  quantization.Type() = QuantType::ASYMMETRIC_PER_CHANNEL;
  const Quantization& seen = quantization;
  EXPECT_EQ(seen.Scales(), (std::vector<float>{1.0f, 5.0f}));
  EXPECT_EQ(seen.ZeroPoints(), (std::vector<int32_t>{3, 4, 6}));
  EXPECT_EQ(seen.ChannelDim(), 1);
  EXPECT_EQ(seen.Type(), QuantType::ASYMMETRIC_PER_CHANNEL);
}

TEST(QuantizationTest, EqualityComparesAllButFl) {
  const Quantization base(QuantType::ASYMMETRIC, 0.5f, 7);
  EXPECT_TRUE(base == Quantization(QuantType::ASYMMETRIC, 0.5f, 7));
  EXPECT_FALSE(base == Quantization(QuantType::ASYMMETRIC, 0.25f, 7));
  EXPECT_FALSE(base == Quantization(QuantType::ASYMMETRIC, 0.5f, 8));
  EXPECT_FALSE(base == Quantization(QuantType::SYMMETRIC_PER_CHANNEL, 0.5f, 7));
  EXPECT_FALSE(base == Quantization(QuantType::ASYMMETRIC, 0, {0.5f}, {7})) << "channel_dim";
}

// With a fixed-point left side the original looks at nothing but fl; the other way round it does.
TEST(QuantizationTest, EqualityOfFixedPointIsLopsided) {
  const Quantization fixed(QuantType::DYNAMIC_FIXED_POINT, int8_t{0});
  const Quantization none;
  EXPECT_TRUE(fixed == none);
  EXPECT_FALSE(none == fixed);
  EXPECT_FALSE(fixed == Quantization(QuantType::DYNAMIC_FIXED_POINT, int8_t{1}));
}

TEST(TensorSpecTest, ComparesEveryPart) {
  const Quantization quantization(QuantType::ASYMMETRIC, 0.5f, 7);
  const TensorSpec spec(DataType::UINT8, {4, 3}, TensorAttribute::INPUT, quantization);
  const TensorSpec copy(spec);
  EXPECT_TRUE(copy == spec);
  TensorSpec other = spec;
  EXPECT_FALSE(other.SetDataType(DataType::INT8) == spec);
  EXPECT_TRUE(other.SetDataType(DataType::UINT8) == spec);
  EXPECT_FALSE(other.SetShape({3, 4}) == spec);
  EXPECT_TRUE(other.SetShape({4, 3}) == spec);
  EXPECT_FALSE(other.SetAttribute(TensorAttribute::OUTPUT) == spec);
  EXPECT_TRUE(other.SetAttribute(TensorAttribute::INPUT) == spec);
  Quantization coarser(QuantType::ASYMMETRIC, 1.0f, 7);
  EXPECT_FALSE(other.SetQuantization(coarser) == spec);
  other = copy;
  EXPECT_TRUE(other == spec);
}

TEST(TensorSpecTest, TransientSpecDropsTheShape) {
  const Quantization quantization(QuantType::ASYMMETRIC, 0.5f, 7);
  TensorSpec spec =
      TensorSpec(DataType::UINT8, {4, 3}, TensorAttribute::INPUT, quantization).AsTransientSpec();
  EXPECT_EQ(spec.GetDataType(), DataType::UINT8);
  EXPECT_TRUE(spec.GetShapeType().empty());
  EXPECT_EQ(spec.GetTensorAttribute(), TensorAttribute::TRANSIENT);
  EXPECT_TRUE(spec.GetQuantization() == quantization);
}

TEST(TensorSpecTest, AccessorsGiveReferences) {
  TensorSpec spec;
  spec.GetDataType() = DataType::INT16;
  spec.GetShapeType() = {5};
  spec.GetTensorAttribute() = TensorAttribute::VARIABLE;
  spec.GetQuantization().SetType(QuantType::ASYMMETRIC);
  EXPECT_EQ(spec.datatype_, DataType::INT16);
  EXPECT_EQ(spec.shape_, ShapeType{5});
  EXPECT_EQ(spec.attr_, TensorAttribute::VARIABLE);
  EXPECT_EQ(spec.quantization_.Type(), QuantType::ASYMMETRIC);
}

TEST(TensorSpecTest, SizesInElementsAndBytes) {
  const auto size = [](DataType type) {
    return TensorSpec(type, {}, TensorAttribute::INPUT).GetElementByteSize();
  };
  for (DataType type : {DataType::INT8, DataType::UINT8, DataType::BOOL8, DataType::INT4,
                        DataType::UINT4, DataType::UNKNOWN}) {
    EXPECT_EQ(size(type), 1) << static_cast<int>(type);
  }
  for (DataType type : {DataType::INT16, DataType::UINT16, DataType::FLOAT16}) {
    EXPECT_EQ(size(type), 2) << static_cast<int>(type);
  }
  for (DataType type : {DataType::INT32, DataType::UINT32, DataType::FLOAT32}) {
    EXPECT_EQ(size(type), 4) << static_cast<int>(type);
  }
  // The original says 1, which makes buffers too small for its own copy functions.
  EXPECT_EQ(size(DataType::INT64), 8);

  const TensorSpec spec(DataType::FLOAT32, {4, 3, 2}, TensorAttribute::INPUT);
  EXPECT_EQ(spec.GetElementNum(), 24);
  EXPECT_EQ(spec.GetByteSize(), 96);
  EXPECT_EQ(TensorSpec(DataType::FLOAT32, {}, TensorAttribute::INPUT).GetElementNum(), 1);
  EXPECT_EQ(TensorSpec(DataType::FLOAT32, {3, 0}, TensorAttribute::INPUT).GetElementNum(), 0);
}

TEST(TensorSpecTest, SizesThatDoNotFitSaturate) {
  constexpr uint32_t kBig = 0xFFFFFFFFu;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const TensorSpec three(DataType::INT8, {kBig, kBig, kBig}, TensorAttribute::INPUT);
  EXPECT_EQ(three.GetElementNum(), kMax);
  EXPECT_EQ(three.GetByteSize(), kMax);
  const TensorSpec bytes(DataType::FLOAT32, {kBig, 1u << 30}, TensorAttribute::INPUT);
  EXPECT_EQ(bytes.GetElementNum(), int64_t{kBig} << 30);
  EXPECT_EQ(bytes.GetByteSize(), kMax);
  EXPECT_EQ(
      TensorSpec(DataType::INT8, {kBig, kBig, kBig, 0}, TensorAttribute::INPUT).GetElementNum(), 0);
}

// A tensor that only has a spec: all that the conversions ask for.
class SpecTensor : public Tensor {
 public:
  explicit SpecTensor(TensorSpec spec) : spec_(std::move(spec)) {}
  const ShapeType& GetShape() override { return spec_.shape_; }
  DataType GetDataType() override { return spec_.datatype_; }
  const Quantization& GetQuantization() override { return spec_.quantization_; }
  TensorSpec& GetSpec() override { return spec_; }
  uint32_t GetId() override { return 0; }
  bool CopyDataToTensor(const void*, uint32_t) override { return false; }
  bool CopyDataFromTensor(void*) override { return false; }
  bool SwapHandle(void*, bool, void**) override { return false; }
  bool SwapHandle(std::shared_ptr<Tensor>) override { return false; }
  bool SwapHandleWithCache(std::shared_ptr<Tensor>) override { return false; }
  bool FlushCacheForHandle() override { return false; }
  bool InvalidateCacheForHandle() override { return false; }
  void* map(bool) override { return nullptr; }
  void unmap() override {}
  bool IsPlaceHolder() override { return false; }
  bool IsConstTensor() override { return false; }
  bool IsScalar() override { return false; }
  bool SaveTensorToTextByFp32(std::string) override { return false; }
  void SetScalar(int8_t) override {}
  void* ConvertTensorToData(uint8_t*) override { return nullptr; }
  float* ConvertTensorToFloat32Data() override { return nullptr; }

 private:
  TensorSpec spec_;
};

std::shared_ptr<Tensor> MakeTensor(DataType type, ShapeType shape, Quantization quantization = {}) {
  return std::make_shared<SpecTensor>(
      TensorSpec(type, shape, TensorAttribute::INPUT, quantization));
}

// Float32ToDtype of a rank-1 tensor; checks that nothing is written beyond the last element.
template <class T>
std::vector<T> Convert(DataType type, const std::vector<float>& reals,
                       const Quantization& quantization = {}) {
  const auto tensor = MakeTensor(type, {static_cast<uint32_t>(reals.size())}, quantization);
  std::vector<uint8_t> bytes(reals.size() * sizeof(T) + 1, 0xA5);
  EXPECT_TRUE(utils::Float32ToDtype(tensor, reals, bytes.data()));
  EXPECT_EQ(bytes.back(), 0xA5);
  std::vector<T> result(reals.size());
  std::memcpy(result.data(), bytes.data(), reals.size() * sizeof(T));
  return result;
}

template <class T>
float Real(DataType type, T stored, const Quantization& quantization = {}) {
  float real = kNan;
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &stored, sizeof(T));
  EXPECT_TRUE(utils::DtypeToFloat32(MakeTensor(type, {1}, quantization), bytes, &real));
  return real;
}

TEST(HostConvertTest, RoundsTheQuotientBeforeItAddsTheZeroPoint) {
  // 2.5 and 3.5 are exact halves: to even, then + 7. With the zero point added first (as the device
  // does) they would become 10 and 10 instead of 9 and 11.
  const Quantization odd(QuantType::ASYMMETRIC, 1.0f, 7);
  EXPECT_EQ(Convert<uint8_t>(DataType::UINT8, {2.5f, 3.5f, -0.5f, 2.4f}, odd),
            (std::vector<uint8_t>{9, 11, 7, 9}));
}

TEST(HostConvertTest, SaturatesQuantizedValues) {
  const Quantization half(QuantType::ASYMMETRIC, 0.5f, 10);
  EXPECT_EQ(
      Convert<uint8_t>(DataType::UINT8, {-5.0f, -5.5f, 122.5f, 123.0f, kInf, -kInf, kNan}, half),
      (std::vector<uint8_t>{0, 0, 255, 255, 255, 0, 10}));
  EXPECT_EQ(Convert<int8_t>(DataType::INT8, {-70.0f, 60.0f, kInf, -kInf}, half),
            (std::vector<int8_t>{-128, 127, 127, -128}));
  EXPECT_EQ(Convert<int16_t>(DataType::INT16, {-1e9f, 1e9f, 1.0f}, half),
            (std::vector<int16_t>{-32768, 32767, 12}));
  EXPECT_EQ(Convert<int32_t>(DataType::INT32, {-1e12f, 1e12f, 1.0f}, half),
            (std::vector<int32_t>{std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max(), 12}));
}

TEST(HostConvertTest, FixedPointWithPositiveAndNegativeLength) {
  const Quantization fine(QuantType::DYNAMIC_FIXED_POINT, int8_t{3});
  EXPECT_EQ(Convert<int8_t>(DataType::INT8, {1.0f, -0.125f, 0.0625f, 0.1875f, 100.0f}, fine),
            (std::vector<int8_t>{8, -1, 0, 2, 127}));
  EXPECT_EQ(Real<int8_t>(DataType::INT8, -1, fine), -0.125f);
  const Quantization coarse(QuantType::DYNAMIC_FIXED_POINT, int8_t{-2});
  EXPECT_EQ(Convert<int16_t>(DataType::INT16, {8.0f, -4.0f, 6.0f, 10.0f}, coarse),
            (std::vector<int16_t>{2, -1, 2, 2}));
  EXPECT_EQ(Real<int16_t>(DataType::INT16, 5, coarse), 20.0f);
}

TEST(HostConvertTest, PerChannelFollowsItsAxis) {
  // Shape {2, 3}: channel dimension 1 advances every second element.
  const Quantization symmetric(QuantType::SYMMETRIC_PER_CHANNEL, 1, {1.0f, 0.5f, 2.0f}, {9, 9, 9});
  std::vector<int8_t> stored(6);
  EXPECT_TRUE(utils::Float32ToDtype(MakeTensor(DataType::INT8, {2, 3}, symmetric),
                                    {4, 6, 4, 6, 4, 6}, reinterpret_cast<uint8_t*>(stored.data())));
  EXPECT_EQ(stored, (std::vector<int8_t>{4, 6, 8, 12, 2, 3})) << "zero points do not count";

  const Quantization asymmetric(QuantType::ASYMMETRIC_PER_CHANNEL, 0, {1.0f, 0.5f}, {10, 20});
  std::vector<uint8_t> bytes(6);
  EXPECT_TRUE(utils::Float32ToDtype(MakeTensor(DataType::UINT8, {2, 3}, asymmetric),
                                    {1, 1, 2, 2, 3, 3}, bytes.data()));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{11, 22, 12, 24, 13, 26}));

  // One zero point for all channels is a habit of callers.
  const Quantization shared(QuantType::ASYMMETRIC_PER_CHANNEL, 0, {1.0f, 0.5f}, {10});
  EXPECT_TRUE(
      utils::Float32ToDtype(MakeTensor(DataType::UINT8, {2}, shared), {1, 1}, bytes.data()));
  EXPECT_EQ(bytes[0], 11);
  EXPECT_EQ(bytes[1], 12);
}

TEST(HostConvertTest, AsymmetricIgnoresTheChannelDimension) {
  const Quantization spelled(QuantType::ASYMMETRIC, 9, {0.5f}, {3});
  EXPECT_EQ(Convert<uint8_t>(DataType::UINT8, {1.0f, 2.0f}, spelled), (std::vector<uint8_t>{5, 7}));
}

TEST(HostConvertTest, PlainIntegersAreCastAndNotClamped) {
  EXPECT_EQ(Convert<int32_t>(DataType::INT32, {1.9f, -1.9f, 0.5f}),
            (std::vector<int32_t>{1, -1, 0}));
  EXPECT_EQ(Convert<int8_t>(DataType::INT8, {300.7f, -129.0f, 127.9f}),
            (std::vector<int8_t>{44, 127, 127}));
  EXPECT_EQ(Convert<uint8_t>(DataType::UINT8, {257.0f, -1.0f}), (std::vector<uint8_t>{1, 255}));
  EXPECT_EQ(Convert<int64_t>(DataType::INT64, {-3.0f, 8589934592.0f}),
            (std::vector<int64_t>{-3, 8589934592}));
  EXPECT_EQ(Convert<uint8_t>(DataType::BOOL8, {0.0f, 1.0f, 0.9f}), (std::vector<uint8_t>{0, 1, 0}));
}

TEST(HostConvertTest, HalvesAreTruncated) {
  // 1 + 2^-10 is the next half above 1; all in between falls back to 1.
  const float below_next = 1.0f + 0x1.FFCp-11f;
  EXPECT_EQ(Convert<uint16_t>(DataType::FLOAT16, {1.0f, below_next, 1.0f + 0x1p-10f, -2.5f, 0.0f}),
            (std::vector<uint16_t>{0x3C00, 0x3C00, 0x3C01, 0xC100, 0x0000}));
  // The largest finite half, also for what lies beyond it.
  EXPECT_EQ(Convert<uint16_t>(DataType::FLOAT16, {65504.0f, 65535.0f, 1e30f, kInf, -kInf}),
            (std::vector<uint16_t>{0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF, 0xFBFF}));
  // Zero with its sign below the normal range.
  EXPECT_EQ(Convert<uint16_t>(DataType::FLOAT16, {0x1p-14f, 0x1.FFEp-15f, -0x1p-20f, -0.0f}),
            (std::vector<uint16_t>{0x0400, 0x0000, 0x8000, 0x8000}));
}

TEST(HostConvertTest, ReadsHalves) {
  EXPECT_EQ(Real<uint16_t>(DataType::FLOAT16, 0x3C01), 1.0f + 0x1p-10f);
  EXPECT_EQ(Real<uint16_t>(DataType::FLOAT16, 0xFBFF), -65504.0f);
  EXPECT_EQ(Real<uint16_t>(DataType::FLOAT16, 0x0001), 0x1p-24f);
  EXPECT_EQ(Real<uint16_t>(DataType::FLOAT16, 0x7C00), kInf);
  EXPECT_TRUE(std::isnan(Real<uint16_t>(DataType::FLOAT16, 0x7E00)));
  EXPECT_TRUE(std::signbit(Real<uint16_t>(DataType::FLOAT16, 0x8000)));
}

TEST(HostConvertTest, ReadsEachIntegerType) {
  EXPECT_EQ(Real<int8_t>(DataType::INT8, -128), -128.0f);
  EXPECT_EQ(Real<uint8_t>(DataType::UINT8, 255), 255.0f);
  EXPECT_EQ(Real<int16_t>(DataType::INT16, -300), -300.0f);
  EXPECT_EQ(Real<uint16_t>(DataType::UINT16, 65535), 65535.0f);
  EXPECT_EQ(Real<int32_t>(DataType::INT32, -70000), -70000.0f);
  EXPECT_EQ(Real<uint32_t>(DataType::UINT32, 4000000000u), 4000000000.0f);
  EXPECT_EQ(Real<int64_t>(DataType::INT64, -8589934592), -8589934592.0f);
  EXPECT_EQ(Real<float>(DataType::FLOAT32, 0.1f), 0.1f);
  const Quantization quantization(QuantType::ASYMMETRIC, 0.5f, 10);
  EXPECT_EQ(Real<uint8_t>(DataType::UINT8, 13, quantization), 1.5f);
  EXPECT_EQ(Real<uint8_t>(DataType::UINT8, 0, quantization), -5.0f);
}

// Callers loop over the elements themselves.
TEST(HostConvertTest, ReadsOneElementOnly) {
  uint8_t stored[3] = {1, 2, 3};
  float reals[3] = {-1, -1, -1};
  EXPECT_TRUE(utils::DtypeToFloat32(MakeTensor(DataType::UINT8, {3}), stored, reals));
  EXPECT_EQ(reals[0], 1.0f);
  EXPECT_EQ(reals[1], -1.0f);
  EXPECT_EQ(reals[2], -1.0f);
}

TEST(HostConvertTest, RefusesWhatItCannotConvert) {
  uint8_t bytes[8] = {};
  float real = 0;
  const auto bytes_tensor = MakeTensor(DataType::UINT8, {2});
  EXPECT_FALSE(utils::Float32ToDtype(nullptr, {1, 2}, bytes));
  EXPECT_FALSE(utils::Float32ToDtype(bytes_tensor, {1, 2}, nullptr));
  EXPECT_FALSE(utils::Float32ToDtype(bytes_tensor, {1}, bytes)) << "fewer floats than elements";
  EXPECT_FALSE(utils::Float32ToDtype(MakeTensor(DataType::UNKNOWN, {2}), {1, 2}, bytes));
  EXPECT_FALSE(utils::DtypeToFloat32(nullptr, bytes, &real));
  EXPECT_FALSE(utils::DtypeToFloat32(bytes_tensor, nullptr, &real));
  EXPECT_FALSE(utils::DtypeToFloat32(bytes_tensor, bytes, nullptr));
  EXPECT_FALSE(utils::DtypeToFloat32(MakeTensor(DataType::UNKNOWN, {2}), bytes, &real));

  Quantization no_scales;
  no_scales.SetType(QuantType::ASYMMETRIC);
  const Quantization no_axis(QuantType::SYMMETRIC_PER_CHANNEL, 1, {1.0f, 1.0f}, {});
  const Quantization few_scales(QuantType::SYMMETRIC_PER_CHANNEL, 0, {1.0f}, {});
  for (const Quantization& bad : {no_scales, no_axis, few_scales}) {
    EXPECT_FALSE(utils::Float32ToDtype(MakeTensor(DataType::INT8, {2}, bad), {1, 2}, bytes));
    EXPECT_FALSE(utils::DtypeToFloat32(MakeTensor(DataType::INT8, {2}, bad), bytes, &real));
  }
}

}  // namespace
}  // namespace tim::vx
