// CheckOp: proves what is right, and finds each thing that it says it finds.
#include "tim/vx/check_op.h"

#include <cstdlib>
#include <stdexcept>

#include "gemm.h"
#include "hswish.h"
#include "support/api_support.h"
#include "tim/vx/testing.h"
#include "user_op.h"

namespace custom_test {
namespace {

using custom_ops::CustomGemm;
using custom_ops::Hswish;
using ::testing::HasSubstr;
using vx::Shape;
using vx::testing::CheckOp;
using vx::testing::CheckOptions;
using namespace vx::cases;

TEST(CheckOp, Hswish) {
  EXPECT_EQ(CheckOp<Hswish>(), "");
  const vx::TensorType x = U8(), y = Affine(DataType::UINT8, {}, 0.021f, 9);
  CheckOptions options;
  options.inputs = {x};
  options.outputs = {y};
  EXPECT_EQ(CheckOp<Hswish>(
                options, Hswish::ParamTuple(x.scale(), x.zero_point(), y.scale(), y.zero_point())),
            "");
}

TEST(CheckOp, Gemm) {
  for (const vx::TensorType& type : {F32(), U8()}) {
    for (const int trans : {1, 2}) {
      SCOPED_TRACE(type.ToString() + " " + std::to_string(trans));
      const bool a = trans & 1, b = trans & 2;
      CheckOptions options;
      options.inputs = {type, type};
      options.outputs = {type};
      options.tolerance = vx::Tolerance::Sum(1);
      options.shapes = [=](int64_t m, int64_t k, int64_t n, int64_t) {
        return std::vector<Shape>{a ? Shape{m, k} : Shape{k, m}, b ? Shape{k, n} : Shape{n, k}};
      };
      const auto make = [=](vx::Graph& graph, const std::vector<Shape>& in) {
        const auto m = static_cast<int>(in[0][a ? 0 : 1]), k = static_cast<int>(in[0][a ? 1 : 0]),
                   n = static_cast<int>(in[1][b ? 1 : 0]);
        const float s = type.scale(), z = static_cast<float>(type.zero_point());
        return graph.CreateOperation<CustomGemm>(
            a, b, CustomGemm::ParamTuple(m, k, n, 0, 0, s, z, s, z, s, z));
      };
      EXPECT_EQ(CheckOp(options, make), "");
    }
  }
}

const char kTwice[] = R"CL(
__kernel void twice(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  if (i < n) STORE(Y, i, 2 * LOAD(X, i));
}
__kernel void wrong(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  if (i < n) STORE(Y, i, i == 100 ? 0.0f : 2 * LOAD(X, i));
}
__kernel void hole(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  if (i < n && i != 3) STORE(Y, i, 2 * LOAD(X, i));
}
__kernel void outside(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  if (i < n) STORE(Y, i, 2 * LOAD(X, i));
  if (i == 0) STORE(Y, n + 1, 1.0f);
}
__kernel void reads_outside(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  float far = i == 0 ? LOAD(X, n + 1000000) : 0.0f;
  if (i < n) STORE(Y, i, 2 * LOAD(X, i) + 0 * (far > 0));
}
__kernel void broken(IN(X), OUT(Y), int n) {
#if BROKEN
  nonsense;
#endif
}
)CL";

class Twice : public vx::ops::CustomOpBase {
 public:
  Twice(vx::Graph* graph, const char* function, bool reference = true)
      : CustomOpBase(graph, 1, 1, -1, "tests.twice"), function_(function) {
    kernel_resource_ = kTwice;
    UseTensorMacros("X", "Y");
    if (!reference) return;
    SetReference([](const vx::ref::Inputs& in, vx::ref::Outputs& out) {
      for (int64_t i = 0; i < out[0].count(); ++i) out[0].Set(i, 2 * in[0].At(i));
      return vx::Status();
    });
  }
  std::shared_ptr<vx::Operation> Clone(std::shared_ptr<vx::Graph>& graph) const override {
    return graph->CreateOperation<Twice>(function_);
  }

 protected:
  void SetupShapeInfor() override { outputs_size_[0] = inputs_size_[0]; }
  void SetupParams(std::vector<DataType>, std::string& options) override {
    func_name_ = function_;
    if (func_name_ == std::string("broken")) options = "-DBROKEN=1";
  }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global,
                    std::vector<size_t>& local) override {
    int count = 1;
    for (const uint32_t extent : outputs_size_[0]) count *= static_cast<int>(extent);
    param_list_ = {vx::ops::MakeParam(count)};
    SetWorkItems(static_cast<size_t>(count), dim, global, local);
  }

 private:
  const char* function_;
};

std::string Check(const char* function, const CheckOptions& options = {}) {
  return CheckOp<Twice>(options, function);
}

// One kernel text, one reference: every type that the macros know.
TEST(CheckOp, EveryElementType) {
  for (const vx::TensorType& type :
       {F32(), F16(), U8(), I8(), I16(), U16(), I32(), Plain(DataType::INT64),
        Plain(DataType::UINT32), Fixed(DataType::INT8, {}, 4)}) {
    CheckOptions options;
    options.inputs = {type};
    options.lo = type.dtype == DataType::UINT32 ? 0 : -4;
    EXPECT_EQ(Check("twice", options), "") << type.ToString();
  }
  CheckOptions options;
  options.inputs = {U8()};
  options.outputs = {F32()};
  EXPECT_EQ(Check("twice", options), "") << "u8 -> f32";
}

class CheckOpFinds : public ::testing::Test {};

TEST_F(CheckOpFinds, WrongValues) {
  EXPECT_THAT(Check("wrong"),
              ::testing::AllOf(HasSubstr("f32[1001]: output 0 f32[1001], element "
                                         "[100]: the kernel gives 0, the reference"),
                               HasSubstr("allowed")));
}
TEST_F(CheckOpFinds, ElementsThatAreNotWritten) {
  EXPECT_THAT(Check("hole"), HasSubstr("element [3]: the kernel gives"));
}
TEST_F(CheckOpFinds, WritesOutside) {
  EXPECT_THAT(Check("outside"), HasSubstr("the kernel writes outside of it"));
}
TEST_F(CheckOpFinds, AKernelThatTheReferenceReplaces) {
  EXPECT_THAT(Check("broken"),
              ::testing::AllOf(HasSubstr("does not run on the device"), HasSubstr("nonsense")));
}
TEST_F(CheckOpFinds, NoReference) {
  EXPECT_THAT(CheckOp<Twice>(CheckOptions(), "twice", false),
              ::testing::AllOf(HasSubstr("by the reference"), HasSubstr("no reference function")));
}

// Run by ctest with TIMCL_CHECK=oclgrind; elsewhere the read may end the program.
TEST(OclgrindFinds, ReadsOutside) {
  if (std::getenv("TIMCL_CHECK") == nullptr) GTEST_SKIP() << "needs TIMCL_CHECK=oclgrind";
  EXPECT_THAT(Check("reads_outside"),
              ::testing::AllOf(HasSubstr("Oclgrind found"), HasSubstr("Invalid read"),
                               HasSubstr("reads_outside")));
}

// The reference serves where there is no OpenCL, and where all is known at Compile().
TEST(CustomReference, RunsWithoutOpenCl) {
  const auto graph = vx::test::HostContext()->CreateGraph();
  const auto x = graph->CreateTensor({DataType::FLOAT32, {3}, vx::INPUT}),
             y = graph->CreateTensor({DataType::FLOAT32, {3}, vx::OUTPUT});
  graph->CreateOperation<Hswish>()->BindInput(x).BindOutput(y);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  EXPECT_EQ(graph->Report().ops[0].backend, "reference");
  const float in[] = {-4, 1.5f, 4};
  float out[3];
  ASSERT_TRUE(x->CopyDataToTensor(in) && graph->Run() && y->CopyDataFromTensor(out));
  EXPECT_THAT(out, ::testing::ElementsAre(0, 1.125f, 4));
}

TEST(CustomReference, MayThrow) {
  const auto graph = vx::test::HostContext()->CreateGraph();
  const auto x = graph->CreateTensor({DataType::FLOAT32, {3}, vx::INPUT}),
             y = graph->CreateTensor({DataType::FLOAT32, {3}, vx::OUTPUT});
  Plan plan;
  plan.source = kTwice;
  graph
      ->CreateOperation<FreeOp>(
          plan, [](FreeOp&, uint32_t&, std::vector<size_t>&, std::vector<size_t>&) {},
          [](FreeOp& op) {
            op.SetReference([](const vx::ref::Inputs&, vx::ref::Outputs&) -> vx::Status {
              throw std::runtime_error("no such table");
            });
          })
      ->BindInput(x)
      .BindOutput(y);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  EXPECT_FALSE(graph->Run());
  EXPECT_THAT(graph->LastStatus().message(), HasSubstr("the reference threw: no such table"));
}

}  // namespace
}  // namespace custom_test
