// What an author may say of an operator: its element types, and what it does not take; and tables
// as arguments.
#include "tim/vx/op_def.h"
#include "user_op.h"

namespace custom_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const char kCopy[] =
    "__kernel void copy(__global const float* x, __global float* y) {"
    "  y[get_global_id(0)] = x[get_global_id(0)]; }";

/// Fails where a test says.
class Fussy : public vx::ops::CustomOpBase {
 public:
  enum Place { kNowhere, kConstructor, kShapes, kParams, kEnqueue };
  Fussy(vx::Graph* graph, Place place, Code code = Code::kInvalidArgument, std::string types = "",
        bool reference = false)
      : CustomOpBase(graph, 1, 1, -1, "tests.fussy"), place_(place), code_(code) {
    kernel_resource_ = kCopy;
    if (!types.empty()) SetTypes(types);
    At(kConstructor);
    if (!reference) return;
    SetReference([](const vx::ref::Inputs& in, vx::ref::Outputs& out) {
      for (int64_t i = 0; i < out[0].count(); ++i) out[0].Set(i, in[0].At(i));
      return vx::Status();
    });
  }
  std::shared_ptr<vx::Operation> Clone(std::shared_ptr<vx::Graph>& graph) const override {
    return graph->CreateOperation<Fussy>(place_, code_);
  }
  void Heal() { place_ = kNowhere; }

 protected:
  void SetupShapeInfor() override {
    outputs_size_[0] = inputs_size_[0];
    At(kShapes);
  }
  void SetupParams(std::vector<DataType>, std::string&) override {
    func_name_ = "copy";
    At(kParams);
  }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global, std::vector<size_t>&) override {
    dim = 1, global[0] = 4;
    At(kEnqueue);
  }

 private:
  void At(Place place) {
    if (place != place_) return;
    Fail(code_, "it is Monday");
    Fail(Code::kInternal, "and the second reason");
  }
  Place place_;
  Code code_;
};

class Checks : public UserKernel {
 protected:
  template <class T = float>
  std::shared_ptr<Fussy> Bound(Fussy::Place place, Code code = Code::kInvalidShape,
                               std::string types = "", bool reference = false) {
    SetUp();
    const auto op = graph_->CreateOperation<Fussy>(place, code, types, reference);
    op->SetName("main");
    op->BindInput(Input<T>({4})).BindOutput(Output<T>({4}));
    return op;
  }
};

TEST_F(Checks, FailSaysItsWordsWithTheOperator) {
  for (const auto place : {Fussy::kConstructor, Fussy::kShapes, Fussy::kParams, Fussy::kEnqueue}) {
    const auto op = Bound(place);
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(CompileFails(), Code::kInvalidShape) << place;
      EXPECT_THAT(Message(), AllOf(HasSubstr("tests.fussy#1 'main'"), HasSubstr("it is Monday"),
                                   Not(HasSubstr("second reason"))));
    }
    // What a Setup function says counts for that call alone.
    op->Heal();
    graph_->CreateOperation<Fussy>(Fussy::kNowhere)
        ->BindInput(Input<float>({4}))
        .BindOutput(Output<float>({4}));
    EXPECT_EQ(graph_->Compile(), place != Fussy::kConstructor) << Message();
  }
}

TEST_F(Checks, WhereTheKernelsCannotTheReferenceRuns) {
  Bound(Fussy::kParams, Code::kUnsupported, "", true);
  ASSERT_TRUE(graph_->Compile()) << Message();
  EXPECT_EQ(graph_->Report().ops[0].backend, "reference");
  EXPECT_THAT(graph_->Report().ToText(), HasSubstr("it is Monday"));
  Bound(Fussy::kParams, Code::kUnsupported);
  EXPECT_EQ(CompileFails(), Code::kUnsupported);
  EXPECT_THAT(Message(), HasSubstr("it is Monday"));
}

TEST_F(Checks, TypesAreListedWhereTheyDoNotFit) {
  Bound(Fussy::kNowhere, Code::kOk, "f32 -> f32; u8|i8 -> u8");
  EXPECT_TRUE(graph_->Compile()) << Message();
  Bound<int32_t>(Fussy::kNowhere, Code::kOk, "f32 -> f32; u8 -> u8");
  EXPECT_EQ(CompileFails(), Code::kInvalidType);
  EXPECT_THAT(Message(), AllOf(HasSubstr("i32"), HasSubstr("f32 -> f32; u8 -> u8")));
}

TEST_F(Checks, TypesThatNobodyKnows) {
  Bound(Fussy::kNowhere, Code::kOk, "f33 -> f32");
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), AllOf(HasSubstr("SetTypes"), HasSubstr("'f33' is no type")));
  Bound(Fussy::kNowhere, Code::kOk, "f32, f32 -> f32");
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), HasSubstr("a row has 2 inputs, the op has 1"));
}

class Tables : public UserKernel {
 protected:
  template <class... T>
  void Bind(const char* source, T... arguments) {
    SetUp();
    Plan plan;
    plan.source = source;
    plan.function = "f";
    plan.inputs = 0;
    plan.outputs = {{4}};
    plan.global = {4, 1, 1};
    plan.dim = 1;
    out_ = Output<float>({4});
    Op(plan, arguments...)->BindOutput(out_);
  }
  TensorPtr out_;
};

TEST_F(Tables, AVectorIsAPointerToIt) {
  Bind(
      "__kernel void f(__global float* y, __global const float* a, float c,"
      "                __constant ushort* b) {"
      "  int i = get_global_id(0); y[i] = a[i] * c + b[3 - i]; }",
      std::vector<float>{1, 2, 3, 4}, 10.0f, std::vector<uint16_t>{1, 2, 3, 60000});
  Compile();
  for (int again = 0; again < 2; ++again) {
    Run();
    EXPECT_THAT(Read<float>(out_, 4), ElementsAre(60010, 23, 32, 41));
  }
}

TEST_F(Tables, Mistakes) {
  Bind("__kernel void f(__global float* y, float a) {}", std::vector<float>{1, 2});
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), AllOf(HasSubstr("the op passes a table of 8 bytes"),
                               HasSubstr("memory against a value")));
  Bind("__kernel void f(__global float* y, __global float* a) {}", std::vector<float>{});
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), HasSubstr("memory of 0 bytes"));
}

}  // namespace
}  // namespace custom_test
