// Graph editing, order and invariants.
#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace tim::vx::ir {

int Graph::AddValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int Graph::AddNode(Node node) {
  const int id = static_cast<int>(nodes_.size());
  for (int v : node.outputs) this->value(v).producer = id;
  if (node.out_types.size() != node.outputs.size()) {
    node.out_types.clear();
    for (int v : node.outputs) node.out_types.push_back(value(v).type);
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::Kill(int id) {
  Node& n = node(id);
  n.dead = true;
  for (int v : n.outputs) {
    if (value(v).producer == id) value(v).producer = -1;
  }
}

size_t Graph::LiveNodes() const {
  return static_cast<size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& n) { return !n.dead; }));
}

std::string Graph::PartOf(int id) const {
  std::string path;
  for (int at = node(id).expanded_from; at >= 0; at = node(at).expanded_from)
    path = view(at).label() + (path.empty() ? "" : " / ") + path;
  return path;
}

Status Graph::CycleError(const std::vector<int>& waiting) const {
  // Ops behind a cycle wait as well; going from one to a producer that waits ends in the cycle.
  auto stuck_producer = [&](int id, int* value) {
    for (int v : node(id).inputs) {
      const int p = v < 0 ? -1 : this->value(v).producer;
      if (p < 0 || waiting[static_cast<size_t>(p)] == 0) continue;
      *value = v;
      return p;
    }
    return -1;
  };
  int id = 0, v = -1;
  while (nodes_[static_cast<size_t>(id)].dead || waiting[static_cast<size_t>(id)] == 0) ++id;
  std::vector<bool> seen(nodes_.size(), false);
  while (id >= 0 && !seen[static_cast<size_t>(id)]) {
    seen[static_cast<size_t>(id)] = true;
    id = stuck_producer(id, &v);
  }
  if (id < 0) return Status::Error(Code::kInternal, "IR: an op waits for nothing");
  std::string path = view(id).label();
  int at = id;
  do {
    at = stuck_producer(at, &v);
    path = fmt::format("{} -> {} -> {}", view(at).label(), TensorView(this, v).label(), path);
  } while (at != id);
  return view(id).Error(Code::kInvalidGraph, "the op depends on its own result, a cycle: " + path);
}

Result<std::vector<int>> Graph::TopologicalOrder() const {
  std::vector<int> waiting(nodes_.size(), 0);
  std::vector<std::vector<int>> readers(nodes_.size());
  std::priority_queue<int, std::vector<int>, std::greater<>>
      ready;  // smallest id first: order of creation
  size_t live = 0;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    if (n.dead) continue;
    ++live;
    for (int v : n.inputs) {
      if (v < 0 || value(v).producer < 0) continue;
      readers[static_cast<size_t>(value(v).producer)].push_back(static_cast<int>(id));
      ++waiting[id];
    }
    if (waiting[id] == 0) ready.push(static_cast<int>(id));
  }
  std::vector<int> order;
  order.reserve(live);
  while (!ready.empty()) {
    const int id = ready.top();
    ready.pop();
    order.push_back(id);
    for (int r : readers[static_cast<size_t>(id)]) {
      if (--waiting[static_cast<size_t>(r)] == 0) ready.push(r);
    }
  }
  if (order.size() != live) {
    return CycleError(waiting);
  }
  return order;
}

Status CheckInvariants(const Graph& graph, bool types_known) {
  auto broken = [](const std::string& what) {
    return Status::Error(Code::kInternal, "IR: " + what);
  };
  const int num_values = static_cast<int>(graph.values().size());
  std::vector<int> producer(graph.values().size(), -1);
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& n = graph.nodes()[id];
    if (n.dead) continue;
    if (n.def == nullptr) return broken(fmt::format("node {} has no definition", id));
    for (int v : n.inputs) {
      if (v < -1 || v >= num_values)
        return broken(fmt::format("node {} reads value {}, which does not exist", id, v));
    }
    if (n.out_types.size() != n.outputs.size())
      return broken(fmt::format("node {} lacks result types", id));
    for (int v : n.outputs) {
      if (v < 0 || v >= num_values)
        return broken(fmt::format("node {} writes value {}, which does not exist", id, v));
      if (producer[static_cast<size_t>(v)] >= 0) {
        return broken(fmt::format("value {} has two producers, nodes {} and {}", v,
                                  producer[static_cast<size_t>(v)], id));
      }
      producer[static_cast<size_t>(v)] = static_cast<int>(id);
    }
    for (size_t i = 0; types_known && i < n.outputs.size(); ++i) {
      const TensorType& declared = graph.value(n.outputs[i]).type;
      if (n.out_types[i].dtype != declared.dtype || n.out_types[i].count() != declared.count()) {
        return broken(fmt::format("node {} computes {} for a value declared {}", id,
                                  n.out_types[i].ToString(), declared.ToString()));
      }
    }
  }
  for (int v = 0; v < num_values; ++v) {
    const Value& value = graph.value(v);
    if (value.producer != producer[static_cast<size_t>(v)]) {
      return broken(fmt::format("value {} names producer {}, but node {} writes it", v,
                                value.producer, producer[static_cast<size_t>(v)]));
    }
    if ((value.role == Role::kConstant || value.role == Role::kInput) && value.producer >= 0) {
      return broken(fmt::format("value {} is given from outside and has a producer as well", v));
    }
    if (value.role == Role::kConstant && value.storage == nullptr)
      return broken(fmt::format("constant {} has no data", v));
  }
  return graph.TopologicalOrder().status();
}

}  // namespace tim::vx::ir
