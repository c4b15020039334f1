// Programs: reuse in the process, files between processes (a second Device plays the second
// process), errors.
#include "backends/opencl/run/program_cache.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string FillSource(const std::string& name, int value) {
  return "__kernel void " + name +
         "(__global int* y) { y[get_global_id(0)] = " + std::to_string(value) + "; }";
}

/// Runs each variant's kernel, which writes one int; marks them as run.
std::vector<int> RunAll(Device& device, const std::vector<BuiltKernel>& kernels) {
  auto session = Session::Create(device.shared_from_this());
  EXPECT_TRUE(session.ok());
  std::vector<int> results;
  for (const BuiltKernel& k : kernels) {
    cl_int error = CL_SUCCESS;
    cl::Kernel kernel(k.program->program, k.name.c_str(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    cl::Buffer y(device.context(), CL_MEM_READ_WRITE, 4);
    kernel.setArg(0, y);
    int value = -1;
    EXPECT_EQ((*session)->queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1)),
              CL_SUCCESS);
    EXPECT_EQ((*session)->queue().enqueueReadBuffer(y, CL_TRUE, 0, 4, &value), CL_SUCCESS);
    results.push_back(value);
  }
  device.programs().AfterFirstRun(kernels);
  device.programs().Flush();
  return results;
}

std::vector<BuiltKernel> Get(Device& device, const std::vector<Variant>& variants,
                             BuildStats* stats) {
  std::vector<BuiltKernel> kernels;
  *stats = {};
  const Status s = device.programs().Kernels(variants, "", &kernels, stats);
  EXPECT_TRUE(s.ok()) << s.message();
  return kernels;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(ProgramCache, OneProgramForBuiltInKernelsOnePerUserKernel) {
  auto device = OpenDevice();
  const std::vector<Variant> variants = {
      BuiltInVariant(FillSource("a", 1), "a"), BuiltInVariant(FillSource("a", 2), "a"),
      UserVariant(FillSource("c", 3), "c"), BuiltInVariant(FillSource("a", 1), "a")};
  BuildStats stats;
  const auto kernels = Get(*device, variants, &stats);
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(stats.programs_built, 2u);
  EXPECT_EQ(stats.kernels_built, 3u);
  EXPECT_EQ(stats.kernels_reused, 1u);
  EXPECT_EQ(kernels[0].program, kernels[1].program);
  EXPECT_NE(kernels[0].program, kernels[2].program);
  EXPECT_EQ(RunAll(*device, kernels), (std::vector<int>{1, 2, 3, 1}));
  const auto again = Get(*device, variants, &stats);
  EXPECT_EQ(stats.programs_built, 0u);
  EXPECT_EQ(stats.kernels_reused, 4u);
  EXPECT_EQ(again[2].program, kernels[2].program);
}

TEST(ProgramCache, SecondProcessLoads) {
  TemporaryFolder folder;
  const std::vector<Variant> variants = {BuiltInVariant(FillSource("a", 1), "a"),
                                         BuiltInVariant(FillSource("b", 2), "b"),
                                         UserVariant(FillSource("c", 3), "c")};
  BuildStats stats;
  {
    auto device = OpenDevice({folder.path(), ""});
    const auto kernels = Get(*device, variants, &stats);
    EXPECT_EQ(stats.programs_built, 2u);
    // A program of which one kernel has not run is not written yet.
    device->programs().AfterFirstRun({kernels[0]});
    device->programs().Flush();
    EXPECT_TRUE(folder.Files().empty());
    EXPECT_EQ(RunAll(*device, kernels), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(folder.Files().size(), 2u);
  }
  auto device = OpenDevice({folder.path(), ""});
  const auto kernels = Get(*device, variants, &stats);
  EXPECT_EQ(stats.programs_built, 0u);
  EXPECT_EQ(stats.programs_from_cache, 2u);
  EXPECT_EQ(stats.kernels_from_cache, 3u);
  EXPECT_EQ(RunAll(*device, kernels), (std::vector<int>{1, 2, 3}));
  Get(*device, {UserVariant(FillSource("c", 4), "c")}, &stats);
  EXPECT_EQ(stats.programs_built, 1u) << "another text is another program";
  Variant with_option = UserVariant(FillSource("c", 3), "c");
  with_option.options = "-DX=1";
  Get(*device, {with_option}, &stats);
  EXPECT_EQ(stats.programs_built, 1u) << "other options are another program";
}

TEST(ProgramCache, DestructorWritesWhatIsQueued) {
  TemporaryFolder folder;
  {
    auto device = OpenDevice({folder.path(), ""});
    BuildStats stats;
    const auto kernels = Get(*device, {UserVariant(FillSource("c", 3), "c")}, &stats);
    device->programs().AfterFirstRun(kernels);
  }
  EXPECT_EQ(folder.Files().size(), 1u);
}

TEST(ProgramCache, DamagedEntriesAreBuiltAnew) {
  TemporaryFolder folder;
  const std::vector<Variant> variants = {UserVariant(FillSource("c", 5), "c")};
  BuildStats stats;
  {
    auto device = OpenDevice({folder.path(), ""});
    RunAll(*device, Get(*device, variants, &stats));
  }
  ASSERT_EQ(folder.Files().size(), 1u);
  const fs::path path = folder.Files()[0];
  const std::string good = ReadFile(path);
  std::string flipped = good;
  flipped[good.size() - 100] = static_cast<char>(flipped[good.size() - 100] ^ 1);
  std::string other_magic = good;
  other_magic[0] = 'X';
  for (const std::string& bad : {std::string(), std::string("short"), flipped, other_magic,
                                 good.substr(0, good.size() / 2), good + "more"}) {
    WriteFile(path, bad);
    auto device = OpenDevice({folder.path(), ""});
    EXPECT_EQ(RunAll(*device, Get(*device, variants, &stats)), std::vector<int>{5});
    EXPECT_EQ(stats.programs_built, 1u);
    device.reset();
    EXPECT_GT(ReadFile(path).size(), bad.size() / 2);
    auto next = OpenDevice({folder.path(), ""});
    Get(*next, variants, &stats);
    EXPECT_EQ(stats.programs_from_cache, 1u) << "the damaged file was overwritten";
  }
}

TEST(ProgramCache, ForeignEntryUnderOurNameIsNotTaken) {
  TemporaryFolder folder;
  const std::vector<Variant> five = {UserVariant(FillSource("c", 5), "c")};
  const std::vector<Variant> six = {UserVariant(FillSource("c", 6), "c")};
  BuildStats stats;
  auto device = OpenDevice({folder.path(), ""});
  RunAll(*device, Get(*device, five, &stats));
  const fs::path path5 = folder.Files().at(0);
  RunAll(*device, Get(*device, six, &stats));
  ASSERT_EQ(folder.Files().size(), 2u);
  const fs::path path6 = folder.Files()[0] == path5 ? folder.Files()[1] : folder.Files()[0];
  // As if the two keys had the same hash: a whole, valid file with another key in it.
  fs::copy_file(path6, path5, fs::copy_options::overwrite_existing);
  auto next = OpenDevice({folder.path(), ""});
  EXPECT_EQ(RunAll(*next, Get(*next, five, &stats)), std::vector<int>{5});
  EXPECT_EQ(stats.programs_built, 1u);
}

TEST(ProgramCache, FolderThatCannotBeWritten) {
  TemporaryFolder folder;
  WriteFile(folder.path() + "/file", "");
  auto device = OpenDevice({folder.path() + "/file/below", ""});
  BuildStats stats;
  const auto kernels = Get(*device, {UserVariant(FillSource("c", 7), "c")}, &stats);
  EXPECT_EQ(RunAll(*device, kernels), std::vector<int>{7});
}

TEST(ProgramCache, BuildErrors) {
  TemporaryFolder folder;
  auto device = OpenDevice();
  std::vector<BuiltKernel> kernels;
  BuildStats stats;
  Variant bad =
      UserVariant("#line 1 \"my_op.cl\"\n__kernel void f(__global int* y) {\n  y[0] = z;\n}", "f");
  bad.origin = "MyOp#3 'mine'";
  bad.options = "-DMY_OPTION=4";
  Status s = device->programs().Kernels({bad}, folder.path(), &kernels, &stats);
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  for (const char* part : {"MyOp#3 'mine'", "function f", "-DMY_OPTION=4", "my_op.cl:2", "'z'"})
    EXPECT_THAT(s.message(), HasSubstr(part));
  const size_t at = s.message().find("full text: ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(ReadFile(s.message().substr(at + 11)), HasSubstr("y[0] = z;"));

  s = device->programs().Kernels({UserVariant(FillSource("real", 1), "wanted")}, "", &kernels,
                                 &stats);
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), HasSubstr("no kernel function 'wanted' in the source, which has: real"));

  s = device->programs().Kernels({BuiltInVariant("kernel void f() { nothing(); ", "f")}, "",
                                 &kernels, &stats);
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), HasSubstr("f.cl"));
  const size_t at2 = s.message().find("full text: ");
  ASSERT_NE(at2, std::string::npos);
  fs::remove(s.message().substr(at2 + 11));
}

TEST(ProgramCache, SeveralThreads) {
  TemporaryFolder folder;
  auto device = OpenDevice({folder.path(), ""});
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      BuildStats stats;
      const auto kernels = Get(*device,
                               {UserVariant(FillSource("c", 8), "c"),
                                BuiltInVariant(FillSource("a", static_cast<int>(t)), "a")},
                               &stats);
      results[t] = RunAll(*device, kernels);
    });
  }
  for (auto& t : threads) t.join();
  for (size_t t = 0; t < results.size(); ++t)
    EXPECT_EQ(results[t], (std::vector<int>{8, static_cast<int>(t)}));
  EXPECT_EQ(folder.Files().size(), 5u);
}

}  // namespace
}  // namespace tim::vx::opencl
