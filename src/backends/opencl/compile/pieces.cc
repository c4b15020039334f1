// PlacePieces: pieces of a tensor lie in its memory from the start.
#include <algorithm>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {
namespace {

/// Whether the memory of a value in this form is the partition's own to place.
bool IsInside(const Unit& unit, int value, TensorForm form) {
  const auto it = unit.places.find(value);
  if (it == unit.places.end()) return false;
  if (form != TensorForm::kPlain) return it->second.kind != Place::Kind::kConstant;
  return it->second.kind == Place::Kind::kInternal && it->second.root == value;
}

/// Bytes of each piece in the given form, in order; empty where they are not behind each other.
std::vector<size_t> Pieces(const TensorType& whole, const std::vector<TensorView>& pieces,
                           size_t axis, TensorForm form) {
  std::vector<size_t> bytes;
  const bool blocked = form == TensorForm::kBlocked;
  if (blocked && axis != 2) return {};
  for (size_t d = axis + 1; d < whole.shape.rank(); ++d) {
    if (whole.shape[d] != 1) return {};
  }
  for (size_t k = 0; k < pieces.size(); ++k) {
    const TensorType& type = pieces[k].type();
    if (!SameEncoding(type, whole) || type.shape.rank() != whole.shape.rank()) return {};
    const bool ends_a_block = type.shape.dim(2) % kChannelBlock == 0;
    if (blocked && k + 1 < pieces.size() && !ends_a_block) return {};
    bytes.push_back(InForm(type, form).bytes());
  }
  return bytes;
}

}  // namespace

void PlacePieces(const DeviceCaps& caps, Unit* unit) {
  for (Group& group : unit->groups) {
    const OpDef& def = group.op.def();
    const char* const attribute = def.joins != nullptr ? def.joins : def.cuts;
    if (group.gone || group.converts() || group.no_launch || !group.fused.empty() ||
        attribute == nullptr || group.in != group.out)
      continue;
    int64_t axis = 0;
    const bool known = group.op.any_attrs().Map().Get(attribute, &axis).ok();
    const bool joins = def.joins != nullptr;
    const TensorView whole = joins ? group.op.out(0) : group.op.in(0);
    const TensorForm form = group.in;
    std::vector<TensorView> pieces;
    const size_t count = joins ? group.op.num_inputs() : group.op.num_outputs();
    for (size_t k = 0; k < count; ++k) pieces.push_back(joins ? group.op.in(k) : group.op.out(k));
    if (!known || !IsInside(*unit, whole.id(), form)) continue;
    const std::vector<size_t> bytes = Pieces(whole.type(), pieces, static_cast<size_t>(axis), form);
    bool can = bytes.size() == pieces.size();
    size_t offset = 0;
    for (size_t k = 0; k < pieces.size() && can; ++k) {
      const std::pair key(pieces[k].id(), form);
      const auto twice = [&](const TensorView& p) { return p.id() == pieces[k].id(); };
      can = IsInside(*unit, pieces[k].id(), form) && unit->parts.count(key) == 0 &&
            unit->MemoryOf(whole.id(), form).value != pieces[k].id() &&
            std::count_if(pieces.begin(), pieces.end(), twice) == 1 &&
            offset % caps.buffer_alignment == 0;
      offset += bytes[k];
    }
    if (!can) continue;
    offset = 0;
    for (size_t k = 0; k < pieces.size(); ++k) {
      unit->parts[{pieces[k].id(), form}] = {whole.id(), form, offset};
      offset += bytes[k];
    }
    group.no_launch = true;
  }
}

}  // namespace tim::vx::opencl
