// What the prelude makes of sources that include each other, of kernels given as text, and of fused
// ops with a second tensor, run on the device.
#include "kernels/prelude.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CL/opencl.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/opencl/backend.h"
#include "support/conformance.h"
#include "tim/vx/pointwise.h"

namespace tim::vx {
namespace ops {
void RegisterBuiltinOps(OpRegistry& registry);
}
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const TensorType kF32 = {DataType::FLOAT32, {20}, Quantization()};
const TensorType kF16 = {DataType::FLOAT16, {20}, Quantization()};
const TensorType kU8 = {DataType::UINT8, {20}, Quantization(QuantType::ASYMMETRIC, 0.5f, 10)};

KernelSpec Spec(const std::string& source) {
  KernelSpec spec;
  spec.source = source;
  spec.entry = "k";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"N", 20}};
  spec.epilogue = KernelSpec::Epilogue::kScalar;
  return spec;
}

class IncludeTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/timcl_prelude_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    dir_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ + "/" + name) << text;
  }
  Result<kernels::VariantText> Make(const std::string& source) {
    kernels::Sources sources(dir_);
    return kernels::MakeVariant(Spec(source), {kF32}, {kF32}, {}, kF32, &sources);
  }
  std::string dir_;
};

kernels::Sources* BuiltIn() {
  static kernels::Sources sources("");
  return &sources;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(IncludeTest, EachSourceIsThereOnceAndLinesStayTrue) {
  Write("k.cl",
        "// first\n#include \"tensor.clh\"\n#include \"a.clh\"\n  # include \"b.clh\"\nlast line "
        "of k\n");
  Write("a.clh", "#define A 1\n#include \"b.clh\"\nlast line of a\n");
  Write("b.clh", "#define B 2\nonly line of b\n");
  const auto v = Make("k.cl");
  ASSERT_TRUE(v.ok()) << v.status().message();
  EXPECT_THAT(v->text, HasSubstr("#line 1 \"k.cl\"\n// first\n\n"
                                 "#line 1 \"a.clh\"\n#define A 1\n"
                                 "#line 1 \"b.clh\"\n#define B 2\nonly line of b\n"
                                 "#line 3 \"a.clh\"\nlast line of a\n"
                                 "#line 4 \"k.cl\"\n\nlast line of k\n"));
  // Other variants of the program define them anew.
  EXPECT_THAT(v->text, AllOf(HasSubstr("#undef A\n"), HasSubstr("#undef B\n")));
  EXPECT_EQ(Count(v->text, "only line of b"), 1u);
  EXPECT_THAT(v->text, Not(HasSubstr("include")));
}

TEST_F(IncludeTest, UnknownNamesAndCirclesAreErrors) {
  Write("k.cl", "\n\n#include \"nowhere.clh\"\n");
  Status s = Make("k.cl").status();
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("k.cl:3: #include \"nowhere.clh\""),
                                 HasSubstr("no kernel source named 'nowhere.clh'"),
                                 HasSubstr("pointwise.cl"), HasSubstr(dir_)));
  Write("k.cl", "#include \"a.clh\"\n");
  Write("a.clh", "//\n#include \"b.clh\"\n");
  Write("b.clh", "#include \"a.clh\"\n");
  s = Make("k.cl").status();
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("b.clh:1: #include \"a.clh\""),
                                 HasSubstr("k.cl -> a.clh -> b.clh -> a.clh")));
  Write("a.clh", "#include \"k.cl\"\n");
  EXPECT_THAT(Make("k.cl").status().message(), HasSubstr("k.cl -> a.clh -> k.cl"));
  Write("k.cl", "#include <math.h>\n");
  s = Make("k.cl").status();
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), HasSubstr("k.cl:1: #include <math.h>: expected"));
}

TEST(PreludeTest, NarrowIntegersAreClampedAsLong) {
  // Mesa's convert_short_sat(long) is wrong.
  const TensorType i16 = {DataType::INT16, {20}, Quantization()};
  KernelSpec spec = Spec("copy.cl");
  spec.entry = "copy";
  const auto v = kernels::MakeVariant(spec, {{DataType::INT32, {20}, Quantization()}}, {i16}, {},
                                      i16, BuiltIn());
  ASSERT_TRUE(v.ok()) << v.status().message();
  EXPECT_THAT(v->text,
              AllOf(HasSubstr("(short)clamp((long)(v), -32768L, 32767L)"), Not(HasSubstr("_sat"))));
}

/// Builds one variant on the device and runs it over N elements, one work-item each.
class Device {
 public:
  Device() {
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    const char* wanted = std::getenv("TIMCL_DEVICE");
    for (const cl::Platform& p : platforms) {
      std::vector<cl::Device> devices;
      p.getDevices(CL_DEVICE_TYPE_ALL, &devices);
      for (const cl::Device& d : devices) {
        if (wanted != nullptr && d.getInfo<CL_DEVICE_NAME>().find(wanted) == std::string::npos)
          continue;
        context_ = cl::Context(d);
        queue_ = cl::CommandQueue(context_, d);
        return;
      }
    }
  }
  cl::Buffer Upload(const void* data, size_t bytes) {
    return {context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, const_cast<void*>(data)};
  }
  /// `buffers`: the input, the output, then the other tensors of the post-ops.
  void Run(const kernels::VariantText& v, std::vector<cl::Buffer> buffers, size_t items, int n) {
    cl::Program program(context_, kernels::AssembleProgram({&v}, ""));
    ASSERT_EQ(program.build("-cl-std=CL1.2"), CL_SUCCESS)
        << program.getBuildInfo<CL_PROGRAM_BUILD_LOG>()[0].second << v.text;
    cl::Kernel kernel(program, kernels::EntryName(v, 0).c_str());
    cl_uint at = 0;
    auto scalars = [&](size_t operand) {
      for (const kernels::ScalarArg& s : v.operand_args[operand]) {
        if (s.is_float) {
          kernel.setArg(at++, s.f);
        } else {
          kernel.setArg(at++, s.i);
        }
      }
    };
    kernel.setArg(at++, buffers[0]);
    scalars(0);
    for (size_t k = 1; k < buffers.size(); ++k) kernel.setArg(at++, buffers[k]);
    scalars(1);
    kernel.setArg(at++, n);
    ASSERT_EQ(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items)), CL_SUCCESS);
    ASSERT_EQ(queue_.finish(), CL_SUCCESS);
  }
  void Download(const cl::Buffer& b, void* data, size_t bytes) {
    queue_.enqueueReadBuffer(b, CL_TRUE, 0, bytes, data);
  }

 private:
  cl::Context context_;
  cl::CommandQueue queue_;
};

/// x - y with the passing value as x; then the passing value as y of x * y * p0, where x is a
/// quantized tensor.
std::vector<kernels::PostOp> TwoTensors(const TensorType& between) {
  kernels::PostOp subtract, multiply;
  subtract.before = kF32;
  subtract.expression = "x - y";
  subtract.other = kF32;
  multiply.before = between;
  multiply.expression = "x * x * y * p0";
  multiply.params[0] = 0.25f;
  multiply.other = kU8;
  multiply.other_first = true;
  return {subtract, multiply};
}

TEST(PostOpTest, StoreReadsOtherTensorsAtItsIndex) {
  std::vector<float> x(20), a(20), got(20);
  std::vector<uint8_t> b(20);
  for (size_t i = 0; i < 20; ++i) {
    const auto f = static_cast<float>(i);
    x[i] = f * 1.5f - 9, a[i] = 4 - f, b[i] = static_cast<uint8_t>(7 * i % 23);
  }
  Device device;
  KernelSpec spec = Spec("copy.cl");
  spec.entry = "copy";
  // What lies between the two ops is rounded to its type: to halves, which is exact, and to a grid.
  for (const TensorType& between : {kF32, kF16, kU8}) {
    const auto v = kernels::MakeVariant(spec, {kF32}, {kF32}, TwoTensors(between), kF32, BuiltIn());
    ASSERT_TRUE(v.ok()) << v.status().message();
    cl::Buffer y = device.Upload(got.data(), 80);
    device.Run(
        *v,
        {device.Upload(x.data(), 80), y, device.Upload(a.data(), 80), device.Upload(b.data(), 20)},
        20, 20);
    device.Download(y, got.data(), 80);
    for (size_t i = 0; i < 20; ++i) {
      float middle = x[i] - a[i];
      if (between.dtype == DataType::UINT8) {
        const float q = std::fmin(std::fmax(std::rint(middle * 2 + 10), 0.0f), 255.0f);
        middle = (q - 10) * 0.5f;
      }
      const float second = (static_cast<float>(b[i]) - 10) * 0.5f;
      EXPECT_EQ(got[i], second * second * middle * 0.25f) << i << " " << between.ToString();
    }
  }
}

TEST(PostOpTest, VectorEpilogueReadsOtherTensorsAtItsIndex) {
  constexpr const char* kText = R"(
#include "tensor.clh"
KERNEL(k)(IN(X), OUT(Y), SIZE(N)) {
  const int i = WORK_ITEM(0) * 16, n = N - i;
  if (n >= 16) {
    VSTORE(Y, i, VLOAD(X, i));
  } else {
    for (int l = i; l < N; ++l) STORE(Y, l, LOAD(X, l));
  }
}
)";
  KernelSpec spec = Spec("");
  spec.source_text = kText;
  spec.epilogue = KernelSpec::Epilogue::kVector;
  kernels::PostOp post_op;
  post_op.before = kF32;
  post_op.expression = "AT_LEAST(x + y, p1)";
  post_op.params[1] = -2.0f;
  post_op.other = kF32;
  const auto v = kernels::MakeVariant(spec, {kF32}, {kF32}, {post_op}, kF32, BuiltIn());
  ASSERT_TRUE(v.ok()) << v.status().message();
  std::vector<float> x(20), a(20), got(20);
  for (size_t i = 0; i < 20; ++i) {
    const auto f = static_cast<float>(i);
    x[i] = f - 9.5f, a[i] = 10 - 3 * f;
  }
  Device device;
  cl::Buffer y = device.Upload(got.data(), 80);
  device.Run(*v, {device.Upload(x.data(), 80), y, device.Upload(a.data(), 80)}, 2, 20);
  device.Download(y, got.data(), 80);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(got[i], std::fmax(x[i] + a[i], -2.0f)) << i;

  post_op.other = kU8;  // such vectors are read from real types alone
  EXPECT_EQ(kernels::MakeVariant(spec, {kF32}, {kF32}, {post_op}, kF32, BuiltIn()).status().code(),
            Code::kUnsupported);
}

TEST(PostOpTest, ParametersAreFoundAsWords) {
  KernelSpec spec = Spec("copy.cl");
  spec.entry = "copy";
  kernels::PostOp post_op;
  post_op.before = kF32;
  post_op.expression = "exp2(x) + p1";
  const auto v = kernels::MakeVariant(spec, {kF32}, {kF32}, {post_op}, kF32, BuiltIn());
  ASSERT_TRUE(v.ok()) << v.status().message();
  EXPECT_THAT(v->text, AllOf(HasSubstr("Y_0_p1"), Not(HasSubstr("Y_0_p2"))));
}

/// An operator outside of the library that brings its kernel as text in the library's dialect: one
/// text for every encoding, and fused ops behind it.
Result<Launches> SquareLaunch(const OpView& op, const KernelRequest&) {
  KernelSpec spec;
  spec.source = "square \"quoted\".cl";  // a name for messages
  spec.source_text = R"(#include "tensor.clh"
#include "divide.clh"
KERNEL(square)(IN(X), OUT(Y), SIZE(N)) {
  const int i = WORK_ITEM(0);
  if (i >= N) return;
  const acc_t x = LOAD(X, i);
  STORE(Y, i, x * x);
}
)";
  spec.entry = "square";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"N", op.out(0).shape().count()}};
  spec.global = {static_cast<size_t>(op.out(0).shape().count()), 1, 1};
  spec.local = {64, 1, 1};
  return Launches{spec};
}
constexpr KernelCandidate kSquareKernels[] = {
    {"text", nullptr, SquareLaunch, {KernelSpec::Epilogue::kScalar}}};

OpDef SquareFromText() {
  OpDef def;
  def.name = "SquareFromText";
  def.schema = &kAttrSchema<NoAttrs>;
  def.verify = [](const OpView&) { return Status(); };
  def.infer = [](const OpView& op) -> Result<Shapes> { return Shapes{op.in(0).shape()}; };
  def.reference = [](const OpView&, const ref::Inputs& ins, ref::Outputs& outs) {
    for (int64_t i = 0; i < ins[0].count(); ++i) outs[0].Set(i, ins[0].Float(i) * ins[0].Float(i));
    return Status();
  };
  def.kernels = kSquareKernels;
  def.cases = [](CaseMaker& make) {
    for (const TensorType& t : {kF32, kF16, kU8}) {
      Case c;
      c.attrs = MakeAttrs(NoAttrs{});
      c.inputs = {{t, false, -5, 5}};
      c.outputs = {t};
      make.Add(c);
    }
  };
  return def;
}

TEST(KernelTextTest, AnOpBringsItsOwnText) {
  opencl::BackendOptions backend;
  const char* device = std::getenv("TIMCL_DEVICE");
  backend.device = device != nullptr ? device : "";
  const auto made = opencl::CreateBackend(backend);
  ASSERT_TRUE(made.ok()) << made.status().message();
  OpRegistry registry;
  ops::RegisterBuiltinOps(registry);
  const OpDef def = SquareFromText();
  conformance::RunOptions options;
  options.device = *made;
  options.registry = &registry;
  const auto outcomes = conformance::RunCases(conformance::CasesOf(def), options);
  EXPECT_EQ(outcomes.size(), 3u);
  for (const auto& o : outcomes) EXPECT_TRUE(o.passed) << o.message;

  // A library op is fused behind it as behind the library's own.
  conformance::TestGraph graph;
  std::vector<float> data(20);
  for (size_t i = 0; i < 20; ++i) data[i] = static_cast<float>(i) - 9;
  const int x = graph.AddInput(kF32, false, data.data());
  const int middle = graph.AddResult(kF32, false), y = graph.AddResult(kF32, true);
  const AnyAttrs none = MakeAttrs(NoAttrs{});
  ASSERT_TRUE(graph.AddOp(std::make_shared<OpDef>(def), none, {x}, {middle}).ok());
  ASSERT_TRUE(
      graph.AddOp(std::make_shared<OpDef>(*registry.Find("Neg")), none, {middle}, {y}).ok());
  const Status run = graph.Run(*made, registry);
  ASSERT_TRUE(run.ok()) << run.message();
  EXPECT_THAT(graph.kernels(), testing::Contains(HasSubstr("fused into SquareFromText")));
  const auto* got = reinterpret_cast<const float*>(graph.Result(y));
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(got[i], -data[i] * data[i]);
}

}  // namespace
}  // namespace tim::vx
