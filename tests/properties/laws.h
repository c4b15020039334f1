// Laws over examples that rapidcheck draws, by the typed public API: on the reference many, on the
// OpenCL device a few, of one rank and element type, so that they share kernels.
#ifndef TIMCL_TESTS_PROPERTIES_LAWS_H_
#define TIMCL_TESTS_PROPERTIES_LAWS_H_

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/api_support.h"

namespace tim::vx::laws {

struct Machine {
  std::shared_ptr<Context> context;
  bool opencl = false;
};

/// Real numbers with a shape. Kept small and whole, so that every element type holds them.
struct Array {
  ShapeType shape;
  std::vector<float> values;
};
inline size_t CountOf(const ShapeType& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

// Draws, by name: a failing example is printed as the list of them.

/// From lo to hi, both included.
inline int Draw(const char* what, int lo, int hi) { return *rc::gen::inRange(lo, hi + 1).as(what); }
inline bool DrawBool(const char* what) { return Draw(what, 0, 1) == 1; }
/// On the device lines are long enough for work-items that take 16 neighbours each.
inline ShapeType DrawShape(const Machine& m, size_t rank, int most) {
  ShapeType shape;
  for (size_t d = 0; d < rank; ++d) {
    const int limit = m.opencl && d == 0 ? 40 : most;
    shape.push_back(static_cast<uint32_t>(Draw("extent", 1, limit)));
  }
  return shape;
}
inline size_t DrawRank(const Machine& m, int most) {
  return m.opencl ? 3 : static_cast<size_t>(Draw("rank", 1, most));
}
inline DataType DrawType(const Machine& m) {
  return m.opencl ? DataType::FLOAT32
                  : *rc::gen::element(DataType::FLOAT32, DataType::INT32, DataType::UINT8);
}
/// 0, 1, 2, ...: elements that went to a wrong place show.
inline Array Counting(const ShapeType& shape) {
  Array a{shape, std::vector<float>(CountOf(shape))};
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] = static_cast<float>(i % 251);
  return a;
}
/// Whole numbers of at most `most`: their sums of products are exact in float32.
inline Array DrawNumbers(const char* what, const ShapeType& shape, int most) {
  return {shape, *rc::gen::container<std::vector<float>>(
                      CountOf(shape), rc::gen::map(rc::gen::inRange(-most, most + 1),
                                                   [](int v) { return static_cast<float>(v); }))
                      .as(what)};
}
inline std::vector<uint32_t> DrawPermutation(const char* what, size_t n) {
  std::vector<uint32_t> p(n);
  std::iota(p.begin(), p.end(), 0u);
  for (size_t i = n; i > 1; --i)
    std::swap(p[i - 1], p[static_cast<size_t>(Draw(what, 0, static_cast<int>(i) - 1))]);
  return p;
}

/// A graph of which every result can be read.
class Net {
 public:
  explicit Net(const Machine& m, DataType type = DataType::FLOAT32) : type_(type) {
    CompileOption options;
    if (m.opencl) options.SetFallback(Fallback::kForbid);
    graph_ = m.context->CreateGraph(options);
  }

  test::TensorPtr In(const Array& a) { return In(a, type_); }
  test::TensorPtr Indices(const std::vector<int32_t>& indices) {
    return In({{static_cast<uint32_t>(indices.size())}, {indices.begin(), indices.end()}},
              DataType::INT32);
  }
  test::TensorPtr Constant(const Array& a) { return test::Constant(graph_, a.shape, a.values); }
  template <class Op, class... Args>
  test::TensorPtr Apply(const std::vector<test::TensorPtr>& inputs, Args... args) {
    return ApplyAll<Op>(1, inputs, args...)[0];
  }
  template <class Op, class... Args>
  std::vector<test::TensorPtr> ApplyAll(size_t results, const std::vector<test::TensorPtr>& inputs,
                                        Args... args) {
    std::vector<test::TensorPtr> outputs;
    for (size_t i = 0; i < results; ++i) outputs.push_back(test::Output(graph_, {}, type_));
    test::Bind<Op>(graph_, inputs, outputs, args...);
    return outputs;
  }

  void Run() {
    if (!graph_->Compile() || !graph_->Run()) RC_FAIL(graph_->LastStatus().message());
  }
  /// All elements. How many there are only the copy tells: GetShape stays open.
  std::vector<float> operator()(const test::TensorPtr& t) {
    std::vector<uint8_t> bytes(kMostElements * sizeof(float), 0), again(bytes.size(), 0xFF);
    RC_ASSERT(t->CopyDataFromTensor(bytes.data()) && t->CopyDataFromTensor(again.data()));
    const auto end = std::mismatch(bytes.begin(), bytes.end(), again.begin()).first;
    RC_ASSERT(end != bytes.end());
    bytes.resize(static_cast<size_t>(end - bytes.begin()));
    switch (type_) {
      case DataType::INT32:
        return Floats<int32_t>(bytes);
      case DataType::UINT8:
        return Floats<uint8_t>(bytes);
      default:
        return Floats<float>(bytes);
    }
  }

 private:
  static constexpr size_t kMostElements = 1 << 14;

  template <class T>
  static std::vector<float> Floats(const std::vector<uint8_t>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return {values.begin(), values.end()};
  }
  test::TensorPtr In(const Array& a, DataType type) {
    auto t = test::Input(graph_, a.shape, type);
    const bool written =
        type == DataType::INT32
            ? test::Write(t, std::vector<int32_t>(a.values.begin(), a.values.end()))
        : type == DataType::UINT8
            ? test::Write(t, std::vector<uint8_t>(a.values.begin(), a.values.end()))
            : test::Write(t, a.values);
    RC_ASSERT(written);
    return t;
  }

  DataType type_;
  test::GraphPtr graph_;
};

/// Draws examples and checks them: `body` draws one and asserts with RC_ASSERT.
inline void ForAll(const std::function<void(const Machine&)>& body) {
  // The same examples every time, unless RC_PARAMS asks for others. Read once, at the first law.
  setenv("RC_PARAMS", "seed=42", /*overwrite=*/0);
  const std::shared_ptr<Context>& host = test::HostContext();
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  auto check = [&](const Machine& machine, const char* where, int examples) {
    auto params = rc::detail::configuration().testParams;
    params.maxSuccess = examples;
    // Every smaller example of the device would be a kernel to compile.
    params.disableShrinking = machine.opencl;
    const auto result = rc::detail::checkTestable([&] { body(machine); },
                                                  rc::detail::TestMetadata{test, where}, params);
    if (result.is<rc::detail::SuccessResult>()) return;
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    ADD_FAILURE() << "on " << where << ": " << text.str()
                  << "\nrepeat: RC_PARAMS='seed=" << params.seed
                  << "' properties_test --gtest_filter=*." << test;
  };
  check({host, false}, "the reference", 200);
  if (::testing::Test::HasFailure()) return;
  if (!test::HasOpenCl()) {
    std::printf("not on an OpenCL device: TIMCL_DEVICE asks for the reference\n");
    return;
  }
  check({test::SharedContext(), true}, "the OpenCL device", 6);
}

}  // namespace tim::vx::laws
#endif  // TIMCL_TESTS_PROPERTIES_LAWS_H_
