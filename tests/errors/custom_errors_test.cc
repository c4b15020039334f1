// Custom operators whose author made a mistake.
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "errors/error_fixture.h"
#include "tim/vx/ops/custom_base.h"

namespace tim::vx::test {
namespace {

const char kGood[] =
    "__kernel void twice(__global const float* x, __global float* y, float by) {\n"
    "  y[get_global_id(0)] = x[get_global_id(0)] * by;\n"
    "}\n";

/// What an author may get wrong; the defaults are right.
struct Mistakes {
  const char* source = kGood;
  const char* function = "twice";
  std::string options;
  int params = 1;
  bool shape = true, throws_in_params = false, throws_in_shape = false, throws_in_enqueue = false;
  uint32_t dims = 1;
  size_t global = 4, local = 1;
};

class Twice : public ops::CustomOpBase {
 public:
  Twice(Graph* graph, Mistakes m) : CustomOpBase(graph, 1, 1, 0, "custom.twice"), m_(m) {
    kernel_resource_ = m_.source;
    for (int i = 0; i < m_.params; ++i) ops::custom_base_detail::AppendParam(2.0f, param_list_);
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Twice>(m_);
  }

 protected:
  void SetupParams(std::vector<DataType>, std::string& build_option) override {
    if (m_.throws_in_params) throw std::runtime_error("no such variant");
    func_name_ = m_.function;
    build_option = m_.options;
  }
  void SetupShapeInfor() override {
    if (m_.throws_in_shape) throw 42;
    if (m_.shape) outputs_size_[0] = inputs_size_[0];
  }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global,
                    std::vector<size_t>& local) override {
    if (m_.throws_in_enqueue) throw std::runtime_error("no size");
    dim = m_.dims;
    global[0] = m_.global;
    local[0] = m_.local;
  }

 private:
  Mistakes m_;
};

class CustomErrorTest : public ErrorTest {
 protected:
  void SetUp() override {
    ErrorTest::SetUp();
    if (!HasOpenCl()) GTEST_SKIP() << "users' kernels need OpenCL";
  }
  void Build(const Mistakes& m) {
    graph_ = SharedContext()->CreateGraph();
    x_ = Input(graph_, {4});
    y_ = Output(graph_, {4});
    Bind<Twice>(graph_, {x_}, {y_}, m)->SetName("mine");
    Write<float>(x_, {1, 2, 3, 4});
  }
  TensorPtr x_, y_;
};

TEST_F(CustomErrorTest, WithoutMistakesItRuns) {
  Build({});
  ExpectSuccess();
  EXPECT_EQ(Read(y_, 4), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(CustomErrorTest, OutputsSizeStaysEmpty) {
  Mistakes m;
  m.shape = false;
  Build(m);
  ExpectFailure(Code::kInvalidShape,
                {"custom.twice#1 'mine'", "SetupShapeInfor", "outputs_size_[0]", "output 0"});
}

TEST_F(CustomErrorTest, FunctionNotInTheSource) {
  Mistakes m;
  m.function = "thrice";
  Build(m);
  ExpectFailure(Code::kKernelBuild, {"custom.twice#1 'mine'", "'thrice'"});
}

TEST_F(CustomErrorTest, NoFunctionAtAll) {
  Mistakes m;
  m.function = nullptr;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "SetupParams", "func_name_"});
}

TEST_F(CustomErrorTest, NoSource) {
  Mistakes m;
  m.source = nullptr;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "kernel_resource_"});
}

TEST_F(CustomErrorTest, OtherNumberOfParameters) {
  for (const int params : {0, 2}) {
    Mistakes m;
    m.params = params;
    Build(m);
    ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "'twice'", "3 parameters",
                                           std::to_string(2 + params) + " arguments"});
  }
}

// Both lists stand side by side, in the author's words.
TEST_F(CustomErrorTest, ParametersOfOtherKindsAndSizes) {
  struct Wrong {
    const char* parameters;
    std::vector<std::string> words;
  };
  const char* const value = "parameter 2 of kernel function 'twice' is ";
  for (const Wrong& wrong : std::vector<Wrong>{
           {"__global const float* x, __global float* y, float4 by",
            {value, "'float4 by', but the op passes float param_list_[0]: 4 bytes against 16"}},
           {"__global const float* x, __global float* y, ulong by", {"4 bytes against 8"}},
           {"__global const float* x, __global float* y, short by", {"4 bytes against 2"}},
           {"__global const float* x, __global float* y, __local float* by",
            {"'__local float* by'", "a value against memory"}},
           {"__global const float* x, __global float* y, __global float* by",
            {"'__global float* by'", "a value against memory"}},
           {"__global const float* x, float y, float by",
            {"parameter 1", "'float y', but the op passes output 0 'output0' f32[4]",
             "memory against a value"}},
           {"image2d_t x, __local float* y, float by", {"memory against local memory"}},
           {"image2d_t x, image3d_t y, float by", {"no argument can be a image3d_t"}}}) {
    SCOPED_TRACE(wrong.parameters);
    const std::string source = std::string("__kernel void twice(") + wrong.parameters + ") {}\n";
    Mistakes m;
    m.source = source.c_str();
    Build(m);
    std::vector<std::string> words = wrong.words;
    for (const char* word : {"custom.twice#1 'mine'", "the op passes", "the kernel declares",
                             "  0  input 0 'input0' f32[4]", "float param_list_[0]", "<- "}) {
      words.push_back(word);
    }
    ExpectFailure(Code::kInvalidArgument, words);
  }
}

TEST_F(CustomErrorTest, SourceDoesNotCompile) {
  Mistakes m;
  m.source =
      "__kernel void twice(__global const float* x, __global float* y, float by) {\n"
      "  y[get_global_id(0)] = x[get_global_id(0)] * FACTOR * nonsense;\n"
      "}\n";
  m.options = "-DFACTOR=3";
  Build(m);
  // The compiler's own words, with the function, the options and the line in the author's count.
  ExpectFailure(Code::kKernelBuild,
                {"custom.twice#1 'mine'", "function twice", "-DFACTOR=3", "nonsense", ":2:"});
}

TEST_F(CustomErrorTest, OptionThatTheCompilerRefuses) {
  Mistakes m;
  m.options = "-no-such-option";
  Build(m);
  ExpectFailure(Code::kKernelBuild, {"custom.twice#1 'mine'", "-no-such-option"});
}

TEST_F(CustomErrorTest, CallbacksThatThrow) {
  Mistakes m;
  m.throws_in_params = true;
  Build(m);
  ExpectFailure(Code::kInvalidArgument,
                {"custom.twice#1 'mine'", "SetupParams threw", "no such variant"});
  m = {};
  m.throws_in_shape = true;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "SetupShapeInfor threw"});
  m = {};
  m.throws_in_enqueue = true;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "SetupEnqueue threw", "no size"});
}

TEST_F(CustomErrorTest, WorkSizesThatMakeNoSense) {
  Mistakes m;
  m.dims = 4;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "SetupEnqueue", "4 dimensions"});
  m = {};
  m.local = 3;
  Build(m);
  ExpectFailure(Code::kInvalidArgument, {"custom.twice#1 'mine'", "global size 4", "local size 3"});
}

TEST_F(CustomErrorTest, OtherNumberOfOperands) {
  Build({});
  Bind<Twice>(graph_, {x_, x_}, {Output(graph_, {4})}, Mistakes{});
  ExpectFailure(Code::kInvalidGraph, {"custom.twice#2", "2 inputs are bound", "1 expected"});
}

}  // namespace
}  // namespace tim::vx::test
