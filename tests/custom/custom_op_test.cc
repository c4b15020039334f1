// What a user's kernel may do: read its output, take pointers, work on the user's own memory, be
// launched on more work-items than there are elements, share its name with another.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tim/vx/ops/elementwise.h"
#include "user_op.h"

namespace custom_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three passes over its output, as softmax kernels of TIM-VX's users do it.
const char kSoftmax[] = R"CL(
__kernel void softmax(__read_only image2d_t input, __write_only image2d_t output, int n) {
  float largest = read_imagef(input, (int2)(0, 0)).x, sum = 0;
  for (int i = 1; i < n; ++i) largest = fmax(largest, read_imagef(input, (int2)(i, 0)).x);
  for (int i = 0; i < n; ++i) {
    float e = exp(read_imagef(input, (int2)(i, 0)).x - largest);
    write_imagef(output, (int2)(i, 0), (float)e);
    sum += read_imagef(output, (int2)(i, 0)).x;
  }
  for (int i = 0; i < n; ++i) {
    float4 e = read_imagef(output, (int2)(i, 0));
    write_imagef(output, (int2)(i, 0), e / sum);
  }
}
)CL";

TEST_F(UserKernel, ReadsItsWriteOnlyOutput) {
  const int n = 11;
  const auto in = Input<float>({11}), out = Output<float>({11, 1});
  Plan plan;
  plan.source = kSoftmax;
  plan.function = "softmax";
  plan.global = {1, 1, 1};
  plan.dim = 1;
  Op(plan, n)->BindInput(in).BindOutput(out);
  Compile();
  const auto x = RandomFloats(n, 1, 3);
  Write(in, x);
  Run();
  const auto y = Read<float>(out, n);
  double sum = 0;
  for (const float v : x) sum += std::exp(v);
  for (int i = 0; i < n; ++i) ASSERT_NEAR(y[i], std::exp(x[i]) / sum, 1e-6);
}

TEST_F(UserKernel, TakesPlainPointers) {
  const char source[] = R"CL(
__kernel void axpy(__global const float* x, __global const float* y, __global float* out, float a,
                   uint n, char negate) {
  size_t i = get_global_id(0);
  if (i < n) out[i] = negate ? -(a * x[i] + y[i]) : a * x[i] + y[i];
}
)CL";
  const auto x = Input<float>({37}), y = Input<float>({37}), out = Output<float>({37});
  Plan plan;
  plan.source = source;
  plan.function = "axpy";
  plan.inputs = 2;
  plan.dim = 1;
  Op(plan, 2.5f, 37u, true)->BindInputs({x, y}).BindOutput(out);
  Compile();
  const auto xs = RandomFloats(37, 2), ys = RandomFloats(37, 3);
  Write(x, xs);
  Write(y, ys);
  Run();
  const auto result = Read<float>(out, 37);
  for (int i = 0; i < 37; ++i) ASSERT_NEAR(result[i], -(2.5f * xs[i] + ys[i]), 1e-6);
}

// One tensor is an image to one operator, a pointer to another, and data to a built-in one.
TEST_F(UserKernel, ImageAndPointerViewsOfOneTensor) {
  const char source[] = R"CL(
__kernel void add_one(__read_only image2d_t in, __write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, read_imagef(in, at).x + 1.0f);
}
__kernel void twice(__global const float* in, __write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x < 5 && at.y < 3) write_imagef(out, at, (float4)(2 * in[at.y * 5 + at.x]));
}
)CL";
  const auto in = Input<float>({5, 3}), doubled = Output<float>({5, 3}),
             sum = Output<float>({5, 3});
  const auto more = Transient<float>();
  Plan plan;
  plan.source = source;
  plan.function = "add_one";
  plan.dim = 2;
  Op(plan)->BindInput(in).BindOutput(more);
  plan.function = "twice";
  Op(plan)->BindInput(more).BindOutput(doubled);
  graph_->CreateOperation<vx::ops::Add>()->BindInputs({in, more}).BindOutput(sum);
  Compile();
  const auto x = RandomFloats(15, 4);
  Write(in, x);
  Run();
  const auto y = Read<float>(doubled, 15), z = Read<float>(sum, 15);
  for (int i = 0; i < 15; ++i) {
    ASSERT_EQ(y[i], 2 * (x[i] + 1.0f)) << "at " << i;
    ASSERT_EQ(z[i], x[i] + (x[i] + 1.0f)) << "at " << i;
  }
}

// Reads around every element; what lies outside counts as 0, and far too many work-items run.
TEST_F(UserKernel, NothingHappensOutsideAnImage) {
  const char source[] = R"CL(
__kernel void sum3(__read_only image2d_array_t in, __write_only image2d_array_t out) {
  int4 at = (int4)(get_global_id(0) - 2, get_global_id(1) - 2, get_global_id(2) - 2, 0);
  int sum = 0;
  for (int d = -1; d <= 1; ++d) {
    sum += read_imagei(in, at + (int4)(d, 0, 0, 0)).x;
    sum += read_imagei(in, at + (int4)(0, d, 0, 0)).x;
    sum += read_imagei(in, at + (int4)(0, 0, d, 0)).x;
  }
  write_imagei(out, at, (int4)(sum));
}
)CL";
  const int w = 5, h = 3, c = 2, n = 2;
  const auto in = Input<int32_t>({5, 3, 2, 2}), out = Output<int32_t>({5, 3, 2, 2});
  Plan plan;
  plan.source = source;
  plan.function = "sum3";
  plan.global = {32, 16, 16};
  Op(plan)->BindInput(in).BindOutput(out);
  Compile();
  std::vector<int32_t> x(w * h * c * n);
  std::iota(x.begin(), x.end(), -7);
  Write(in, x);
  Run();
  const auto y = Read<int32_t>(out, x.size());
  const auto at = [&](int i, int j, int k) {  // the outer two dimensions are one
    const bool inside = i >= 0 && i < w && j >= 0 && j < h && k >= 0 && k < c * n;
    return inside ? x[(k * h + j) * w + i] : 0;
  };
  for (int k = 0; k < c * n; ++k) {
    for (int j = 0; j < h; ++j) {
      for (int i = 0; i < w; ++i) {
        int sum = 3 * at(i, j, k);
        sum += at(i - 1, j, k) + at(i + 1, j, k) + at(i, j - 1, k) + at(i, j + 1, k) +
               at(i, j, k - 1) + at(i, j, k + 1);
        ASSERT_EQ(y[(k * h + j) * w + i], sum) << i << ' ' << j << ' ' << k;
      }
    }
  }
}

const char kAddOneI[] = R"CL(
__kernel void add_one(__read_only image2d_t in, __write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagei(out, at, read_imagei(in, at) + 1);
}
)CL";

// Memory of the user as it stands, also read and written as an image.
TEST_F(UserKernel, ImagesOverTheUsersMemory) {
  struct alignas(64) Block {
    int32_t values[32];
  };
  const auto source = std::make_unique<Block>(), target = std::make_unique<Block>();
  std::fill_n(target->values, 32, -1);
  const auto in = graph_->CreateIOTensor({DataType::INT32, {7, 3}, vx::INPUT}, source->values);
  const auto out = graph_->CreateIOTensor({DataType::INT32, {7, 3}, vx::OUTPUT}, target->values);
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  plan.dim = 2;
  Op(plan)->BindInput(in).BindOutput(out);
  Compile();
  for (const int32_t start : {100, -50}) {
    std::iota(source->values, source->values + 21, start);
    ASSERT_TRUE(in->FlushCacheForHandle());
    Run();
    ASSERT_TRUE(out->InvalidateCacheForHandle());
    for (int i = 0; i < 21; ++i) ASSERT_EQ(target->values[i], start + i + 1) << "at " << i;
    for (int i = 21; i < 32; ++i) ASSERT_EQ(target->values[i], -1) << "behind the tensor";
  }
}

TEST_F(UserKernel, LocalSizesAreKept) {
  const char source[] = R"CL(
__kernel void sizes(__write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagei(out, at, (int4)((int)(get_local_size(0) * 100 + get_local_size(1))));
}
)CL";
  Plan plan;
  plan.source = source;
  plan.function = "sizes";
  plan.inputs = 0;
  plan.outputs = {{8, 4}};
  plan.global = {8, 4, 1};
  plan.local = {4, 2, 1};
  plan.dim = 2;
  const auto out = Output<int32_t>({});  // left open: the whole result can be read
  Op(plan)->BindOutput(out);
  Compile();
  Run();
  EXPECT_THAT(Read<int32_t>(out, 32), ::testing::Each(402));
}

TEST_F(UserKernel, SeveralOutputs) {
  const char source[] = R"CL(
__kernel void split(__read_only image2d_t in, __write_only image2d_t even,
                    __write_only image2d_t odd) {
  int x = get_global_id(0);
  write_imagei(even, (int2)(x, 0), read_imagei(in, (int2)(2 * x, 0)));
  write_imagei(odd, (int2)(x, 0), read_imagei(in, (int2)(2 * x + 1, 0)));
}
)CL";
  Plan plan;
  plan.source = source;
  plan.function = "split";
  plan.outputs = {{4}, {3}};
  plan.global = {8, 1, 1};
  plan.dim = 1;
  const auto in = Input<int8_t>({7}), even = Output<int8_t>({4}), odd = Output<int8_t>({3});
  Op(plan)->BindInput(in).BindOutputs({even, odd});
  Compile();
  Write<int8_t>(in, {-3, -2, -1, 0, 1, 2, 127});
  Run();
  EXPECT_THAT(Read<int8_t>(even, 4), ElementsAre(-3, -1, 1, 127));
  EXPECT_THAT(Read<int8_t>(odd, 3), ElementsAre(-2, 0, 2));
}

// In the original two sources with one function name would be taken for each other.
TEST_F(UserKernel, TwoSourcesWithOneFunctionName) {
  const char minus[] = R"CL(
__kernel void add_one(__read_only image2d_t in, __write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagei(out, at, read_imagei(in, at) - 1);
}
)CL";
  const auto in = Input<int32_t>({4}), up = Output<int32_t>({4}), down = Output<int32_t>({4});
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  Op(plan)->BindInput(in).BindOutput(up);
  plan.source = minus;
  Op(plan)->BindInput(in).BindOutput(down);
  Compile();
  Write<int32_t>(in, {1, 20, 300, -4000});
  Run();
  EXPECT_THAT(Read<int32_t>(up, 4), ElementsAre(2, 21, 301, -3999));
  EXPECT_THAT(Read<int32_t>(down, 4), ElementsAre(0, 19, 299, -4001));
}

TEST_F(UserKernel, SetUpOncePerGraph) {
  int calls = 0;
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  plan.calls = &calls;
  const auto in = Input<int32_t>({4}), out = Output<int32_t>({4});
  Op(plan)->BindInput(in).BindOutput(out);
  Compile();
  EXPECT_EQ(calls, 3);
  Compile();
  Write<int32_t>(in, {1, 2, 3, 4});
  Run();
  Run();
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(Read<int32_t>(out, 4), ElementsAre(2, 3, 4, 5));
}

// The declared shape of an output is no check: SetupShapeInfor decides.
TEST_F(UserKernel, OutputsSizeOverwritesADeclaredShape) {
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  plan.outputs = {{2, 3}};
  const auto in = Input<int32_t>({2, 3}), out = Output<int32_t>({6, 5, 4});
  Op(plan)->BindInput(in).BindOutput(out);
  Compile();
  Write<int32_t>(in, {1, 2, 3, 4, 5, 6});
  Run();
  EXPECT_THAT(Read<int32_t>(out, 6), ElementsAre(2, 3, 4, 5, 6, 7));
}

// gobal_kernel_id_ counts in each file anew, so that classes of two files have the same id.
TEST_F(UserKernel, KernelIdsMayCollide) {
  class Other : public UserOp {
   public:
    Other(vx::Graph* graph, Plan plan) : UserOp(graph, plan, std::tuple<>()) {}
  };
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  const auto in = Input<int32_t>({4}), out = Output<int32_t>({4});
  const auto between = Transient<int32_t>();
  Op(plan)->BindInput(in).BindOutput(between);
  graph_->CreateOperation<Other>(plan)->BindInput(between).BindOutput(out);
  Compile();
  Write<int32_t>(in, {1, 2, 3, 4});
  Run();
  EXPECT_THAT(Read<int32_t>(out, 4), ElementsAre(3, 4, 5, 6));
}

// An operator of the user's first and last, a built-in one between, added in any order.
TEST_F(UserKernel, FirstAndLastInTheGraph) {
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  const auto in = Input<int32_t>({4}), out = Output<int32_t>({4});
  const auto a = Transient<int32_t>(), b = Transient<int32_t>();
  Op(plan)->BindInput(b).BindOutput(out);
  graph_->CreateOperation<vx::ops::Add>()->BindInputs({a, a}).BindOutput(b);
  Op(plan)->BindInput(in).BindOutput(a);
  Compile();
  Write<int32_t>(in, {1, 2, 3, 4});
  Run();
  EXPECT_THAT(Read<int32_t>(out, 4), ElementsAre(5, 7, 9, 11));
}

TEST_F(UserKernel, CompilerLogHasFunctionAndLine) {
  Plan plan;
  plan.source =
      "// line 1\n__kernel void broken(__global int* out) {\n  out[0] = undeclared_name;\n}\n";
  plan.function = "broken";
  plan.options = "-DSOME_OPTION=1";
  plan.inputs = 0;
  plan.outputs = {{1}};
  Op(plan)->BindOutput(Output<int32_t>({1}));
  EXPECT_EQ(CompileFails(), Code::kKernelBuild);
  EXPECT_THAT(Message(), HasSubstr("broken"));
  EXPECT_THAT(Message(), HasSubstr("undeclared_name"));
  EXPECT_THAT(Message(), HasSubstr("SOME_OPTION"));
  EXPECT_THAT(Message(), HasSubstr(":3"));
}

TEST_F(UserKernel, FunctionThatIsNotInTheSource) {
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_two";
  Op(plan)->BindInput(Input<int32_t>({4})).BindOutput(Output<int32_t>({4}));
  EXPECT_EQ(CompileFails(), Code::kKernelBuild);
  EXPECT_THAT(Message(), HasSubstr("add_two"));
}

TEST_F(UserKernel, AnotherNumberOfParameters) {
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  Op(plan, 1.0f)->BindInput(Input<int32_t>({4})).BindOutput(Output<int32_t>({4}));
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), HasSubstr("add_one"));
  EXPECT_THAT(Message(), HasSubstr("2"));
  EXPECT_THAT(Message(), HasSubstr("3"));
}

TEST_F(UserKernel, OutputWithoutAShape) {
  Plan plan;
  plan.source = kAddOneI;
  plan.function = "add_one";
  plan.outputs = {{}};
  Op(plan)->BindInput(Input<int32_t>({4})).BindOutput(Output<int32_t>({4}));
  EXPECT_EQ(CompileFails(), Code::kInvalidShape);
  EXPECT_THAT(Message(), HasSubstr("outputs_size_[0]"));
}

}  // namespace
}  // namespace custom_test
