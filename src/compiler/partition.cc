// Assign and Group: which backend runs which op, and which ops run together.
#include <fmt/format.h>

#include <set>

#include "base/log.h"
#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {

/// Index of the backend that pins name for this op, or -1. kNotFound when the pinned backend does
/// not exist.
Result<int> PinnedTo(const OpView& op, const std::vector<RankedBackend>& backends,
                     const Options& options) {
  for (const auto& [what, name] : options.pins) {
    if (what != op.name() && what != op.kind()) continue;
    for (size_t b = 0; b < backends.size(); ++b) {
      if (backends[b].backend->Info().name == name) return static_cast<int>(b);
    }
    std::string known;
    for (const auto& b : backends) known += (known.empty() ? "" : ", ") + b.backend->Info().name;
    return op.Error(Code::kNotFound,
                    fmt::format("it is pinned to backend '{}'; there are: {}", name, known));
  }
  return -1;
}

/// Why backend `b` is not even asked about an op that is pinned to `pin` (-1: to none); "": it is.
std::string WhyNotOffered(int id, int b, int pin, const std::vector<RankedBackend>& backends,
                          const Excluded& excluded) {
  if (pin >= 0 && pin != b)
    return fmt::format("pinned to '{}'", backends[static_cast<size_t>(pin)].backend->Info().name);
  const auto tried = excluded.find(id);
  if (tried == excluded.end()) return "";
  const auto failure = tried->second.find(b);
  return failure == tried->second.end() ? "" : failure->second.detail();
}

/// No backend takes the ops `left`: every refusal of each. Where a backend tried and failed, its
/// own failure (a kernel that does not build, say) is the error.
Status NobodyRuns(const ir::Graph& graph, const std::set<int>& left, size_t ops,
                  const Assignment& a, const Excluded& excluded) {
  for (int id : left) {
    if (const auto it = excluded.find(id); it != excluded.end() && !it->second.empty())
      return it->second.begin()->second.AtOp(graph.view(id).label());
  }
  std::string text;
  for (int id : left) {
    text += fmt::format("\n  {}:", graph.view(id).label());
    for (const auto& r : a.refusals_of[static_cast<size_t>(id)]) text += "\n    " + r;
  }
  return Status::Error(Code::kUnsupported,
                       fmt::format("no backend runs {} of {} ops:{}", left.size(), ops, text))
      .AtOp(graph.view(*left.begin()).label());
}

}  // namespace

Result<Assignment> Assign(const std::shared_ptr<ir::Graph>& shared, const OpRegistry& registry,
                          const std::vector<RankedBackend>& backends, const Options& options,
                          const Excluded& excluded) {
  ir::Graph& graph = *shared;
  for (int round = 0; round <= kMaxExpansions; ++round) {
    TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
    Assignment a;
    a.backend_of.assign(graph.nodes().size(), -1);
    a.partition_index_of.assign(graph.nodes().size(), 0);
    a.reason_of.resize(graph.nodes().size());
    a.refusals_of.resize(graph.nodes().size());
    std::map<int, int> pin_of;
    for (int id : order) {
      TIMCL_ASSIGN(pin_of[id], PinnedTo(graph.view(id), backends, options));
    }
    std::set<int> left(order.begin(), order.end()), to_expand;
    for (size_t b = 0; b < backends.size() && !left.empty(); ++b) {
      const std::string& name = backends[b].backend->Info().name;
      std::vector<int> offered;
      for (int id : order) {
        if (left.count(id) == 0 || to_expand.count(id) != 0) continue;
        const std::string why =
            WhyNotOffered(id, static_cast<int>(b), pin_of.at(id), backends, excluded);
        if (why.empty()) {
          offered.push_back(id);
        } else {
          a.refusals_of[static_cast<size_t>(id)].push_back(fmt::format("{}: {}", name, why));
        }
      }
      if (offered.empty()) continue;
      Selection selection;
      TIMCL_TRY(backends[b].backend->Partition(GraphView(shared, offered), &selection));
      for (int id : offered) {
        const auto it = selection.answers().find(id);
        const Selection::Answer answer =
            it == selection.answers().end() ? Selection::Answer{} : it->second;
        const size_t n = static_cast<size_t>(id);
        if (answer.selected) {
          a.backend_of[n] = static_cast<int>(b);
          a.partition_index_of[n] = answer.partition_index;
          a.reason_of[n] = pin_of.at(id) >= 0         ? "pinned"
                           : a.refusals_of[n].empty() ? "first choice"
                                                      : a.refusals_of[n].front();
          left.erase(id);
          continue;
        }
        a.refusals_of[n].push_back(
            fmt::format("{}: {}", name, answer.why.empty() ? "not selected" : answer.why));
        if (answer.expand && graph.node(id).def->expand != nullptr) to_expand.insert(id);
      }
    }
    // A composed op that nobody took whole is expanded even if no backend asked for it.
    for (int id : left) {
      if (graph.node(id).def->expand != nullptr) to_expand.insert(id);
    }
    if (to_expand.empty()) {
      if (left.empty()) return a;
      return NobodyRuns(graph, left, order.size(), a, excluded);
    }
    for (int id : to_expand) {
      base::Log("select", base::LogLevel::kDebug, "{} is expanded", graph.view(id).label());
      TIMCL_TRY(Expand(graph, id, registry));
    }
  }
  return Status::Error(Code::kInternal, "composed ops keep expanding");  // Expand stops before
}

std::vector<Partition> Group(const ir::Graph& graph, const Assignment& assignment) {
  using Key = std::pair<int, int>;  // backend, partition index
  const auto order = graph.TopologicalOrder();
  if (!order.ok()) return {};
  std::vector<int> rank(graph.nodes().size(), 0);
  std::vector<std::vector<int>> readers(graph.nodes().size());
  std::vector<int> waiting(graph.nodes().size(), 0);
  std::set<Key> keys;
  auto key_of = [&](int id) {
    return Key{assignment.backend_of[static_cast<size_t>(id)],
               assignment.partition_index_of[static_cast<size_t>(id)]};
  };
  for (size_t at = 0; at < order->size(); ++at) {
    const int id = (*order)[at];
    rank[static_cast<size_t>(id)] = static_cast<int>(at);
    keys.insert(key_of(id));
    std::set<int> producers;
    for (int v : graph.node(id).inputs) {
      if (v >= 0 && graph.value(v).producer >= 0) producers.insert(graph.value(v).producer);
    }
    for (int p : producers) readers[static_cast<size_t>(p)].push_back(id);
    waiting[static_cast<size_t>(id)] = static_cast<int>(producers.size());
  }
  // Which backend goes first can matter, so each is tried.
  std::vector<Partition> best;
  for (const Key& start : keys) {
    std::vector<int> left = waiting;
    std::map<Key, std::set<std::pair<int, int>>> ready;  // (rank, id)
    for (int id : *order) {
      if (left[static_cast<size_t>(id)] == 0)
        ready[key_of(id)].insert({rank[static_cast<size_t>(id)], id});
    }
    std::vector<Partition> partitions;
    Key current = start;
    for (size_t done = 0; done < order->size();) {
      if (ready[current].empty()) {
        // Switch to the key with the most ready ops: it unblocks most at once.
        size_t most = 0;
        for (const auto& [key, ops] : ready) {
          if (ops.size() > most) most = ops.size(), current = key;
        }
      }
      Partition p{current.first, {}};
      auto& mine = ready[current];
      while (!mine.empty()) {
        const int id = mine.begin()->second;
        mine.erase(mine.begin());
        p.nodes.push_back(id);
        ++done;
        for (int r : readers[static_cast<size_t>(id)]) {
          if (--left[static_cast<size_t>(r)] == 0)
            ready[key_of(r)].insert({rank[static_cast<size_t>(r)], r});
        }
      }
      partitions.push_back(std::move(p));
    }
    if (best.empty() || partitions.size() < best.size()) best = std::move(partitions);
  }
  return best;
}

}  // namespace tim::vx::compiler
