// FoldConstants: what does not depend on any input is computed once, here.
#include <algorithm>
#include <cstring>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {
// Larger results are left to the device: the reference is slow and constants stay in memory for
// good. Moves are fast, and their input is not needed any more.
constexpr int64_t kMaxElements = 1 << 20;

/// The bytes of a constant, in another order of dimensions: extent i of the result is extent
/// order[i].
template <size_t kBytes>
void Permute(const Shape& x, const std::vector<int64_t>& order, const void* from, void* to) {
  std::vector<int64_t> extents, strides;
  for (const int64_t d : order) {
    int64_t stride = 1;
    for (size_t k = 0; k < static_cast<size_t>(d); ++k) stride *= x[k];
    extents.push_back(x[static_cast<size_t>(d)]);
    strides.push_back(stride);
  }
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  std::vector<int64_t> at(order.size(), 0);
  for (int64_t left = x.count() / extents[0], base = 0; left > 0; --left) {
    for (int64_t i = 0; i < extents[0]; ++i, target += kBytes)
      std::memcpy(target, source + (base + i * strides[0]) * int64_t{kBytes}, kBytes);
    for (size_t d = 1; d < order.size(); ++d) {
      base += strides[d];
      if (++at[d] < extents[d]) break;
      base -= extents[d] * strides[d];
      at[d] = 0;
    }
  }
}

/// A transpose or a reshape of a constant, between equal encodings. False: it is something else.
Result<bool> FoldMove(ir::Graph& graph, int id) {
  const ir::Node& n = graph.node(id);
  const bool permutes = n.def->layout.kind == LayoutRule::Kind::kPermutes;
  if (n.dead || (!permutes && !n.def->moves_nothing) || n.inputs.size() != 1 ||
      n.outputs.size() != 1 || n.inputs[0] < 0)
    return false;
  const ir::Value& x = graph.value(n.inputs[0]);
  ir::Value& y = graph.value(n.outputs[0]);
  if (x.role != ir::Role::kConstant || y.role != ir::Role::kTransient ||
      x.type.dtype != y.type.dtype || !(x.type.quant == y.type.quant || permutes))
    return false;
  std::shared_ptr<base::Storage> storage = x.storage;
  if (permutes) {
    const AttrMap attrs = n.attrs.Map();
    const AttrValue* const value = attrs.Find(n.def->layout.axes);
    std::vector<int64_t> order;
    // A transpose between other encodings converts; scales by channel move along.
    if (value == nullptr || !attrs_detail::FromValue(*value, &order) || order.empty() ||
        !(x.type.per_channel() || SameEncoding(x.type, y.type)))
      return false;
    storage = base::Storage::Allocate(y.type.bytes());
    if (storage == nullptr)
      return graph.view(id).Error(Code::kOutOfMemory, "no memory for a folded constant");
    const size_t bytes = y.type.bytes() / static_cast<size_t>(std::max<int64_t>(1, y.type.count()));
    const auto permute = bytes == 1   ? Permute<1>
                         : bytes == 2 ? Permute<2>
                         : bytes == 4 ? Permute<4>
                                      : Permute<8>;
    permute(x.type.shape, order, x.storage->data(), storage->data());
  }
  graph.Kill(id);
  y.role = ir::Role::kConstant;
  y.storage = std::move(storage);
  return true;
}

bool Foldable(const ir::Graph& graph, const ir::Node& n) {
  if (n.dead || n.def->reference == nullptr || n.inputs.empty()) return false;
  for (int v : n.inputs) {
    if (v >= 0 && graph.value(v).role != ir::Role::kConstant) return false;
  }
  return std::all_of(n.outputs.begin(), n.outputs.end(), [&](int v) {
    const ir::Value& value = graph.value(v);
    return value.role == ir::Role::kTransient && value.type.count() <= kMaxElements;
  });
}
}  // namespace

Status FoldConstants(ir::Graph& graph) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  for (int id : order) {
    TIMCL_ASSIGN(const bool moved, FoldMove(graph, id));
    const ir::Node& n = graph.node(id);
    if (moved || !Foldable(graph, n)) continue;
    const OpView op = graph.view(id);
    ref::Inputs ins;
    ref::Outputs outs;
    std::vector<std::shared_ptr<base::Storage>> storages;
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      ins.push_back(op.in(i).present() ? ref::Input(op.in(i).data(), op.in(i).type())
                                       : ref::Input());
    }
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      TIMCL_ASSIGN(const size_t bytes, op.out(i).type().CheckedBytes());
      storages.push_back(base::Storage::Allocate(bytes));
      if (storages.back() == nullptr)
        return op.Error(Code::kOutOfMemory, "no memory for a folded constant");
      outs.emplace_back(storages.back()->data(), op.out(i).type());
    }
    const Status computed = n.def->reference(op, ins, outs);
    // That of a composed op may find out that a part has none.
    if (computed.code() == Code::kUnsupported) continue;
    TIMCL_TRY(computed);
    const std::vector<int> results = n.outputs;
    graph.Kill(id);
    for (size_t i = 0; i < results.size(); ++i) {
      graph.value(results[i]).role = ir::Role::kConstant;
      graph.value(results[i]).storage = storages[i];
    }
  }
  return Status();
}

}  // namespace tim::vx::compiler
