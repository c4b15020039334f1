// Alias: ops that move no bytes share the memory of their input.
#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {

void Alias(Unit* unit) {
  for (Group& group : unit->groups) {
    if (group.gone || group.converts() || !group.fused.empty() || !MovesNothing(group.op)) continue;
    const int in = unit->root(group.op.in(0).id()), out = unit->root(group.op.out(0).id());
    auto fixed = [&](int v) { return unit->places.at(v).kind != Place::Kind::kInternal; };
    if (in == out || (fixed(in) && fixed(out))) continue;
    if (fixed(out)) {
      unit->places.at(in).root = out;
    } else {
      unit->places.at(out).root = in;
    }
    group.no_launch = true;
  }
}

}  // namespace tim::vx::opencl
