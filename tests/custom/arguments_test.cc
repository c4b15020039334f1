// What a kernel can be given: tensors of all types as buffers and images, scalars, vectors, and
// macros for real numbers.
#include <limits>

#include "user_op.h"

namespace custom_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Arguments : public UserKernel {
 protected:
  /// y = x + 1 for four elements, with this kernel.
  template <class T>
  std::vector<T> AddOne(const std::string& source, const std::vector<T>& x) {
    SetUp();
    Plan plan;
    plan.source = source.c_str();
    plan.function = "add_one";
    plan.global = {4, 1, 1};
    plan.dim = 1;
    const auto in = Input<T>({4}), out = Output<T>({4});
    Op(plan)->BindInput(in).BindOutput(out);
    EXPECT_TRUE(graph_->Compile()) << Message();
    Write<T>(in, x);
    EXPECT_TRUE(graph_->Run()) << Message();
    return Read<T>(out, 4);
  }
  template <class T>
  std::vector<T> BufferAddOne(const std::string& type, const std::vector<T>& x) {
    return AddOne<T>("__kernel void add_one(__global const " + type + "* x, __global " + type +
                         "* y) { int i = get_global_id(0); y[i] = x[i] + (" + type + ")1; }",
                     x);
  }
  template <class T>
  std::vector<T> ImageAddOne(const std::string& family, const std::vector<T>& x) {
    return AddOne<T>(
        "__kernel void add_one(__read_only image2d_t x, __write_only image2d_t y) {"
        "  int2 at = (int2)(get_global_id(0), 0);"
        "  write_image" +
            family + "(y, at, read_image" + family + "(x, at) + 1); }",
        x);
  }
};

TEST_F(Arguments, BuffersOfAllElementTypes) {
  EXPECT_THAT(BufferAddOne<int8_t>("char", {-128, -1, 0, 126}), ElementsAre(-127, 0, 1, 127));
  EXPECT_THAT(BufferAddOne<uint8_t>("uchar", {0, 1, 127, 254}), ElementsAre(1, 2, 128, 255));
  EXPECT_THAT(BufferAddOne<int16_t>("short", {-32768, -1, 0, 32766}),
              ElementsAre(-32767, 0, 1, 32767));
  EXPECT_THAT(BufferAddOne<uint16_t>("ushort", {0, 1, 32767, 65534}),
              ElementsAre(1, 2, 32768, 65535));
  EXPECT_THAT(BufferAddOne<int32_t>("int", {-7, 0, 1, 1 << 30}),
              ElementsAre(-6, 1, 2, (1 << 30) + 1));
  EXPECT_THAT(BufferAddOne<int64_t>("long", {-7, 0, int64_t{1} << 40, int64_t{1} << 62}),
              ElementsAre(-6, 1, (int64_t{1} << 40) + 1, (int64_t{1} << 62) + 1));
  EXPECT_THAT(BufferAddOne<float>("float", {-1.5f, 0, 1, 2}), ElementsAre(-0.5f, 1, 2, 3));
}

TEST_F(Arguments, ImagesOf16Bits) {
  EXPECT_THAT(ImageAddOne<int16_t>("i", {-32768, -1, 0, 32767}), ElementsAre(-32767, 0, 1, 32767));
  EXPECT_THAT(ImageAddOne<uint16_t>("ui", {0, 1, 32767, 65535}), ElementsAre(1, 2, 32768, 65535));
}

// As image and as buffer, in one kernel; vload_half needs no device with half arithmetic.
TEST_F(Arguments, HalfAsImageAndBufferInOneKernel) {
  const char source[] = R"CL(
__kernel void add(__read_only image2d_t x, __global const half* y, __write_only image2d_t out,
                  __global half* buffer) {
  int i = get_global_id(0);
  float sum = read_imagef(x, (int2)(i, 0)).x + vload_half(i, y);
  write_imagef(out, (int2)(i, 0), (float4)(sum));
  vstore_half(sum * 2, i, buffer);
}
)CL";
  const auto tensor = [&](vx::TensorAttribute attribute) {
    return graph_->CreateTensor({DataType::FLOAT16, {3}, attribute});
  };
  const auto x = tensor(vx::INPUT), y = tensor(vx::INPUT), out = tensor(vx::OUTPUT),
             twice = tensor(vx::OUTPUT);
  Plan plan;
  plan.source = source;
  plan.function = "add";
  plan.inputs = 2;
  plan.outputs = {{3}, {3}};
  plan.global = {3, 1, 1};
  plan.dim = 1;
  Op(plan)->BindInputs({x, y}).BindOutputs({out, twice});
  Compile();
  const auto half = [](float v) { return vx::ops::Half(v).bits; };
  Write<uint16_t>(x, {half(1), half(-2), half(0.5f)});
  Write<uint16_t>(y, {half(0.25f), half(3), half(1024)});
  Run();
  EXPECT_THAT(Read<uint16_t>(out, 3), ElementsAre(half(1.25f), half(1), half(1024.5f)));
  EXPECT_THAT(Read<uint16_t>(twice, 3), ElementsAre(half(2.5f), half(2), half(2049)));
}

TEST_F(Arguments, Int64IsNoImage) {
  Plan plan;
  plan.source = "__kernel void f(__read_only image2d_t x, __global long* y) {}";
  plan.function = "f";
  Op(plan)->BindInput(Input<int64_t>({4, 2})).BindOutput(Output<int64_t>({4, 2}));
  EXPECT_EQ(CompileFails(), Code::kUnsupported);
  EXPECT_THAT(Message(), HasSubstr("input 0 'input0' i64[4,2]"));
  EXPECT_THAT(Message(), HasSubstr("OpenCL has no channel type for i64"));
  EXPECT_THAT(Message(), HasSubstr("__global pointer"));
}

// All types at once: the kernel says which of them arrived.
TEST_F(Arguments, ScalarsOfEveryTypeAndVectors) {
  const char source[] = R"CL(
__kernel void check(__global int* out, char c, uchar uc, short s, ushort us, int i, uint ui, long l,
                    ulong ul, float f, char b, float2 f2, int3 i3, float4 f4, uchar8 uc8, int16 i16,
                    float last) {
  int n = 0;
  out[n++] = c == -100;
  out[n++] = uc == 200;
  out[n++] = s == -30000;
  out[n++] = us == 60000;
  out[n++] = i == -2000000000;
  out[n++] = ui == 4000000000u;
  out[n++] = l == -9000000000000000000L;
  out[n++] = ul == 18000000000000000000UL;
  out[n++] = f == 0.5f;
  out[n++] = b == 1;
  out[n++] = f2.x == 1 && f2.y == 2;
  out[n++] = i3.x == 1 && i3.y == 2 && i3.z == 3;
  out[n++] = f4.x == 1 && f4.y == 2 && f4.z == 3 && f4.w == 4;
  out[n++] = uc8.s0 == 1 && uc8.s7 == 255;
  out[n++] = i16.s0 == -1 && i16.sF == 15;
  out[n++] = last == 7.0f;
}
)CL";
  Plan plan;
  plan.source = source;
  plan.function = "check";
  plan.inputs = 0;
  plan.outputs = {{16}};
  plan.global = {1, 1, 1};
  plan.dim = 1;
  const auto out = Output<int32_t>({16});
  Op(plan, int8_t{-100}, uint8_t{200}, int16_t{-30000}, uint16_t{60000}, -2000000000, 4000000000u,
     int64_t{-9000000000000000000}, uint64_t{18000000000000000000u}, 0.5f, true,
     std::array<float, 2>{1, 2}, std::array<int, 3>{1, 2, 3}, std::array<float, 4>{1, 2, 3, 4},
     std::array<uint8_t, 8>{1, 2, 3, 4, 5, 6, 7, 255},
     std::array<int, 16>{-1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 7.0f)
      ->BindOutput(out);
  Compile();
  Run();
  EXPECT_THAT(Read<int32_t>(out, 16), Each(1));
}

TEST_F(Arguments, DoubleWhereTheDeviceHasIt) {
  Plan plan;
  plan.source =
      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
      "__kernel void f(__global float* y, double d, double2 e) {"
      "  y[0] = (float)(d - 1.0); y[1] = (float)(e.y * 3.0); }";
  plan.function = "f";
  plan.inputs = 0;
  plan.outputs = {{2}};
  plan.global = {1, 1, 1};
  const auto out = Output<float>({2});
  bool has_double = false;
  graph_
      ->CreateOperation<FreeOp>(
          plan,
          [&](FreeOp& op, uint32_t& dim, std::vector<size_t>&, std::vector<size_t>&) {
            has_double = op.Device().has_double;
            dim = 1;
            op.param_list_ = {vx::ops::MakeParam(1.0 + 0x1p-40),
                              vx::ops::MakeParam(std::array<double, 2>{0, 0.5})};
          })
      ->BindOutput(out);
  if (!graph_->Compile()) {
    ASSERT_FALSE(has_double) << Message();
    EXPECT_THAT(Message(), HasSubstr("param_list_[0] is a double"));
    GTEST_SKIP() << "the device has no double";
  }
  Run();
  EXPECT_THAT(Read<float>(out, 2), ElementsAre(0x1p-40f, 1.5f));
}

// As callers of the original fill it in.
TEST_F(Arguments, ParamsByHand) {
  Plan plan;
  plan.source =
      "__kernel void f(__global int* y, float a, int b, uint c, char d, uchar e, char g, short h) {"
      "  y[0] = (int)(a * 2); y[1] = b; y[2] = (int)c; y[3] = d; y[4] = e; y[5] = g; y[6] = h; }";
  plan.function = "f";
  plan.inputs = 0;
  plan.outputs = {{7}};
  plan.global = {1, 1, 1};
  const auto out = Output<int32_t>({7});
  const auto op = Op(plan);
  const auto add = [&](DataType type, auto set) {
    vx::ops::Param param;
    param.type = type;
    set(param);
    op->param_list_.push_back(param);
  };
  op->param_list_.push_back({{1.5f}, DataType::FLOAT32});
  add(DataType::INT32, [](auto& p) { p.data.i = -5; });
  add(DataType::UINT32, [](auto& p) { p.data.ui = 6; });
  add(DataType::BOOL8, [](auto& p) { p.data.b = true; });
  add(DataType::UINT8, [](auto& p) { p.data.ui = 200; });
  add(DataType::INT8, [](auto& p) { p.data.i = -3; });
  add(DataType::INT16, [](auto& p) { p.data.i = -300; });
  op->BindOutput(out);
  Compile();
  Run();
  EXPECT_THAT(Read<int32_t>(out, 7), ElementsAre(3, -5, 6, 1, 200, -3, -300));
}

TEST_F(Arguments, ParamOfATypeThatTheUnionHasNoMemberFor) {
  Plan plan;
  plan.source = "__kernel void f(__global int* y, long a) {}";
  plan.function = "f";
  plan.inputs = 0;
  plan.outputs = {{1}};
  const auto op = Op(plan);
  op->param_list_.push_back({{0.0f}, DataType::INT64});
  op->BindOutput(Output<int32_t>({1}));
  EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
  EXPECT_THAT(Message(), HasSubstr("param_list_[0] has type i64"));
  EXPECT_THAT(Message(), HasSubstr("MakeParam"));
}

TEST_F(Arguments, FloatBitsForAnIntAreAWarning) {
  Plan plan;
  plan.source = "__kernel void f(__global int* y, int a) { y[0] = a; }";
  plan.function = "f";
  plan.inputs = 0;
  plan.outputs = {{1}};
  plan.global = {1, 1, 1};
  const auto out = Output<int32_t>({1});
  Op(plan, 1.0f)->BindOutput(out);
  ::testing::internal::CaptureStderr();
  Compile();
  const char words[] = "parameter 1 is 'int a', but the op passes float param_list_[0]";
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(words));
  EXPECT_THAT(graph_->Report().warnings, ElementsAre(HasSubstr(words)));
  Run();
  EXPECT_THAT(Read<int32_t>(out, 1), ElementsAre(0x3F800000));
}

const char kDouble[] = R"CL(
__kernel void buffers(IN(X), OUT(Y), int n) {
  int i = get_global_id(0);
  if (i < n) STORE(Y, i, 2 * LOAD(X, i));
}
__kernel void images(IMAGE(X), IMAGE_ARRAY(Y), int n) {
  int i = get_global_id(0);
  WRITE(Y, (int4)(i, 0, 0, 0), 2 * READ(X, (int2)(i, 0)) + READ(X, (int2)(-1, 0)));
}
)CL";

// One source for all types; two quantizations of one type are one program.
TEST_F(Arguments, MacrosReadAndWriteRealNumbers) {
  const vx::Quantization fine(vx::QuantType::ASYMMETRIC, 0.25f, 10),
      coarse(vx::QuantType::ASYMMETRIC, 0.5f, 3);
  const auto fill = [](FreeOp& op) {
    op.UseTensorMacros("X", "Y");
    vx::ops::param_transform(std::tuple<int>(3), op.param_list_);
  };
  const auto enqueue = [](FreeOp& op, uint32_t& dim, std::vector<size_t>& global,
                          std::vector<size_t>& local) { op.SetWorkItems(3, dim, global, local); };
  for (const char* function : {"buffers", "images"}) {
    SCOPED_TRACE(function);
    SetUp();
    Plan plan;
    plan.source = kDouble;
    plan.function = function;
    const auto f = Input<float>({3}), a = Input<uint8_t>({3}, fine), c = Input<int8_t>({3}, coarse);
    const auto fy = Output<float>({3}), ay = Output<uint8_t>({3}, coarse),
               cy = Output<int8_t>({3}, fine);
    const auto make = [&] { return graph_->CreateOperation<FreeOp>(plan, enqueue, fill); };
    make()->BindInput(f).BindOutput(fy);
    make()->BindInput(a).BindOutput(ay);
    make()->BindInput(c).BindOutput(cy);
    const auto other = Output<uint8_t>({3}, {vx::QuantType::ASYMMETRIC, 1.0f, 1});
    make()->BindInput(a).BindOutput(other);
    Compile();
    EXPECT_LE(graph_->Report().programs_built, 3u);
    Write<float>(f, {-1, 0.5f, 3});
    Write<uint8_t>(a, {10, 14, 255});  // 0, 1, 61.25
    Write<int8_t>(c, {3, -128, 5});    // 0, -65.5, 1
    Run();
    EXPECT_THAT(Read<float>(fy, 3), ElementsAre(-2, 1, 6));
    EXPECT_THAT(Read<uint8_t>(ay, 3), ElementsAre(3, 7, 248));
    EXPECT_THAT(Read<int8_t>(cy, 3), ElementsAre(10, -128, 18));
    EXPECT_THAT(Read<uint8_t>(other, 3), ElementsAre(1, 3, 124));
  }
}

TEST_F(Arguments, MacrosNeedAName) {
  const auto fails = [&](const char* inputs, const char* outputs) {
    SetUp();
    Plan plan;
    plan.source = kDouble;
    plan.function = "buffers";
    const auto enqueue = [](FreeOp&, uint32_t& dim, std::vector<size_t>&, std::vector<size_t>&) {
      dim = 1;
    };
    graph_
        ->CreateOperation<FreeOp>(plan, enqueue,
                                  [&](FreeOp& op) { op.UseTensorMacros(inputs, outputs); })
        ->BindInput(Input<float>({3}))
        .BindOutput(Output<float>({3}));
    EXPECT_EQ(CompileFails(), Code::kInvalidArgument);
    return Message();
  };
  EXPECT_THAT(fails("A B", "Y"), HasSubstr("UseTensorMacros names 2 inputs, but there are 1"));
  EXPECT_THAT(fails("X", ""), HasSubstr("UseTensorMacros names 0 outputs, but there are 1"));
  EXPECT_THAT(fails("X", "X"), HasSubstr("UseTensorMacros names 'X' twice"));
  EXPECT_THAT(fails("2X", "Y"), HasSubstr("'2X' is no name of OpenCL C"));
}

}  // namespace
}  // namespace custom_test
