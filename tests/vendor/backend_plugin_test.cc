// tim/vx/backend_plugin.h against a library that is made up here: what it reads, what it answers,
// and that no exception gets through. The real library's side is tested in tests/plugins.
#include "tim/vx/backend_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The views are structs of this test.
struct timcl_tensor {
  uint32_t id = 0;
  std::string name;
  int32_t type = TIMCL_TYPE_FLOAT32;
  std::vector<int64_t> dims;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  std::vector<float> data;
};
struct timcl_op {
  std::string kind, name;
  std::vector<const timcl_tensor*> inputs, outputs;
  std::vector<std::pair<std::string, timcl_attr>> attrs;
};
struct timcl_graph {
  std::vector<const timcl_op*> ops;
  std::vector<const timcl_tensor*> inputs, outputs;
};
struct timcl_selection {
  std::vector<std::pair<const timcl_op*, int32_t>> selected;
  std::vector<std::pair<const timcl_op*, std::string>> rejected;
};
struct timcl_options {
  std::vector<std::pair<std::string, std::string>> all;
};
struct timcl_assets {
  std::vector<std::pair<std::string, std::string>> all;
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
namespace vendor = tim::vx::vendor;

std::string g_words, g_log;

template <class T>
auto At(const std::vector<T>& all, size_t index) {
  return index < all.size() ? all[index] : nullptr;
}

const timcl_host_api& Host() {
  static const timcl_host_api host = [] {
    timcl_host_api h = {};
    h.h = TIMCL_HEADER(timcl_host_api);
    h.library_version = "1.0.0";
    h.log = [](int32_t level, const char* text) { g_log = std::to_string(level) + " " + text; };
    h.set_error = [](const char* text) { g_words = text; };
    h.graph_num_ops = [](const timcl_graph* g) { return g->ops.size(); };
    h.graph_op = [](const timcl_graph* g, size_t i) { return At(g->ops, i); };
    h.graph_num_inputs = [](const timcl_graph* g) { return g->inputs.size(); };
    h.graph_input = [](const timcl_graph* g, size_t i) { return At(g->inputs, i); };
    h.graph_num_outputs = [](const timcl_graph* g) { return g->outputs.size(); };
    h.graph_output = [](const timcl_graph* g, size_t i) { return At(g->outputs, i); };
    h.op_kind = [](const timcl_op* op) { return op->kind.c_str(); };
    h.op_name = [](const timcl_op* op) -> const char* {
      return op->name.empty() ? nullptr : op->name.c_str();
    };
    h.op_label = h.op_kind;
    h.op_num_inputs = [](const timcl_op* op) { return op->inputs.size(); };
    h.op_input = [](const timcl_op* op, size_t i) { return At(op->inputs, i); };
    h.op_num_outputs = [](const timcl_op* op) { return op->outputs.size(); };
    h.op_output = [](const timcl_op* op, size_t i) { return At(op->outputs, i); };
    h.op_num_attrs = [](const timcl_op* op) { return op->attrs.size(); };
    h.op_attr_at = [](const timcl_op* op, size_t i, timcl_attr* value) -> const char* {
      if (i >= op->attrs.size()) return nullptr;
      if (value != nullptr) *value = op->attrs[i].second;
      return op->attrs[i].first.c_str();
    };
    h.op_attr = [](const timcl_op* op, const char* name, timcl_attr* value) -> timcl_status {
      for (const auto& [key, attr] : op->attrs) {
        if (key == name) return *value = attr, TIMCL_OK;
      }
      return TIMCL_NOT_FOUND;
    };
    h.tensor_id = [](const timcl_tensor* t) { return t->id; };
    h.tensor_name = [](const timcl_tensor* t) { return t->name.c_str(); };
    h.tensor_label = h.tensor_name;
    h.tensor_type = [](const timcl_tensor* t) { return t->type; };
    h.tensor_rank = [](const timcl_tensor* t) { return t->dims.size(); };
    h.tensor_dims = [](const timcl_tensor* t) { return t->dims.data(); };
    h.tensor_bytes = [](const timcl_tensor* t) { return 4 * t->data.size(); };
    h.tensor_quant = [](const timcl_tensor* t, timcl_quant* q) -> timcl_status {
      if (t->scales.empty()) return *q = {}, TIMCL_OK;
      *q = {TIMCL_QUANT_SYMMETRIC_PER_CHANNEL, 1, t->scales.size(), t->scales.data(),
            t->zero_points.empty() ? nullptr : t->zero_points.data()};
      return TIMCL_OK;
    };
    h.tensor_data = [](const timcl_tensor* t) -> const void* {
      return t->data.empty() ? nullptr : t->data.data();
    };
    h.tensor_producer = [](const timcl_graph* g, const timcl_tensor* t) -> const timcl_op* {
      for (const timcl_op* op : g->ops) {
        for (const timcl_tensor* out : op->outputs) {
          if (out == t) return op;
        }
      }
      return nullptr;
    };
    h.tensor_consumer = [](const timcl_graph* g, const timcl_tensor* t,
                           size_t i) -> const timcl_op* {
      for (const timcl_op* op : g->ops) {
        for (const timcl_tensor* in : op->inputs) {
          if (in == t && i-- == 0) return op;
        }
      }
      return nullptr;
    };
    h.tensor_num_consumers = [](const timcl_graph* g, const timcl_tensor* t) {
      size_t n = 0;
      while (Host().tensor_consumer(g, t, n) != nullptr) ++n;
      return n;
    };
    h.select = [](timcl_selection* s, const timcl_op* op, int32_t index) -> timcl_status {
      for (const auto& [other, i] : s->selected) {
        if (other == op) return TIMCL_ALREADY_EXISTS;
      }
      return s->selected.emplace_back(op, index), TIMCL_OK;
    };
    h.reject = [](timcl_selection* s, const timcl_op* op, const char* why) {
      s->rejected.emplace_back(op, why);
    };
    h.num_options = [](const timcl_options* o) { return o == nullptr ? 0 : o->all.size(); };
    h.option_at = [](const timcl_options* o, size_t i, const char** value) {
      return *value = o->all[i].second.c_str(), o->all[i].first.c_str();
    };
    h.num_assets = [](const timcl_assets* a) { return a == nullptr ? 0 : a->all.size(); };
    h.asset_at = [](const timcl_assets* a, size_t i, timcl_blob* blob) {
      *blob = {a->all[i].second.data(), a->all[i].second.size(), 7, 64};
      return a->all[i].first.c_str();
    };
    return h;
  }();
  return host;
}

/// A library of an earlier minor: its table ends in front of a member.
timcl_host_api HostUpTo(size_t bytes) {
  timcl_host_api host = Host();
  host.h.size = static_cast<uint32_t>(bytes);
  host.h.minor = 0;
  return host;
}

// The plugin under test does what the test says.
std::function<void()> g_compiler, g_check_target, g_device, g_check_runtime, g_register, g_load,
    g_requirements, g_bind, g_invoke, g_resize, g_metrics;
std::function<void(const vendor::Graph&, vendor::Selection&)> g_partition;
std::function<vendor::Compiled(const std::vector<vendor::Graph>&)> g_compile;
void Do(const std::function<void()>& what) {
  if (what) what();
}

class TestCompiler : public vendor::Compiler {
 public:
  explicit TestCompiler(const vendor::Setup& setup) : Compiler(setup) { Do(g_compiler); }
  void CheckTarget(const std::string&) override { Do(g_check_target); }
  void Partition(const std::string&, const vendor::Graph& graph,
                 vendor::Selection& selection) override {
    if (g_partition) g_partition(graph, selection);
  }
  vendor::Compiled Compile(const std::string&, const std::vector<vendor::Graph>& parts) override {
    return g_compile ? g_compile(parts) : vendor::Compiled();
  }
};

class TestContext : public vendor::Context {
 public:
  void Requirements(bool, size_t, timcl_requirements* needs) override {
    needs->alignment = 256;
    Do(g_requirements);
  }
  void Bind(bool is_output, size_t index, const timcl_buffer& buffer) override {
    Do(g_bind);
    vendor::Context::Bind(is_output, index, buffer);
  }
  void Invoke() override {
    Do(g_invoke);
    const auto* const from = static_cast<const float*>(input(1));
    *static_cast<float*>(output(0)) = 2 * *from;
  }
  void Resize() override { Do(g_resize); }
  std::vector<vendor::Metric> Metrics(int32_t) override {
    Do(g_metrics);
    return {{"cycles", 12}, {"time", 0.5, "ms"}};
  }
};

vendor::Program g_program;
class TestDevice : public vendor::Device {
 public:
  explicit TestDevice(const vendor::Setup& setup) : Device(setup) { Do(g_device); }
  void CheckRuntime(const std::string&, const std::string&) override { Do(g_check_runtime); }
  void RegisterAsset(const std::string& name, const vendor::Blob& asset) override {
    Do(g_register);
    vendor::Device::RegisterAsset(name, asset);
  }
  std::unique_ptr<vendor::Context> Load(const vendor::Program& program) override {
    Do(g_load);
    g_program = program;
    return program.entry == "nothing" ? nullptr : std::make_unique<TestContext>();
  }
};

/// With what a plugin has that overrides nothing.
class PlainContext : public vendor::Context {
 public:
  void Invoke() override { (void)input(0); }
};
class PlainDevice : public vendor::Device {
 public:
  using Device::Device;
  std::unique_ptr<vendor::Context> Load(const vendor::Program&) override {
    return std::make_unique<PlainContext>();
  }
};

}  // namespace

TIMCL_BACKEND_PLUGIN("test.npu", "1.2.3", "Test") {
  plugin.SetSdkVersion("9.8");
  plugin.AddCompiler<TestCompiler>({"big", "small"});
  plugin.AddDispatcher<TestDevice>();
}

namespace {

const timcl_plugin& Table() {
  const timcl_plugin* table = nullptr;
  EXPECT_EQ(timcl_plugin_query(TIMCL_ABI_MAJOR, &Host(), &table), TIMCL_OK) << g_words;
  return *table;
}

class BackendPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    g_words = g_log = "";
    for (auto* what : {&g_compiler, &g_check_target, &g_device, &g_check_runtime, &g_register,
                       &g_load, &g_requirements, &g_bind, &g_invoke, &g_resize, &g_metrics}) {
      *what = nullptr;
    }
    g_partition = nullptr;
    g_compile = nullptr;
  }
  void* NewCompiler() {
    void* compiler = nullptr;
    EXPECT_EQ(compiler_.create(&Host(), &options_, &assets_, &compiler), TIMCL_OK) << g_words;
    return compiler;
  }
  void* NewDevice() {
    void* device = nullptr;
    EXPECT_EQ(dispatch_.device_create(&Host(), &options_, &device), TIMCL_OK) << g_words;
    return device;
  }
  timcl_status Load(void* device, const char* entry, void** context) {
    const timcl_blob code = {"code", 4, -1, 0};
    const timcl_tensor* const inputs[] = {&x_, &y_};
    const timcl_tensor* const outputs[] = {&z_};
    return dispatch_.context_create(device, &code, &options_, entry, inputs, 2, outputs, 1,
                                    context);
  }
  /// Calls Partition with the graph of one op.
  timcl_status Partition(std::function<void(const vendor::Graph&, vendor::Selection&)> body) {
    g_partition = std::move(body);
    void* const compiler = NewCompiler();
    const timcl_status status = compiler_.partition(compiler, "big", &graph_, &selection_);
    compiler_.destroy(compiler);
    return status;
  }

  const timcl_compiler_api& compiler_ = *Table().compiler;
  const timcl_dispatch_api& dispatch_ = *Table().dispatch;
  timcl_options options_;
  timcl_assets assets_;
  timcl_selection selection_;
  timcl_tensor x_ = {1, "x", TIMCL_TYPE_INT8, {3, 2}, {0.5f, 2}, {}, {}};
  timcl_tensor y_ = {2, "y", TIMCL_TYPE_FLOAT32, {2}, {}, {}, {1.5f, 2.5f}};
  timcl_tensor z_ = {3, "z", TIMCL_TYPE_FLOAT32, {3, 2}, {}, {}, {}};
  timcl_op op_ = {"Conv2d", "", {&x_, nullptr, &y_}, {&z_}, {}};
  timcl_graph graph_ = {{&op_}, {&x_}, {&z_}};
};

// Tables and versions.

TEST_F(BackendPlugin, TablesSayWhoItIs) {
  const timcl_plugin& table = Table();
  EXPECT_EQ(&table, &Table());
  EXPECT_EQ(table.h.size, sizeof(timcl_plugin));
  EXPECT_EQ(table.h.minor, TIMCL_ABI_MINOR);
  EXPECT_STREQ(table.name, "test.npu");
  EXPECT_STREQ(table.version, "1.2.3");
  EXPECT_STREQ(table.vendor, "Test");
  EXPECT_STREQ(table.sdk_version, "9.8");
  EXPECT_EQ(table.ops, nullptr);
  EXPECT_STREQ(compiler_.models[0], "big");
  EXPECT_STREQ(compiler_.models[1], "small");
  EXPECT_EQ(compiler_.models[2], nullptr);
  EXPECT_EQ(compiler_.h.size, sizeof(timcl_compiler_api));
  EXPECT_EQ(dispatch_.h.size, sizeof(timcl_dispatch_api));
}

TEST_F(BackendPlugin, HalvesAndChoicesMayBeLeftOut) {
  const vendor::Plugin compiles("c", "1", "V",
                                [](vendor::Plugin& p) { p.AddCompiler<TestCompiler>(); });
  EXPECT_EQ(compiles.table()->dispatch, nullptr);
  EXPECT_EQ(compiles.table()->sdk_version, nullptr);
  ASSERT_NE(compiles.table()->compiler, nullptr);
  EXPECT_EQ(compiles.table()->compiler->models, nullptr);
  const vendor::Plugin executes("d", "1", "V",
                                [](vendor::Plugin& p) { p.AddDispatcher<PlainDevice>(); });
  EXPECT_EQ(executes.table()->compiler, nullptr);
  ASSERT_NE(executes.table()->dispatch, nullptr);
  // Absent, the library compares the versions itself.
  EXPECT_EQ(executes.table()->dispatch->check_runtime, nullptr);
  EXPECT_NE(dispatch_.check_runtime, nullptr);
}

TEST_F(BackendPlugin, OtherMajorIsNotRead) {
  const auto* const nowhere = reinterpret_cast<const timcl_host_api*>(8);
  const timcl_plugin* table = nullptr;
  EXPECT_EQ(timcl_plugin_query(TIMCL_ABI_MAJOR + 1, nowhere, &table), TIMCL_VERSION_MISMATCH);
  EXPECT_EQ(table, nullptr);
}

TEST_F(BackendPlugin, OlderMinorIsRefusedWithWords) {
  for (const size_t size :
       {offsetof(timcl_host_api, graph_num_ops), offsetof(timcl_host_api, asset_at)}) {
    const timcl_host_api old = HostUpTo(size);
    const timcl_plugin* table = nullptr;
    g_words = "";
    EXPECT_EQ(timcl_plugin_query(TIMCL_ABI_MAJOR, &old, &table), TIMCL_VERSION_MISMATCH);
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(g_words,
              "this plugin needs version 1.1 of the library's tables for plugins; this library, "
              "1.0.0, has 1.0");
    void* made = nullptr;
    g_words = "";
    EXPECT_EQ(compiler_.create(&old, nullptr, nullptr, &made), TIMCL_VERSION_MISMATCH);
    EXPECT_THAT(g_words, HasSubstr("needs version 1.1"));
    g_words = "";
    EXPECT_EQ(dispatch_.device_create(&old, nullptr, &made), TIMCL_VERSION_MISMATCH);
    EXPECT_THAT(g_words, HasSubstr("needs version 1.1"));
    EXPECT_EQ(made, nullptr);
  }
}

TEST_F(BackendPlugin, NothingBeyondTheTablesSizeIsUsed) {
  timcl_host_api bare = HostUpTo(sizeof(timcl_header));
  bare.library_version = reinterpret_cast<const char*>(8);
  bare.set_error = nullptr;
  const timcl_plugin* table = nullptr;
  EXPECT_EQ(timcl_plugin_query(TIMCL_ABI_MAJOR, &bare, &table), TIMCL_VERSION_MISMATCH);
  EXPECT_EQ(timcl_plugin_query(TIMCL_ABI_MAJOR, nullptr, &table), TIMCL_INVALID_ARGUMENT);
}

// Failures.

TEST_F(BackendPlugin, EveryExceptionBecomesStatusAndWords) {
  struct Thrown {
    std::function<void()> what;
    timcl_status status;
    const char* words;
  };
  const Thrown kThrown[] = {
      {[] { throw vendor::Error(TIMCL_UNSUPPORTED, "not today"); }, TIMCL_UNSUPPORTED, "not today"},
      {[] { throw vendor::Error(TIMCL_OK, "no status"); }, TIMCL_PLUGIN, "no status"},
      {[] { throw std::logic_error("a bug"); }, TIMCL_PLUGIN, "a bug"},
      {[] { throw std::bad_alloc(); }, TIMCL_OUT_OF_MEMORY, "bad_alloc"},
      {[] { throw 42; }, TIMCL_PLUGIN, "no std::exception"},
  };
  void* const compiler = NewCompiler();
  void* const device = NewDevice();
  void* context = nullptr;
  ASSERT_EQ(Load(device, "main", &context), TIMCL_OK) << g_words;
  timcl_requirements needs = {TIMCL_HEADER(timcl_requirements), 1, 64, 4, 0, {}};
  float memory[4] = {};
  const timcl_buffer buffer = {TIMCL_HEADER(timcl_buffer), TIMCL_BUFFER_HOST, memory, 16};
  const timcl_blob blob = {"a", 1, -1, 0};
  size_t count = 0;

  for (const Thrown& thrown : kThrown) {
    SCOPED_TRACE(thrown.words);
    const auto expect = [&](const char* where, timcl_status status) {
      EXPECT_EQ(status, thrown.status) << where;
      EXPECT_THAT(g_words, HasSubstr(thrown.words)) << where;
      g_words = "";
    };
    void* made = nullptr;
    const timcl_graph* const parts[] = {&graph_};
    g_compiler = g_check_target = g_device = g_check_runtime = g_register = g_load =
        g_requirements = g_bind = g_invoke = g_resize = g_metrics = thrown.what;
    g_partition = [&](const vendor::Graph&, vendor::Selection&) { thrown.what(); };
    g_compile = [&](const std::vector<vendor::Graph>&) {
      return thrown.what(), vendor::Compiled();
    };
    expect("create", compiler_.create(&Host(), nullptr, nullptr, &made));
    expect("check_target", compiler_.check_target(compiler, "big"));
    expect("partition", compiler_.partition(compiler, "big", &graph_, &selection_));
    expect("compile", compiler_.compile(compiler, "big", parts, 1, &made));
    expect("device_create", dispatch_.device_create(&Host(), nullptr, &made));
    expect("check_runtime", dispatch_.check_runtime(device, "1", "big"));
    expect("register_asset", dispatch_.register_asset(device, "a", &blob));
    expect("context_create", Load(device, "main", &made));
    expect("requirements", dispatch_.requirements(context, 0, 0, &needs));
    expect("bind", dispatch_.bind(context, 0, 0, &buffer));
    expect("invoke", dispatch_.invoke(context));
    expect("resize", dispatch_.resize(context));
    expect("metrics", dispatch_.metrics(context, 0, nullptr, &count));
    EXPECT_EQ(made, nullptr);
  }
  compiler_.destroy(compiler);
  dispatch_.context_destroy(context);
  dispatch_.device_destroy(device);
}

// What a plugin reads.

TEST_F(BackendPlugin, GraphsOpsAndTensors) {
  timcl_op second = {"Relu", "bend", {&z_, &z_}, {}, {}};
  graph_.ops.push_back(&second);
  bool looked = false;
  EXPECT_EQ(Partition([&](const vendor::Graph& graph, vendor::Selection&) {
              ASSERT_EQ(graph.ops().size(), 2u);
              const vendor::Op op = graph.ops()[0];
              EXPECT_EQ(op.kind(), "Conv2d");
              EXPECT_EQ(op.name(), "");  // the library gave a null
              EXPECT_EQ(graph.ops()[1].name(), "bend");
              ASSERT_EQ(op.inputs().size(), 3u);
              EXPECT_FALSE(op.input(1)) << "left out";
              EXPECT_FALSE(op.input(3)) << "beyond the last";
              const vendor::Tensor x = op.input(0), y = op.inputs()[2];
              EXPECT_TRUE(x);
              EXPECT_EQ(x.id(), 1u);
              EXPECT_EQ(x.name(), "x");
              EXPECT_EQ(x.type(), TIMCL_TYPE_INT8);
              EXPECT_THAT(x.shape(), ElementsAre(3, 2));
              EXPECT_EQ(x.count(), 6);
              EXPECT_FALSE(x.is_constant());
              EXPECT_TRUE(y.is_constant());
              EXPECT_EQ(static_cast<const float*>(y.data())[1], 2.5f);
              EXPECT_EQ(y.bytes(), 8u);
              const vendor::Quant quant = x.quant();
              EXPECT_EQ(quant.kind, TIMCL_QUANT_SYMMETRIC_PER_CHANNEL);
              EXPECT_EQ(quant.channel_dim, 1);
              EXPECT_THAT(quant.scales, ElementsAre(0.5f, 2));
              EXPECT_THAT(quant.zero_points, ElementsAre(0, 0)) << "null means all 0";
              EXPECT_EQ(y.quant().kind, TIMCL_QUANT_NONE);
              EXPECT_THAT(y.quant().scales, IsEmpty());
              ASSERT_EQ(graph.inputs().size(), 1u);
              EXPECT_EQ(graph.inputs()[0].id(), 1u);
              EXPECT_EQ(graph.outputs()[0].id(), 3u);
              EXPECT_EQ(graph.producer(op.output(0)).kind(), "Conv2d");
              EXPECT_FALSE(graph.producer(x));
              ASSERT_EQ(graph.consumers(op.output(0)).size(), 2u);
              EXPECT_EQ(graph.consumers(op.output(0))[0].kind(), "Relu");
              looked = true;
            }),
            TIMCL_OK)
      << g_words;
  EXPECT_TRUE(looked);
}

timcl_attr Attr(int32_t kind, std::function<void(timcl_attr&)> fill) {
  timcl_attr attr = {};
  attr.kind = kind;
  fill(attr);
  return attr;
}

TEST_F(BackendPlugin, AttributesOfEveryKind) {
  static const int64_t kInts[] = {-1, int64_t{1} << 40};
  static const double kFloats[] = {0.5, -2};
  op_.attrs = {
      {"flag", Attr(TIMCL_ATTR_BOOL, [](timcl_attr& a) { a.bool_value = 1; })},
      {"axis", Attr(TIMCL_ATTR_INT, [](timcl_attr& a) { a.int_value = -3; })},
      {"large", Attr(TIMCL_ATTR_INT, [](timcl_attr& a) { a.int_value = int64_t{1} << 32; })},
      {"alpha", Attr(TIMCL_ATTR_FLOAT, [](timcl_attr& a) { a.float_value = 0.25; })},
      {"pad", Attr(TIMCL_ATTR_STRING, [](timcl_attr& a) { a.string_value = "SAME"; })},
      {"ints", Attr(TIMCL_ATTR_INTS, [](timcl_attr& a) { a.ints = kInts, a.count = 2; })},
      {"floats", Attr(TIMCL_ATTR_FLOATS, [](timcl_attr& a) { a.floats = kFloats, a.count = 2; })},
      {"bytes", Attr(TIMCL_ATTR_BYTES, [](timcl_attr& a) { a.bytes = "\1\2", a.count = 2; })},
      {"no_ints", Attr(TIMCL_ATTR_INTS, [](timcl_attr&) {})},
      {"nothing", Attr(TIMCL_ATTR_NONE, [](timcl_attr&) {})},
      {"of_later", Attr(99, [](timcl_attr&) {})},
  };
  const vendor::Op op(&Host(), &op_);
  EXPECT_EQ(op.attr<bool>("flag"), true);
  EXPECT_EQ(op.attr<int>("axis"), -3);
  EXPECT_EQ(op.attr<int8_t>("axis"), -3);
  EXPECT_EQ(op.attr<int64_t>("large"), int64_t{1} << 32);
  EXPECT_EQ(op.attr<float>("alpha"), 0.25f);
  EXPECT_EQ(op.attr<double>("alpha"), 0.25);
  EXPECT_EQ(op.attr<std::string>("pad"), "SAME");
  EXPECT_THAT(op.attr<std::vector<int64_t>>("ints"), ElementsAre(-1, int64_t{1} << 40));
  EXPECT_THAT(op.attr<std::vector<double>>("floats"), ElementsAre(0.5, -2));
  EXPECT_THAT(op.attr<std::vector<std::byte>>("bytes"), ElementsAre(std::byte{1}, std::byte{2}));
  EXPECT_THAT(op.attr<std::vector<int64_t>>("no_ints"), IsEmpty());

  const auto all = op.attrs();
  EXPECT_EQ(all.size(), op_.attrs.size());
  EXPECT_EQ(all.at("axis"), vendor::AttrValue(int64_t{-3}));
  EXPECT_EQ(all.at("of_later"), vendor::AttrValue());

  const auto words = [&](timcl_status status, auto read) -> std::string {
    try {
      read();
    } catch (const vendor::Error& e) {
      EXPECT_EQ(e.status(), status);
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(words(TIMCL_INVALID_TYPE, [&] { op.attr<int>("alpha"); }),
            "Conv2d: attribute 'alpha' is a real number, read as an integer");
  EXPECT_EQ(words(TIMCL_INVALID_TYPE, [&] { op.attr<bool>("axis"); }),
            "Conv2d: attribute 'axis' is an integer, read as a bool");
  EXPECT_EQ(words(TIMCL_INVALID_TYPE, [&] { op.attr<std::string>("nothing"); }),
            "Conv2d: attribute 'nothing' is empty, read as a string");
  EXPECT_EQ(words(TIMCL_INVALID_ARGUMENT, [&] { op.attr<uint64_t>("axis"); }),
            "Conv2d: attribute 'axis' is -3, which an integer of 64 bits cannot hold");
  EXPECT_EQ(words(TIMCL_INVALID_ARGUMENT, [&] { op.attr<int32_t>("large"); }),
            "Conv2d: attribute 'large' is 4294967296, which an integer of 32 bits cannot hold");
  op_.attrs.resize(2);
  EXPECT_EQ(words(TIMCL_NOT_FOUND, [&] { op.attr<int>("dilation"); }),
            "Conv2d: no attribute 'dilation'; there are: axis, flag");
  op_.attrs.clear();
  EXPECT_EQ(words(TIMCL_NOT_FOUND, [&] { op.attr<int>("dilation"); }),
            "Conv2d: no attribute 'dilation'; there are none");
}

TEST_F(BackendPlugin, OptionsAndAssets) {
  options_.all = {{"level", "3"}, {"empty", ""}};
  assets_.all = {{"anchors", std::string("\0\1", 2)}};
  void* const compiler = NewCompiler();
  const auto* const made = static_cast<vendor::Compiler*>(compiler);
  EXPECT_THAT(made->options(), ElementsAre(Pair("empty", ""), Pair("level", "3")));
  ASSERT_EQ(made->assets().size(), 1u);
  const vendor::Blob& blob = made->assets().at("anchors");
  EXPECT_EQ(blob.text(), std::string_view("\0\1", 2));
  EXPECT_EQ(blob.data, assets_.all[0].second.data()) << "not a copy";
  EXPECT_EQ(blob.fd, 7);
  EXPECT_EQ(blob.fd_offset, 64u);
  made->Log(TIMCL_LOG_INFO, "hello");
  EXPECT_EQ(g_log, "3 hello");
  compiler_.destroy(compiler);

  void* const device = NewDevice();
  EXPECT_EQ(static_cast<vendor::Device*>(device)->options().at("level"), "3");
  const timcl_blob table = {"xyz", 3, -1, 0};
  EXPECT_EQ(dispatch_.register_asset(device, "table", &table), TIMCL_OK);
  EXPECT_EQ(static_cast<vendor::Device*>(device)->assets().at("table").text(), "xyz");
  dispatch_.device_destroy(device);
}

// What a plugin answers.

TEST_F(BackendPlugin, Selections) {
  EXPECT_EQ(Partition([](const vendor::Graph& graph, vendor::Selection& selection) {
              selection.Select(graph.ops()[0], 5);
              selection.Reject(graph.ops()[0], "too wide");
            }),
            TIMCL_OK);
  EXPECT_THAT(selection_.selected, ElementsAre(Pair(&op_, 5)));
  EXPECT_THAT(selection_.rejected, ElementsAre(Pair(&op_, "too wide")));
  EXPECT_EQ(Partition([](const vendor::Graph& graph, vendor::Selection& selection) {
              selection.Select(graph.ops()[0]);
            }),
            TIMCL_ALREADY_EXISTS);
  EXPECT_EQ(g_words, "Conv2d was selected before");
}

TEST_F(BackendPlugin, ModulesAndCalls) {
  const auto live = std::make_shared<int>(1);
  g_compile = [&](const std::vector<vendor::Graph>& parts) {
    EXPECT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[1].ops()[0].kind(), "Conv2d");
    return vendor::Compiled{{{std::string("a\0b", 3)}, {"c", live}}, {{"second", 1}, {"first", 0}}};
  };
  void* const compiler = NewCompiler();
  const timcl_graph* const parts[] = {&graph_, &graph_};
  void* result = nullptr;
  ASSERT_EQ(compiler_.compile(compiler, "", parts, 2, &result), TIMCL_OK) << g_words;
  compiler_.destroy(compiler);  // the result lives on
  EXPECT_EQ(compiler_.num_modules(result), 2u);
  timcl_blob blob = {};
  ASSERT_EQ(compiler_.module(result, 0, &blob), TIMCL_OK);
  EXPECT_EQ(std::string(static_cast<const char*>(blob.data), blob.size), std::string("a\0b", 3));
  EXPECT_EQ(blob.fd, -1);
  EXPECT_EQ(compiler_.module(result, 2, &blob), TIMCL_INVALID_ARGUMENT);
  EXPECT_EQ(g_words, "module 2 of 2");
  void* handle = &blob;
  ASSERT_EQ(compiler_.live_handle(result, 0, &handle), TIMCL_OK);
  EXPECT_EQ(handle, nullptr);
  ASSERT_EQ(compiler_.live_handle(result, 1, &handle), TIMCL_OK);
  EXPECT_EQ(handle, live.get());
  EXPECT_EQ(compiler_.num_calls(result), 2u);
  const char* entry = nullptr;
  size_t module = 9;
  ASSERT_EQ(compiler_.call(result, 0, &entry, &module), TIMCL_OK);
  EXPECT_STREQ(entry, "second");
  EXPECT_EQ(module, 1u);
  EXPECT_EQ(compiler_.call(result, 2, &entry, &module), TIMCL_INVALID_ARGUMENT);
  EXPECT_EQ(g_words, "call 2 of 2");
  EXPECT_EQ(live.use_count(), 2);
  g_compile = nullptr;
  compiler_.destroy_result(result);
  EXPECT_EQ(live.use_count(), 1);
}

TEST_F(BackendPlugin, ContextsRun) {
  void* const device = NewDevice();
  void* context = nullptr;
  EXPECT_EQ(Load(device, "nothing", &context), TIMCL_PLUGIN);
  EXPECT_EQ(g_words, "Load of the device gave no context");
  ASSERT_EQ(Load(device, "main", &context), TIMCL_OK) << g_words;
  EXPECT_EQ(g_program.entry, "main");
  EXPECT_EQ(g_program.code.text(), "code");
  EXPECT_EQ(g_program.live, &options_);
  ASSERT_EQ(g_program.inputs.size(), 2u);
  EXPECT_EQ(g_program.inputs[1].name(), "y");
  ASSERT_EQ(g_program.outputs.size(), 1u);
  EXPECT_EQ(g_program.outputs[0].name(), "z");

  timcl_requirements needs = {TIMCL_HEADER(timcl_requirements), 1, 64, 4, 0, {}};
  EXPECT_EQ(dispatch_.requirements(context, 1, 0, &needs), TIMCL_OK);
  EXPECT_EQ(needs.alignment, 256u);

  float in = 21, out = 0;
  timcl_buffer buffer = {TIMCL_HEADER(timcl_buffer), TIMCL_BUFFER_HOST, &in, sizeof(in)};
  EXPECT_EQ(dispatch_.invoke(context), TIMCL_INVALID_ARGUMENT);
  EXPECT_THAT(g_words, HasSubstr("input 1 has no memory: it was never bound"));
  EXPECT_EQ(dispatch_.bind(context, 0, 1, &buffer), TIMCL_OK);
  buffer.data = &out;
  EXPECT_EQ(dispatch_.bind(context, 1, 0, &buffer), TIMCL_OK);
  EXPECT_EQ(dispatch_.invoke(context), TIMCL_OK) << g_words;
  EXPECT_EQ(out, 42);
  buffer.kind = 1024;
  EXPECT_EQ(dispatch_.bind(context, 1, 0, &buffer), TIMCL_UNSUPPORTED);
  EXPECT_THAT(g_words, HasSubstr("memory of kind 1024"));

  timcl_metric metrics[2] = {};
  size_t count = 2;
  EXPECT_EQ(dispatch_.metrics(context, 0, metrics, &count), TIMCL_OK);
  EXPECT_EQ(count, 2u);
  EXPECT_STREQ(metrics[0].name, "cycles");
  EXPECT_EQ(metrics[1].value, 0.5);
  EXPECT_STREQ(metrics[1].unit, "ms");
  count = 1;
  metrics[1].name = nullptr;
  EXPECT_EQ(dispatch_.metrics(context, 0, metrics, &count), TIMCL_OK);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(metrics[1].name, nullptr) << "beyond its room";
  dispatch_.context_destroy(context);
  dispatch_.device_destroy(device);
}

TEST_F(BackendPlugin, WhatIsNotOverridden) {
  const vendor::Plugin plain("d", "1", "V",
                             [](vendor::Plugin& p) { p.AddDispatcher<PlainDevice>(); });
  const timcl_dispatch_api& d = *plain.table()->dispatch;
  void *device = nullptr, *context = nullptr;
  ASSERT_EQ(d.device_create(&Host(), nullptr, &device), TIMCL_OK);
  const timcl_blob code = {"code", 4, -1, 0};
  ASSERT_EQ(d.context_create(device, &code, nullptr, "e", nullptr, 0, nullptr, 0, &context),
            TIMCL_OK);
  timcl_requirements needs = {TIMCL_HEADER(timcl_requirements), 1, 64, 4, 0, {}};
  EXPECT_EQ(d.requirements(context, 0, 0, &needs), TIMCL_OK);
  EXPECT_EQ(needs.alignment, 64u);
  EXPECT_EQ(d.resize(context), TIMCL_UNSUPPORTED);
  EXPECT_EQ(g_words, "its shapes are fixed");
  size_t count = 3;
  EXPECT_EQ(d.metrics(context, 0, nullptr, &count), TIMCL_OK);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(d.invoke(context), TIMCL_INVALID_ARGUMENT);
  d.context_destroy(context);
  d.device_destroy(device);
}

}  // namespace
