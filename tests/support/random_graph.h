// Random graphs of cheap ops for tests of partitioning, and what they compute on some backends.
#ifndef TIMCL_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define TIMCL_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "support/pipeline.h"

namespace tim::vx::testing {

inline size_t At(int i) { return static_cast<size_t>(i); }

/// Ops that are exact in float32, so that every backend gives the same bits.
inline std::unique_ptr<ir::Graph> RandomGraph(std::mt19937& random, int ops, bool chains) {
  static const char* const kUnary[] = {"Relu", "Abs", "Neg"};
  static const char* const kBinary[] = {"Add", "Sub", "Maximum", "Minimum"};
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto graph = std::make_unique<ir::Graph>();
  const TensorType type = {DataType::FLOAT32, {5, 3}, Quantization()};
  for (int i = 0; i < 3; ++i) {
    ir::Value v;
    v.type = type;
    v.role = i == 2 ? ir::Role::kConstant : ir::Role::kInput;
    v.storage = base::Storage::Allocate(type.bytes());
    for (int k = 0; k < 15; ++k)
      static_cast<float*>(v.storage->data())[k] = static_cast<float>(below(2001) - 1000) / 8.0f;
    graph->AddValue(std::move(v));
  }
  auto any = [&] {
    const int n = static_cast<int>(graph->values().size());
    return chains && n > 6 && below(4) != 0 ? n - 1 - below(4) : below(n);
  };
  std::vector<bool> read(At(ops) + 3, false);
  for (int i = 0; i < ops; ++i) {
    ir::Node n;
    const bool binary = below(2) == 0;
    n.def = Builtin().Find(binary ? kBinary[below(4)] : kUnary[below(3)]);
    n.attrs = AnyAttrs(n.def->schema, n.def->schema->make_default());
    n.number = i;
    n.inputs = {any()};
    if (binary) n.inputs.push_back(any());
    for (int v : n.inputs) read[At(v)] = true;
    ir::Value out;
    out.type.dtype = DataType::FLOAT32;
    out.infer_shape = true;
    n.outputs = {graph->AddValue(std::move(out))};
    graph->AddNode(std::move(n));
  }
  for (size_t v = 3; v < graph->values().size(); ++v) {
    if (!read[v] || below(8) == 0) graph->values()[v].role = ir::Role::kOutput;
  }
  return graph;
}

using Results = std::map<int, std::vector<std::byte>>;

/// Compiles and runs a copy of the graph; the bytes of every output.
inline Result<Results> RunCopy(const ir::Graph& graph,
                               const std::vector<compiler::RankedBackend>& backends,
                               const compiler::Options& options, CompileReport* report) {
  const auto shared = std::make_shared<ir::Graph>(graph);
  const ir::Graph& copy = *shared;
  TIMCL_ASSIGN(const auto exe, compiler::Compile(shared, Builtin(), backends, options, report));
  TIMCL_TRY(exe->Run());
  Results results;
  for (size_t v = 0; v < copy.values().size(); ++v) {
    const ir::Value& value = copy.values()[v];
    if (value.role != ir::Role::kOutput) continue;
    const auto* data = static_cast<const std::byte*>(value.storage->data());
    results[static_cast<int>(v)] = {data, data + value.type.bytes()};
  }
  return results;
}

}  // namespace tim::vx::testing
#endif  // TIMCL_TESTS_SUPPORT_RANDOM_GRAPH_H_
