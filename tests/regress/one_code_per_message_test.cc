// Messages carried a code twice: "kUnsupported: X: no backend runs ... kUnsupported: X: every
// kernel refused: kUnsupported: ...".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/api_support.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/ops/elementwise.h"

namespace tim::vx::test {
namespace {

size_t Codes(const std::string& text) {
  size_t found = 0;
  for (int32_t code = 0; code <= static_cast<int32_t>(Code::kInternal); ++code) {
    const std::string name = CodeName(static_cast<Code>(code));
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size()) ++found;
  }
  return found;
}

TEST(Regress, RefusalsCarryNoCode) {
  if (!HasOpenCl()) GTEST_SKIP() << "nothing refuses there";
  // More dimensions than a kernel walks: it falls to the reference.
  ShapeType left, right;
  for (int d = 0; d < 12; ++d) {
    left.push_back(d % 2 == 0 ? 2 : 1);
    right.push_back(d % 2 == 0 ? 1 : 2);
  }
  for (const Fallback fallback : {Fallback::kAllow, Fallback::kForbid}) {
    CompileOption options;
    options.SetFallback(fallback);
    auto graph = SharedContext()->CreateGraph(options);
    Bind<ops::Add>(graph, {Input(graph, left), Input(graph, right)}, {Output(graph, {})});
    if (fallback == Fallback::kForbid) {
      ASSERT_FALSE(graph->Compile());
      EXPECT_EQ(Codes(graph->LastStatus().message()), 1u) << graph->LastStatus().message();
      continue;
    }
    ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
    ASSERT_FALSE(graph->Report().ops.at(0).refusals.empty());
    EXPECT_EQ(Codes(graph->Report().ToText()), 0u) << graph->Report().ToText();
  }
}

/// Nothing runs it: the message lists the refusals of all backends.
class NoHost : public ops::CustomOpBase {
 public:
  explicit NoHost(Graph* graph) : CustomOpBase(graph, 1, 1, -1, "tests.no_host") {
    kernel_resource_ = "__kernel void f(__global float* x, __global float* y) {}";
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>&) const override { return nullptr; }
  void SetupShapeInfor() override { outputs_size_[0] = inputs_size_[0]; }
  void SetupParams(std::vector<DataType>, std::string&) override { func_name_ = "f"; }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>&, std::vector<size_t>&) override { dim = 1; }
};

TEST(Regress, OneCodeWhereNoBackendRunsAnOp) {
  ContextOptions options;
  options.host_only = true;
  auto graph = Context::Create(options)->CreateGraph();
  Bind<NoHost>(graph, {Input(graph, {4})}, {Output(graph, {4})});
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(Codes(graph->LastStatus().message()), 1u) << graph->LastStatus().message();
}

TEST(Regress, DetailIsTheMessageWithoutItsPlace) {
  const Status s = Status::Error(Code::kIo, "the disk is full").AtOp("Add#1").AtTensor("x");
  EXPECT_EQ(s.detail(), "the disk is full");
  EXPECT_EQ(s.message(), "kIo: Add#1: x: the disk is full");
  EXPECT_EQ(Status().detail(), "");
}

}  // namespace
}  // namespace tim::vx::test
