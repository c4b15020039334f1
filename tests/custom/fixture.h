// For tests of users' own operators: one context for all, and graphs in a few words.
#ifndef TIMCL_TESTS_CUSTOM_FIXTURE_H_
#define TIMCL_TESTS_CUSTOM_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/tensor.h"

namespace custom_test {

namespace vx = tim::vx;
using vx::DataType;
using TensorPtr = std::shared_ptr<vx::Tensor>;

/// The element type of a vector as a DataType.
template <class T>
constexpr DataType TypeOf();
template <>
constexpr DataType TypeOf<float>() {
  return DataType::FLOAT32;
}
template <>
constexpr DataType TypeOf<uint8_t>() {
  return DataType::UINT8;
}
template <>
constexpr DataType TypeOf<int8_t>() {
  return DataType::INT8;
}
template <>
constexpr DataType TypeOf<int32_t>() {
  return DataType::INT32;
}
template <>
constexpr DataType TypeOf<int16_t>() {
  return DataType::INT16;
}
template <>
constexpr DataType TypeOf<uint16_t>() {
  return DataType::UINT16;
}
template <>
constexpr DataType TypeOf<int64_t>() {
  return DataType::INT64;
}

class CustomOp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { context_ = vx::Context::Create(); }
  static void TearDownTestSuite() { context_.reset(); }
  void SetUp() override { graph_ = context_->CreateGraph(); }

  template <class T>
  TensorPtr Input(const vx::ShapeType& shape, const vx::Quantization& quant = {}) {
    return graph_->CreateTensor({TypeOf<T>(), shape, vx::INPUT, quant});
  }
  template <class T>
  TensorPtr Output(const vx::ShapeType& shape, const vx::Quantization& quant = {}) {
    return graph_->CreateTensor({TypeOf<T>(), shape, vx::OUTPUT, quant});
  }
  template <class T>
  TensorPtr Transient(const vx::Quantization& quant = {}) {
    return graph_->CreateTensor({TypeOf<T>(), {}, vx::TRANSIENT, quant});
  }

  void Compile() { ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message(); }
  void Run() { ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message(); }

  template <class T>
  static void Write(const TensorPtr& tensor, const std::vector<T>& values) {
    ASSERT_TRUE(tensor->CopyDataToTensor(values.data()));
  }
  template <class T>
  static std::vector<T> Read(const TensorPtr& tensor, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(tensor->CopyDataFromTensor(values.data()));
    return values;
  }

  static inline std::shared_ptr<vx::Context> context_;
  std::shared_ptr<vx::Graph> graph_;
};

/// Numbers in [-range, range), the same ones for the same seed.
inline std::vector<float> RandomFloats(size_t count, uint32_t seed, float range = 2) {
  std::vector<float> values(count);
  for (float& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = (static_cast<float>(seed >> 8) / 16777216.0f * 2 - 1) * range;
  }
  return values;
}
inline std::vector<uint8_t> RandomBytes(size_t count, uint32_t seed) {
  std::vector<uint8_t> values(count);
  for (uint8_t& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<uint8_t>(seed >> 24);
  }
  return values;
}

}  // namespace custom_test

#endif  // TIMCL_TESTS_CUSTOM_FIXTURE_H_
