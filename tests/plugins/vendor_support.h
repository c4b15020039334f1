// What tests of vendors' plugins share: graphs for the vendor of made/vendor.c, and what it was
// called with.
#ifndef TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_
#define TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/attrs.h"
#include "tim/vx/backend.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {

inline std::string Made(const std::string& name) { return MADE "/" + name + ".so"; }

/// What vendors were called with, all of them, by option "trace".
class Trace {
 public:
  static std::vector<std::string> All() {
    const std::lock_guard lock(Mutex());
    return Lines();
  }
  static void Clear() {
    const std::lock_guard lock(Mutex());
    Lines().clear();
  }
  static size_t CountOf(const std::string& line) {
    const auto all = All();
    return static_cast<size_t>(std::count(all.begin(), all.end(), line));
  }
  /// For option "trace".
  static std::string Here() { return std::to_string(reinterpret_cast<uintptr_t>(&Add)); }

 private:
  static void Add(const char* line) {
    const std::lock_guard lock(Mutex());
    Lines().emplace_back(line);
  }
  static std::vector<std::string>& Lines() {
    static std::vector<std::string> lines;
    return lines;
  }
  static std::mutex& Mutex() {
    static std::mutex mutex;
    return mutex;
  }
};

/// Without OpenCL and without a cache: compilers are always asked.
inline std::shared_ptr<Context> VendorContext(const std::vector<std::string>& plugins) {
  ContextOptions options;
  options.host_only = true;
  options.use_disk_cache = false;
  auto context = Context::Create(options);
  for (const std::string& name : plugins) {
    const Status s = context->LoadPlugin(name[0] == '/' ? name : Made(name));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  return context;
}

/// Options for vendor acme: key, value, key, value, ...
inline CompileOption Acme(const std::vector<std::string>& words) {
  CompileOption option;
  for (size_t i = 0; i + 1 < words.size(); i += 2) option.SetOption("acme", words[i], words[i + 1]);
  return option;
}

/// r = Relu(x), s = r + x, p = s * r, t = Tanh(p), y = t + x. All but Tanh are for the vendor, as
/// two partitions: Relu#1, Add#2 and Multiply#3; Add#5.
struct Mixed {
  explicit Mixed(const std::shared_ptr<Context>& context, const CompileOption& options = {},
                 const ShapeType& shape = {4, 3})
      : graph(context->CreateGraph(options)), x(test::Input(graph, shape)) {
    x->SetName("x");
    for (const uint32_t extent : shape) count *= extent;
    const auto r = Op("Relu", {x}), s = Op("Add", {r, x}), p = Op("Multiply", {s, r}),
               t = Op("Tanh", {p});
    y = Output(graph, shape);
    y->SetName("y");
    graph->CreateOperation("Add")->BindInputs({t, x}).BindOutput(y);
  }
  TensorPtr Op(const std::string& kind, const std::vector<TensorPtr>& inputs) {
    auto result = Between(graph);
    graph->CreateOperation(kind)->BindInputs(inputs).BindOutput(result);
    return result;
  }
  Status Compile() const {
    (void)graph->Compile();
    return graph->LastStatus();
  }
  Status Run() const {
    (void)graph->Run();
    return graph->LastStatus();
  }
  static std::vector<float> Values(size_t count, float first) {
    std::vector<float> in;
    for (size_t i = 0; i < count; ++i) in.push_back(first + 0.25f * static_cast<float>(i));
    return in;
  }
  std::vector<float> Of(float first = -1) const {
    EXPECT_TRUE(Write(x, Values(count, first)));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(y, count);
  }
  /// Backends of the five ops in order, separated by spaces.
  std::string Backends() const {
    std::vector<std::pair<int, std::string>> all;
    for (const OpPlacement& op : graph->Report().ops) all.emplace_back(op.id, op.backend);
    std::sort(all.begin(), all.end());
    std::string text;
    for (const auto& [id, name] : all) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  GraphPtr graph;
  TensorPtr x, y;
  size_t count = 1;
};

/// Of the reference backend.
inline std::vector<float> Expected(const ShapeType& shape = {4, 3}, float first = -1) {
  return Mixed(HostContext(), {}, shape).Of(first);
}

/// An empty folder of a test's own.
class VendorFolder {
 public:
  VendorFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "timcl_vendor_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~VendorFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::string Copy(const std::string& made, const std::string& name) const {
    const auto to = path_ / name;
    std::filesystem::copy_file(Made(made), to);
    return to.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_PLUGINS_VENDOR_SUPPORT_H_
