// The library's side of tim/vx/plugin.h: what stands behind the handles that plugins are given, the
// functions of timcl_host_api, and the fence around every call into a plugin.
#ifndef TIMCL_BACKENDS_PLUGIN_HOST_H_
#define TIMCL_BACKENDS_PLUGIN_HOST_H_

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tim/vx/asset.h"
#include "tim/vx/backend.h"
#include "tim/vx/plugin.h"

/// One tensor. Handles of one graph with the same id are the same tensor.
struct timcl_tensor {
  timcl_tensor(uint32_t id, std::string name, tim::vx::TensorType type, const void* data);
  /// Another type: for tensors of a dispatcher's context, whose shapes may change.
  void Retype(tim::vx::TensorType type);

  uint32_t id;
  std::string name, label;
  tim::vx::TensorType type;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  const void* data;  // of a constant
};

struct timcl_op {
  std::string kind, name, label;
  std::vector<const timcl_tensor*> inputs, outputs;  // null: left out
  tim::vx::AttrMap attrs;
};

/// A graph or a part of one, spelled out: plugins may ask from any of their threads.
struct timcl_graph {
  explicit timcl_graph(const tim::vx::GraphView& view);
  timcl_graph(const timcl_graph&) = delete;

  const tim::vx::GraphView view;
  std::vector<timcl_op> ops;
  std::unordered_map<const timcl_op*, size_t> index_of;
  std::deque<timcl_tensor> tensors;
  std::vector<const timcl_tensor*> inputs, outputs;
  std::unordered_map<uint32_t, const timcl_op*> writer;
  std::unordered_map<uint32_t, std::vector<const timcl_op*>> readers;
};

struct timcl_options {
  std::vector<std::pair<std::string, std::string>> values;
};

struct timcl_assets {
  explicit timcl_assets(std::shared_ptr<const tim::vx::AssetTable> table);
  std::shared_ptr<const tim::vx::AssetTable> table;
  std::vector<std::pair<std::string, tim::vx::AssetView>> named;
};

/// The answer of one call of partition.
struct timcl_selection {
  const timcl_graph* graph = nullptr;
  struct Answer {
    bool selected = false;
    int32_t partition_index = 0;
    std::string why;
  };
  std::map<size_t, Answer> answers;  // by index of the op
  tim::vx::Status mistake;           // the first one
};

namespace tim::vx::plugin {

/// Lives as long as the process.
const timcl_host_api& Host();

/// What the plugin said last with set_error, on this thread, since the last Ask.
std::string& LastWords();

/// Calls into a plugin: the status that it returns, with the words that it left. `what` names the
/// plugin, where the caller does not, and the function.
template <class F>
Status Ask(const std::string& what, F f) {
  LastWords().clear();
  timcl_status status = TIMCL_OK;
  try {
    status = f();
  } catch (const std::exception& e) {
    return Status::Error(Code::kPlugin, fmt::format("{} threw: {}", what, e.what()));
  } catch (...) {
    return Status::Error(Code::kPlugin, fmt::format("{} threw an exception of unknown type", what));
  }
  if (status == TIMCL_OK) return Status();
  const bool known = status > TIMCL_OK && status <= TIMCL_INTERNAL;
  return Status::Error(known ? static_cast<Code>(status) : Code::kPlugin,
                       fmt::format("{} failed{}{}", what,
                                   known ? "" : fmt::format(" with the unknown status {}", status),
                                   LastWords().empty() ? "" : ": " + LastWords()));
}

/// What timcl_host_api::add_op adds to: the registry of timcl_ops_api::register_ops.
using AddedOps = std::vector<OpDef>;

}  // namespace tim::vx::plugin
#endif  // TIMCL_BACKENDS_PLUGIN_HOST_H_
