// PlacePieces: pieces of a tensor lie in its memory from the start.
#include <algorithm>
#include <optional>

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

/// Whether they lie behind each other in memory too: nothing but the axis is cut, and no dimension
/// above it has two cells. In blocks, channels from a whole block on.
bool AreRanges(const Pieces& pieces, const TensorType& whole, const std::vector<TensorView>& parts,
               TensorForm form) {
  const bool blocked = form == TensorForm::kBlocked;
  if (blocked && pieces.axis != 2) return false;
  for (size_t d = pieces.axis + 1; d < whole.shape.rank(); ++d) {
    if (whole.shape[d] != 1) return false;
  }
  for (size_t k = 0; k < parts.size(); ++k) {
    const TensorType& type = parts[k].type();
    if (!SameEncoding(type, whole) || type.shape.rank() != whole.shape.rank()) return false;
    for (size_t d = 0; d < whole.shape.rank(); ++d) {
      if (d != pieces.axis && type.shape[d] != whole.shape[d]) return false;
    }
    const int64_t end = pieces.first[k] + type.shape[pieces.axis];
    if (blocked && (pieces.first[k] % kChannelBlock != 0 ||
                    (end % kChannelBlock != 0 && end != whole.shape[2])))
      return false;
  }
  return true;
}

/// Bytes in front of a piece.
size_t OffsetOf(const Pieces& pieces, size_t k, const TensorType& whole, TensorForm form) {
  const TensorType lies = InForm(whole, form);
  const size_t axis = form == TensorForm::kBlocked ? 3 : pieces.axis;
  const int64_t first =
      form == TensorForm::kBlocked ? pieces.first[k] / kChannelBlock : pieces.first[k];
  return lies.bytes() / static_cast<size_t>(lies.shape[axis]) * static_cast<size_t>(first);
}

}  // namespace

void PlacePieces(const DeviceCaps& caps, Unit* unit) {
  for (Group& group : unit->groups) {
    const OpDef& def = group.op.def();
    if (group.gone || group.converts() || group.no_launch || !group.fused.empty() ||
        def.pieces == nullptr || group.in != group.out)
      continue;
    const std::optional<Pieces> pieces = def.pieces(group.op);
    if (!pieces) continue;
    const TensorForm form = group.in;
    const TensorView whole = pieces->joins ? group.op.out(0) : group.op.in(0);
    std::vector<TensorView> parts;
    for (size_t k = 0; k < pieces->first.size(); ++k)
      parts.push_back(pieces->joins ? group.op.in(k) : group.op.out(k));
    bool can = IsInside(*unit, whole.id(), form) && AreRanges(*pieces, whole.type(), parts, form);
    for (size_t k = 0; k < parts.size() && can; ++k) {
      const auto twice = [&](const TensorView& p) { return p.id() == parts[k].id(); };
      can = IsInside(*unit, parts[k].id(), form) && unit->parts.count({parts[k].id(), form}) == 0 &&
            unit->MemoryOf(whole.id(), form).value != parts[k].id() &&
            std::count_if(parts.begin(), parts.end(), twice) == 1 &&
            OffsetOf(*pieces, k, whole.type(), form) % caps.buffer_alignment == 0;
    }
    if (!can) continue;
    for (size_t k = 0; k < parts.size(); ++k) {
      unit->parts[{parts[k].id(), form}] = {whole.id(), form,
                                            OffsetOf(*pieces, k, whole.type(), form)};
    }
    group.no_launch = true;
  }
}

}  // namespace tim::vx::opencl
