// ToDot: the graph as a Graphviz drawing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/graph.h"
#include "ir/text.h"

namespace tim::vx::ir {
namespace {

std::string EdgeText(const Value& v) {
  const std::string type = v.type.ToString();
  return v.name.empty() ? type : v.name + "\n" + type;
}

/// Hue, saturation, value: as many pale colours as are asked for, neighbours far apart.
std::string Colour(size_t index) { return fmt::format("{:.3f} 0.300 1.000", text::Hue(index)); }

/// The composed node of the user that this one is a part of; -1: it is the user's own.
int WholeOf(const Graph& graph, int id) {
  int whole = -1;
  for (int at = graph.node(id).expanded_from; at >= 0; at = graph.node(at).expanded_from)
    whole = at;
  return whole;
}

}  // namespace

std::string ToDot(const Graph& graph, const std::vector<std::string>& cluster_of,
                  const std::vector<std::string>& owner_of) {
  std::string out = "digraph timcl {\n  node [shape=box, fontname=\"Helvetica\"];\n";
  // Owners in the order of their first nodes, so that each keeps its colour.
  std::vector<std::string> owners;
  const auto fill = [&](size_t id) -> std::string {
    if (id >= owner_of.size() || owner_of[id].empty()) return "";
    const auto at = std::find(owners.begin(), owners.end(), owner_of[id]);
    const size_t index = static_cast<size_t>(at - owners.begin());
    if (at == owners.end()) owners.push_back(owner_of[id]);
    return fmt::format(", style=filled, fillcolor=\"{}\"", Colour(index));
  };
  const auto cluster = [&](int id) {
    return static_cast<size_t>(id) < cluster_of.size() ? cluster_of[static_cast<size_t>(id)] : "";
  };
  std::map<std::string, std::vector<size_t>> clusters;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    if (!graph.nodes()[id].dead)
      clusters[id < cluster_of.size() ? cluster_of[id] : ""].push_back(id);
  }
  size_t count = 0;
  for (const auto& [name, ids] : clusters) {
    const bool drawn = !name.empty();
    if (drawn)
      out += fmt::format("  subgraph cluster_{} {{\n    label={};\n", count++, text::Quoted(name));
    // The parts of a composed op stand in a box of their own.
    std::map<int, std::vector<size_t>> by_whole;
    for (size_t id : ids) by_whole[WholeOf(graph, static_cast<int>(id))].push_back(id);
    for (const auto& [whole, parts] : by_whole) {
      if (whole >= 0) {
        out += fmt::format("  subgraph cluster_{} {{\n    label={}; style=dashed;\n", count++,
                           text::Quoted(graph.view(whole).label()));
      }
      for (size_t id : parts) {
        const Node& n = graph.nodes()[id];
        const std::string label =
            fmt::format("{}#{}{}{}", n.def != nullptr ? n.def->name : "?", n.number, n.part,
                        n.name.empty() ? "" : "\n" + n.name);
        out += fmt::format("{}n{} [label={}{}];\n", drawn ? "    " : "  ", id, text::Quoted(label),
                           fill(id));
      }
      if (whole >= 0) out += "  }\n";
    }
    if (drawn) out += "  }\n";
  }
  // Inputs and outputs of the graph are ellipses.
  for (size_t v = 0; v < graph.values().size(); ++v) {
    const Value& value = graph.values()[v];
    if (value.role != Role::kInput && value.role != Role::kOutput) continue;
    out += fmt::format("  v{} [shape=ellipse, label={}];\n", v, text::Quoted(EdgeText(value)));
    if (value.producer >= 0) out += fmt::format("  n{} -> v{};\n", value.producer, v);
  }
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& n = graph.nodes()[id];
    if (n.dead) continue;
    std::set<int> drawn;
    for (int v : n.inputs) {
      if (v < 0 || !drawn.insert(v).second) continue;
      const Value& value = graph.value(v);
      if (value.role == Role::kInput) {
        out += fmt::format("  v{} -> n{};\n", v, id);
      } else if (value.producer >= 0) {
        const bool border = cluster(value.producer) != cluster(static_cast<int>(id));
        const std::string bytes = border ? fmt::format("\n{} bytes", value.type.bytes()) : "";
        out += fmt::format("  n{} -> n{} [label={}{}];\n", value.producer, id,
                           text::Quoted(EdgeText(value) + bytes), border ? ", penwidth=2" : "");
      }
    }
  }
  if (!owners.empty()) {
    out += "  subgraph cluster_legend {\n    label=\"backends\";\n";
    for (size_t i = 0; i < owners.size(); ++i) {
      out += fmt::format("    legend{} [label={}, style=filled, fillcolor=\"{}\"];\n", i,
                         text::Quoted(owners[i]), Colour(i));
    }
    out += "  }\n";
  }
  return out + "}\n";
}

}  // namespace tim::vx::ir
