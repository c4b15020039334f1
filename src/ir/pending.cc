// Until print.cc, parse.cc and dot.cc land: weak stand-ins, so that programs link. To be removed with them.
#include "ir/graph.h"

namespace tim::vx::ir {
__attribute__((weak)) std::string Print(const Graph& graph, const PrintOptions&) {
  std::string text;
  for (size_t i = 0; i < graph.nodes().size(); ++i) text += graph.view(static_cast<int>(i)).label() + "\n";
  return text;
}
__attribute__((weak)) std::string ToDot(const Graph&, const std::vector<std::string>&) { return "digraph {}\n"; }
}  // namespace tim::vx::ir
