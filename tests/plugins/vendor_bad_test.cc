// What vendors' plugins can do wrong, each with the words that a user gets. Against the shared
// library.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "plugins/mapped.h"
#include "plugins/vendor_support.h"

extern char** environ;

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

struct Bad {
  std::string what;
  Code code;
  std::vector<std::string> words;
};

void ExpectSays(const Status& s, const Bad& bad) {
  EXPECT_EQ(s.code(), bad.code) << s.message();
  for (const std::string& word : bad.words) EXPECT_THAT(s.message(), HasSubstr(word));
}

// Loading.

TEST(VendorBad, TablesThatLackSomething) {
  std::vector<Bad> all = {
      {"vendor_none", Code::kPlugin, {"it brings a compiler and names no vendor"}},
      {"vendor_other_major",
       Code::kVersionMismatch,
       {"its table timcl_compiler_api is of plugin ABI 2.1, this library has 1.1"}},
      {"vendor_ends_at_partition",
       Code::kPlugin,
       {"its table timcl_compiler_api of 40 bytes ends before its member 'partition'"}},
      {"vendor_ends_at_invoke",
       Code::kPlugin,
       {"its table timcl_dispatch_api of ", " bytes ends before its member 'invoke'"}},
  };
  for (const char* name : {"create", "destroy", "partition", "compile", "num_modules", "module",
                           "num_calls", "call", "destroy_result"}) {
    all.push_back({std::string("vendor_lacks_") + name,
                   Code::kPlugin,
                   {std::string("its table timcl_compiler_api lacks ") + name}});
  }
  for (const char* name :
       {"device_create", "device_destroy", "context_create", "context_destroy", "bind", "invoke"}) {
    all.push_back({std::string("vendor_lacks_") + name,
                   Code::kPlugin,
                   {std::string("its table timcl_dispatch_api lacks ") + name}});
  }
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.what);
    auto context = VendorContext({});
    std::vector<PluginInfo> loaded;
    ExpectSays(context->LoadPlugin(Made(bad.what), &loaded), bad);
    EXPECT_THAT(loaded, IsEmpty());
    EXPECT_EQ(context->Backends().size(), 1u);
    EXPECT_FALSE(ClosesLibraries() && IsMapped("/" + bad.what + ".so"));
    // The context is as good as before.
    EXPECT_TRUE(context->LoadPlugin(Made("vendor")).ok());
    EXPECT_EQ(Mixed(context).Of(), Expected());
  }
}

/// A library that somebody else may write, or its folder.
TEST(VendorBad, FilesThatOthersMayWrite) {
  VendorFolder folder;
  const std::string file = folder.Copy("vendor", "libtimcl_vendor.so");
  const auto expect = [&](const std::string& what, const std::string& why) {
    SCOPED_TRACE(why);
    auto context = VendorContext({});
    const Status s = context->LoadPlugin(file);
    EXPECT_EQ(s.code(), Code::kPlugin);
    EXPECT_THAT(s.message(), AllOf(HasSubstr("others may write to '" + what + "': " + why),
                                   HasSubstr("a plugin is code that runs")));
    PluginScan scan;
    EXPECT_TRUE(context->LoadPlugins({folder.path()}, &scan).ok());
    ASSERT_EQ(scan.files.size(), 1u);
    EXPECT_EQ(scan.files[0].path, file);
    EXPECT_EQ(scan.files[0].status.detail(), s.detail());
    EXPECT_EQ(context->Backends().size(), 1u);
    EXPECT_FALSE(ClosesLibraries() && IsMapped(file)) << "it was opened";
  };
  const auto mode = [](const std::string& path, mode_t bits) {
    ASSERT_EQ(chmod(path.c_str(), bits), 0);
  };
  mode(file, 0646);
  expect(file, "its mode is 646 (chmod go-w)");
  mode(file, 0644);
  mode(folder.path(), 01777);
  expect(folder.path(), "its mode is 1777 (chmod go-w)");
  mode(folder.path(), 0755);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file.c_str(), 12345, 0), 0);
    expect(file, "user 12345 owns it");
    ASSERT_EQ(chown(file.c_str(), 0, 12345), 0);
    mode(file, 0664);
    expect(file, "its mode is 664 (chmod go-w)");
    // Of the user's own group nobody else is a member.
    ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
    EXPECT_TRUE(VendorContext({})->LoadPlugin(file).ok());
    mode(file, 0644);
    ASSERT_EQ(chown(folder.path().c_str(), 12345, 0), 0);
    expect(folder.path(), "user 12345 owns it");
    ASSERT_EQ(chown(folder.path().c_str(), 0, 0), 0);
  } else {
    std::puts("not tried, as it takes root: files of other users and groups");
  }
  // A link to such a place.
  VendorFolder open;
  const std::string elsewhere = open.Copy("vendor", "vendor.so");
  mode(open.path(), 0777);
  fs::create_symlink(elsewhere, folder.path() + "/link.so");
  EXPECT_THAT(VendorContext({})->LoadPlugin(folder.path() + "/link.so").message(),
              HasSubstr("others may write to '" + open.path() + "'"));
  EXPECT_TRUE(VendorContext({})->LoadPlugin(file).ok());
}

// Compiling.

TEST(VendorBad, CompilersThatFail) {
  auto context = VendorContext({"vendor"});
  const std::vector<Bad> all = {
      {"create", Code::kIo, {"plugin 'acme.npu': create failed: the SDK is not installed"}},
      {"broken partition",
       Code::kInternal,
       {"plugin 'acme.npu': partition failed: the planner lost its plan"}},
      {"select twice",
       Code::kAlreadyExists,
       {"plugin 'acme.npu': partition: it selects Relu#1 twice"}},
      {"select foreign",
       Code::kInvalidGraph,
       {"plugin 'acme.npu': partition: it selects an operator that is not in the graph"}},
      {"select null", Code::kInvalidGraph, {"it selects an operator that is not in the graph"}},
      {"reject selected",
       Code::kInvalidArgument,
       {"plugin 'acme.npu': partition: it rejects Relu#1, which it has selected"}},
      {"compile", Code::kDevice, {"plugin 'acme.npu': compile failed: the linker crashed"}},
      {"odd compile", Code::kPlugin, {"compile failed with the unknown status 1234"}},
      {"no module", Code::kPlugin, {"compile gave call 0 'program 0' module 0, and it made 0"}},
      {"module", Code::kOutOfMemory, {"plugin 'acme.npu': module failed: no room to write it"}},
      {"empty module", Code::kPlugin, {"plugin 'acme.npu': compile made module 0 empty"}},
      {"null module", Code::kPlugin, {"compile made module 0 empty"}},
      {"more calls", Code::kPlugin, {"compile gave 3 calls for 2 partitions"}},
      {"fewer calls", Code::kPlugin, {"compile gave 1 calls for 2 partitions"}},
      {"call", Code::kInternal, {"plugin 'acme.npu': call failed: which call?"}},
      {"empty entry", Code::kPlugin, {"compile gave call 0 no entry"}},
      {"null entry", Code::kPlugin, {"compile gave call 0 no entry"}},
      {"unset module",
       Code::kPlugin,
       {"compile gave call 0 'program 0' module none, and it made 1"}},
      {"module beyond", Code::kPlugin, {"compile gave call 0 'program 0' module 7, and it made 1"}},
      {"live", Code::kInternal, {"plugin 'acme.npu': live_handle failed: it is dead"}},
  };
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.what);
    Trace::Clear();
    CompileOption option = Acme({"fault", bad.what, "trace", Trace::Here()});
    Mixed mixed(context, option.SetFallback(Fallback::kAllow));
    ExpectSays(mixed.Compile(), bad);
    EXPECT_EQ(Trace::CountOf("create"), Trace::CountOf("destroy"));
    EXPECT_EQ(Mixed(context).Of(), Expected());
  }
}

TEST(VendorBad, DispatchersThatFail) {
  auto context = VendorContext({"vendor"});
  const std::string of_x =
      "plugin 'acme.npu': requirements of input 0 'x' f32[4,3] of entry 'program 0': ";
  const std::vector<Bad> all = {
      {"unknown entry",
       Code::kNotFound,
       {"entry 'main': plugin 'acme.npu': context_create failed: there is no such program"}},
      {"device", Code::kDevice, {"plugin 'acme.npu': device_create failed: no NPU is plugged in"}},
      {"runtime",
       Code::kVersionMismatch,
       {"SDK '3.1' compiled it, and plugin 'acme.npu' of SDK '3.1' does not run it: the firmware "
        "runs code of SDK 3"}},
      {"asset",
       Code::kOutOfMemory,
       {"asset 'table': plugin 'acme.npu': register_asset failed: the table does not fit"}},
      {"context",
       Code::kDevice,
       {"entry 'program 0': plugin 'acme.npu': context_create failed: the core does not answer"}},
      {"requirements", Code::kInternal, {"plugin 'acme.npu': requirements failed: it depends"}},
      {"alignment of 48", Code::kPlugin, {of_x + "an alignment of 48 is no power of two"}},
      {"alignment of 0", Code::kPlugin, {of_x + "an alignment of 0 is no power of two"}},
      {"device memory",
       Code::kPlugin,
       {of_x + "kinds of memory 0x2 are wanted, and the library gives host memory, 0x1"}},
      {"too many strides", Code::kPlugin, {of_x + "3 strides are given, and the rank is 2"}},
      {"strides beyond", Code::kPlugin, {of_x, " strides are given, and the rank is 2"}},
      {"overlap",
       Code::kPlugin,
       {of_x + "a stride of 2 bytes along dimension 0 lets elements overlap: at least 4 are "
               "needed"}},
      {"endless strides", Code::kPlugin, {of_x + "a stride of ", "reaches beyond all memory"}},
      {"endless bytes", Code::kOutOfMemory, {" bytes for a copy of 'x' f32[4,3]"}},
  };
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.what);
    Trace::Clear();
    CompileOption option = Acme({"fault", bad.what, "trace", Trace::Here()});
    option.AddAsset("table", "abc", 3);
    Mixed mixed(context, option.SetFallback(Fallback::kAllow));
    ExpectSays(mixed.Compile(), bad);
    EXPECT_EQ(Trace::CountOf("device_create"), Trace::CountOf("device_destroy"));
    EXPECT_EQ(Mixed(context).Of(), Expected());
  }
  for (const Bad& bad :
       {Bad{"bind", Code::kDevice, {"plugin 'acme.npu': bind failed: the page is locked"}},
        Bad{"invoke", Code::kDevice, {"plugin 'acme.npu': invoke failed: it overheated"}}}) {
    SCOPED_TRACE(bad.what);
    Mixed mixed(context, Acme({"fault", bad.what}));
    ASSERT_TRUE(mixed.Compile().ok());
    for (int again = 0; again < 2; ++again) ExpectSays(mixed.Run(), bad);
  }
}

TEST(VendorBad, Exceptions) {
  auto context = VendorContext({"vendor_throws"});
  EXPECT_EQ(Mixed(context).Of(), Expected());
  for (const std::string function :
       {"create", "check_target", "partition", "compile", "module", "num_calls", "device_create",
        "context_create", "requirements", "bind", "invoke"}) {
    SCOPED_TRACE(function);
    CompileOption option = Acme({"fault", "throw " + function});
    Mixed mixed(context, option.SetFallback(Fallback::kAllow));
    const Status s = mixed.Run();
    EXPECT_EQ(s.code(), Code::kPlugin);
    EXPECT_THAT(s.message(), AllOf(HasSubstr("plugin 'acme.npu': "), HasSubstr(function + " threw"),
                                   HasSubstr(function + " ran into a wall")));
    EXPECT_EQ(Mixed(context).Of(), Expected());
  }
  Mixed metrics(context, Acme({"fault", "throw metrics"}));
  EXPECT_THAT(metrics.graph->Profile(1).ToText(), HasSubstr("metrics threw"));
  Mixed resize(context, Acme({"fault", "throw resize"}));
  EXPECT_EQ(resize.Of(), Expected());
  EXPECT_FALSE(resize.graph->Resize({{5}}));
  EXPECT_THAT(resize.graph->LastStatus().message(), HasSubstr("resize ran into a wall"));
  // Of what returns nothing the log tells.
  ::testing::internal::CaptureStderr();
  Mixed destroyed(context, Acme({"fault", "throw destroy_result"}));
  EXPECT_EQ(destroyed.Of(), Expected());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("plugin 'acme.npu': destroy_result threw: destroy_result ran into a wall"));
}

// A crash ends the process that it is in, and no other.

TEST(VendorBad, DISABLED_CrashesInAChild) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  auto context = VendorContext({"vendor"});
  Mixed mixed(context);  // ACME_FAULT=crash
  (void)mixed.Run();
}

TEST(VendorBad, ACrashInAChildIsSeen) {
  auto context = VendorContext({"vendor"});
  Mixed mixed(context);
  EXPECT_EQ(mixed.Of(), Expected());
  std::vector<char*> env;
  for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
  std::string fault = "ACME_FAULT=crash";
  env.push_back(fault.data());
  env.push_back(nullptr);
  std::string program = "/proc/self/exe", disabled = "--gtest_also_run_disabled_tests",
              filter = "--gtest_filter=VendorBad.DISABLED_CrashesInAChild";
  char* argv[] = {program.data(), disabled.data(), filter.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, argv, env.data()), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  EXPECT_EQ(mixed.Of(2), Expected({4, 3}, 2));
}

// What the library shows of a graph, told by made/probe.c, which also checks the answers to null
// and to indices beyond the end.

std::vector<std::string> told;
void Hear(const char* line) { told.emplace_back(line); }

TEST(VendorHost, ShowsTheWholeGraph) {
  auto context = VendorContext({"probe"});
  CompileOption option;
  option.SetOption("probe", "tell", std::to_string(reinterpret_cast<uintptr_t>(&Hear)));
  option.AddAsset("some", "abc", 3);
  auto graph = context->CreateGraph(option);
  const Quantization affine(QuantType::ASYMMETRIC, 0.5f, 10);
  const Quantization channels(QuantType::SYMMETRIC_PER_CHANNEL, 3, {0.25f, 0.5f}, {0, 0});
  auto x = Input(graph, {3, 3, 1, 1}, DataType::UINT8, affine);
  auto r = Make(graph, TRANSIENT, {}, DataType::UINT8, affine);
  auto y = Output(graph, {3, 3, 1, 1}, DataType::UINT8, affine);
  auto z = Output(graph, {2, 2, 2, 1}, DataType::UINT8, affine);
  const int8_t weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  auto w = Make(graph, CONSTANT, {2, 2, 1, 2}, DataType::INT8, channels, weights);
  x->SetName("x");
  graph->CreateOperation("LeakyRelu", {{"alpha", 0.25}})->BindInput(x).BindOutput(r);
  auto add = graph->CreateOperation("Add");
  add->SetName("twice");
  add->BindInputs({r, r}).BindOutput(y);
  graph->CreateOperation("Conv2d", {{"padding", std::string("VALID")}})
      ->BindInputs({r, w})
      .BindOutput(z);
  // A declared shape of as many elements: the op computes another one.
  auto v = Output(graph, {9}, DataType::UINT8, affine);
  graph->CreateOperation("Relu")->BindInput(r).BindOutput(v);
  told.clear();
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  const std::string quant = ", quant 1 along 0: 0.5+10", nine = "u8(0.5,10)[3,3,1,1] ",
                    nine_more = "type 2 [ 3 3 1 1 ] 9 bytes, by ",
                    read = "  in " + nine + "'' " + nine_more + "LeakyRelu#1, for 3" + quant,
                    of_x = "'x' " + nine + "'x' " + nine_more + "others, for 1" + quant,
                    of_y = nine + "'' " + nine_more + "Add#2 'twice', for 0" + quant,
                    of_z = "u8(0.5,10)[2,2,2,1] '' type 2 [ 2 2 2 1 ] 8 bytes, by Conv2d#3, for 0" +
                           quant;
  EXPECT_THAT(
      told, ElementsAre(
                "LeakyRelu '' = LeakyRelu#1", "  alpha (3) 0.25", "  in " + of_x,
                "  out " + nine + "'' " + nine_more + "LeakyRelu#1, for 3" + quant,
                "Add 'twice' = Add#2 'twice'", read, read, "  out " + of_y, "Conv2d '' = Conv2d#3",
                "  stride (5) 1 1", "  dilation (5) 1 1", "  padding (4) VALID",
                "  pad (5) 0 0 0 0", "  multiplier (2) 0", "  weights (2) 0", "  ksize (5) 0 0",
                "  input_layout (4) WHCN", "  kernel_layout (4) WHIcOc", read,
                "  in i8(dim=3,[0.25,0.5])[2,2,1,2] '' type 1 [ 2 2 1 2 ] 8 bytes, constant, by "
                "others, for 1, quant 2 along 3: 0.25+0 0.5+0",
                "  out " + of_z, "Relu '' = Relu#4", read,
                "  out " + nine + "'' " + nine_more + "Relu#4, for 0" + quant, "border",
                "  in " + of_x, "  out " + of_y, "  out " + of_z,
                "  out u8(0.5,10)[9] '' type 2 [ 9 ] 9 bytes, by Relu#4, for 0" + quant));
  EXPECT_EQ(graph->Report().ops[0].backend, "reference");
  EXPECT_THAT(graph->Report().ops[0].refusals, Contains("probe: not selected"));
}

}  // namespace
}  // namespace tim::vx::test
