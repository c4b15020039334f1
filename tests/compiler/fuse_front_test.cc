// Pass Fuse, in front of reductions: graph text in, groups out; and on and off agree.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/opencl/compile/unit.h"
#include "support/pipeline.h"

namespace tim::vx::opencl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tim::vx::testing::Builtin;
using tim::vx::testing::Floats;
using tim::vx::testing::OutputsOf;
using tim::vx::testing::ReadGraph;

DeviceCaps Cpu() {
  DeviceCaps caps;
  caps.is_cpu = true;
  return caps;
}
std::string Fused(const std::string& text, const DeviceCaps& caps = Cpu()) {
  const auto graph = ReadGraph(text, Builtin());
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const Status s = ir::VerifyNode(*graph, static_cast<int>(id));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  Unit unit;
  const Status s = Select(GraphView(graph, *graph->TopologicalOrder()), caps, &unit);
  EXPECT_TRUE(s.ok()) << s.message();
  Fuse(&unit);
  return Print(unit);
}

TEST(FuseFront, AChainMovesIntoTheLoads) {
  EXPECT_EQ(Fused("%0 = input f32[8,4]\n%1 = input f32[8,4]\n%2 = Sub(%0, %1) : f32[8,4]\n"
                  "%3 = Square(%2) : f32[8,4]\n%4 = ReduceSum(%3) {axis=[0]} : output f32[4]\n"),
            "#2 ReduceSum 'general' (%3) -> %4 after Sub, Square of %0\n");
  // The number is the first operand; functions are vectors' business.
  EXPECT_EQ(Fused("%0 = input f32[32,4]\n%1 = constant f32[1] {2}\n%2 = Div(%1, %0) : f32[32,4]\n"
                  "%3 = Tanh(%2) : f32[32,4]\n%4 = Softmax(%3) : output f32[32,4]\n"),
            "#2 Softmax 'vectors' (%3) -> %4 after Div, Tanh of %0\n");
}

TEST(FuseFront, WhereItMustNot) {
  const auto alone = [](const std::string& text) {
    EXPECT_THAT(Fused(text), Not(HasSubstr("after"))) << text;
  };
  const std::string in = "%0 = input f32[8,4]\n",
                    sum = "%9 = ReduceSum(%1) {axis=[0]} : output f32[4]\n";
  alone(in + "%1 = Square(%0) : output f32[8,4]\n" + sum);  // an output
  alone(in + "%1 = Square(%0) : f32[8,4]\n" + sum +
        "%8 = ReduceMax(%1) {axis=[0]} : output f32[4]\n");
  alone(in + "%1 = Square(%0) : f16[8,4]\n" + sum);  // rounded
  alone("%0 = input f16[8,4]\n%1 = Square(%0) : f32[8,4]\n" + sum);
  alone(in + "%1 = Exp(%0) : f32[8,4]\n" + sum);  // number by number
  alone(in + "%2 = input f32[4,1]\n%3 = input f32[1,4]\n%1 = Add(%0, %3) : f32[8,4]\n" +
        sum);  // broadcast
  alone(in + "%1 = Add(%0, %0) : f32[8,4]\n" + sum);
  alone(
      "%0 = input i32[8,4]\n%1 = Add(%0, %0) : i32[8,4]\n%9 = ReduceSum(%1) {axis=[0]} : output "
      "i32[4]\n");
  // The general kernel walks along a line three times.
  EXPECT_THAT(
      Fused(
          "%0 = input f32[8,4]\n%1 = Square(%0) : f32[8,4]\n%2 = Softmax(%1) : output f32[8,4]\n"),
      Not(HasSubstr("after")));
  // What is between may be the memory that the chain reads.
  const std::string between =
      "%1 = Square(%0) : f32[8,4]\n%2 = input f32[8]\n%3 = Relu(%2) : output f32[8]\n" + sum;
  alone("%0 = input f32[8,4]\n" + between);
  EXPECT_THAT(Fused("%5 = input f32[8,4]\n%6 = input f32[8,4]\n%0 = Maximum(%5, %6) : f32[8,4]\n"
                    "%7 = Neg(%0) : output f32[8,4]\n" +
                    between),
              HasSubstr("after Square of %0"));
}

struct Ran {
  Floats results;
  size_t launches = 0;
};
Ran RunWith(const std::string& text, bool fuse, const std::shared_ptr<Backend>& device) {
  const auto graph = ReadGraph(text, Builtin());
  int64_t first = 0;
  for (ir::Value& v : graph->values()) {
    if (v.role != ir::Role::kInput) continue;
    first += 17;
    auto* const data = static_cast<float*>(v.storage->data());
    for (int64_t i = 0; i < v.type.count(); ++i)
      data[i] = static_cast<float>((first + i * 37) % 101) / 50 - 1;
  }
  compiler::Options options;
  options.fuse = fuse;
  options.options_for = [](const std::string&) {
    return std::vector<std::pair<std::string, std::string>>{{"one_kernel", "off"}};
  };
  CompileReport report;
  const Status s = tim::vx::testing::RunGraph(graph, Builtin(), {{device}}, options, &report);
  EXPECT_TRUE(s.ok()) << s.message();
  return {OutputsOf(*graph), report.launches};
}

TEST(FuseFront, OnAndOffAgree) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  size_t fewer = 0;
  for (const int64_t width : {1, 16, 37, 130}) {
    for (const char* const last :
         {"ReduceSum(%3) {axis=[0]}", "ReduceMean(%3) {axis=[1]}", "ReduceMax(%3) {axis=[0, 1]}",
          "ReduceMin(%3) {axis=[2]}", "ReduceMean(%3) {axis=[0, 2]}", "Softmax(%3)",
          "Softmax(%3) {axis=2}", "L2Normalization(%3) {axis=0}"}) {
      const std::string type = fmt::format("f32[{},5,18]", width);
      const std::string text = fmt::format(
          "%0 = input {0}\n%1 = input {0}\n%8 = constant f32[1] {{0.75}}\n"
          "%2 = Sub(%1, %0) : {0}\n%4 = Square(%2) : {0}\n%3 = Add(%8, %4) : {0}\n"
          "%5 = {1} : f32[?]\n%6 = Relu(%5) : output f32[?]\n",
          type, last);
      const Ran on = RunWith(text, true, device), off = RunWith(text, false, device);
      fewer += on.launches + 3 <= off.launches;
      ASSERT_EQ(on.results.size(), 1u) << text;
      const auto &a = on.results.begin()->second, &b = off.results.begin()->second;
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 4e-6f * std::max(1.0f, std::fabs(b[i]))) << text << i;
    }
  }
  EXPECT_GE(fewer, 20u) << "reductions alone are 20";
}

}  // namespace
}  // namespace tim::vx::opencl
