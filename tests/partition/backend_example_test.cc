// A backend as docs/backends.md shows it: written against the public headers, added to a context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/backend.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

using namespace tim::vx;

class SquareRoots : public Backend {
 public:
  const BackendInfo& Info() const override { return info_; }

  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      if (op.kind() != "Sqrt") {
        selection->Reject(op, "only Sqrt");
      } else if (op.in(0).dtype() != DataType::FLOAT32) {
        selection->Reject(op, "only f32, not " + op.in(0).type().ToString());
      } else {
        selection->Select(op);
      }
    }
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    for (const GraphView& part : parts) {
      CodeModule module;
      module.live = std::make_shared<GraphView>(part);  // the "code" of this backend
      Call call;
      call.module = units->modules.size();
      call.note = std::to_string(part.Ops().size()) + " square roots";
      units->modules.push_back(module);
      units->calls.push_back(call);
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls) {
      const auto& part = *static_cast<const GraphView*>(modules[call.module].live.get());
      units->kernels.push_back(std::make_unique<Kernel>(part));
    }
    return Status();
  }

 private:
  class Kernel : public kernel::Kernel {
   public:
    explicit Kernel(const GraphView& part)
        : kernel::Kernel(part.Inputs(), part.Outputs()), part_(part) {}
    Status Execute() override {
      for (const OpView& op : part_.Ops()) {
        const auto* x = static_cast<const float*>(op.in(0).Data().get());
        auto* y = static_cast<float*>(op.out(0).MutableData());
        for (int64_t i = 0; i < op.out(0).ElementNum(); ++i) y[i] = std::sqrt(x[i]);
      }
      return Status();
    }

   private:
    GraphView part_;
  };

  BackendInfo info_ = {"square_roots", "Example Ltd", "1.0", "host"};
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BackendExample, RunsWhatItTakesAndTheReportSaysWhy) {
  ContextOptions host;
  host.host_only = true;
  const auto context = Context::Create(host);
  ASSERT_TRUE(context->AddBackend(std::make_shared<SquareRoots>()).ok());
  CompileOption options;
  options.Exclude("coarse", "square_roots");
  const auto graph = context->CreateGraph(options);
  auto x = graph->CreateTensor({DataType::FLOAT32, {2}, INPUT});
  auto root = graph->CreateTensor({DataType::FLOAT32, {2}, TRANSIENT});
  auto fourth = graph->CreateTensor({DataType::FLOAT32, {2}, TRANSIENT});
  auto eighth = graph->CreateTensor({DataType::FLOAT32, {2}, TRANSIENT});
  auto y = graph->CreateTensor({DataType::FLOAT32, {2}, OUTPUT});
  graph->CreateOperation<ops::Sqrt>()->BindInput(x).BindOutput(root);
  graph->CreateOperation<ops::Sqrt>()->BindInput(root).BindOutput(fourth);
  graph->CreateOperation<ops::Neg>()->BindInput(fourth).BindOutput(eighth);
  graph->CreateOperation<ops::Abs>()->BindInput(eighth).BindOutput(y).SetName("coarse");
  const float in[2] = {16, 81};
  float out[2] = {};
  ASSERT_TRUE(x->CopyDataToTensor(in) && graph->Run() && y->CopyDataFromTensor(out))
      << graph->LastStatus().message();
  EXPECT_THAT(out, ElementsAre(2, 3));

  const CompileReport& report = graph->Report();
  for (const OpPlacement& op : report.ops) {
    std::printf("%s runs on %s: %s\n", op.op.c_str(), op.backend.c_str(), op.reason.c_str());
    for (const std::string& refusal : op.refusals) std::printf("  %s\n", refusal.c_str());
  }
  for (const PartitionReport& part : report.parts) {
    std::printf("%s: %zu operations, %llu bytes in, %llu bytes out; %s\n", part.backend.c_str(),
                part.ops.size(), static_cast<unsigned long long>(part.input_bytes),
                static_cast<unsigned long long>(part.output_bytes), part.note.c_str());
  }

  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].note, "2 square roots");
  EXPECT_THAT(report.ops.at(2).refusals, ElementsAre("square_roots: only Sqrt"));
  EXPECT_THAT(report.ops.at(3).refusals,
              ElementsAre("square_roots: the options exclude 'coarse' from it"));
  EXPECT_THAT(report.ToText(), HasSubstr("partition 0: square_roots, 2 ops"));
  EXPECT_THAT(report.ToJson(), HasSubstr("\"note\": \"2 square roots\""));
}

TEST(BackendExample, Placement) {
  ContextOptions host;
  host.host_only = true;
  const auto context = Context::Create(host);
  ASSERT_TRUE(context->AddBackend(std::make_shared<SquareRoots>()).ok());
  CompileOption options;
  options.Pin("Sqrt", "square_roots")
      .Exclude("coarse", "square_roots")
      .SetPartition(PartitionStrategy::kConvex, 4, 2)
      .SetFallback(Fallback::kForbid);
  const auto graph = context->CreateGraph(options);
  auto x = graph->CreateTensor({DataType::FLOAT32, {2}, INPUT});
  auto y = graph->CreateTensor({DataType::FLOAT32, {2}, OUTPUT});
  graph->CreateOperation<ops::Sqrt>()->BindInput(x).BindOutput(y).SetName("coarse");
  graph->SetCompileOption(CompileOption().SetPartition(PartitionStrategy::kConvex, 0, 2));
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  EXPECT_EQ(graph->Report().ops.at(0).reason,
            "square_roots: min_ops is 2, and this partition has 1 op (Sqrt#1 'coarse')");
  auto late = context->CreateGraph(options);
  auto in = late->CreateTensor({DataType::FLOAT32, {2}, INPUT});
  auto out = late->CreateTensor({DataType::FLOAT32, {2}, OUTPUT});
  late->CreateOperation<ops::Sqrt>()->BindInput(in).BindOutput(out).SetName("coarse");
  EXPECT_FALSE(late->Compile());
  EXPECT_THAT(late->LastStatus().message(),
              HasSubstr("it is pinned to backend 'square_roots', as 'Sqrt', and excluded from it, "
                        "as 'coarse'"));
  ASSERT_EQ(late->Report().backends.size(), 2u);
  EXPECT_EQ(late->Report().backends[0].name, "square_roots");
}

}  // namespace
