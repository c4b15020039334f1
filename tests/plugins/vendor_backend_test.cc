// The backend behind a vendor's plugin, asked by itself: loading of modules that come from
// elsewhere (a file, a cache), and what it binds. The pipeline's way is in vendor_test.cc.
#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "backends/plugin/backend.h"
#include "backends/plugin/dispatch.h"
#include "backends/plugin/host.h"
#include "plugins/vendor_support.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

plugin::Origin OriginOf(const timcl_plugin& table, std::shared_ptr<const void> library) {
  return {table.name, table.version, table.vendor, table.sdk_version, "", std::move(library)};
}
plugin::Halves Open(const std::string& name) {
  void* const handle = dlopen(Made(name).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  const std::shared_ptr<const void> library(handle,
                                            [](const void* h) { dlclose(const_cast<void*>(h)); });
  const auto query =
      reinterpret_cast<decltype(&timcl_plugin_query)>(dlsym(handle, "timcl_plugin_query"));
  const timcl_plugin* table = nullptr;
  EXPECT_EQ(query(TIMCL_ABI_MAJOR, &plugin::Host(), &table), TIMCL_OK);
  plugin::Halves halves;
  const plugin::Origin origin = OriginOf(*table, library);
  if (table->compiler != nullptr) {
    halves.compiler = std::make_shared<plugin::Compiler>(
        plugin::Compiler{origin, *table->compiler, {"a1", "a2"}});
  }
  if (table->dispatch != nullptr) {
    halves.dispatcher =
        std::make_shared<plugin::Dispatcher>(plugin::Dispatcher{origin, *table->dispatch});
  }
  return halves;
}

/// One program of the vendor: y = Relu(x) over four elements.
CodeModule ReluModule() {
  const uint32_t words[] = {0x454d4341, 1, 10, 1, 1, 0, 1, /* Relu */ 3, 4, 1, 0, 0};
  CodeModule module;
  module.bytes.resize(sizeof words);
  std::memcpy(module.bytes.data(), words, sizeof words);
  module.stamp = {"acme", "3.1.4", "3.1", ""};
  return module;
}
Call ReluCall() {
  const TensorType type = {DataType::FLOAT32, {4}, {}};
  Call call;
  call.entry = "program 0";
  call.inputs = {{"x", type}};
  call.outputs = {{"y", type}};
  return call;
}

/// Four floats at some address.
class Floats : public kernel::Memory {
 public:
  void* data() const override { return at; }
  size_t bytes() const override { return 16; }
  uint64_t host_version() const override { return 1; }
  bool has_header() const override { return false; }
  float* at = nullptr;
};

class VendorBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    Trace::Clear();
    env_.options = {{"trace", Trace::Here()}};
    call_ = ReluCall();
    module_ = ReluModule();
  }
  Status Load(Backend& backend) {
    loaded_ = LoadedUnits();
    return backend.Load({module_}, {call_}, env_, &loaded_);
  }
  Status Load(const std::string& name) {
    backend_ = plugin::CreateBackend(Open(name));
    return Load(*backend_);
  }
  /// Executes the kernel with x and y at these addresses.
  std::vector<float> Run(float* x, float* y) {
    in_.at = x, out_.at = y;
    const float values[] = {-1, 2, -3, 4};
    std::memcpy(static_cast<void*>(x), values, sizeof values);
    const Status s = loaded_.kernels.at(0)->Execute();
    EXPECT_TRUE(s.ok()) << s.message();
    std::vector<float> out(4);
    std::memcpy(out.data(), static_cast<void*>(y), 16);
    return out;
  }
  void Prepare(float* x, float* y) {
    in_.at = x, out_.at = y;
    io_.inputs = {{call_.inputs[0].type, "x", &in_}};
    io_.outputs = {{call_.outputs[0].type, "y", &out_}};
    const Status s = loaded_.kernels.at(0)->Prepare(io_);
    EXPECT_TRUE(s.ok()) << s.message();
  }

  CompileEnv env_;
  CodeModule module_;
  Call call_;
  std::shared_ptr<Backend> backend_;
  LoadedUnits loaded_;
  kernel::Io io_;
  Floats in_, out_;
  alignas(256) float memory_[128] = {};
};

TEST_F(VendorBackend, ADispatcherAloneLoads) {
  backend_ = plugin::CreateBackend(Open("vendor_dispatch"));
  EXPECT_FALSE(backend_->Info().compiles);
  EXPECT_TRUE(backend_->Info().executes);
  ASSERT_TRUE(backend_->Begin(env_).ok()) << "what was compiled before may come from a cache";
  const Status s = Load(*backend_);
  ASSERT_TRUE(s.ok()) << s.message();
  Prepare(memory_, memory_ + 16);
  EXPECT_THAT(Run(memory_, memory_ + 16), ElementsAre(0, 2, 0, 4));
  // A compiler alone does neither.
  auto compiler = plugin::CreateBackend(Open("vendor_compiler"));
  EXPECT_EQ(compiler->Begin(env_).code(), Code::kUnsupported);
  EXPECT_THAT(Load(*compiler).message(), HasSubstr("vendor 'acme' has no dispatcher here"));
}

TEST_F(VendorBackend, Stamps) {
  module_.stamp.vendor = "globex";
  Status s = Load("vendor");
  EXPECT_EQ(s.code(), Code::kVersionMismatch);
  EXPECT_THAT(s.message(), HasSubstr("module 0 was compiled by vendor 'globex', and plugin "
                                     "'acme.npu' is of vendor 'acme'"));
  EXPECT_THAT(Trace::All(), IsEmpty());
  module_.stamp.vendor = "";
  EXPECT_EQ(Load("vendor").code(), Code::kVersionMismatch);
  module_ = ReluModule();
  module_.stamp.sdk_version = "4.0";
  s = Load("vendor");
  EXPECT_EQ(s.code(), Code::kVersionMismatch);
  EXPECT_THAT(s.message(), AllOf(HasSubstr("SDK '4.0' compiled it"), HasSubstr("of SDK '3.1'")));
  s = Load("vendor_dispatch_sdk2");
  EXPECT_EQ(s.code(), Code::kVersionMismatch);
  EXPECT_THAT(s.message(), HasSubstr("runs only what is of its own version"));
  module_.stamp.sdk_version = "2.0";
  EXPECT_TRUE(Load("vendor_dispatch_sdk2").ok());
}

TEST_F(VendorBackend, CallsAndModules) {
  call_.entry = "program 1";
  Status s = Load("vendor");
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_THAT(s.message(), HasSubstr("entry 'program 1': plugin 'acme.npu': context_create failed: "
                                     "there is no such program"));
  call_ = ReluCall();
  call_.module = 3;
  EXPECT_THAT(Load("vendor").message(), HasSubstr("call 0 is of module 3 of 1"));
  call_ = ReluCall();
  module_.bytes.resize(7);
  s = Load("vendor");
  EXPECT_EQ(s.code(), Code::kBadBinary);
  EXPECT_THAT(s.message(), HasSubstr("no code of ours"));
  EXPECT_EQ(Trace::CountOf("device_create"), Trace::CountOf("device_destroy"));
  EXPECT_EQ(Trace::CountOf("context_destroy"), 0u) << "of a context that was not made";
}

TEST_F(VendorBackend, LiveObjectsOfAnotherLibrary) {
  auto live = std::make_shared<plugin::Live>(plugin::Live{nullptr, this, memory_});
  module_.live = live;
  ASSERT_TRUE(Load("vendor").ok());
  EXPECT_EQ(Trace::CountOf("context_create program 0"), 1u);
}

TEST_F(VendorBackend, BindsWhenAnAddressChanges) {
  ASSERT_TRUE(Load("vendor").ok());
  Prepare(memory_, memory_ + 16);
  EXPECT_THAT(loaded_.kernels[0]->Warnings(), IsEmpty());
  Trace::Clear();
  EXPECT_THAT(Run(memory_, memory_ + 16), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Run(memory_, memory_ + 16), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Trace::All(), ElementsAre("bind input 0", "bind output 0", "invoke", "invoke"));
  Trace::Clear();
  EXPECT_THAT(Run(memory_ + 32, memory_ + 16), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Run(memory_ + 32, memory_ + 48), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Trace::All(), ElementsAre("bind input 0", "invoke", "bind output 0", "invoke"));
  // Addresses that will not do go through a copy, and only then.
  Trace::Clear();
  EXPECT_THAT(Run(memory_ + 33, memory_ + 50), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Run(memory_ + 35, memory_ + 55), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Trace::All(), ElementsAre("bind input 0", "bind output 0", "invoke", "invoke"));
  Trace::Clear();
  EXPECT_THAT(Run(memory_, memory_ + 16), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Trace::All(), ElementsAre("bind input 0", "bind output 0", "invoke"));
  Prepare(memory_ + 1, memory_ + 16);
  EXPECT_THAT(loaded_.kernels[0]->Warnings(),
              ElementsAre("plugin 'acme.npu': entry 'program 0' wants other memory than the "
                          "library's; copied in each run: input 0 'x' f32[4] (16 bytes, aligned to "
                          "64)"));
}

TEST_F(VendorBackend, AlignmentBeyondTheLibrarysOwn) {
  env_.options["align"] = "256";  // bind looks at it
  ASSERT_TRUE(Load("vendor").ok());
  Prepare(memory_, memory_ + 16);
  EXPECT_THAT(loaded_.kernels[0]->Warnings(),
              ElementsAre("plugin 'acme.npu': entry 'program 0' wants other memory than the "
                          "library's; copied in each run: output 0 'y' f32[4] (16 bytes, aligned "
                          "to 256)"));
  EXPECT_THAT(Run(memory_, memory_ + 16), ElementsAre(0, 2, 0, 4));
  EXPECT_THAT(Run(memory_ + 32, memory_ + 64), ElementsAre(0, 2, 0, 4));
}

TEST_F(VendorBackend, OtherNumbersOfTensorsThanItWasMadeFor) {
  ASSERT_TRUE(Load("vendor").ok());
  const Status s = loaded_.kernels[0]->Prepare(io_);
  EXPECT_EQ(s.code(), Code::kInternal);
  EXPECT_THAT(s.message(), HasSubstr("has 1 inputs and 1 outputs, and is given 0 and 0"));
  EXPECT_EQ(loaded_.kernels[0]->ReSize().code(), Code::kInternal) << "never prepared";
}

TEST_F(VendorBackend, NothingWithoutBegin) {
  backend_ = plugin::CreateBackend(Open("vendor"));
  Selection selection;
  EXPECT_THAT(backend_->Partition(GraphView(), &selection).message(),
              HasSubstr("vendor 'acme' is asked before Begin"));
  CompiledUnits units;
  EXPECT_EQ(backend_->Compile({}, env_, &units).code(), Code::kInternal);
  ASSERT_TRUE(backend_->Begin(env_).ok());
  EXPECT_TRUE(backend_->Partition(GraphView(), &selection).ok());
  env_.keep->clear();
  EXPECT_EQ(Trace::CountOf("destroy"), 1u) << "it ends with the compilation";
  EXPECT_EQ(backend_->Partition(GraphView(), &selection).code(), Code::kInternal);
}

}  // namespace
}  // namespace tim::vx::test
