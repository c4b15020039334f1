// Vendors' plugins in C++ as a program meets them: what they read, each kind of failure with its
// words, and plugins of other minors. Against the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/backend.h"
#include "tim/vx/ops.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;

/// Without a cache folder: what one test compiled must not serve another.
std::shared_ptr<Context> With(const std::vector<std::string>& plugins) {
  ContextOptions options;
  options.host_only = true;
  options.use_disk_cache = false;
  const auto context = Context::Create(options);
  for (const std::string& plugin : plugins) {
    const Status loaded = context->LoadPlugin(plugin);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
  }
  return context;
}

/// z = x + y, which the probe takes for 2 x.
struct Sum {
  GraphPtr graph;
  TensorPtr x, y, z;

  Sum(Context& context, const CompileOption& options)
      : graph(context.CreateGraph(options)),
        x(Input(graph, {2})),
        y(Input(graph, {2})),
        z(Output(graph, {2})) {
    Bind<ops::Add>(graph, {x, y}, {z})->SetName("sum");
  }
  std::vector<float> Of(const std::vector<float>& in) {
    EXPECT_TRUE(Write(x, in) && Write(y, std::vector<float>{100, 100}));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(z, 2);
  }
  std::string Report() const { return graph->Report().ToText(); }
};

std::string BackendOf(const CompileReport& report, const std::string& kind) {
  for (const OpPlacement& op : report.ops) {
    if (op.kind == kind) return op.backend;
  }
  return "there is no " + kind;
}

// What it reads.

TEST(VendorAuthor, Runs) {
  const auto context = With({PROBE});
  Sum sum(*context, {});
  EXPECT_THAT(sum.Of({3, -5}), ElementsAre(6, -10));
  EXPECT_EQ(BackendOf(sum.graph->Report(), "Add"), "Probe");
  std::vector<PluginInfo> loaded;
  ASSERT_TRUE(NewHostContext()->LoadPlugin(PROBE, &loaded).ok());
  EXPECT_EQ(loaded.at(0).vendor, "Probe");
  EXPECT_EQ(loaded.at(0).sdk_version, "5.1");
  EXPECT_THAT(loaded.at(0).models, ElementsAre("p1", "broken"));
  EXPECT_TRUE(loaded.at(0).compiles && loaded.at(0).executes);
}

TEST(VendorAuthor, SeesOpsWithAttributesOfEveryKind) {
  const auto context = With({PROBE});
  CompileOption options;
  options.SetTarget({"Probe", "p1"}).SetOption("Probe", "tell", "all").SetOption("*", "k", "v");
  options.AddAsset("table", "abc", 3);
  const auto graph = context->CreateGraph(options);
  const Quantization per_channel(QuantType::SYMMETRIC_PER_CHANNEL, 3, {0.5f, 0.25f}, {0, 0});
  const Quantization in_quant(QuantType::ASYMMETRIC, 2.0f, 7),
      out_quant(QuantType::ASYMMETRIC, 1.0f, 0);
  const auto image = Input(graph, {4, 4, 1, 1}, DataType::UINT8, in_quant);
  const auto conved = Make(graph, TRANSIENT, {4, 4, 2, 1}, DataType::UINT8, out_quant);
  const std::vector<int8_t> ones(18, 1);
  const auto kernel = Make(graph, CONSTANT, {3, 3, 1, 2}, DataType::INT8, per_channel, ones.data());
  Bind<ops::Conv2d>(graph, {image, kernel}, {conved}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                    std::array<uint32_t, 2>{1, 1})
      ->SetName("stem");
  const auto cut = Output(graph, {4, 4, 1, 1}, DataType::UINT8, out_quant);
  Bind<ops::Slice>(graph, {conved}, {cut}, 4u, std::vector<int32_t>{0, 0, 1, 0},
                   std::vector<int32_t>{4, 4, 1, 1});
  const auto x = Input(graph, {2}), y = Output(graph, {2});
  const auto clipped = Between(graph), scaled = Between(graph);
  Bind<ops::Clip>(graph, {x}, {clipped}, -1.0f, 2.5f);
  Bind<ops::Multiply>(graph, {clipped, Constant(graph, {2}, {3, 4})}, {scaled});
  Bind<ops::CumSum>(graph, {scaled}, {y}, 0, 1, 0);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  const std::string report = graph->Report().ToText();
  EXPECT_THAT(report, HasSubstr("model 'p1' sees Conv2d 'stem' ("));
  EXPECT_THAT(report, HasSubstr("=string SAME"));
  EXPECT_THAT(report, HasSubstr("=ints [1,1]"));
  EXPECT_THAT(report, HasSubstr(" type 2 [4,4,1,1] 16 bytes quant 1 along 0 [2][7]"));
  EXPECT_THAT(report, HasSubstr(" type 1 [3,3,1,2] 18 bytes quant 2 along 3 [0.5,0.25][0,0]"));
  EXPECT_THAT(report, HasSubstr("=ints [0,0,1,0]"));
  EXPECT_THAT(report, HasSubstr("sees Clip '' (max=float 2.5 min=float -1 )"));
  EXPECT_THAT(report, HasSubstr(" type 9 [2] 8 bytes data [3,4]}"));
  EXPECT_THAT(report, HasSubstr("axis=int 0 exclusive=bool 1 reverse=bool 0"));
  EXPECT_THAT(report, HasSubstr("} read by 1"));
  EXPECT_THAT(report, HasSubstr(" option k=v option tell=all asset table=abc"));
}

TEST(VendorAuthor, AssetsReachTheDevice) {
  const auto context = With({PROBE});
  CompileOption options;
  options.AddAsset("factor", "-7", 2);
  EXPECT_THAT(Sum(*context, options).Of({1, 2}), ElementsAre(-7, -14));
}

TEST(VendorAuthor, OtherShapesAreCompiledAnew) {
  const auto context = With({ACME_NEXT});
  const auto graph = context->CreateGraph();
  const auto x = Input(graph, {2}), y = Output(graph, {});
  Bind<ops::Add>(graph, {x, x}, {y});
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  ASSERT_TRUE(graph->Resize({{3}})) << graph->LastStatus().message();
  ASSERT_TRUE(Write(x, std::vector<float>{1, 2, 3}) && graph->Run());
  EXPECT_THAT(Read(y, 3), ElementsAre(2, 4, 6));
  EXPECT_EQ(BackendOf(graph->Report(), "Add"), "Acme");
}

// Failures.

TEST(VendorAuthor, ExceptionsBecomeTheErrorOfCompile) {
  const auto context = With({PROBE});
  for (const char* where : {"create", "partition", "compile", "device_create", "check_runtime",
                            "register_asset", "context_create", "requirements"}) {
    for (const char* as : {"exception", "int"}) {
      SCOPED_TRACE(std::string(where) + " as " + as);
      CompileOption options;
      options.SetOption("Probe", "throw", where).SetOption("Probe", "as", as).AddAsset("a", "b", 1);
      Sum sum(*context, options);
      ASSERT_FALSE(sum.graph->Compile());
      // Whatever check_runtime throws means that it does not run it.
      EXPECT_EQ(sum.graph->LastStatus().code(),
                std::string(where) == "check_runtime" ? Code::kVersionMismatch : Code::kPlugin);
      EXPECT_THAT(sum.graph->LastStatus().message(),
                  HasSubstr(std::string(as) == "int" ? "threw something that is no std::exception"
                                                     : "thrown in " + std::string(where)));
    }
  }
  EXPECT_THAT(Sum(*context, {}).Of({1, 2}), ElementsAre(2, 4))
      << "the context is as good as before";
}

TEST(VendorAuthor, UnsupportedGoesToTheNextBackend) {
  const auto context = With({PROBE});
  for (const char* where :
       {"create", "check_target", "partition", "compile", "device_create", "context_create"}) {
    SCOPED_TRACE(where);
    CompileOption options;
    options.SetOption("Probe", "throw", where).SetOption("Probe", "as", "unsupported");
    options.SetFallback(Fallback::kAllow);
    Sum sum(*context, options);
    EXPECT_THAT(sum.Of({1, 2}), ElementsAre(101, 102));
    EXPECT_EQ(BackendOf(sum.graph->Report(), "Add"), "reference");
    EXPECT_THAT(sum.Report(), HasSubstr("not supported in " + std::string(where)));
  }
}

TEST(VendorAuthor, ExceptionsOfARunBecomeItsError) {
  const auto context = With({PROBE});
  for (const char* where : {"bind", "invoke"}) {
    SCOPED_TRACE(where);
    CompileOption options;
    options.SetOption("Probe", "throw", where);
    Sum sum(*context, options);
    EXPECT_FALSE(sum.graph->Run());
    EXPECT_THAT(sum.graph->LastStatus().message(),
                AllOf(HasSubstr("test.probe"), HasSubstr("thrown in " + std::string(where))));
  }
}

TEST(VendorAuthor, SelectingTwiceFails) {
  const auto context = With({PROBE});
  CompileOption options;
  options.SetOption("Probe", "twice", "1");
  Sum sum(*context, options);
  ASSERT_FALSE(sum.graph->Compile());
  EXPECT_THAT(sum.graph->LastStatus().message(), HasSubstr("Add#1 'sum'"));
}

TEST(VendorAuthor, TargetsAndVersionsSayWhy) {
  const auto context = With({PROBE});
  CompileOption broken;
  broken.SetTarget({"Probe", "broken"}).SetFallback(Fallback::kAllow);
  Sum elsewhere(*context, broken);
  EXPECT_THAT(elsewhere.Of({1, 2}), ElementsAre(101, 102));
  EXPECT_THAT(elsewhere.Report(), HasSubstr("its SDK is not installed"));

  CompileOption unknown;
  unknown.SetTarget({"Probe", "p9"});
  Sum nobody(*context, unknown);
  EXPECT_FALSE(nobody.graph->Compile());
  EXPECT_THAT(nobody.graph->LastStatus().message(),
              AllOf(HasSubstr("p9"), HasSubstr("p1, broken")));

  CompileOption old;
  old.SetTarget({"Probe", "p1"}).SetOption("Probe", "old", "1");
  Sum refused(*context, old);
  EXPECT_FALSE(refused.graph->Compile());
  EXPECT_EQ(refused.graph->LastStatus().code(), Code::kVersionMismatch);
  EXPECT_THAT(refused.graph->LastStatus().message(), HasSubstr("it does not run SDK 5.1 for 'p1'"));
}

// Other minors.

TEST(VendorAuthor, PluginOfThePreviousMinor) {
  const auto context = NewHostContext();
  std::vector<PluginInfo> loaded;
  const Status status = context->LoadPlugin(MINOR_0, &loaded);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(loaded.at(0).compiles || loaded.at(0).executes);
  EXPECT_EQ(loaded.at(0).vendor, "Minor Ltd");
  const auto graph = context->CreateGraph();
  const auto x = Input(graph, {2}), y = Output(graph, {2});
  graph->CreateOperation("test.minor_0", {{"factor", 3.0}})->BindInput(x).BindOutput(y);
  ASSERT_TRUE(Write(x, std::vector<float>{1, 2}) && graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(3, 6));
}

TEST(VendorAuthor, PluginOfTheNextMinor) {
  const auto context = With({ACME_NEXT});
  const auto graph = context->CreateGraph();
  const auto x = Input(graph, {2}), y = Output(graph, {2});
  const auto sum = Between(graph);
  Bind<ops::Add>(graph, {x, Constant(graph, {2}, {0.5f, -4})}, {sum});
  Bind<ops::Relu>(graph, {sum}, {y});
  ASSERT_TRUE(Write(x, std::vector<float>{1, 2}) && graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(1.5f, 0));
  EXPECT_EQ(BackendOf(graph->Report(), "Add"), "Acme");
  EXPECT_EQ(BackendOf(graph->Report(), "Relu"), "Acme");
  EXPECT_THAT(graph->Profile().ToText(), HasSubstr("instructions 2"));
}

}  // namespace
}  // namespace tim::vx::test
