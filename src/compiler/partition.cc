// Assign and Group: which backend runs which op, and which ops run together.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {

/// What the options ask for one op.
struct Wish {
  int pin = -1;                         // index of a backend; -1: none
  std::map<int, std::string> excludes;  // index of a backend -> by which name or kind
};

/// kNotFound when there is no such backend.
Result<int> BackendNamed(const OpView& op, const char* placed, const std::string& name,
                         const std::vector<RankedBackend>& backends) {
  std::string known;
  for (size_t b = 0; b < backends.size(); ++b) {
    const std::string& has = backends[b].backend->Info().name;
    if (has == name) return static_cast<int>(b);
    known += (known.empty() ? "" : ", ") + has;
  }
  return op.Error(Code::kNotFound,
                  fmt::format("it is {} backend '{}'; there are: {}", placed, name, known));
}

Result<Wish> WishFor(const OpView& op, const std::vector<RankedBackend>& backends,
                     const Options& options) {
  Wish wish;
  const auto by_name = [&](const std::string& what) { return !what.empty() && what == op.name(); };
  // A pin by name counts before one of the whole kind.
  const std::pair<std::string, std::string>* pin = nullptr;
  for (const auto& one : options.pins) {
    if (by_name(one.first) || (pin == nullptr && one.first == op.kind())) pin = &one;
    if (by_name(one.first)) break;
  }
  if (pin != nullptr) {
    TIMCL_ASSIGN(wish.pin, BackendNamed(op, "pinned to", pin->second, backends));
  }
  for (const auto& [what, name] : options.excludes) {
    if (!by_name(what) && what != op.kind()) continue;
    TIMCL_ASSIGN(const int b, BackendNamed(op, "excluded from", name, backends));
    if (b == wish.pin) {
      return op.Error(Code::kInvalidArgument,
                      fmt::format("it is pinned to backend '{}', as '{}', and excluded from it, as "
                                  "'{}'",
                                  name, pin->first, what));
    }
    wish.excludes.try_emplace(b, what);
  }
  return wish;
}

/// Why a backend is not even asked about an op; text "": it is.
struct Reason {
  std::string text;
  bool choice = false;  // the caller's, not a failure
};
Reason WhyNotOffered(int id, int b, const Wish& wish, const std::vector<RankedBackend>& backends,
                     const Excluded& excluded, const Excluded& limited) {
  if (wish.pin >= 0 && wish.pin != b) {
    const std::string& name = backends[static_cast<size_t>(wish.pin)].backend->Info().name;
    return {fmt::format("pinned to '{}'", name), true};
  }
  if (const auto it = wish.excludes.find(b); it != wish.excludes.end())
    return {fmt::format("the options exclude '{}' from it", it->second), true};
  if (const std::string& why = backends[static_cast<size_t>(b)].passed_over; !why.empty())
    return {why, false};
  for (const Excluded* tried : {&excluded, &limited}) {
    const auto op = tried->find(id);
    if (op == tried->end()) continue;
    const auto failure = op->second.find(b);
    if (failure != op->second.end()) return {failure->second.detail(), tried == &limited};
  }
  return {};
}

/// kInternal: the backend selects an op that others run, or that is none of the graph.
Status CheckAnswers(const ir::Graph& graph, const Selection& selection,
                    const std::vector<int>& offered, const std::string& backend) {
  const std::set<int> known(offered.begin(), offered.end());
  for (const auto& [id, answer] : selection.answers()) {
    if (!answer.selected || known.count(id) != 0) continue;
    const bool of_graph =
        id >= 0 && static_cast<size_t>(id) < graph.nodes().size() && !graph.node(id).dead;
    return Status::Error(Code::kInternal,
                         fmt::format("backend '{}' selects {}, which it was not offered", backend,
                                     of_graph ? graph.view(id).label() : "an op of another graph"));
  }
  return Status();
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
                          const Excluded& excluded, const Excluded& limited) {
  ir::Graph& graph = *shared;
  for (int round = 0; round <= kMaxExpansions; ++round) {
    TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
    Assignment a;
    a.backend_of.assign(graph.nodes().size(), -1);
    a.partition_index_of.assign(graph.nodes().size(), 0);
    a.reason_of.resize(graph.nodes().size());
    a.refusals_of.resize(graph.nodes().size());
    a.failure_of.resize(graph.nodes().size());
    const auto refuse = [&](int id, const std::string& backend, const Reason& why) {
      const size_t n = static_cast<size_t>(id);
      a.refusals_of[n].push_back(fmt::format("{}: {}", backend, why.text));
      if (!why.choice && a.failure_of[n].empty()) a.failure_of[n] = a.refusals_of[n].back();
    };
    std::map<int, Wish> wishes;
    for (int id : order) {
      TIMCL_ASSIGN(wishes[id], WishFor(graph.view(id), backends, options));
    }
    std::set<int> left(order.begin(), order.end()), to_expand;
    for (size_t b = 0; b < backends.size() && !left.empty(); ++b) {
      const std::string& name = backends[b].backend->Info().name;
      std::vector<int> offered;
      for (int id : order) {
        if (left.count(id) == 0 || to_expand.count(id) != 0) continue;
        const Reason why =
            WhyNotOffered(id, static_cast<int>(b), wishes.at(id), backends, excluded, limited);
        if (why.text.empty()) {
          offered.push_back(id);
        } else {
          refuse(id, name, why);
        }
      }
      if (offered.empty()) continue;
      Selection selection;
      const Status asked = backends[b].backend->Partition(GraphView(shared, offered), &selection);
      if (asked.code() == Code::kUnsupported && options.fallback == Fallback::kAllow) {
        selection = Selection();
        for (int id : offered) selection.Reject(graph.view(id), asked.detail());
      } else {
        TIMCL_TRY(asked);
      }
      TIMCL_TRY(CheckAnswers(graph, selection, offered, name));
      for (int index : selection.wholes()) a.wholes.insert({static_cast<int>(b), index});
      a.kept.insert(a.kept.end(), selection.kept().begin(), selection.kept().end());
      for (int id : offered) {
        const auto it = selection.answers().find(id);
        const Selection::Answer answer =
            it == selection.answers().end() ? Selection::Answer{} : it->second;
        const size_t n = static_cast<size_t>(id);
        if (answer.selected) {
          a.backend_of[n] = static_cast<int>(b);
          a.partition_index_of[n] = answer.partition_index;
          a.reason_of[n] = wishes.at(id).pin >= 0     ? kPinned
                           : a.refusals_of[n].empty() ? "first choice"
                                                      : a.refusals_of[n].front();
          left.erase(id);
          continue;
        }
        refuse(id, name, {answer.why.empty() ? "not selected" : answer.why, false});
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

namespace {

using Key = std::pair<int, int>;  // backend, partition index
Key KeyOf(const Assignment& a, int id) {
  return {a.backend_of[static_cast<size_t>(id)], a.partition_index_of[static_cast<size_t>(id)]};
}

/// What is scheduled: an op, or a whole.
struct Unit {
  Key key;
  std::vector<int> nodes;  // topological order
  bool whole = false;
  std::vector<int> readers;  // units; one that reads twice is there twice
  int waiting = 0;           // times that it reads from another unit
};
struct Units {
  std::vector<Unit> units;  // in the order of their first nodes
  std::vector<int> of;      // by node
};
/// Wholes in `apart` count as the ops that they consist of.
Units Contract(const ir::Graph& graph, const std::vector<int>& order, const Assignment& a,
               const std::set<Key>& apart) {
  Units u;
  u.of.assign(graph.nodes().size(), -1);
  std::map<Key, int> unit_of_whole;
  for (int id : order) {
    const Key key = KeyOf(a, id);
    const bool whole = a.wholes.count(key) != 0 && apart.count(key) == 0;
    int unit = static_cast<int>(u.units.size());
    if (whole) unit = unit_of_whole.try_emplace(key, unit).first->second;
    if (unit == static_cast<int>(u.units.size())) u.units.push_back({key, {}, whole, {}, 0});
    u.units[static_cast<size_t>(unit)].nodes.push_back(id);
    u.of[static_cast<size_t>(id)] = unit;
  }
  for (int id : order) {
    const int to = u.of[static_cast<size_t>(id)];
    for (int v : graph.node(id).inputs) {
      const int producer = v < 0 ? -1 : graph.value(v).producer;
      if (producer < 0) continue;
      const int from = u.of[static_cast<size_t>(producer)];
      if (from == to) continue;
      u.units[static_cast<size_t>(from)].readers.push_back(to);
      ++u.units[static_cast<size_t>(to)].waiting;
    }
  }
  return u;
}

/// By unit: what it still waits for when all is done that can be done.
std::vector<int> Stuck(const Units& u) {
  std::vector<int> waiting, ready;
  for (size_t i = 0; i < u.units.size(); ++i) {
    waiting.push_back(u.units[i].waiting);
    if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int unit = ready.back();
    ready.pop_back();
    for (int r : u.units[static_cast<size_t>(unit)].readers) {
      if (--waiting[static_cast<size_t>(r)] == 0) ready.push_back(r);
    }
  }
  return waiting;
}

/// One cycle of units: each reads what the next one writes, by op `by[i]` of the next.
struct Cycle {
  std::vector<int> units, by;
};
Cycle FindCycle(const ir::Graph& graph, const Units& u, const std::vector<int>& waiting) {
  auto stuck_producer = [&](int unit) {
    for (int id : u.units[static_cast<size_t>(unit)].nodes) {
      for (int v : graph.node(id).inputs) {
        const int p = v < 0 ? -1 : graph.value(v).producer;
        if (p < 0) continue;
        const int from = u.of[static_cast<size_t>(p)];
        if (from != unit && waiting[static_cast<size_t>(from)] > 0) return p;
      }
    }
    return -1;
  };
  Cycle c;
  std::map<int, size_t> at;  // in c.units
  int unit = 0;
  while (waiting[static_cast<size_t>(unit)] == 0) ++unit;
  // Who waits behind a cycle waits as well; going from one to a producer that waits ends in it.
  while (at.try_emplace(unit, c.units.size()).second) {
    c.units.push_back(unit);
    c.by.push_back(stuck_producer(unit));
    unit = u.of[static_cast<size_t>(c.by.back())];
  }
  const auto first = static_cast<std::ptrdiff_t>(at[unit]);
  c.units.erase(c.units.begin(), c.units.begin() + first);
  c.by.erase(c.by.begin(), c.by.begin() + first);
  return c;
}

}  // namespace

Excluded CannotRunAsOne(const ir::Graph& graph, const Assignment& assignment,
                        const std::vector<RankedBackend>& backends) {
  Excluded excluded;
  const auto order = graph.TopologicalOrder();
  if (!order.ok() || assignment.wholes.empty()) return excluded;
  for (std::set<Key> apart;;) {
    const Units u = Contract(graph, *order, assignment, apart);
    const std::vector<int> waiting = Stuck(u);
    if (std::all_of(waiting.begin(), waiting.end(), [](int w) { return w == 0; })) return excluded;
    const Cycle c = FindCycle(graph, u, waiting);
    size_t at = c.units.size();  // there is a whole: ops alone make no cycle
    for (size_t i = 0; i < c.units.size(); ++i) {
      const Unit& unit = u.units[static_cast<size_t>(c.units[i])];
      if (!unit.whole) continue;
      if (at == c.units.size() || u.units[static_cast<size_t>(c.units[at])].key < unit.key) at = i;
    }
    const Unit& whole = u.units[static_cast<size_t>(c.units[at])];
    const int between = c.by[at];
    const std::string ops = fmt::format("{} to {}", graph.view(whole.nodes.front()).label(),
                                        graph.view(whole.nodes.back()).label());
    const std::string why = fmt::format(
        "{} ({} ops) cannot run as one: {} of '{}' has to run between them", ops,
        whole.nodes.size(), graph.view(between).label(),
        backends[static_cast<size_t>(KeyOf(assignment, between).first)].backend->Info().name);
    for (int id : whole.nodes)
      excluded[id][whole.key.first] = Status::Error(Code::kUnsupported, why);
    apart.insert(whole.key);
  }
}

namespace {

/// One schedule: starts with key `start`, and stays with a key while it has ready ops.
std::vector<Partition> Schedule(const Units& u, Key start) {
  std::map<Key, std::set<int>> ready;         // units, in order
  std::set<std::pair<int64_t, Key>> fullest;  // (-ready units, key), to find the most
  std::vector<int> wholes;                    // ready too
  std::vector<int> waiting;
  auto change = [&](const Key& key, auto edit) {
    std::set<int>& mine = ready[key];
    if (!mine.empty()) fullest.erase({-static_cast<int64_t>(mine.size()), key});
    edit(mine);
    if (!mine.empty()) fullest.insert({-static_cast<int64_t>(mine.size()), key});
  };
  auto add = [&](int unit) {
    const Unit& one = u.units[static_cast<size_t>(unit)];
    if (one.whole) {
      wholes.push_back(unit);
    } else {
      change(one.key, [&](std::set<int>& mine) { mine.insert(unit); });
    }
  };
  for (size_t i = 0; i < u.units.size(); ++i) {
    waiting.push_back(u.units[i].waiting);
    if (waiting[i] == 0) add(static_cast<int>(i));
  }
  std::vector<Partition> partitions;
  auto run = [&](int unit) {
    const Unit& one = u.units[static_cast<size_t>(unit)];
    partitions.back().nodes.insert(partitions.back().nodes.end(), one.nodes.begin(),
                                   one.nodes.end());
    for (int r : one.readers) {
      if (--waiting[static_cast<size_t>(r)] == 0) add(r);
    }
  };
  for (Key current = start; !wholes.empty() || !fullest.empty();) {
    // A whole is one partition whenever it runs: as early as possible, since others may wait for
    // it.
    while (!wholes.empty()) {
      const int unit = wholes.back();
      wholes.pop_back();
      partitions.push_back({u.units[static_cast<size_t>(unit)].key.first, {}});
      run(unit);
    }
    if (fullest.empty()) continue;
    // The key with the most ready ops: it unblocks most at once.
    if (ready[current].empty()) current = fullest.begin()->second;
    partitions.push_back({current.first, {}});
    while (!ready[current].empty()) {
      const int unit = *ready[current].begin();
      change(current, [&](std::set<int>& mine) { mine.erase(mine.begin()); });
      run(unit);
    }
  }
  return partitions;
}

/// One fixed order: that of the ops in the graph, as far as wholes allow. `merge`: neighbours of
/// one key are one partition.
std::vector<Partition> InOrder(const Units& u, bool merge) {
  std::set<int> ready;
  std::vector<int> waiting;
  for (size_t i = 0; i < u.units.size(); ++i) {
    waiting.push_back(u.units[i].waiting);
    if (waiting[i] == 0) ready.insert(static_cast<int>(i));
  }
  std::vector<Partition> partitions;
  const Unit* before = nullptr;
  while (!ready.empty()) {
    const Unit& one = u.units[static_cast<size_t>(*ready.begin())];
    ready.erase(ready.begin());
    const bool joins =
        merge && before != nullptr && !before->whole && !one.whole && before->key == one.key;
    if (!joins) partitions.push_back({one.key.first, {}});
    partitions.back().nodes.insert(partitions.back().nodes.end(), one.nodes.begin(),
                                   one.nodes.end());
    before = &one;
    for (int r : one.readers) {
      if (--waiting[static_cast<size_t>(r)] == 0) ready.insert(r);
    }
  }
  return partitions;
}

}  // namespace

std::vector<Partition> Group(const ir::Graph& graph, const Assignment& assignment,
                             PartitionStrategy strategy) {
  const auto order = graph.TopologicalOrder();
  if (!order.ok()) return {};
  const Units u = Contract(graph, *order, assignment, {});
  std::vector<Partition> best = InOrder(u, strategy != PartitionStrategy::kPerOp);
  if (strategy != PartitionStrategy::kConvex) return best;
  std::set<Key> starts;
  for (const Unit& unit : u.units) {
    if (!unit.whole) starts.insert(unit.key);
  }
  if (starts.empty()) starts.insert({0, 0});
  // Which key goes first can matter, so each is tried; of many, some.
  constexpr size_t kMostStarts = 8;
  size_t tried = 0;
  for (const Key& start : starts) {
    if (tried++ == kMostStarts) break;
    std::vector<Partition> partitions = Schedule(u, start);
    if (partitions.size() < best.size()) best = std::move(partitions);
  }
  return best;
}

namespace {

/// What the limits of the options take from the first backend that is beyond them; the next one may
/// well be within, with what it is given then.
Excluded BeyondLimits(const ir::Graph& graph, const Division& d,
                      const std::vector<RankedBackend>& backends, const Options& options) {
  Excluded beyond;
  std::vector<std::vector<const Partition*>> of(backends.size());
  for (const Partition& p : d.partitions) of[static_cast<size_t>(p.backend)].push_back(&p);
  const auto pinned = [&](const Partition* p) {
    return std::any_of(p->nodes.begin(), p->nodes.end(), [&](int id) {
      return d.assignment.reason_of[static_cast<size_t>(id)] == kPinned;
    });
  };
  for (size_t b = 0; b < backends.size() && beyond.empty(); ++b) {
    if (backends[b].own) continue;
    std::vector<const Partition*>& mine = of[b];
    const auto give_back = [&](const Partition& p, const std::string& why) {
      for (int id : p.nodes)
        beyond[id][static_cast<int>(b)] = Status::Error(Code::kUnsupported, why);
    };
    const auto ops = [&](const Partition& p) {
      std::string text = graph.view(p.nodes.front()).label();
      if (p.nodes.size() > 1) text += " to " + graph.view(p.nodes.back()).label();
      return fmt::format("{} op{} ({})", p.nodes.size(), p.nodes.size() == 1 ? "" : "s", text);
    };
    // A pin says more than a general wish for large partitions.
    for (const Partition* p : mine) {
      if (p->nodes.size() >= options.min_ops || pinned(p)) continue;
      give_back(*p,
                fmt::format("min_ops is {}, and this partition has {}", options.min_ops, ops(*p)));
    }
    const size_t most = options.max_partitions;
    if (!beyond.empty() || most == 0 || mine.size() <= most) continue;
    // But how many partitions a backend can hold may be beyond all wishes.
    std::stable_sort(mine.begin(), mine.end(), [&](const Partition* x, const Partition* y) {
      const bool first = pinned(x), second = pinned(y);
      return first != second ? first : x->nodes.size() > y->nodes.size();
    });
    for (size_t i = most; i < mine.size(); ++i) {
      give_back(*mine[i], fmt::format("max_partitions is {}, and of its {} partitions this one of "
                                      "{} is among the smallest {}",
                                      most, mine.size(), ops(*mine[i]), mine.size() - most));
    }
  }
  return beyond;
}

}  // namespace

Result<Division> Divide(const std::shared_ptr<ir::Graph>& graph, const OpRegistry& registry,
                        const std::vector<RankedBackend>& backends, const Options& options,
                        Excluded* excluded) {
  const auto add = [](const Excluded& more, Excluded* to) {
    for (const auto& [id, why] : more) (*to)[id].insert(why.begin(), why.end());
  };
  // Every round takes something from a backend, so there is a last one.
  for (Excluded limited;;) {
    Division d;
    TIMCL_ASSIGN(d.assignment, Assign(graph, registry, backends, options, *excluded, limited));
    TIMCL_TRY(ir::CheckInvariants(*graph, true));
    if (const Excluded apart = CannotRunAsOne(*graph, d.assignment, backends); !apart.empty()) {
      add(apart, excluded);
      limited.clear();  // what was too much may fit now
      continue;
    }
    d.partitions = Group(*graph, d.assignment, options.strategy);
    const Excluded beyond = BeyondLimits(*graph, d, backends, options);
    if (beyond.empty()) return d;
    add(beyond, &limited);
  }
}

}  // namespace tim::vx::compiler
