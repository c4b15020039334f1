// What tests of the whole pipeline share: a graph from text with its inputs filled, compiled and
// run over backends of the test's choice, without the public API in between.
#ifndef TIMCL_TESTS_SUPPORT_PIPELINE_H_
#define TIMCL_TESTS_SUPPORT_PIPELINE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/backend.h"
#include "backends/reference/backend.h"
#include "compiler/pipeline.h"
#include "support/ir_builder.h"
#include "tim/vx/float16.h"

namespace tim::vx::testing {

inline compiler::RankedBackend Reference() {
  return {reference::CreateBackend(), -2000, true, true};
}

/// On the device that the environment asks for; null where that is the reference.
inline std::shared_ptr<Backend> OpenCl(opencl::BackendOptions options = {}) {
  const char* device = std::getenv("TIMCL_DEVICE");
  if (device != nullptr) options.device = device;
  if (options.device == "reference") return nullptr;
  auto backend = opencl::CreateBackend(options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return backend.ok() ? *backend : nullptr;
}

/// A graph from text. Its float32 inputs hold -2, -1, 0, 1, ...
inline std::shared_ptr<ir::Graph> ReadGraph(const std::string& text, const OpRegistry& registry) {
  auto parsed = ir::Parse(text, registry);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  if (!parsed.ok()) return std::make_shared<ir::Graph>();
  std::shared_ptr<ir::Graph> graph = std::move(*parsed);
  for (ir::Value& v : graph->values()) {
    if (v.role != ir::Role::kInput) continue;
    v.storage = base::Storage::Allocate(v.type.bytes());
    if (v.type.dtype != DataType::FLOAT32) continue;
    auto* data = static_cast<float*>(v.storage->data());
    for (int64_t i = 0; i < v.type.count(); ++i) data[i] = static_cast<float>(i - 2);
  }
  return graph;
}

/// Float32 results by value id.
using Floats = std::map<int, std::vector<float>>;
inline Floats OutputsOf(const ir::Graph& graph) {
  Floats results;
  for (size_t id = 0; id < graph.values().size(); ++id) {
    const ir::Value& v = graph.values()[id];
    if (v.role != ir::Role::kOutput) continue;
    if (v.type.dtype != DataType::FLOAT32 && v.type.dtype != DataType::FLOAT16) continue;
    const RealValues values(v.storage->data(), v.type.dtype);
    for (int64_t i = 0; i < v.type.count(); ++i) results[static_cast<int>(id)].push_back(values[i]);
  }
  return results;
}

/// Compiles and runs; the outputs are in the graph's own memory then.
inline Status RunGraph(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
                       const std::vector<compiler::RankedBackend>& backends,
                       const compiler::Options& options, CompileReport* report) {
  TIMCL_ASSIGN(const auto executable,
               compiler::Compile(graph, registry, backends, options, report));
  return executable->Run();
}

}  // namespace tim::vx::testing
#endif  // TIMCL_TESTS_SUPPORT_PIPELINE_H_
