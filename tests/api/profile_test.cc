// Profile(): one row per operation that has work, in the order of the run, on every kind of
// backend.
#include "tim/vx/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/backend.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/rnn_cell.h"
#include "tim/vx/ops/transpose.h"

namespace tim::vx::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint32_t kSide = 64;

/// y = relu(a x b) + x: a matrix product that takes the rest into its store.
struct Product {
  GraphPtr graph;
  TensorPtr a, b, y;
  explicit Product(Context& context, const CompileOption& option = CompileOption())
      : graph(context.CreateGraph(option)),
        a(Input(graph, {kSide, kSide})),
        b(Input(graph, {kSide, kSide})),
        y(Output(graph, {kSide, kSide})) {
    const TensorPtr product = Between(graph, {kSide, kSide});
    graph->CreateOperation<ops::Matmul>()->BindInputs({a, b}).BindOutput(product);
    graph->CreateOperation<ops::Relu>()->BindInput(product).BindOutput(y);
    std::vector<float> ones(kSide * kSide, 1);
    EXPECT_TRUE(a->CopyDataToTensor(ones.data()) && b->CopyDataToTensor(ones.data()));
  }
  void ExpectRight() const {
    std::vector<float> got(kSide * kSide);
    ASSERT_TRUE(y->CopyDataFromTensor(got.data()));
    EXPECT_THAT(got, ::testing::Each(static_cast<float>(kSide)));
  }
};

TEST(ProfileTest, OneRowPerOperationWithWork) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
  Product p(*SharedContext());
  const GraphProfile profile = p.graph->Profile(3);
  ASSERT_THAT(profile.ops, SizeIs(1)) << p.graph->LastStatus().message();
  const OpTime& op = profile.ops[0];
  EXPECT_EQ(op.op, "Matmul#1 + Relu#2");
  EXPECT_EQ(op.kind, "Matmul");
  EXPECT_EQ(op.backend, "opencl");
  EXPECT_THAT(op.kernel, HasSubstr("matrix_product"));
  EXPECT_EQ(op.launches, p.graph->Report().launches);
  // And the parameters of what is fused.
  EXPECT_NEAR(static_cast<double>(op.bytes), 3.0 * kSide * kSide * sizeof(float), 64);
  EXPECT_EQ(op.flops, 2.0 * kSide * kSide * kSide);
  EXPECT_GT(op.median_ms, 0);
  EXPECT_GT(op.min_ms, 0);
  EXPECT_LE(op.min_ms, op.median_ms);
  EXPECT_EQ(profile.runs, 3);
  EXPECT_GT(profile.run_ms, 0);
  EXPECT_EQ(profile.TotalMs(), op.median_ms);
  // The device's own limits explain some of the time.
  EXPECT_GT(op.least_ms, 0);
  ASSERT_THAT(profile.limits, SizeIs(1));
  EXPECT_THAT(profile.limits[0], HasSubstr("GFLOP/s"));
  EXPECT_THAT(profile.ToText(), HasSubstr("limits of opencl: "));
  EXPECT_THAT(profile.ToJson(), HasSubstr("\"least_ms\": "));
  p.ExpectRight();
  // As before it: new inputs are seen.
  std::vector<float> none(kSide * kSide);
  ASSERT_TRUE(p.a->CopyDataToTensor(none.data()) && p.graph->Run());
  ASSERT_TRUE(p.y->CopyDataFromTensor(none.data()));
  EXPECT_THAT(none, ::testing::Each(0.f));
}

// Steps that are one launch of a whole run stand for themselves here, and the table says so.
TEST(ProfileTest, SaysThatItLaunchesOneByOne) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
  for (const char* const choice : {"on", "off"}) {
    CompileOption option;
    option.SetFusion(false).SetOption("opencl", "one_kernel", choice);
    Product p(*SharedContext(), option);
    const GraphProfile profile = p.graph->Profile(1);
    ASSERT_THAT(profile.ops, SizeIs(2)) << p.graph->LastStatus().message();
    EXPECT_EQ(profile.timed_launches, 2u);
    EXPECT_EQ(profile.run_launches, p.graph->Report().launches);
    const std::string line =
        "\neach launch is made and timed on its own: 2 here, 1 in a whole run\n";
    // Where the device launches them one by one anyhow there is nothing to say.
    if (profile.run_launches == 1) {
      EXPECT_STREQ(choice, "on");
      EXPECT_THAT(profile.ToText(), HasSubstr(line));
    } else {
      EXPECT_THAT(profile.ToText(), Not(HasSubstr("on its own")));
    }
    EXPECT_THAT(profile.ToJson(), HasSubstr("\"timed_launches\": 2"));
    p.ExpectRight();
  }
}

TEST(ProfileTest, ReferenceBackend) {
  Product p(*HostContext());
  const GraphProfile profile = p.graph->Profile(2);
  ASSERT_THAT(profile.ops, SizeIs(2)) << p.graph->LastStatus().message();
  EXPECT_EQ(profile.ops[0].op, "Matmul#1");
  EXPECT_EQ(profile.ops[1].op, "Relu#2");
  EXPECT_EQ(profile.ops[1].kernel, "reference");
  EXPECT_EQ(profile.ops[1].bytes, 2u * kSide * kSide * sizeof(float));
  EXPECT_GT(profile.ops[0].median_ms, 0);
  EXPECT_THAT(profile.ToText(), Not(HasSubstr("on its own")));
  p.ExpectRight();
}

/// Copies, and says nothing of profiles.
class Silent : public Backend {
 public:
  const BackendInfo& Info() const override {
    static const BackendInfo info{"silent", "test", "1", "host"};
    return info;
  }
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      if (op.kind() == "Relu") selection->Select(op);
    }
    return Status();
  }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    units->modules.emplace_back();
    for (size_t i = 0; i < parts.size(); ++i) units->calls.push_back({0, "", 0, 0});
    return Status();
  }
  Status Load(const std::vector<CodeModule>&, const std::vector<Call>& calls, const CompileEnv&,
              LoadedUnits* units) override {
    struct Copy : kernel::Kernel {
      kernel::Io io;
      Status Prepare(const kernel::Io& given) override {
        io = given;
        return Status();
      }
      Status Execute() override {
        const auto* from = static_cast<const float*>(io.inputs[0].Data());
        std::copy(from, from + io.inputs[0].type.shape.count(),
                  static_cast<float*>(io.outputs[0].Data()));
        return Status();
      }
    };
    struct Telling : Copy {
      Status Profile(std::vector<kernel::Timing>* timings) override {
        for (const char* name : {"copies", "copy", "copies"}) {
          timings->emplace_back().kernel = name;
          timings->back().op = 0;
        }
        return Execute();
      }
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      units->kernels.push_back(tells ? std::make_unique<Telling>() : std::make_unique<Copy>());
    }
    return Status();
  }
  bool tells = false;
};

TEST(ProfileTest, BackendsThatSayNothingAreTimedAsAWhole) {
  const auto context = Context::Create();
  ASSERT_TRUE(context->AddBackend(std::make_shared<Silent>(), 1000).ok());
  Product p(*context);
  const GraphProfile profile = p.graph->Profile(1);
  ASSERT_THAT(profile.ops, SizeIs(2)) << p.graph->LastStatus().message();
  EXPECT_THAT(profile.ops[1].op, HasSubstr("Relu#2"));
  EXPECT_EQ(profile.ops[1].backend, "silent");
  EXPECT_EQ(profile.ops[1].launches, 1u);
  p.ExpectRight();
}

TEST(ProfileTest, NamesEachKernelOnce) {
  const auto context = NewHostContext();
  const auto backend = std::make_shared<Silent>();
  backend->tells = true;
  ASSERT_TRUE(context->AddBackend(backend, 1000).ok());
  const auto graph = context->CreateGraph();
  graph->CreateOperation<ops::Relu>()->BindInput(Input(graph, {2})).BindOutput(Output(graph, {2}));
  const GraphProfile profile = graph->Profile(2);
  ASSERT_THAT(profile.ops, SizeIs(1)) << graph->LastStatus().message();
  EXPECT_EQ(profile.ops[0].kernel, "copies, copy");
  EXPECT_EQ(profile.ops[0].launches, 3u);
}

TEST(ProfileTest, PartsStandUnderTheirOperation) {
  if (!HasOpenCl()) GTEST_SKIP() << "the reference does not expand it";
  const auto graph = SharedContext()->CreateGraph();
  const TensorPtr x = Input(graph, {2, 1}), h = Input(graph, {3, 1}), y = Output(graph, {3, 1}),
                  state = Output(graph, {3, 1});
  const std::vector<float> w(9, 0.5f);
  const auto constant = [&](const ShapeType& shape) {
    return Make(graph, TensorAttribute::CONSTANT, shape, DataType::FLOAT32, Quantization(),
                w.data());
  };
  graph->CreateOperation<ops::RNNCell>(ops::RNNCell::ActivationType::kTANH)
      ->BindInputs({x, constant({2, 3}), constant({3}), h, constant({3, 3})})
      .BindOutputs({y, state});
  const GraphProfile profile = graph->Profile(1);
  ASSERT_THAT(profile.ops, Not(IsEmpty())) << graph->LastStatus().message();
  double parts = 0;
  for (const OpTime& op : profile.ops) {
    EXPECT_EQ(op.part_of, "RNNCell#1");
    parts += op.median_ms;
  }
  EXPECT_DOUBLE_EQ(profile.TotalMs("RNNCell#1"), parts);
  EXPECT_EQ(profile.TotalMs("RNNCell"), 0);
  EXPECT_THAT(profile.ToText(), HasSubstr("\nRNNCell#1"));
}

TEST(ProfileTest, FailuresAreTold) {
  const auto empty = HostContext()->CreateGraph();
  EXPECT_THAT(empty->Profile().ops, IsEmpty());
  EXPECT_THAT(empty->LastStatus().message(), HasSubstr("no operations"));
  Product p(*HostContext());
  EXPECT_THAT(p.graph->Profile(0).ops, IsEmpty());
  EXPECT_THAT(p.graph->LastStatus().message(), HasSubstr("0 runs; there can be 1 to"));
  EXPECT_THAT(p.graph->Profile(1).ops, Not(IsEmpty()));
  EXPECT_TRUE(p.graph->LastStatus().ok());
}

TEST(ProfileTest, TextIsAnAlignedTableAndASummary) {
  GraphProfile profile;
  OpTime conv{"Conv2d#1 + Relu#2", "Conv2d", "opencl", "conv2d"};
  conv.launches = 1;
  conv.median_ms = 3;
  conv.flops = 6e6;
  conv.bytes = 1500000;
  conv.tile = "MX=6";
  conv.least_ms = 1.5;
  OpTime part{"Add#1", "Add", "opencl", "pointwise", "Mine#3"};
  part.launches = 2;
  part.median_ms = 1;
  profile.ops = {conv, part};
  profile.runs = 10;
  profile.run_ms = 4.5;
  profile.limits = {"opencl: 5 GFLOP/s"};
  profile.timed_launches = 3;
  profile.run_launches = 1;
  EXPECT_EQ(
      profile.ToText(),
      "op                | kernel    | tile | backend | launches |     ms |  share | GFLOP/s | "
      "GB/s | roofline\n"
      "Conv2d#1 + Relu#2 | conv2d    | MX=6 | opencl  |        1 | 3.0000 | 75.0 % |    2.00 | "
      "0.50 |     50 %\n"
      "Mine#3            | expanded  |      |         |          | 1.0000 | 25.0 % |         |  "
      "    |\n"
      "  Add#1           | pointwise |      | opencl  |        2 | 1.0000 | 25.0 % |         |  "
      "    |\n"
      "10 runs of 2 operations; together 4.0000 ms, a whole run 4.5000 ms (medians)\n"
      "each launch is made and timed on its own: 3 here, 1 in a whole run\n"
      "limits of opencl: 5 GFLOP/s\n");
}

}  // namespace
}  // namespace tim::vx::test
