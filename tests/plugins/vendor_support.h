// What tests of vendors' plugins share: graphs for the vendor of made/vendor.c, and what it was
// called with.
#ifndef TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_
#define TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/attrs.h"

namespace tim::vx::test {

inline std::string Made(const std::string& name) { return MADE "/" + name + ".so"; }

/// What the vendor was called with, by option "trace"; of all its objects in this process.
inline std::vector<std::string>& Calls() {
  static std::vector<std::string> calls;
  return calls;
}
inline void TraceCall(const char* line) { Calls().emplace_back(line); }
inline std::string TraceOption() { return std::to_string(reinterpret_cast<uintptr_t>(&TraceCall)); }
inline size_t CountOf(const std::string& call) {
  return static_cast<size_t>(std::count(Calls().begin(), Calls().end(), call));
}

/// y = f(x): x -> Relu -> r; r + x -> s; s * r -> p; Tanh(p) -> t; t + x -> y. All but Tanh are for
/// the vendor.
struct Mixed {
  explicit Mixed(Context& context, const CompileOption& options = {},
                 const ShapeType& shape = {4, 3})
      : graph(context.CreateGraph(options)), x(test::Input(graph, shape)) {
    x->SetName("x");
    count = 1;
    for (const uint32_t extent : shape) count *= extent;
    const auto r = Op("Relu", {x}), s = Op("Add", {r, x}), p = Op("Multiply", {s, r}),
               t = Op("Tanh", {p});
    y = Output(graph, shape);
    graph->CreateOperation("Add")->BindInputs({t, x}).BindOutput(y);
  }
  TensorPtr Op(const std::string& kind, const std::vector<TensorPtr>& inputs) {
    auto result = Between(graph);
    graph->CreateOperation(kind)->BindInputs(inputs).BindOutput(result);
    return result;
  }
  Status Compile() const {
    (void)graph->Compile();
    return graph->LastStatus();
  }
  std::vector<float> Of(float first = -1) {
    std::vector<float> in;
    for (size_t i = 0; i < count; ++i) in.push_back(first + 0.25f * static_cast<float>(i));
    EXPECT_TRUE(Write(x, in));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(y, count);
  }
  std::string BackendOf(size_t op) const { return graph->Report().ops.at(op).backend; }

  GraphPtr graph;
  TensorPtr x, y;
  size_t count = 0;
};

/// Of the reference backend.
inline std::vector<float> Expected(const ShapeType& shape = {4, 3}, float first = -1) {
  return Mixed(*HostContext(), {}, shape).Of(first);
}

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_
