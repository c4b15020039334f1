// Unit: look-ups, and the text form that tests and dumps read.
#include "backends/opencl/compile/unit.h"

#include <fmt/format.h>

namespace tim::vx::opencl {

int Unit::root(int value) const {
  for (auto it = places.find(value); it != places.end() && it->second.root != value;
       it = places.find(value)) {
    value = it->second.root;
  }
  return value;
}

Unit::Memory Unit::MemoryOf(int value, TensorForm form) const {
  Memory memory = {value, form, 0};
  for (auto it = parts.find(memory.key()); it != parts.end(); it = parts.find(memory.key())) {
    const size_t offset = memory.offset;
    memory = it->second;
    memory.offset += offset;
  }
  return memory;
}

bool MovesNothing(const OpView& op) {
  return op.def().moves_nothing && op.num_inputs() == 1 && op.num_outputs() == 1 &&
         SameEncoding(op.in(0).type(), op.out(0).type());
}

std::string Print(const Unit& unit) {
  auto values = [](const OpView& op, bool inputs) {
    std::string text;
    for (size_t i = 0; i < (inputs ? op.num_inputs() : op.num_outputs()); ++i) {
      const TensorView t = inputs ? op.in(i) : op.out(i);
      text += (i == 0 ? "" : ", ") + (t.present() ? fmt::format("%{}", t.id()) : "_");
    }
    return text;
  };
  auto form = [](TensorForm f) { return f == TensorForm::kPlain ? "plain" : "blocked"; };
  std::string text;
  for (const Group& g : unit.groups) {
    if (g.gone) continue;
    if (g.converts()) {
      text += fmt::format("{} -> {} %{}\n", form(g.in), form(g.out), g.converted.id());
      continue;
    }
    const std::string forms =
        g.in == g.out ? form(g.in) : fmt::format("{} to {}", form(g.in), form(g.out));
    text += fmt::format("#{} {} {}{} ({}) -> {}", g.op.id(), g.op.kind(),
                        g.no_launch ? "no launch" : fmt::format("'{}'", g.kernel->name),
                        forms == "plain" ? "" : fmt::format(" ({})", forms), values(g.op, true),
                        values(g.last(), false));
    for (size_t i = 0; i < g.before.size(); ++i)
      text += fmt::format("{} {}", i == 0 ? " after" : ",", g.before[i].kind());
    if (g.read.present()) text += fmt::format(" of %{}", g.read.id());
    for (size_t i = 0; i < g.fused.size(); ++i)
      text += fmt::format("{} {}", i == 0 ? " +" : ",", g.fused[i].kind());
    if (g.no_launch && MovesNothing(g.op)) {
      const int in = g.op.in(0).id(), out = g.op.out(0).id();
      text += fmt::format(" = %{}", unit.root(out) == out ? unit.root(in) : unit.root(out));
    }
    text += "\n";
  }
  return text;
}

}  // namespace tim::vx::opencl
