// Vendors' compilers and dispatchers behind plugin.h as a program meets them: the whole path, many
// at once, targets, fallbacks, memory, lifetimes. Against the shared library.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <utility>

#include "plugins/mapped.h"
#include "plugins/vendor_support.h"
#include "tim/vx/delegate.h"
#include "tim/vx/op_def.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pointwise;
namespace fs = std::filesystem;

const char* const kTaken = "acme acme acme reference acme";
const char* const kNotTaken = "reference reference reference reference reference";

class Vendor : public ::testing::Test {
 protected:
  void SetUp() override { Trace::Clear(); }
};

// The whole path.

TEST_F(Vendor, ValuesAreThoseOfTheReference) {
  auto context = VendorContext({"vendor"});
  for (const ShapeType& shape :
       {ShapeType{4, 3}, ShapeType{7}, ShapeType{1, 5, 2}, ShapeType{3, 2, 2, 2}}) {
    Mixed mixed(context, {}, shape);
    EXPECT_EQ(mixed.Of(), Expected(shape));
    EXPECT_EQ(mixed.Of(2), Expected(shape, 2));
    EXPECT_EQ(mixed.Backends(), kTaken);
  }
}

TEST_F(Vendor, WhatItIs) {
  auto context = VendorContext({});
  std::vector<PluginInfo> loaded;
  ASSERT_TRUE(context->LoadPlugin(Made("vendor_compiler"), &loaded).ok());
  ASSERT_TRUE(context->LoadPlugin(Made("vendor_dispatch"), &loaded).ok());
  ASSERT_TRUE(VendorContext({})->LoadPlugin(Made("vendor_no_sdk"), &loaded).ok());
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded[0].name, "acme.compiler");
  EXPECT_EQ(loaded[0].vendor, "acme");
  EXPECT_EQ(loaded[0].sdk_version, "3.1");
  EXPECT_THAT(loaded[0].models, ElementsAre("a1", "a2"));
  EXPECT_THAT(loaded[0].ops, IsEmpty());
  EXPECT_TRUE(loaded[0].compiles && !loaded[0].executes);
  EXPECT_TRUE(!loaded[1].compiles && loaded[1].executes);
  EXPECT_THAT(loaded[1].models, IsEmpty());
  EXPECT_EQ(loaded[2].sdk_version, "3.1.4") << "its own version";
  const auto backends = context->Backends();
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_EQ(backends[0].name, "acme");
  EXPECT_EQ(backends[0].vendor, "acme");
  EXPECT_EQ(backends[0].version, "3.1.4");
  EXPECT_EQ(backends[0].sdk_version, "3.1");
  EXPECT_THAT(backends[0].models, ElementsAre("a1", "a2"));
  EXPECT_TRUE(backends[0].compiles && backends[0].executes);
}

TEST_F(Vendor, ReasonsAreInTheReport) {
  auto context = VendorContext({"vendor"});
  auto graph = context->CreateGraph();
  auto x = Input(graph, {4}), one = Input(graph, {1}), y = Output(graph, {4}),
       z = Output(graph, {4}), i = Input(graph, {4}, DataType::INT32),
       j = Output(graph, {4}, DataType::INT32);
  graph->CreateOperation("Add")->BindInputs({x, one}).BindOutput(y);
  graph->CreateOperation("Multiply", {{"scale", 2.0}})->BindInputs({x, x}).BindOutput(z);
  graph->CreateOperation("Add")->BindInputs({i, i}).BindOutput(j);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  const auto& ops = graph->Report().ops;
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_THAT(ops[0].refusals, Contains("acme: operands of other sizes"));
  EXPECT_THAT(ops[1].refusals, Contains("acme: products are not scaled here"));
  EXPECT_THAT(ops[2].refusals, Contains("acme: only float32 is known"));
}

TEST_F(Vendor, CallsComeInOrder) {
  auto context = VendorContext({"vendor"});
  {
    Mixed mixed(context, Acme({"trace", Trace::Here()}));
    ASSERT_TRUE(mixed.Compile().ok());
    EXPECT_THAT(Trace::All(),
                ElementsAre("create", "check_target", "partition", "compile 2 parts",
                            "destroy_result", "device_create", "check_runtime 3.1 ''",
                            "context_create program 0", "context_create program 1", "destroy"))
        << "the compiler ends with the compilation";
    Trace::Clear();
    (void)mixed.Of();
    (void)mixed.Of(3);
    EXPECT_THAT(Trace::All(),
                ElementsAre("bind input 0", "bind output 0", "invoke", "bind input 0",
                            "bind input 1", "bind output 0", "invoke", "invoke", "invoke"))
        << "bound again although no address changed";
  }
  EXPECT_EQ(Trace::CountOf("context_destroy"), 2u);
  EXPECT_EQ(Trace::CountOf("device_destroy"), 1u);
}

TEST_F(Vendor, OptionsAndAssets) {
  auto context = VendorContext({"vendor"});
  CompileOption option = Acme({"trace", Trace::Here(), "colour", "blue"});
  option.SetOption("*", "effort", "3").SetOption("globex", "colour", "red");
  option.AddAsset("table", "abc", 3).AddAsset("anchors", "defgh", 5);
  Mixed mixed(context, option);
  EXPECT_EQ(mixed.Of(), Expected());
  const auto calls = Trace::All();
  EXPECT_THAT(calls, Contains("option colour=blue"));
  EXPECT_THAT(calls, Contains("option effort=3"));
  EXPECT_THAT(calls, Contains("asset table abc"));
  EXPECT_THAT(calls, Contains("asset anchors defgh"));
  EXPECT_THAT(calls, Not(Contains("option colour=red")));
  // Each once, before the first context.
  const auto at = [&](const std::string& call) {
    return std::find(calls.begin(), calls.end(), call) - calls.begin();
  };
  EXPECT_EQ(Trace::CountOf("register_asset table 3 bytes"), 1u);
  EXPECT_EQ(Trace::CountOf("register_asset anchors 5 bytes"), 1u);
  EXPECT_LT(at("register_asset table 3 bytes"), at("register_asset anchors 5 bytes"));
  EXPECT_LT(at("register_asset anchors 5 bytes"), at("context_create program 0"));
}

TEST_F(Vendor, PartitionsByIndex) {
  auto context = VendorContext({"vendor"});
  Mixed together(context), apart(context, Acme({"split", "1"}));
  EXPECT_EQ(together.Of(), Expected());
  EXPECT_EQ(apart.Of(), Expected());
  EXPECT_EQ(together.graph->Report().partitions, 3u);
  EXPECT_EQ(apart.graph->Report().partitions, 5u);
}

TEST_F(Vendor, ConstantsAreValuesInTheCode) {
  auto context = VendorContext({"vendor"});
  auto graph = context->CreateGraph();
  auto x = Input(graph, {3}), y = Output(graph, {3});
  graph->CreateOperation("Add")->BindInputs({x, Constant(graph, {3}, {10, 20, 30})}).BindOutput(y);
  ASSERT_TRUE(Write<float>(x, {1, 2, 3}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 3), ElementsAre(11, 22, 33));
  EXPECT_EQ(graph->Report().ops[0].backend, "acme");
}

TEST_F(Vendor, LiveHandles) {
  {
    auto context = VendorContext({"vendor"});
    Mixed mixed(context, Acme({"trace", Trace::Here(), "live", "1"}));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(Trace::CountOf("context_create live program 0"), 1u);
    EXPECT_EQ(Trace::CountOf("context_create live program 1"), 1u);
    EXPECT_EQ(Trace::CountOf("destroy_result"), 0u) << "the dispatcher has an object of it";
  }
  EXPECT_EQ(Trace::CountOf("destroy_result"), 1u);
  EXPECT_EQ(Trace::CountOf("destroy"), 1u);
  const auto calls = Trace::All();
  ASSERT_GE(calls.size(), 5u);
  EXPECT_EQ(std::vector<std::string>(calls.end() - 5, calls.end()),
            (std::vector<std::string>{"context_destroy", "context_destroy", "device_destroy",
                                      "destroy_result", "destroy"}));
  // Never into another library, whose objects may be others.
  Trace::Clear();
  auto context = VendorContext({"vendor_compiler", "vendor_dispatch"});
  Mixed mixed(context, Acme({"trace", Trace::Here(), "live", "1"}));
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(Trace::CountOf("live_handle"), 0u);
  EXPECT_EQ(Trace::CountOf("context_create program 0"), 1u);
}

TEST_F(Vendor, OtherMinorsOfTheTables) {
  for (const char* name : {"vendor_older", "vendor_newer"}) {
    SCOPED_TRACE(name);
    auto context = VendorContext({name});
    Mixed mixed(context, Acme({"live", "1"}));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(mixed.Backends(), kTaken);
    const bool older = std::string(name) == "vendor_older";
    EXPECT_EQ(mixed.graph->Profile(1).ToText().find("steps 3") == std::string::npos, older);
    EXPECT_TRUE(mixed.graph->Resize({{2, 2}})) << mixed.graph->LastStatus().message();
    EXPECT_TRUE(mixed.graph->Run());
  }
}

TEST_F(Vendor, CodeIsKeptInTheCacheFolder) {
  VendorFolder folder;
  ContextOptions options;
  options.host_only = true;
  options.cache_dir = folder.path();
  for (const bool again : {false, true}) {
    auto context = Context::Create(options);
    ASSERT_TRUE(context->LoadPlugin(Made("vendor")).ok());
    Trace::Clear();
    Mixed mixed(context, Acme({"trace", Trace::Here()}));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(mixed.Backends(), kTaken);
    EXPECT_EQ(Trace::CountOf("partition"), again ? 0u : 1u);
    EXPECT_EQ(Trace::CountOf("compile 2 parts"), again ? 0u : 1u);
    EXPECT_EQ(Trace::CountOf("context_create program 1"), 1u);
  }
}

// Several at once.

/// Takes the Sigmoids.
class Sigmoids : public Delegate {
 public:
  Status Init() override { return RET_OK; }
  std::string Name() const override { return "sigmoids"; }
  Status Build(DelegateModel* model) override {
    for (KernelIter at = model->BeginKernelIterator(); at != model->EndKernelIterator();) {
      if (model->GetPrimitive(*at)->kind != "Sigmoid") {
        ++at;
        continue;
      }
      at = model->Replace(at, at + 1, new Kernel((*at)->inputs(), (*at)->outputs()));
    }
    return RET_OK;
  }

 private:
  struct Kernel : kernel::Kernel {
    using kernel::Kernel::Kernel;
    Status Execute() override {
      const auto* in = static_cast<const float*>(inputs()[0].Data().get());
      auto* out = static_cast<float*>(outputs()[0].MutableData());
      for (int64_t i = 0; i < inputs()[0].ElementNum(); ++i) out[i] = 1 / (1 + std::exp(-in[i]));
      return RET_OK;
    }
    Status ReSize() override { return RET_OK; }
  };
};

TEST_F(Vendor, ManyInOneGraph) {
  ContextOptions options;
  options.use_disk_cache = false;
  auto context = Context::Create(options);
  ASSERT_TRUE(context->LoadPlugin(Made("vendor")).ok());
  ASSERT_TRUE(context->LoadPlugin(Made("vendor_other")).ok());
  ASSERT_TRUE(context->SetDelegate(std::make_shared<Sigmoids>()).ok());
  CompileOption option;
  option.Pin("Add", "globex");
  const auto build = [](const std::shared_ptr<Context>& c, const CompileOption& o) {
    Mixed mixed(c, o);
    auto more = Output(mixed.graph, {4, 3});
    mixed.graph->CreateOperation("Sigmoid")->BindInput(mixed.x).BindOutput(more);
    return std::make_pair(mixed, more);
  };
  auto [mixed, sigmoid] = build(context, option);
  const auto values = mixed.Of();
  const std::string rest = HasOpenCl() ? "opencl" : "reference";
  EXPECT_EQ(mixed.Backends(), "acme globex acme " + rest + " globex sigmoids")
      << mixed.graph->Report().ToText();
  auto [plain, expected_sigmoid] = build(HostContext(), {});
  EXPECT_THAT(values, Pointwise(FloatNear(1e-5f), plain.Of()));
  EXPECT_THAT(Read(sigmoid, 12), Pointwise(FloatNear(1e-5f), Read(expected_sigmoid, 12)));
}

TEST_F(Vendor, TheOneLoadedFirstIsAskedFirst) {
  Mixed mixed(VendorContext({"vendor_other", "vendor"}));
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(mixed.Backends(), "globex globex globex reference globex");
}

// Halves.

TEST_F(Vendor, PairsInEitherOrder) {
  for (const bool compiler_first : {true, false}) {
    SCOPED_TRACE(compiler_first);
    auto context = VendorContext({compiler_first ? "vendor_compiler" : "vendor_dispatch"});
    Mixed half(context);
    EXPECT_EQ(half.Of(), Expected());
    EXPECT_EQ(half.Backends(), kNotTaken);
    EXPECT_THAT(
        half.graph->Report().ops[0].refusals,
        Contains(compiler_first
                     ? "acme: it has a compiler and no dispatcher: nothing runs its code here"
                     : "acme: it has a dispatcher and no compiler: nothing compiles for it here"));
    const Status joined =
        context->LoadPlugin(Made(compiler_first ? "vendor_dispatch" : "vendor_compiler"));
    ASSERT_TRUE(joined.ok()) << joined.message();
    ASSERT_EQ(context->Backends().size(), 2u);
    Mixed whole(context);
    EXPECT_EQ(whole.Of(), Expected());
    EXPECT_EQ(whole.Backends(), kTaken);
    EXPECT_EQ(half.Of(2), Expected({4, 3}, 2)) << "what was compiled before stays as it is";
  }
}

TEST_F(Vendor, HalvesOfOtherSdks) {
  auto context = VendorContext({"vendor_compiler_sdk2", "vendor_dispatch"});
  Mixed refused(context);
  Status s = refused.Compile();
  EXPECT_EQ(s.code(), Code::kVersionMismatch);
  EXPECT_THAT(s.message(), HasSubstr("SDK '2.0' compiled it, and plugin 'acme.dispatch' of SDK "
                                     "'3.1' does not run it: the firmware runs code of SDK 3"));
  // Without check_runtime only the same version will do.
  context = VendorContext({"vendor_compiler", "vendor_dispatch_sdk2"});
  CompileOption target;
  target.SetTarget({"acme", "a1"});
  Mixed unequal(context, target);
  s = unequal.Compile();
  EXPECT_EQ(s.code(), Code::kVersionMismatch);
  EXPECT_THAT(s.message(), HasSubstr("SDK '3.1' compiled it for model 'a1', and plugin "
                                     "'acme.dispatch' of SDK '2.0' runs only what is of its own "
                                     "version"));
  context = VendorContext({"vendor_compiler_sdk2", "vendor_dispatch_sdk2"});
  EXPECT_EQ(Mixed(context).Of(), Expected());
}

TEST_F(Vendor, TwoOfOneKind) {
  for (const auto& [first, second, what] :
       {std::tuple("vendor", "vendor_again", "compiler"),
        std::tuple("vendor_compiler", "vendor_again", "compiler"),
        std::tuple("vendor_dispatch", "vendor_again", "dispatcher")}) {
    SCOPED_TRACE(first);
    auto context = VendorContext({first});
    const Status s = context->LoadPlugin(Made(second));
    EXPECT_EQ(s.code(), Code::kAlreadyExists);
    EXPECT_THAT(s.message(),
                HasSubstr("vendor 'acme' has a " + std::string(what) + " already, of '" +
                          Made(first) + "'; this one is of '" + Made(second) + "'"));
    EXPECT_EQ(context->Backends().size(), 2u);
  }
  auto context = VendorContext({"vendor"});
  const Status s = context->LoadPlugin(Made("vendor"));
  EXPECT_EQ(s.code(), Code::kAlreadyExists);
  EXPECT_THAT(s.message(), HasSubstr("plugin 'acme.npu' 3.1.4 of"));
}

TEST_F(Vendor, NamesOfOtherBackends) {
  struct Named : Backend {
    BackendInfo info{"acme", "", "", ""};
    const BackendInfo& Info() const override { return info; }
    Status Partition(const GraphView&, Selection*) override { return Status(); }
    Status Compile(const std::vector<GraphView>&, const CompileEnv&, CompiledUnits*) override {
      return Status();
    }
    Status Load(const std::vector<CodeModule>&, const std::vector<Call>&, const CompileEnv&,
                LoadedUnits*) override {
      return Status();
    }
  };
  auto context = VendorContext({});
  ASSERT_TRUE(context->AddBackend(std::make_shared<Named>()).ok());
  Status s = context->LoadPlugin(Made("vendor"));
  EXPECT_EQ(s.code(), Code::kAlreadyExists);
  EXPECT_THAT(s.message(), HasSubstr("there is a backend named 'acme' already"));
  EXPECT_EQ(VendorContext({"vendor"})->AddBackend(std::make_shared<Named>()).code(),
            Code::kAlreadyExists);
  if (HasOpenCl()) {
    s = Context::Create()->LoadPlugin(Made("vendor_opencl"));
    EXPECT_THAT(s.message(), HasSubstr("there is a backend named 'opencl' already"));
  } else {
    EXPECT_TRUE(VendorContext({"vendor_opencl"}) != nullptr);
  }
}

TEST_F(Vendor, OperatorsAndABackendInOnePlugin) {
  auto context = VendorContext({"both"});
  EXPECT_NE(context->Ops().Find("test.both"), nullptr);
  EXPECT_EQ(context->Backends().size(), 2u);
  Mixed mixed(context);
  const auto more = Output(mixed.graph, {4, 3});
  mixed.graph->CreateOperation("test.both", {{"factor", 3.0}})->BindInput(mixed.x).BindOutput(more);
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(mixed.Backends(), kTaken + std::string(" reference"));
  EXPECT_EQ(Read(more, 12)[11], 3 * 1.75f);
  // All or nothing.
  context = VendorContext({});
  const size_t ops = context->Ops().All().size();
  Status s = context->LoadPlugin(Made("both_duplicate"));
  EXPECT_EQ(s.code(), Code::kAlreadyExists);
  EXPECT_THAT(s.message(), HasSubstr("operator 'Relu' of"));
  EXPECT_EQ(context->Ops().All().size(), ops);
  EXPECT_EQ(context->Backends().size(), 1u);
  ASSERT_TRUE(context->LoadPlugin(Made("vendor")).ok());
  s = context->LoadPlugin(Made("both"));
  EXPECT_THAT(s.message(), HasSubstr("vendor 'acme' has a compiler already"));
  EXPECT_EQ(context->Ops().All().size(), ops);
}

// Targets.

TEST_F(Vendor, Targets) {
  auto context = VendorContext({"vendor", "vendor_other"});
  const auto compiled = [&](const Target& target, CompileOption option = {}) {
    auto mixed = std::make_unique<Mixed>(context, option.SetTarget(target));
    (void)mixed->Compile();
    return mixed;
  };
  auto mixed = compiled({"acme", "a1"});
  EXPECT_EQ(mixed->Backends(), kTaken);
  mixed = compiled({"", "a1"});
  EXPECT_EQ(mixed->Backends(), kTaken);
  mixed = compiled({"globex", ""});
  EXPECT_EQ(mixed->Backends(), "globex globex globex reference globex");
  EXPECT_THAT(mixed->graph->Report().ops[0].refusals,
              Contains("acme: the target is one of vendor 'globex'"));
  EXPECT_EQ(mixed->Of(), Expected());

  mixed = compiled({"acme", "z9"});
  EXPECT_EQ(mixed->graph->LastStatus().code(), Code::kNotFound);
  EXPECT_THAT(mixed->graph->LastStatus().message(),
              HasSubstr("the target's model is 'z9', and vendor 'acme' compiles for: a1, a2"));
  mixed = compiled({"", "z9"});
  EXPECT_EQ(mixed->Backends(), kNotTaken);
  EXPECT_THAT(mixed->graph->Report().ops[0].refusals,
              Contains("acme: the target is model 'z9', and it compiles for a1, a2"));
  mixed = compiled({"initech", ""});
  EXPECT_EQ(mixed->graph->LastStatus().code(), Code::kNotFound);
  EXPECT_THAT(mixed->graph->LastStatus().message(), HasSubstr("initech"));
}

TEST_F(Vendor, AVeto) {
  auto context = VendorContext({"vendor"});
  CompileOption option = Acme({"trace", Trace::Here()});
  option.SetTarget({"acme", "a2"});
  Mixed refused(context, option);
  EXPECT_TRUE(refused.Compile().ok());
  EXPECT_EQ(refused.Backends(), kNotTaken);
  EXPECT_THAT(refused.graph->Report().ops[0].refusals, Contains("acme: model a2 needs a licence"));
  EXPECT_EQ(Trace::CountOf("destroy"), 1u);
  option.SetOption("acme", "licence", "1");
  Mixed licensed(context, option);
  EXPECT_EQ(licensed.Of(), Expected());
  EXPECT_EQ(licensed.Backends(), kTaken);
  EXPECT_EQ(Trace::CountOf("partition a2"), 1u);
  EXPECT_EQ(Trace::CountOf("check_runtime 3.1 'a2'"), 1u);
  Mixed wordless(context, Acme({"fault", "wordless veto"}));
  EXPECT_TRUE(wordless.Compile().ok());
  EXPECT_THAT(wordless.graph->Report().ops[0].refusals,
              Contains("acme: plugin 'acme.npu': check_target failed"));
}

// Fallbacks.

TEST_F(Vendor, PartsThatDoNotCompileFallBack) {
  auto context = VendorContext({"vendor"});
  for (const Fallback fallback : {Fallback::kAllow, Fallback::kWarn}) {
    CompileOption option = Acme({"fault", "compile no Multiply", "trace", Trace::Here()});
    Trace::Clear();
    Mixed mixed(context, option.SetFallback(fallback));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(mixed.Backends(), "reference reference reference reference acme");
    const CompileReport& report = mixed.graph->Report();
    EXPECT_THAT(
        report.fallbacks,
        ElementsAre(
            "Relu#1 was taken by backend 'acme', which could not compile it: Multiply#3: the "
            "multiplier is broken; 'reference' runs it now",
            HasSubstr("Add#2 was taken by"), HasSubstr("Multiply#3 was taken by")));
    EXPECT_EQ(report.warnings.size(), fallback == Fallback::kWarn ? 3u : 0u);
    EXPECT_EQ(Trace::CountOf("create"), 1u) << "one compiler for all attempts";
    EXPECT_EQ(Trace::CountOf("compile 2 parts"), 1u);
    EXPECT_EQ(Trace::CountOf("compile 1 parts"), 3u) << "each alone, then what was left";
  }
  CompileOption option = Acme({"fault", "compile no Multiply", "split", "1"});
  Mixed apart(context, option);
  EXPECT_EQ(apart.Of(), Expected());
  EXPECT_EQ(apart.Backends(), "acme acme reference reference acme");

  Mixed forbidden(context, option.SetFallback(Fallback::kForbid));
  const Status s = forbidden.Compile();
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_THAT(s.message(), HasSubstr("Multiply#3: was taken by backend 'acme', which could not "
                                     "compile it: Multiply#3: the multiplier is broken"));
}

TEST_F(Vendor, PartsThatCompileAloneRun) {
  auto context = VendorContext({"vendor"});
  CompileOption option = Acme({"fault", "compile one by one", "trace", Trace::Here()});
  Mixed mixed(context, option.SetFallback(Fallback::kForbid));
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(mixed.Backends(), kTaken);
  EXPECT_EQ(Trace::CountOf("compile 2 parts"), 1u);
  EXPECT_EQ(Trace::CountOf("compile 1 parts"), 2u);
  EXPECT_EQ(Trace::CountOf("destroy_result"), 2u);
}

TEST_F(Vendor, OtherWaysToTakeNothing) {
  auto context = VendorContext({"vendor"});
  const std::vector<std::pair<std::string, std::string>> all = {
      {"no partition", "acme: it is a holiday"},
      {"compile nothing", "acme: out of registers"},
      {"wordless compile", "acme: plugin 'acme.npu': compile failed"},
      {"no context", "acme: no core is left"},
      {"no device", "acme: no NPU is plugged in"}};
  for (const auto& [fault, reason] : all) {
    SCOPED_TRACE(fault);
    Mixed mixed(context, Acme({"fault", fault}));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(mixed.Backends(), kNotTaken);
    EXPECT_THAT(mixed.graph->Report().ops[0].refusals, Contains(reason));
  }
  // One call of two.
  Mixed mixed(context, Acme({"fault", "no second context"}));
  EXPECT_EQ(mixed.Of(), Expected());
  EXPECT_EQ(mixed.Backends(), "acme acme acme reference reference");
  EXPECT_THAT(mixed.graph->Report().fallbacks,
              ElementsAre("Add#5 was taken by backend 'acme', which could not compile it: there is "
                          "one core; 'reference' runs it now"));
  CompileOption option = Acme({"fault", "no second context"});
  Mixed forbidden(context, option.SetFallback(Fallback::kForbid));
  EXPECT_THAT(forbidden.Compile().message(), HasSubstr("there is one core"));
}

// Memory.

struct Wanted {
  const char* what;
  std::vector<std::string> options;
  const char* words;
};

TEST_F(Vendor, MemoryThatTheLibraryDoesNotHave) {
  auto context = VendorContext({"vendor"});
  const std::vector<Wanted> all = {
      {"alignment", {"align", "65536"}, nullptr},  // may be so by chance: vendor_backend_test.cc
      {"bytes", {"extra", "100"}, "148 bytes, aligned to 64"},
      {"strides", {"pitch", "32"}, "80 bytes, aligned to 64, strides 4 32"},
      {"all", {"pitch", "128", "align", "4096", "extra", "1000"}, "aligned to 4096, strides 4 128"},
  };
  for (const Wanted& w : all) {
    SCOPED_TRACE(w.what);
    std::vector<std::string> words = w.options;
    Mixed mixed(context, Acme(words));
    EXPECT_EQ(mixed.Of(), Expected());
    EXPECT_EQ(mixed.Of(2), Expected({4, 3}, 2)) << "the copies are made in each run";
    EXPECT_EQ(mixed.Backends(), kTaken);
    if (w.words == nullptr) continue;
    EXPECT_THAT(mixed.graph->Report().warnings,
                ElementsAre(AllOf(HasSubstr("plugin 'acme.npu': entry 'program 0' wants other "
                                            "memory than the library's; copied in each run: "
                                            "input 0 'x' f32[4,3] ("),
                                  HasSubstr("output 0"), HasSubstr(w.words)),
                            HasSubstr("entry 'program 1'")));
  }
  // Rows that are as wanted by chance need no copy.
  Mixed lucky(context, Acme({"pitch", "16"}));
  EXPECT_EQ(lucky.Of(), Expected());
  EXPECT_THAT(lucky.graph->Report().warnings, IsEmpty());
  // More dimensions, of which one has an extent of 1.
  for (const ShapeType& shape : {ShapeType{3, 2, 2, 2}, ShapeType{5}, ShapeType{1, 1, 3}}) {
    Mixed mixed(context, Acme({"pitch", "64"}), shape);
    EXPECT_EQ(mixed.Of(), Expected(shape));
  }
}

TEST_F(Vendor, MetricsAreInTheProfile) {
  auto context = VendorContext({"vendor"});
  Mixed mixed(context);
  const std::string text = mixed.graph->Profile(2).ToText();
  EXPECT_THAT(text, HasSubstr("program 0: steps 3, heat 36.6 C"));
  EXPECT_THAT(text, HasSubstr("program 1: steps 1, heat 36.6 C"));
  Mixed stuck(context, Acme({"fault", "metrics"}));
  EXPECT_THAT(stuck.graph->Profile(1).ToText(),
              HasSubstr("metrics failed: the counters are stuck"));
  Mixed many(context, Acme({"fault", "many metrics"}));
  EXPECT_THAT(many.graph->Profile(1).ToText(), HasSubstr("steps 3, heat 36.6 C"));
}

TEST_F(Vendor, Resizes) {
  auto context = VendorContext({"vendor"});
  for (const bool can : {true, false}) {
    SCOPED_TRACE(can);
    Trace::Clear();
    std::vector<std::string> words = {"trace", Trace::Here(), "pitch", "32"};
    if (can) words.insert(words.end(), {"resize", "1"});
    Mixed mixed(context, Acme(words));
    EXPECT_EQ(mixed.Of(), Expected());
    Trace::Clear();
    ASSERT_TRUE(mixed.graph->Resize({{5, 2, 2}})) << mixed.graph->LastStatus().message();
    mixed.count = 20;
    EXPECT_EQ(mixed.Of(1), Expected({5, 2, 2}, 1));
    EXPECT_EQ(Trace::CountOf("resize 'x' f32[5,2,2]"), 1u);
    EXPECT_EQ(Trace::CountOf("compile 2 parts"), can ? 0u : 1u);
    EXPECT_EQ(Trace::CountOf("create"), can ? 0u : 1u);
    EXPECT_EQ(Trace::CountOf("destroy"), can ? 0u : 1u);
    EXPECT_EQ(mixed.Backends(), kTaken);
  }
  Mixed fails(context, Acme({"fault", "resize"}));
  EXPECT_EQ(fails.Of(), Expected());
  EXPECT_FALSE(fails.graph->Resize({{5}}));
  EXPECT_THAT(fails.graph->LastStatus().message(),
              HasSubstr("plugin 'acme.npu': resize failed: the scratchpad is full"));
}

// Lifetimes. Whoever calls into a library that is closed crashes.

TEST_F(Vendor, TheLibraryStaysOpenAsLongAsItIsUsed) {
  if (!ClosesLibraries()) GTEST_SKIP() << "TIMCL_PLUGIN_NODELETE=1 keeps libraries open";
  VendorFolder folder;
  for (const bool halves : {false, true}) {
    const std::string tag = halves ? "halves" : "whole";
    std::vector<std::string> files = {
        folder.Copy(halves ? "vendor_compiler" : "vendor", tag + "1.so")};
    if (halves) files.push_back(folder.Copy("vendor_dispatch", tag + "2.so"));
    auto context = VendorContext(files);
    std::weak_ptr<Context> gone = context;
    auto mixed = std::make_unique<Mixed>(context, Acme({"live", "1"}));
    ASSERT_TRUE(mixed->Compile().ok());
    context.reset();
    for (const std::string& file : files) EXPECT_TRUE(IsMapped(file));
    EXPECT_EQ(mixed->Of(), Expected());
    auto y = mixed->y;
    mixed.reset();
    EXPECT_TRUE(gone.expired());
    for (const std::string& file : files) EXPECT_FALSE(IsMapped(file));
    EXPECT_EQ(Read(y, 12), Expected()) << "tensors are the library's own";
    // Never compiled, and refused.
    context = VendorContext({files[0]});
    EXPECT_FALSE(context->LoadPlugin(Made("vendor_again")).ok());
    context.reset();
    EXPECT_FALSE(IsMapped(files[0]));
  }
}

}  // namespace
}  // namespace tim::vx::test
