// Programs: reuse in the process, files between processes (a second cache plays the second
// process), errors.
#include "backends/opencl/run/program_cache.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "backends/opencl/run/process.h"
#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
using Texts = std::vector<std::shared_ptr<const ProgramText>>;

std::string FillSource(const std::string& name, int value) {
  return "__kernel void " + name +
         "(__global int* y) { y[get_global_id(0)] = " + std::to_string(value) + "; }";
}

const std::shared_ptr<Device>& TheDevice() {
  static const std::shared_ptr<Device> device = OpenDevice();
  return device;
}
/// Our own files even where the driver keeps some, as PoCL does.
ProgramCacheOptions OnDisk(const TemporaryFolder& folder) {
  ProgramCacheOptions options;
  options.cache_dir = folder.path();
  options.even_if_driver_caches = true;
  return options;
}

/// Runs each program's function, which writes one int.
std::vector<int> RunAll(const BuiltPrograms& programs, const Texts& texts) {
  auto session = Session::Create(TheDevice());
  EXPECT_TRUE(session.ok());
  std::vector<int> results;
  for (size_t i = 0; i < programs.size(); ++i) {
    for (const std::string& function : texts[i]->functions) {
      cl_int error = CL_SUCCESS;
      cl::Kernel kernel(programs[i]->program, function.c_str(), &error);
      EXPECT_EQ(error, CL_SUCCESS);
      cl::Buffer y(TheDevice()->context(), CL_MEM_READ_WRITE, 4);
      kernel.setArg(0, y);
      int value = -1;
      (*session)->NoteWork();
      EXPECT_EQ((*session)->queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1)),
                CL_SUCCESS);
      EXPECT_EQ((*session)->queue().enqueueReadBuffer(y, CL_FALSE, 0, 4, &value), CL_SUCCESS);
      EXPECT_TRUE((*session)->Finish().ok());
      results.push_back(value);
    }
  }
  return results;
}

BuiltPrograms Get(ProgramCache& cache, const Texts& texts, BuildStats* stats) {
  BuiltPrograms programs;
  *stats = {};
  const Status s = cache.Build(texts, "", &programs, stats);
  EXPECT_TRUE(s.ok()) << s.message();
  return programs;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(ProgramCache, OneProgramPerText) {
  ProgramCache cache(TheDevice(), {});
  const auto both = std::make_shared<ProgramText>(
      ProgramText{FillSource("a", 1) + FillSource("b", 2), "", "ab.cl", {"a", "b"}});
  const Texts texts = {both, UserText(FillSource("c", 3), "c"), UserText(FillSource("c", 3), "c")};
  BuildStats stats;
  const auto programs = Get(cache, texts, &stats);
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(stats.built, 2u);
  EXPECT_EQ(stats.reused, 1u);
  EXPECT_EQ(programs[1], programs[2]);
  EXPECT_EQ(RunAll(programs, texts), (std::vector<int>{1, 2, 3, 3}));
  const auto again = Get(cache, texts, &stats);
  EXPECT_EQ(stats.built, 0u);
  EXPECT_EQ(stats.reused, 3u);
  EXPECT_EQ(again, programs);
}

TEST(ProgramCache, TheKeyTellsImagesFromPointers) {
  ProgramCache cache(TheDevice(), {});
  const char* const source =
      "typedef struct { int w; } timcl_image2d; "
      "__kernel void f(__global timcl_image2d* x) { x->w = 1; }";
  const auto plain = UserText(source, "f");
  auto images = std::make_shared<ProgramText>(*plain);
  images->images = true;
  BuildStats stats;
  const auto programs = Get(cache, {plain, images}, &stats);
  EXPECT_EQ(stats.built, 2u);
  EXPECT_TRUE(programs[0]->signatures.empty());
  const Signature& signature = programs[1]->signatures.at("f");
  ASSERT_EQ(signature.size(), 1u);
  EXPECT_EQ(signature[0].kind, ParameterKind::kImage2d);
}

TEST(ProgramCache, TheLeastRecentlyUsedGoFirst) {
  ProgramCacheOptions options;
  options.max_programs = 2;
  ProgramCache cache(TheDevice(), options);
  const auto a = UserText(FillSource("a", 1), "a"), b = UserText(FillSource("b", 2), "b"),
             c = UserText(FillSource("c", 3), "c");
  BuildStats stats;
  Get(cache, {a, b, a}, &stats);
  const auto kept = Get(cache, {c}, &stats);  // b goes
  Get(cache, {a, c}, &stats);
  EXPECT_EQ(stats.reused, 2u);
  Get(cache, {b}, &stats);
  EXPECT_EQ(stats.built, 1u);
  Get(cache, {UserText(FillSource("d", 4), "d")}, &stats);
  EXPECT_EQ(RunAll(kept, {c}), std::vector<int>{3}) << "what is in use stays alive";
}

TEST(ProgramCache, NoFilesWhereTheDriverKeepsThem) {
  TemporaryFolder folder;
  DeviceEntry entry = TheDevice()->entry();
  for (const bool driver_caches : {true, false}) {
    entry.caches_programs = driver_caches;
    auto device = Device::Open(entry);
    ASSERT_TRUE(device.ok());
    ProgramCacheOptions options;
    options.cache_dir = folder.path();
    ProgramCache cache(*device, options);
    BuildStats stats;
    Get(cache, {UserText(FillSource("c", 3), "c")}, &stats);
    EXPECT_EQ(folder.Files().empty(), driver_caches);
  }
}

TEST(ProgramCache, SecondProcessLoads) {
  TemporaryFolder folder;
  const Texts texts = {BuiltInText(FillSource("a", 1), "a"), UserText(FillSource("c", 3), "c")};
  BuildStats stats;
  {
    ProgramCache cache(TheDevice(), OnDisk(folder));
    const auto programs = Get(cache, texts, &stats);
    EXPECT_EQ(stats.built, 2u);
    EXPECT_EQ(folder.Files().size(), 2u);
    EXPECT_EQ(RunAll(programs, texts), (std::vector<int>{1, 3}));
  }
  ProgramCache cache(TheDevice(), OnDisk(folder));
  const auto programs = Get(cache, texts, &stats);
  EXPECT_EQ(stats.built, 0u);
  EXPECT_EQ(stats.from_disk, 2u);
  EXPECT_EQ(RunAll(programs, texts), (std::vector<int>{1, 3}));
  Get(cache, {UserText(FillSource("c", 4), "c")}, &stats);
  EXPECT_EQ(stats.built, 1u) << "another text is another program";
  auto with_option = std::make_shared<ProgramText>(*texts[1]);
  with_option->options = "-DX=1";
  Get(cache, {with_option}, &stats);
  EXPECT_EQ(stats.built, 1u) << "other options are another program";
}

TEST(ProgramCache, BinariesAreNotAskedForWhileKernelsRun) {
  TemporaryFolder folder;
  ProgramCache cache(TheDevice(), OnDisk(folder));
  auto session = Session::Create(TheDevice());
  ASSERT_TRUE(session.ok());
  BuildStats stats;
  (*session)->NoteWork();
  Get(cache, {UserText(FillSource("c", 1), "c")}, &stats);
  EXPECT_TRUE(folder.Files().empty());
  ASSERT_TRUE((*session)->Finish().ok());
  Get(cache, {UserText(FillSource("c", 2), "c")}, &stats);
  EXPECT_EQ(folder.Files().size(), 2u) << "what had to wait is stored with the next";
  {
    const BinaryTurn mine;
    EXPECT_TRUE(mine.granted());
    EXPECT_FALSE(BinaryTurn().granted()) << "one at a time";
  }
  session->reset();
  EXPECT_TRUE(BinaryTurn().granted());
}

TEST(ProgramCache, DamagedEntriesAreBuiltAnew) {
  TemporaryFolder folder;
  const Texts texts = {UserText(FillSource("c", 5), "c")};
  BuildStats stats;
  {
    ProgramCache cache(TheDevice(), OnDisk(folder));
    Get(cache, texts, &stats);
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
    ProgramCache cache(TheDevice(), OnDisk(folder));
    EXPECT_EQ(RunAll(Get(cache, texts, &stats), texts), std::vector<int>{5});
    EXPECT_EQ(stats.built, 1u);
    ProgramCache next(TheDevice(), OnDisk(folder));
    Get(next, texts, &stats);
    EXPECT_EQ(stats.from_disk, 1u) << "the damaged file was replaced";
  }
}

TEST(ProgramCache, ForeignEntryUnderOurNameIsNotTaken) {
  TemporaryFolder folder;
  const Texts five = {UserText(FillSource("c", 5), "c")}, six = {UserText(FillSource("c", 6), "c")};
  BuildStats stats;
  ProgramCache cache(TheDevice(), OnDisk(folder));
  Get(cache, five, &stats);
  const fs::path path5 = folder.Files().at(0);
  Get(cache, six, &stats);
  ASSERT_EQ(folder.Files().size(), 2u);
  const fs::path path6 = folder.Files()[0] == path5 ? folder.Files()[1] : folder.Files()[0];
  // As if the two keys had the same hash: a whole, valid file with another key in it.
  fs::copy_file(path6, path5, fs::copy_options::overwrite_existing);
  ProgramCache next(TheDevice(), OnDisk(folder));
  EXPECT_EQ(RunAll(Get(next, five, &stats), five), std::vector<int>{5});
  EXPECT_EQ(stats.built, 1u);
}

TEST(ProgramCache, FolderThatCannotBeWritten) {
  TemporaryFolder folder;
  WriteFile(folder.path() + "/file", "");
  ProgramCacheOptions options = OnDisk(folder);
  options.cache_dir = folder.path() + "/file/below";
  ProgramCache cache(TheDevice(), options);
  BuildStats stats;
  const Texts texts = {UserText(FillSource("c", 7), "c")};
  EXPECT_EQ(RunAll(Get(cache, texts, &stats), texts), std::vector<int>{7});
}

TEST(ProgramCache, BuildErrors) {
  TemporaryFolder folder;
  ProgramCache cache(TheDevice(), {});
  BuiltPrograms programs;
  BuildStats stats;
  auto bad = std::make_shared<ProgramText>(
      *UserText("#line 1 \"my_op.cl\"\n__kernel void f(__global int* y) {\n  y[0] = z;\n}", "f"));
  bad->origin = "MyOp#3 'mine'";
  bad->options = "-DMY_OPTION=4";
  Status s = cache.Build({bad}, folder.path(), &programs, &stats);
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  for (const char* part : {"MyOp#3 'mine'", "function f", "-DMY_OPTION=4", "my_op.cl:2", "'z'"})
    EXPECT_THAT(s.message(), HasSubstr(part));
  size_t at = s.message().find("full text: ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(ReadFile(s.message().substr(at + 11)), HasSubstr("y[0] = z;"));

  s = cache.Build({UserText(FillSource("real", 1), "wanted")}, "", &programs, &stats);
  EXPECT_EQ(s.code(), Code::kKernelBuild);
  EXPECT_THAT(s.message(), HasSubstr("no kernel function 'wanted' in the source, which has: real"));

  // Without a folder for dumps the text lies where nobody could have foreseen it, for its owner.
  std::vector<fs::path> paths;
  for (int i = 0; i < 2; ++i) {
    s = cache.Build({BuiltInText("kernel void f() { nothing(); ", "f")}, "", &programs, &stats);
    EXPECT_EQ(s.code(), Code::kKernelBuild);
    EXPECT_THAT(s.message(), HasSubstr("f.cl"));
    at = s.message().find("full text: ");
    ASSERT_NE(at, std::string::npos);
    paths.emplace_back(s.message().substr(at + 11));
    EXPECT_THAT(ReadFile(paths.back()), HasSubstr("nothing();"));
    EXPECT_EQ(fs::status(paths.back()).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_NE(paths[0], paths[1]);
  for (const fs::path& path : paths) fs::remove(path);
}

TEST(ProgramCache, SeveralThreads) {
  TemporaryFolder folder;
  ProgramCache cache(TheDevice(), OnDisk(folder));
  std::vector<std::thread> threads;
  std::vector<std::vector<int>> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const Texts texts = {UserText(FillSource("c", 8), "c"),
                           BuiltInText(FillSource("a", static_cast<int>(t)), "a")};
      for (int round = 0; round < 3; ++round) {
        BuildStats stats;
        results[t] = RunAll(Get(cache, texts, &stats), texts);
      }
    });
  }
  for (auto& t : threads) t.join();
  for (size_t t = 0; t < results.size(); ++t)
    EXPECT_EQ(results[t], (std::vector<int>{8, static_cast<int>(t)}));
  BuildStats stats;
  Get(cache, {}, &stats);  // no kernel runs now: what had to wait is stored
  EXPECT_EQ(folder.Files().size(), 5u);
}

/// What the compile half makes of a graph's kernels does not depend on their order.
TEST(AssemblePrograms, TheTextDoesNotDependOnTheOrder) {
  const auto variant = [](const std::string& entry) {
    Variant v;
    v.entry = entry, v.origin = entry + ".cl";
    v.text = "kernel void FN(" + entry + ")() {}\n";
    return v;
  };
  const auto assemble = [&](const std::vector<std::string>& first,
                            const std::vector<std::string>& second) {
    std::vector<Emitted> partitions(2);
    for (const std::string& e : first) partitions[0].variants.push_back(variant(e));
    for (const std::string& e : second) partitions[1].variants.push_back(variant(e));
    AssemblePrograms({&partitions[0], &partitions[1]}, "");
    for (size_t p = 0; p < 2; ++p) {
      const PartitionPlan& plan = partitions[p].plan;
      EXPECT_EQ(plan.programs.size(), 1u);
      EXPECT_EQ(plan.kernels.size(), partitions[p].variants.size());
      for (size_t i = 0; i < plan.kernels.size(); ++i)
        EXPECT_THAT(plan.kernels[i].function, testing::StartsWith(partitions[p].variants[i].entry));
    }
    EXPECT_EQ(partitions[0].plan.programs, partitions[1].plan.programs);
    return partitions[0].plan.programs[0]->source;
  };
  EXPECT_EQ(assemble({"a", "b"}, {"c"}), assemble({"c", "b"}, {"a", "b"}));
}

}  // namespace
}  // namespace tim::vx::opencl
