// Plugins as a program meets them: good ones, each kind of broken one with the words it gets, and
// how long a library stays open. Against the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/mapped.h"
#include "support/api_support.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_class.h"
#include "tim/vx/op_plugin.h"
#include "tim/vx/ops/transpose.h"
#include "tim/vx/tensor.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

std::string Made(const std::string& name) { return MADE "/" + name + ".so"; }

/// y = op(x) over a vector.
struct One {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Tensor> x, y;
  std::shared_ptr<Operation> op;

  One(Context& context, const std::string& kind, const AttrMap& attrs, uint32_t count = 2)
      : graph(context.CreateGraph()),
        x(graph->CreateTensor({DataType::FLOAT32, {count}, INPUT})),
        y(graph->CreateTensor({DataType::FLOAT32, {count}, OUTPUT})),
        op(graph->CreateOperation(kind, attrs)) {
    op->BindInput(x).BindOutput(y);
  }
  std::vector<float> Of(std::vector<float> in) {
    std::vector<float> out(in.size());
    EXPECT_TRUE(x->CopyDataToTensor(in.data()));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_TRUE(y->CopyDataFromTensor(out.data()));
    return out;
  }
};

/// An empty folder of this test's own.
class Folder {
 public:
  Folder() {
    std::string pattern = fs::temp_directory_path() / "timcl_plugins_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::string Copy(const std::string& made, const std::string& name) {
    fs::copy_file(Made(made), path_ / name);
    return (path_ / name).string();
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

// Good plugins.

TEST(PluginTest, OperatorsByName) {
  auto context = NewHostContext();
  std::vector<PluginInfo> loaded;
  const Status s = context->LoadPlugin(Made("good"), &loaded);
  ASSERT_TRUE(s.ok()) << s.message();
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].name, "test.good");
  EXPECT_EQ(loaded[0].version, "1.2.3");
  EXPECT_EQ(loaded[0].vendor, "");
  EXPECT_EQ(loaded[0].file, Made("good"));
  EXPECT_THAT(loaded[0].ops, ElementsAre("test.times", "test.shift", "test.slow"));
  EXPECT_EQ(std::string(context->Ops().Find("test.times")->origin), Made("good"));

  One one(*context, "test.times", {{"factor", 2.5}});
  EXPECT_THAT(one.Of({2, -4}), ElementsAre(5, -10));
  EXPECT_STREQ(one.op->Kind(), "test.times");
  EXPECT_EQ(one.op->Attributes().ToText(), "factor=2.5");
  EXPECT_THAT(one.graph->Report().ToText(), HasSubstr("test.times"));
  One standard(*context, "test.times", {});
  EXPECT_THAT(standard.Of({2, -4}), ElementsAre(4, -8));
}

TEST(PluginTest, AClassByName) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(Made("good")).ok());
  One one(*context, "test.shift", {{"by", 0.5}});
  EXPECT_THAT(one.Of({2, -4}), ElementsAre(2.5f, -3.5f));
  EXPECT_STREQ(one.op->Kind(), "test.shift");
  EXPECT_EQ(one.op->Attributes().ToText(), "by=0.5");
  EXPECT_EQ(std::string(one.op->Def().origin), Made("good"));
  EXPECT_THAT(one.graph->Report().ToText(), HasSubstr("test.shift"));
  One standard(*context, "test.shift", {});
  EXPECT_THAT(standard.Of({2, -4}), ElementsAre(3, -3));
}

TEST(PluginTest, CopiesHaveTheAttributes) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(Made("good")).ok());
  auto other = Context::Create();  // knows nothing of the plugin
  for (const char* kind : {"test.shift", "test.times"}) {
    SCOPED_TRACE(kind);
    const bool shift = std::string(kind) == "test.shift";
    One one(*context, kind, {{shift ? "by" : "factor", 4.0}});
    for (const auto& target : {context, other}) {
      auto graph = target->CreateGraph();
      auto x = graph->CreateTensor({DataType::FLOAT32, {1}, INPUT});
      auto y = graph->CreateTensor({DataType::FLOAT32, {1}, OUTPUT});
      auto copy = one.op->Clone(graph);
      ASSERT_NE(copy, nullptr);
      EXPECT_STREQ(copy->Kind(), kind);
      copy->BindInput(x).BindOutput(y);
      float value = 3;
      x->CopyDataToTensor(&value);
      ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
      y->CopyDataFromTensor(&value);
      EXPECT_EQ(value, shift ? 7 : 12);
    }
  }
}

TEST(PluginTest, LayoutInferenceCopiesThem) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(Made("good")).ok());
  One one(*context, "test.shift", {{"by", 3.0}});
  auto [graph, tensors] = transform::LayoutInference(one.graph, context);
  const std::vector<float> in = {1, 2};
  std::vector<float> out(2);
  tensors[one.x]->CopyDataToTensor(in.data());
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  tensors[one.y]->CopyDataFromTensor(out.data());
  EXPECT_THAT(out, ElementsAre(4, 5));
}

TEST(PluginTest, BuiltInOperatorsByName) {
  auto context = Context::Create();
  One one(*context, "LeakyRelu", {{"alpha", 0.5}});
  EXPECT_THAT(one.Of({2, -4}), ElementsAre(2, -2));
  One none(*context, "Relu", {});
  EXPECT_THAT(none.Of({2, -4}), ElementsAre(2, 0));
  auto graph = context->CreateGraph();
  auto x = graph->CreateTensor({DataType::FLOAT32, {2, 3}, INPUT});
  auto y = graph->CreateTensor({DataType::FLOAT32, {3, 2}, OUTPUT});
  graph->CreateOperation("Transpose", {{"perm", std::vector<int64_t>{1, 0}}})
      ->BindInput(x)
      .BindOutput(y);
  const std::vector<float> in = {1, 2, 3, 4, 5, 6};
  std::vector<float> out(6);
  x->CopyDataToTensor(in.data());
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  y->CopyDataFromTensor(out.data());
  EXPECT_THAT(out, ElementsAre(1, 3, 5, 2, 4, 6));
}

void ExpectCompileFails(Graph& graph, Code code, const std::vector<std::string>& words) {
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(graph.Compile());
    EXPECT_EQ(graph.LastStatus().code(), code) << graph.LastStatus().message();
    for (const std::string& word : words) {
      EXPECT_THAT(graph.LastStatus().message(), HasSubstr(word));
    }
  }
}

TEST(PluginTest, NamesAndAttributesThatAreNotKnown) {
  auto context = NewHostContext();
  One unknown(*context, "test.times", {{"factor", 2.0}});
  ExpectCompileFails(*unknown.graph, Code::kNotFound,
                     {"test.times#1", "no operator of that name", "LoadPlugins"});
  ASSERT_TRUE(context->LoadPlugin(Made("good")).ok());
  // What was made before stays what it was, until the graph is changed.
  One wrong(*context, "test.times", {{"faktor", 2.0}});
  ExpectCompileFails(*wrong.graph, Code::kInvalidArgument,
                     {"test.times#1", "unknown attribute 'faktor'", "factor"});
  One kind(*context, "test.shift", {{"by", std::string("far")}});
  ExpectCompileFails(*kind.graph, Code::kInvalidArgument,
                     {"test.shift#1", "attribute 'by' has a value of the wrong kind"});
  auto other = context->CreateGraph();
  const auto copy = wrong.op->Clone(other);
  ASSERT_NE(copy, nullptr);
  other->CreateTensor({DataType::FLOAT32, {1}, OUTPUT});
  ExpectCompileFails(*other, Code::kInvalidArgument, {"unknown attribute 'faktor'"});
}

TEST(PluginTest, FactoriesThatThrowOrReturnNull) {
  auto context = NewHostContext();
  ASSERT_TRUE(context->LoadPlugin(Made("factories")).ok());
  One throws(*context, "test.throws", {});
  ExpectCompileFails(*throws.graph, Code::kPlugin,
                     {"test.throws#1", "its creation threw: out of cheese"});
  One odd(*context, "test.throws_int", {});
  ExpectCompileFails(*odd.graph, Code::kPlugin, {"threw an exception of unknown type"});
  One null(*context, "test.null", {});
  ExpectCompileFails(*null.graph, Code::kPlugin, {"test.null#1", "returned null", "factories.so"});
}

// What a class of the plugin makes by its own Clone would hold nothing of the library.
// DefineOpClass puts another Clone in its place; objects of other functions are refused.
TEST(PluginTest, ClassesThatCloneThemselves) {
  auto context = NewHostContext();
  ASSERT_TRUE(context->LoadPlugin(Made("factories")).ok());
  One by_hand(*context, "test.own_clone_by_hand", {});
  ExpectCompileFails(*by_hand.graph, Code::kPlugin,
                     {"test.own_clone_by_hand#", "factories.so", "outlive the library",
                      "DefineOpClass (tim/vx/op_class.h)"});
  // An application's own may: it is not closed.
  OpDef mine = *context->Ops().Find("Relu");
  mine.name = "app.mine";
  mine.create = [](Graph* graph, const AnyAttrs&) -> std::shared_ptr<Operation> {
    struct Mine : Operation {
      explicit Mine(Graph* g) : Operation(g, *NewHostContext()->Ops().Find("Relu"), {}) {}
      std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& g) const override {
        return g->CreateOperation<Mine>();
      }
    };
    return std::make_shared<Mine>(graph);
  };
  ASSERT_TRUE(context->Ops().Register(mine).ok());
  One app(*context, "app.mine", {});
  EXPECT_THAT(app.Of({2, -4}), ElementsAre(2, 0));
}

TEST(PluginTest, AnAppsOwnClassByName) {
  struct Mine : Operation {
    explicit Mine(Graph* graph) : Operation(graph, *NewHostContext()->Ops().Find("Relu"), {}) {}
    std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>&) const override { return nullptr; }
  };
  auto context = NewHostContext();
  ASSERT_TRUE(context->Ops().Register(DefineOpClass<Mine>("app.mine")).ok());
  One one(*context, "app.mine", {});
  EXPECT_THAT(one.Of({2, -4}), ElementsAre(2, 0));
  EXPECT_STREQ(one.op->Kind(), "app.mine");
}

#ifdef HSWISH_PLUGIN
TEST(PluginTest, CustomOpsArePluginsToo) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(HSWISH_PLUGIN).ok());
  ASSERT_TRUE(context->LoadPlugin(GEMM_PLUGIN).ok());
  One hswish(*context, "custom_ops.hswish", {}, 3);
  EXPECT_THAT(hswish.Of({-4, 1, 5}), ElementsAre(0, FloatNear(2.0f / 3, 1e-6f), 5));

  auto graph = context->CreateGraph();
  auto a = graph->CreateTensor({DataType::FLOAT32, {2, 1}, INPUT});
  auto b = graph->CreateTensor({DataType::FLOAT32, {2, 2}, INPUT});
  auto c = graph->CreateTensor({DataType::FLOAT32, {2, 1}, OUTPUT});
  graph->CreateOperation("custom_ops.gemm", {{"m", 1}, {"k", 2}, {"n", 2}})
      ->BindInputs({a, b})
      .BindOutput(c);
  const float av[] = {1, 2}, bv[] = {3, 4, 5, 6};
  float cv[2] = {};
  a->CopyDataToTensor(av);
  b->CopyDataToTensor(bv);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  c->CopyDataFromTensor(cv);
  EXPECT_THAT(cv, ElementsAre(13, 16));
}
#endif

// Broken plugins.

struct Broken {
  std::string name;
  Code code;
  std::vector<std::string> words;
};

TEST(PluginTest, BrokenOnesSayWhy) {
  const std::vector<Broken> all = {
      {"no_symbol", Code::kPlugin, {"it is no plugin of this library", "timcl_plugin_query"}},
      {"null_table", Code::kPlugin, {"timcl_plugin_query gave no table"}},
      {"refuses", Code::kDevice, {"timcl_plugin_query failed: no such accelerator here"}},
      {"refuses_wordless", Code::kDevice, {"timcl_plugin_query failed"}},
      {"odd_status", Code::kPlugin, {"failed with the unknown status -77"}},
      {"other_major",
       Code::kVersionMismatch,
       {"timcl_plugin is of plugin ABI 2.3, this library has 1.1"}},
      {"ops_of_other_major",
       Code::kVersionMismatch,
       {"timcl_ops_api is of plugin ABI 2.1, this library has 1.1"}},
      {"name_beyond_table",
       Code::kPlugin,
       {"timcl_plugin of 8 bytes ends before its member 'name'"}},
      {"no_name", Code::kPlugin, {"its table names no plugin"}},
      {"ops_beyond_table",
       Code::kPlugin,
       {"timcl_plugin of 24 bytes ends before its member 'ops'"}},
      {"no_ops", Code::kPlugin, {"it brings nothing that this library knows"}},
      {"other_tag",
       Code::kVersionMismatch,
       {"'timcl 0.9 / C++ ABI 1002 / libstdc++ dual ABI 0'",
        "this library is '" TIMCL_CXX_TAG "'"}},
      {"tag_beyond_table",
       Code::kPlugin,
       {"timcl_ops_api of 8 bytes ends before its member 'cxx_tag'"}},
      {"tag_null", Code::kVersionMismatch, {"compiled for ''"}},
      {"register_null", Code::kPlugin, {"its register_ops is null"}},
      {"registers_none", Code::kPlugin, {"it registers no operator"}},
      {"no_error_words", Code::kOutOfMemory, {"its registration of operators failed"}},
      {"speaks",
       Code::kUnsupported,
       {"its registration of operators failed: the licence has run out"}},
      {"needs_gone",
       Code::kPlugin,
       {"it cannot be opened as a library", "libgone_away.so: cannot open shared object file"}},
      {"query_throws", Code::kPlugin, {"timcl_plugin_query threw: thrown through C"}},
      {"duplicate_builtin",
       Code::kAlreadyExists,
       {"operator 'Relu' of '" + Made("duplicate_builtin") + "'", "by 'built-in'"}},
      {"twice_itself", Code::kAlreadyExists, {"operator 'test.fresh' of"}},
      {"body_throws", Code::kPlugin, {"the table of weights is empty"}},
      {"body_throws_int", Code::kPlugin, {"TIMCL_OP_PLUGIN threw something"}},
      {"bad_types", Code::kInvalidArgument, {"test.fresh", "f33"}},
      {"empty_name", Code::kInvalidArgument, {"an operator needs a name"}},
  };
  for (const Broken& b : all) {
    SCOPED_TRACE(b.name);
    auto context = NewHostContext();
    const size_t before = context->Ops().All().size();
    std::vector<PluginInfo> loaded;
    const Status s = context->LoadPlugin(Made(b.name), &loaded);
    EXPECT_EQ(s.code(), b.code) << s.message();
    for (const std::string& word : b.words) EXPECT_THAT(s.message(), HasSubstr(word));
    EXPECT_THAT(s.message(), HasSubstr(b.name + ".so"));
    EXPECT_THAT(loaded, IsEmpty());
    EXPECT_EQ(context->Ops().All().size(), before);
    EXPECT_EQ(context->Ops().Find("test.fresh"), nullptr) << "half of it is registered";
    EXPECT_FALSE(ClosesLibraries() && IsMapped("/" + b.name + ".so"));
    // The context is as good as before.
    EXPECT_TRUE(context->LoadPlugin(Made("good")).ok());
  }
}

TEST(PluginTest, FilesThatAreNoLibraries) {
  Folder folder;
  auto context = NewHostContext();
  Status s = context->LoadPlugin(folder.Write("text.so", std::string(999, 'x')));
  EXPECT_EQ(s.code(), Code::kPlugin);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("cannot be opened as a library"), HasSubstr("text.so"),
                                 HasSubstr("invalid ELF header")));
  s = context->LoadPlugin(folder.Write("empty.so", ""));
  EXPECT_EQ(s.code(), Code::kPlugin);
  EXPECT_THAT(s.message(), HasSubstr("file too short"));
  s = context->LoadPlugin(folder.path());
  EXPECT_EQ(s.code(), Code::kPlugin) << s.message();
  s = context->LoadPlugin(folder.path() + "/none.so");
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_THAT(s.message(), HasSubstr("there is no file '" + folder.path() + "/none.so'"));
  EXPECT_EQ(context->LoadPlugin("").code(), Code::kNotFound);
  // The loader's own folders are not searched.
  EXPECT_EQ(context->LoadPlugin("libm.so.6").code(), Code::kNotFound);
  s = context->LoadPlugin("/proc/self/exe");
  EXPECT_EQ(s.code(), Code::kPlugin) << s.message();
}

TEST(PluginTest, TablesOfOtherMinors) {
  for (const char* name : {"shorter", "longer"}) {
    SCOPED_TRACE(name);
    auto context = NewHostContext();
    std::vector<PluginInfo> loaded;
    const Status s = context->LoadPlugin(Made(name), &loaded);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(loaded[0].vendor, std::string(name) == "shorter" ? "" : "Tables Ltd");
    One one(*context, "test.tables", {{"factor", 3}});
    EXPECT_THAT(one.Of({2, -4}), ElementsAre(6, -12));
  }
}

TEST(PluginTest, DuplicatesNameBothOrigins) {
  auto context = NewHostContext();
  ASSERT_TRUE(context->LoadPlugin(Made("good")).ok());
  Status s = context->LoadPlugin(Made("duplicate_op"));
  EXPECT_EQ(s.code(), Code::kAlreadyExists);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("'test.times' of '" + Made("duplicate_op") + "'"),
                                 HasSubstr("by '" + Made("good") + "'")));
  EXPECT_EQ(context->Ops().Find("test.fresh"), nullptr) << "half of it is registered";
  for (const char* file : {"same_name", "good"}) {
    s = context->LoadPlugin(Made(file));
    EXPECT_EQ(s.code(), Code::kAlreadyExists);
    EXPECT_THAT(s.message(), AllOf(HasSubstr("plugin 'test.good'"), HasSubstr(Made(file)),
                                   HasSubstr("loaded already, 1.2.3 from '" + Made("good") + "'")));
  }
  EXPECT_EQ(context->Ops().Find("test.other"), nullptr);
  // Another context has a table of its own.
  EXPECT_TRUE(NewHostContext()->LoadPlugin(Made("same_name")).ok());
  // Those who were refused changed nothing.
  One one(*context, "test.times", {});
  EXPECT_THAT(one.Of({2, -4}), ElementsAre(4, -8));
}

// Scans.

TEST(PluginTest, AScanReportsEveryFile) {
  Folder first, second;
  const std::string b = first.Copy("same_name", "libtimcl_b.so");
  const std::string a = first.Copy("good", "libtimcl_a.so");
  const std::string c = first.Write("libtimcl_c.so", std::string(999, 'x'));
  first.Copy("good_again", "other.so");
  first.Copy("good_again", "libtimcl_x.so.1");
  fs::create_directory(first.path() + "/libtimcl_folder.so");
  fs::copy_file(Made("good_again"), first.path() + "/libtimcl_folder.so/libtimcl_inner.so");
  const std::string again = second.Copy("good_again", "libtimcl_again.so");

  auto context = NewHostContext();
  PluginScan scan;
  const std::string nowhere = first.path() + "/nowhere";
  const Status s = context->LoadPlugins({first.path(), nowhere, second.path()}, &scan);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(scan.directories, ElementsAre(first.path(), nowhere, second.path()));
  std::vector<std::string> paths;
  for (const auto& f : scan.files) paths.push_back(f.path);
  ASSERT_THAT(paths, ElementsAre(a, b, c, nowhere, again));
  EXPECT_TRUE(scan.files[0].status.ok());
  EXPECT_THAT(scan.files[0].plugin.ops, ElementsAre("test.times", "test.shift", "test.slow"));
  EXPECT_EQ(scan.files[1].status.code(), Code::kAlreadyExists);
  EXPECT_EQ(scan.files[1].plugin.name, "test.good");
  EXPECT_EQ(scan.files[1].plugin.version, "9.0.0");
  EXPECT_THAT(scan.files[2].status.message(), HasSubstr("invalid ELF header"));
  EXPECT_EQ(scan.files[3].status.code(), Code::kNotFound);
  EXPECT_THAT(scan.files[3].status.message(), HasSubstr("cannot be read"));
  EXPECT_TRUE(scan.files[4].status.ok());
  EXPECT_NE(context->Ops().Find("test.again"), nullptr);
}

TEST(PluginTest, DefaultDirectories) {
  // TIMCL_PLUGIN_PATH is read once per process: info_test.py tries its values. Here: what is not
  // there is not named.
  for (const std::string& dir : Context::DefaultPluginDirs()) EXPECT_TRUE(fs::is_directory(dir));
  EXPECT_TRUE(NewHostContext()->LoadPlugins().ok());
}

TEST(PluginTest, AScanWithoutAReportLogs) {
  Folder folder;
  const std::string file = folder.Copy("refuses", "libtimcl_refuses.so");
  auto context = NewHostContext();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(context->LoadPlugins({folder.path()}).ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("warning"), HasSubstr(file), HasSubstr("no such accelerator here")));
}

TEST(PluginTest, AMockLoadsNothing) {
  struct Mock : Context {
    std::shared_ptr<Graph> CreateGraph() override { return nullptr; }
    std::shared_ptr<Graph> CreateGraph(const CompileOption&) override { return nullptr; }
    bool isClOnly() override { return true; }
    bool hasSP() override { return false; }
  } mock;
  EXPECT_EQ(mock.LoadPlugin(Made("good")).code(), Code::kUnsupported);
  EXPECT_EQ(mock.LoadPlugins().code(), Code::kUnsupported);
}

// Lifetime. Whoever calls into a library that is closed crashes.

class Lifetime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ClosesLibraries()) GTEST_SKIP() << "TIMCL_PLUGIN_NODELETE=1 keeps libraries open";
    path_ = folder_.Copy("good", "libtimcl_lifetime.so");  // nobody else has this file
  }
  bool Open() const { return IsMapped(path_); }
  std::shared_ptr<Context> Load(std::shared_ptr<Context> context) {
    const Status s = context->LoadPlugin(path_);
    EXPECT_TRUE(s.ok()) << s.message();
    EXPECT_TRUE(Open());
    return context;
  }
  Folder folder_;
  std::string path_;
};

TEST(Nodelete, KeepsItInMemory) {
  if (ClosesLibraries()) GTEST_SKIP() << "the test plugin_nodelete sets TIMCL_PLUGIN_NODELETE=1";
  Folder folder;
  const std::string path = folder.Copy("good", "libtimcl_nodelete.so");
  auto context = NewHostContext();
  ASSERT_TRUE(context->LoadPlugin(path).ok());
  context.reset();
  EXPECT_TRUE(IsMapped(path));
}

TEST_F(Lifetime, WithTheContext) {
  auto context = Load(NewHostContext());
  auto second = Load(NewHostContext());
  context.reset();
  EXPECT_TRUE(Open());
  second.reset();
  EXPECT_FALSE(Open());
}

TEST_F(Lifetime, WithTheGraph) {
  for (const char* kind : {"test.times", "test.shift"}) {
    SCOPED_TRACE(kind);
    auto context = Load(Context::Create());
    auto one = std::make_unique<One>(*context, kind, AttrMap());
    context.reset();
    EXPECT_TRUE(Open());
    EXPECT_EQ(one->Of({1, 2}).size(), 2u);
    auto tensor = one->y;
    one.reset();
    EXPECT_FALSE(Open());
    float value[2];
    EXPECT_TRUE(tensor->CopyDataFromTensor(value));  // tensors are the library's own
  }
}

TEST_F(Lifetime, WithAnOperationThatIsKept) {
  for (const char* kind : {"test.times", "test.shift"}) {
    for (const bool copy : {false, true}) {
      SCOPED_TRACE(kind);
      auto context = Load(Context::Create());
      auto one = std::make_unique<One>(*context, kind, AttrMap());
      auto kept = one->op;
      if (copy) {
        auto graph = Context::Create()->CreateGraph();
        kept = one->op->Clone(graph);
      }
      one.reset();
      context.reset();
      EXPECT_TRUE(Open());
      EXPECT_STREQ(kept->Kind(), kind);
      EXPECT_EQ(kept->Attributes().size(), 1u);
      kept.reset();
      EXPECT_FALSE(Open());
    }
  }
}

TEST_F(Lifetime, WithACopyOfAClassThatClonesItself) {
  const std::string path = folder_.Copy("factories", "libtimcl_factories.so");
  for (const char* kind : {"test.own_clone", "test.own_clone_by_hand"}) {
    SCOPED_TRACE(kind);
    auto context = NewHostContext();
    ASSERT_TRUE(context->LoadPlugin(path).ok());
    auto one = std::make_unique<One>(*context, kind, AttrMap());
    auto graph = NewHostContext()->CreateGraph();
    auto copy = one->op->Clone(graph);
    ASSERT_NE(copy, nullptr);
    one.reset();
    graph.reset();
    context.reset();
    // Its last code runs when it is let go of.
    EXPECT_TRUE(IsMapped(path));
    EXPECT_STREQ(copy->Kind(), kind);
    copy.reset();
    EXPECT_FALSE(IsMapped(path));
  }
}

TEST_F(Lifetime, WithADefinitionOrARegistryThatIsKept) {
  auto context = Load(NewHostContext());
  auto def = context->Ops().Find("test.times");
  auto registry = std::make_unique<OpRegistry>(context->Ops());
  context.reset();
  EXPECT_TRUE(Open());
  registry.reset();
  EXPECT_TRUE(Open());
  EXPECT_EQ(def->name, "test.times");
  EXPECT_EQ(std::string(def->origin), path_);
  def.reset();
  EXPECT_FALSE(Open());
}

TEST_F(Lifetime, WhileAGraphRuns) {
  auto context = Load(NewHostContext());
  auto one = std::make_unique<One>(*context, "test.slow", AttrMap{{"factor", 5}});
  ASSERT_TRUE(one->graph->Compile()) << one->graph->LastStatus().message();
  std::atomic<bool> started = false;
  std::vector<float> out;
  std::thread runner([&, one = std::move(one)]() mutable {
    const std::vector<float> in = {1, 2};
    one->x->CopyDataToTensor(in.data());
    started = true;
    out = one->Of({1, 2});
    one.reset();  // the last user
  });
  while (!started) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  context.reset();
  EXPECT_TRUE(Open());
  runner.join();
  EXPECT_THAT(out, ElementsAre(5, 10));
  EXPECT_FALSE(Open());
}

TEST_F(Lifetime, StatusesAndReportsOutliveIt) {
  auto context = Load(NewHostContext());
  auto one = std::make_unique<One>(*context, "test.times", AttrMap());
  one->Of({1, 2});
  const CompileReport report = one->graph->Report();
  auto wrong = std::make_unique<One>(*context, "test.times", AttrMap{{"faktor", 1}});
  EXPECT_FALSE(wrong->graph->Compile());
  const Status status = wrong->graph->LastStatus();
  std::vector<PluginInfo> loaded;
  const Status refused = context->LoadPlugin(path_, &loaded);
  one.reset(), wrong.reset(), context.reset();
  ASSERT_FALSE(Open());
  EXPECT_THAT(report.ToText(), HasSubstr("test.times"));
  EXPECT_THAT(status.message(), HasSubstr("test.times"));
  EXPECT_THAT(refused.message(), HasSubstr("test.good"));
}

TEST_F(Lifetime, UnderThreads) {
  const std::string again = folder_.Copy("good_again", "libtimcl_again.so");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 25; ++round) {
        auto context = NewHostContext();
        if (!context->LoadPlugins({folder_.path()}).ok()) ++wrong;
        const bool first = (t + round) % 2 == 0;
        One one(*context, first ? "test.times" : "test.again", {{"factor", t + 1}});
        context.reset();
        const float factor = static_cast<float>(t + 1);
        if (one.Of({1, 2}) != std::vector<float>{factor, 2 * factor}) ++wrong;
      }
    });
  }
  // Meanwhile others load into one context: one of them wins each plugin.
  auto shared = NewHostContext();
  std::atomic<int> loaded = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const std::string& file : {path_, again}) {
        if (shared->LoadPlugin(file).ok()) ++loaded;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(loaded, 2);
  EXPECT_TRUE(Open());
  shared.reset();
  EXPECT_FALSE(Open());
  EXPECT_FALSE(IsMapped(again));
}

}  // namespace
}  // namespace tim::vx::test
