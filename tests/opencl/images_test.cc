// Emulated images: kernels written for image2d_t and image2d_array_t, over buffers.
#include "backends/opencl/run/images.h"

#include <gmock/gmock.h>

#include <functional>

#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

class Images : public OnBothMemories {
 protected:
  /// One launch of `source`'s kernel "f" over inputs, outputs and scalars; reports as a Status.
  Status Run(const std::string& source, const kernel::Io& io, std::vector<size_t> global,
             const std::vector<Arg>& scalars = {}) {
    auto plan = std::make_shared<PartitionPlan>();
    SetPrograms(plan.get(), {UserText(source, "f", true)});
    std::vector<Arg> args;
    for (size_t i = 0; i < io.inputs.size(); ++i) args.push_back(ArgOf(Arg::Kind::kInput, i));
    for (size_t i = 0; i < io.outputs.size(); ++i) args.push_back(ArgOf(Arg::Kind::kOutput, i));
    args.insert(args.end(), scalars.begin(), scalars.end());
    plan->launches = {LaunchOf(0, args, std::move(global))};
    return RunPlan(plan, io);
  }
  Status RunPlan(const std::shared_ptr<PartitionPlan>& plan, const kernel::Io& io) {
    BuiltPrograms kernels;
    BuildStats stats;
    TIMCL_TRY(ProgramCache(device_, {}).Build(plan->programs, "", &kernels, &stats));
    PartitionKernel kernel(session_, plan, kernels);
    TIMCL_TRY(kernel.Prepare(io));
    warnings_ = kernel.Warnings();
    for (int round = 0; round < 2; ++round) {
      TIMCL_TRY(kernel.Execute());
      TIMCL_TRY(kernel.Wait());
    }
    return Status();
  }
  /// Also simulators have memory of their own.
  bool Shared() const { return device_->caps().shared_memory; }
  std::vector<std::string> warnings_;
};
INSTANTIATE_TEST_SUITE_P(Memory, Images, testing::Bool(), OnBothMemories::Name);

#define EXPECT_OK(expression)                       \
  do {                                              \
    const Status status_ = (expression);            \
    ASSERT_TRUE(status_.ok()) << status_.message(); \
  } while (false)

template <class T>
std::shared_ptr<base::Storage> StorageOf(const std::vector<T>& values) {
  auto s = base::Storage::Allocate(values.size() * sizeof(T));
  std::memcpy(s->data(), values.data(), values.size() * sizeof(T));
  return s;
}
template <class T>
std::vector<T> ValuesOf(const kernel::Memory& m) {
  const T* data = static_cast<const T*>(m.data());
  return {data, data + m.bytes() / sizeof(T)};
}

TEST_P(Images, OutputReadBackAndOversizedRange) {
  // The second pass reads what the first wrote to a write-only image; the range exceeds the tensor.
  const char* const source = R"(
    __kernel void f(__read_only image2d_t x, __write_only image2d_t y, float a) {
      int2 c = (int2)(get_global_id(0), get_global_id(1));
      float4 v = read_imagef(x, c);
      write_imagef(y, c, v * a);
      float4 w = read_imagef(y, c);
      write_imagef(y, c, w.x + 1.0f);
    })";
  auto x = FloatStorage({1, 2, 3, 4, 5, 6}), y = FloatStorage(std::vector<float>(6, NAN));
  kernel::Io io;
  io.inputs = {BufferOf(F32({3, 2}), x.get(), "x")};
  io.outputs = {BufferOf(F32({3, 2}), y.get(), "y")};
  EXPECT_OK(Run(source, io, {8, 8}, {ScalarArg(10.0f)}));
  EXPECT_EQ(Floats(*y), (std::vector<float>{11, 21, 31, 41, 51, 61}));
  EXPECT_EQ(warnings_.size(), Shared() ? 0u : 2u);
}

TEST_P(Images, OutsideIsZeroAndComponents) {
  const char* const source = R"(
    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    kernel void f(read_only image2d_t x, __global float* y) {
      float4 in = read_imagef(x, s, (int2)(1, 1));
      y[0] = in.x; y[1] = in.y; y[2] = in.z; y[3] = in.w;
      float4 outside = read_imagef(x, (int2)(2, 0)) + read_imagef(x, (int2)(-1, 0)) +
                       read_imagef(x, (int2)(0, 2)) + read_imagef(x, (int2)(0, -1));
      y[4] = outside.x; y[5] = outside.w;
      y[6] = read_imagef(x, s, (float2)(1.9f, 0.2f)).x;
      y[7] = get_image_width(x) * 100 + get_image_height(x);
      int2 d = get_image_dim(x);
      y[8] = d.x * 10 + d.y;
      y[9] = get_image_channel_data_type(x) == CLK_FLOAT && get_image_channel_order(x) == CLK_R;
    })";
  auto x = FloatStorage({1, 2, 3, 4}), y = FloatStorage(std::vector<float>(10, NAN));
  kernel::Io io;
  io.inputs = {BufferOf(F32({2, 2}), x.get(), "x")};
  io.outputs = {BufferOf(F32({10}), y.get(), "y")};
  EXPECT_OK(Run(source, io, {1}));
  EXPECT_EQ(Floats(*y), (std::vector<float>{4, 0, 0, 1, 0, 0, 2, 202, 22, 1}));
}

TEST_P(Images, ArrayImagesFoldOuterDimensions) {
  const char* const source = R"(
    __kernel void f(__read_only image2d_array_t x, __write_only image2d_array_t y) {
      int4 c = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
      float4 v = read_imagef(x, c) + read_imagef(x, c + (int4)(0, 0, 6, 0));
      write_imagef(y, c, v.x + 1000 * get_image_array_size(x) + 100000 * get_image_depth(y));
    })";
  std::vector<float> values(24), expected(24);
  for (size_t i = 0; i < 24; ++i) {
    values[i] = static_cast<float>(i);
    expected[i] = static_cast<float>(i) + 606000.0f;
  }
  auto x = FloatStorage(values), y = FloatStorage(std::vector<float>(24, NAN));
  kernel::Io io;
  io.inputs = {BufferOf(F32({2, 2, 3, 2}), x.get(), "x")};
  io.outputs = {BufferOf(F32({2, 2, 3, 2}), y.get(), "y")};
  EXPECT_OK(Run(source, io, {4, 4, 8}));
  EXPECT_EQ(Floats(*y), expected);
}

template <class T>
void CheckInteger(const std::function<Status(const std::string&, const kernel::Io&)>& run,
                  DataType dtype, const std::string& family, const std::vector<T>& values,
                  const std::vector<T>& plus_200) {
  SCOPED_TRACE(NameOf(dtype));
  const std::string vector = family == "ui" ? "uint4" : "int4";
  const std::string source =
      "__kernel void f(__read_only image2d_t x, __write_only image2d_t y) {\n"
      "  int2 c = (int2)(get_global_id(0), 0);\n"
      "  " +
      vector + " v = read_image" + family +
      "(x, c);\n"
      "  write_image" +
      family + "(y, c, v + (" + vector + ")(200));\n}";
  auto x = StorageOf(values), y = StorageOf(std::vector<T>(values.size(), T(55)));
  const TensorType type{dtype, {static_cast<int64_t>(values.size())}, Quantization()};
  kernel::Io io;
  io.inputs = {BufferOf(type, x.get(), "x")};
  io.outputs = {BufferOf(type, y.get(), "y")};
  EXPECT_OK(run(source, io));
  EXPECT_EQ(ValuesOf<T>(*y), plus_200);
}

TEST_P(Images, IntegerTypesSaturate) {
  const auto run = [this](const std::string& source, const kernel::Io& io) {
    return Run(source, io, {4});
  };
  CheckInteger<uint8_t>(run, DataType::UINT8, "ui", {0, 1, 255}, {200, 201, 255});
  CheckInteger<uint16_t>(run, DataType::UINT16, "ui", {0, 65000, 65535}, {200, 65200, 65535});
  CheckInteger<uint32_t>(run, DataType::UINT32, "ui", {0, 4000000000u}, {200, 4000000200u});
  CheckInteger<int8_t>(run, DataType::INT8, "i", {-128, -1, 5}, {72, 127, 127});
  CheckInteger<int8_t>(run, DataType::BOOL8, "i", {-128, 0}, {72, 127});
  CheckInteger<int16_t>(run, DataType::INT16, "i", {-32768, 32700}, {-32568, 32767});
  CheckInteger<int32_t>(run, DataType::INT32, "i", {-2147483647, 16777217},
                        {-2147483447, 16777417});
}

TEST_P(Images, Half) {
  const char* const source = R"(
    __kernel void f(__read_only image2d_t x, __write_only image2d_t y) {
      int2 c = (int2)(get_global_id(0), 0);
      write_imagef(y, c, read_imagef(x, c) * 3.0f);
    })";
  auto x = StorageOf<uint16_t>({0x3C00, 0xC000, 0x7BFF});  // 1, -2, 65504
  auto y = StorageOf<uint16_t>({0, 0, 0});
  const TensorType type{DataType::FLOAT16, {3}, Quantization()};
  kernel::Io io;
  io.inputs = {BufferOf(type, x.get(), "x")};
  io.outputs = {BufferOf(type, y.get(), "y")};
  EXPECT_OK(Run(source, io, {3}));
  EXPECT_EQ(ValuesOf<uint16_t>(*y), (std::vector<uint16_t>{0x4200, 0xC600, 0x7C00}));  // 3, -6, inf
}

const char* const kNegate = R"(
    __kernel void f(__read_only image2d_t x, __write_only image2d_t y) {
      int2 c = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(y, c, -read_imagef(x, c).x);
    })";

TEST_P(Images, MemoryWithoutRoomIsCopied) {
  alignas(64) float mine[6] = {1, 2, 3, 4, 5, 6};
  auto x = base::Storage::Wrap(mine, sizeof mine);
  auto arena = base::Storage::Allocate(2048);
  kernel::Io io;
  io.inputs = {BufferOf(F32({3, 2}), x.get(), "x")};
  io.outputs = {BufferOf(F32({3, 2}), arena.get(), "y", 640)};
  EXPECT_OK(Run(kNegate, io, {4, 4}));
  const auto y = Floats(*arena, 640);
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 6),
            (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[0], HasSubstr("argument 0 is an image whose memory has no room"));
}

TEST_P(Images, SwapBetweenOurMemoryAndTheUsers) {
  auto plan = std::make_shared<PartitionPlan>();
  SetPrograms(plan.get(), {UserText(kNegate, "f", true)});
  plan->launches = {
      LaunchOf(0, {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kOutput, 0)}, {4, 1})};
  PartitionKernel kernel(session_, plan, Build(device_, *plan));
  auto x = FloatStorage({1, 2, 3}), y = FloatStorage({0, 0, 0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({3}), x.get(), "x")};
  io.outputs = {BufferOf(F32({3}), y.get(), "y")};
  EXPECT_OK(kernel.Prepare(io));
  alignas(64) float mine[3] = {7, 8, 9};
  for (int round = 0; round < 3; ++round) {
    void* ours = x->SwapPointer(mine);
    EXPECT_OK(kernel.Execute());
    EXPECT_OK(kernel.Wait());
    EXPECT_EQ(Floats(*y), (std::vector<float>{-7, -8, -9}));
    x->SwapPointer(ours);
    EXPECT_OK(kernel.Execute());
    EXPECT_OK(kernel.Wait());
    EXPECT_EQ(Floats(*y), (std::vector<float>{-1, -2, -3}));
  }
}

TEST_P(Images, OneMemorySeenWithTwoShapes) {
  auto plan = std::make_shared<PartitionPlan>();
  const char* const sizes = R"(
    __kernel void f(__read_only image2d_t a, __read_only image2d_t b, __global float* y) {
      y[0] = get_image_width(a) * 10 + get_image_height(a);
      y[1] = get_image_width(b) * 10 + get_image_height(b);
      y[2] = read_imagef(a, (int2)(1, 1)).x;
      y[3] = read_imagef(b, (int2)(4, 0)).x;
    })";
  auto x = FloatStorage({1, 2, 3, 4, 5, 6}), y = FloatStorage({0, 0, 0, 0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({3, 2}), x.get(), "x"), BufferOf(F32({6}), x.get(), "x")};
  io.outputs = {BufferOf(F32({4}), y.get(), "y")};
  EXPECT_OK(Run(sizes, io, {1}));
  EXPECT_EQ(Floats(*y), (std::vector<float>{32, 61, 5, 5}));
}

TEST_P(Images, ConstantsAndPersistentValues) {
  // y = -(-(c)) with the value between in persistent memory, its header in front.
  auto plan = std::make_shared<PartitionPlan>();
  SetPrograms(plan.get(), {UserText(kNegate, "f", true)});
  auto c = std::make_shared<std::vector<std::byte>>(24);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  std::memcpy(c->data(), values, sizeof values);
  plan->constants.push_back({nullptr, c, F32({2, 3})});
  Arg between;
  between.kind = Arg::Kind::kPersistent, between.offset = 256, between.bytes = 24;
  between.type = F32({2, 3});
  plan->launches = {LaunchOf(0, {ArgOf(Arg::Kind::kConstant, 0), between}, {4, 4}),
                    LaunchOf(0, {between, ArgOf(Arg::Kind::kOutput, 0)}, {4, 4})};
  auto persistent = base::Storage::Allocate(512);
  auto y = FloatStorage(std::vector<float>(6, NAN));
  kernel::Io io;
  io.outputs = {BufferOf(F32({2, 3}), y.get(), "y")};
  io.persistent = BufferOf({}, persistent.get(), "");
  EXPECT_OK(RunPlan(plan, io));
  EXPECT_EQ(Floats(*y), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(warnings_.empty(), Shared());
}

TEST_P(Images, WrongArguments) {
  auto x = FloatStorage({1}), y = FloatStorage({0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({1}), x.get(), "x")};
  io.outputs = {BufferOf(F32({1}), y.get(), "y")};
  Status s = Run(kNegate, io, {1}, {ScalarArg(1.0f)});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("'f' has 2 parameters, but 3 arguments are passed"));
  kernel::Io outputs_only;
  outputs_only.outputs = io.outputs;
  s = Run(kNegate, outputs_only, {1}, {ScalarArg(1.0f)});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(),
              HasSubstr("parameter 1 of kernel function 'f' is 'image2d_t y', but the op "
                        "passes 4 bytes: a value against memory"));
  io.inputs[0].type.dtype = DataType::INT64;
  auto wide = base::Storage::Allocate(8);
  io.inputs[0].memory = wide.get();
  s = Run(kNegate, io, {1});
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), HasSubstr("cannot be seen as an image"));
}

TEST_P(Images, CompilerSpeaksOfTheUsersLines) {
  const Status s = Run("\n__kernel void f(__read_only image2d_t x) {\n  nonsense;\n}", {}, {1});
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), HasSubstr("test.cl:3"));
}

TEST_P(Images, APartitionOutputThatIsAlsoRead) {
  // y = -x is an output and what the second launch reads; neither memory has room for a header.
  auto plan = std::make_shared<PartitionPlan>();
  SetPrograms(plan.get(), {UserText(kNegate, "f", true)});
  Arg read_again = ArgOf(Arg::Kind::kOutput, 0);
  read_again.reads = true, read_again.writes = false;
  plan->launches = {
      LaunchOf(0, {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kOutput, 0)}, {4, 1}),
      LaunchOf(0, {read_again, ArgOf(Arg::Kind::kOutput, 1)}, {4, 1})};
  alignas(64) float mine[3][16] = {{1, 2, 3}, {}, {}};
  auto x = base::Storage::Wrap(mine[0], 12), y = base::Storage::Wrap(mine[1], 12);
  auto z = base::Storage::Wrap(mine[2], 12);
  kernel::Io io;
  io.inputs = {BufferOf(F32({3}), x.get(), "x")};
  io.outputs = {BufferOf(F32({3}), y.get(), "y"), BufferOf(F32({3}), z.get(), "z")};
  EXPECT_OK(RunPlan(plan, io));
  EXPECT_EQ(Floats(*y), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(Floats(*z), (std::vector<float>{1, 2, 3}));
}

TEST(ImagesCache, ParametersComeBackFromDisk) {
  TemporaryFolder folder;
  for (size_t process = 0; process < 2; ++process) {
    auto device = OpenDevice();
    auto session = Session::Create(device);
    ASSERT_TRUE(session.ok());
    auto plan = std::make_shared<PartitionPlan>();
    SetPrograms(plan.get(), {UserText(kNegate, "f", true)});
    ProgramCache cache(device, {.cache_dir = folder.path(), .even_if_driver_caches = true});
    BuiltPrograms kernels;
    BuildStats stats;
    EXPECT_OK(cache.Build(plan->programs, "", &kernels, &stats));
    EXPECT_EQ(stats.from_disk, process);
    const Signature& signature = kernels[0]->signatures.at("f");
    ASSERT_EQ(signature.size(), 2u);
    for (const Parameter& p : signature) EXPECT_EQ(p.kind, ParameterKind::kImage2d);
    EXPECT_EQ(signature[1].name, "y");
    plan->launches = {
        LaunchOf(0, {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kOutput, 0)}, {4, 1})};
    PartitionKernel kernel(*session, plan, kernels);
    auto x = FloatStorage({1, 2, 3}), y = FloatStorage({0, 0, 0});
    kernel::Io io;
    io.inputs = {BufferOf(F32({3}), x.get(), "x")};
    io.outputs = {BufferOf(F32({3}), y.get(), "y")};
    EXPECT_OK(kernel.Prepare(io));
    EXPECT_OK(kernel.Execute());
    EXPECT_OK(kernel.Wait());
    EXPECT_EQ(Floats(*y), (std::vector<float>{-1, -2, -3}));
  }
}

}  // namespace
}  // namespace tim::vx::opencl
