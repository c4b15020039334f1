// What the tests of layout inference draw: numbers, permutations, layouts, operators of cases.
#ifndef TIMCL_TESTS_LAYOUT_DRAW_H_
#define TIMCL_TESTS_LAYOUT_DRAW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/described_graph.h"
#include "ref/compare.h"
#include "support/conformance.h"

namespace tim::vx::layout_test {

class Random : public ref::Random {
 public:
  using ref::Random::Random;
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  Order Permutation(size_t rank) {
    Order order = ir::Identity(rank);
    for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[Below(i)]);
    return order;
  }
};

/// The layout attributes of one op and the permutations that they stand for.
struct Layouts {
  AnyAttrs attrs;
  Order data, kernel;  // to the native order
};

/// Every choice of layouts for an op whose inputs 0 and 1 have these ranks: those of the original
/// with a name, the default ones left out.
inline std::vector<Layouts> LayoutsOf(const std::string& kind, const AnyAttrs& attrs,
                                      size_t data_rank, size_t kernel_rank) {
  const auto it = LayoutTable().find(kind);
  if (it == LayoutTable().end() || (data_rank != 4 && data_rank != 5)) return {};
  const auto& [data_name, kernel_name, data_inputs] = it->second;
  std::vector<std::string> data = {data_rank == 4 ? "WHCN" : "WHDCN",
                                   data_rank == 4 ? "CWHN" : "CWHDN"};
  std::vector<std::string> kernels = {""};
  if (*kernel_name != 0) {
    kernels = kernel_rank == 5 ? std::vector<std::string>{"WHDIcOc", "OcIcWHD"}
                               : std::vector<std::string>{"WHIcOc", "IcWHOc", "OcIcWH", "IcOcWH"};
  }
  std::vector<Layouts> all;
  for (const std::string& d : data) {
    for (const std::string& k : kernels) {
      Layouts l;
      l.attrs = With(attrs, data_name, d);
      l.data = OrderOf(d, data_rank);
      if (!k.empty()) {
        l.attrs = With(l.attrs, kernel_name, k);
        l.kernel = OrderOf(k, kernel_rank);
        // The kernel beside CWHDN data has no name of its own.
        if (d == "CWHDN" && k == "WHDIcOc") l.kernel = {1, 2, 3, 0, 4};
      }
      if (!ir::IsIdentity(l.data) || !ir::IsIdentity(l.kernel)) all.push_back(l);
    }
  }
  return all;
}

inline AnyAttrs NativeAttrs(const std::string& kind, const AnyAttrs& attrs) {
  const auto it = LayoutTable().find(kind);
  if (it == LayoutTable().end()) return attrs;
  const AttrMap defaults = attrs.schema()->to_map(attrs.schema()->make_default().get());
  AttrMap map = attrs.Map();
  map.Set(it->second.data, *defaults.Find(it->second.data));
  if (*it->second.kernel != 0) map.Set(it->second.kernel, *defaults.Find(it->second.kernel));
  return AnyAttrs(attrs.schema(), *attrs.schema()->from_map(map));
}

/// The result types of an op in the native order; nothing where it refuses.
inline std::optional<std::vector<TensorType>> ResultsOf(const OpDef& def, const AnyAttrs& attrs,
                                                        const std::vector<TensorType>& inputs,
                                                        const std::vector<bool>& constant,
                                                        const std::vector<TensorType>& outputs) {
  conformance::TestGraph graph;
  std::vector<int> ins, outs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype == DataType::UNKNOWN) {
      ins.push_back(-1);
      continue;
    }
    const std::vector<std::byte> zeros(inputs[i].bytes());
    ins.push_back(graph.AddInput(inputs[i], constant[i], zeros.data()));
  }
  for (const TensorType& t : outputs) outs.push_back(graph.AddResult(t, true));
  if (!graph.AddOp(std::make_shared<OpDef>(def), attrs, ins, outs).ok()) return std::nullopt;
  std::vector<TensorType> types;
  for (const int v : outs) types.push_back(graph.TypeOf(v));
  return types;
}

/// Adds the op of a case to a graph. Inputs that `taken` names by value id are there already, in
/// the order that the layouts ask for; the others are made, with data. Results are made open.
/// False where the op refuses these inputs.
inline bool AddOp(const conformance::NamedCase& named, const std::optional<Layouts>& layouts,
                  const std::vector<int>& taken, uint64_t seed, DescribedGraph* graph) {
  const Case& c = named.c;
  const std::string kind(named.def->name);
  const auto entry = LayoutTable().find(kind);
  DescribedOp op;
  op.def = std::make_shared<OpDef>(*named.def);
  op.native = NativeAttrs(kind, c.attrs);
  op.attrs = layouts ? layouts->attrs : op.native;
  std::vector<TensorType> native;
  std::vector<bool> constant;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Order order;
    if (layouts && entry != LayoutTable().end()) {
      for (const size_t data : entry->second.data_inputs) {
        if (data == i) order = layouts->data;
      }
      if (i == 1 && *entry->second.kernel != 0) order = layouts->kernel;
    }
    if (ir::IsIdentity(order)) order.clear();
    op.in_orders.push_back(order);
    const CaseTensor& t = c.inputs[i];
    if (i < taken.size() && taken[i] >= 0) {
      const DescribedValue& v = graph->value(taken[i]);
      if (!order.empty() && v.type.shape.rank() != order.size()) return false;
      native.push_back(order.empty() ? v.type : InOrder(v.type, order));
      constant.push_back(v.role == DescribedValue::kConstant);
      op.inputs.push_back(taken[i]);
      continue;
    }
    native.push_back(t.type);
    constant.push_back(t.constant);
    if (t.type.dtype == DataType::UNKNOWN) {
      op.inputs.push_back(-1);
      continue;
    }
    DescribedValue v;
    v.role = t.constant ? DescribedValue::kConstant : DescribedValue::kInput;
    std::vector<std::byte> data(t.type.bytes());
    conformance::FillInput(t, c.outputs.empty() ? TensorType() : c.outputs[0],
                           seed * 31 + i + conformance::Hash(named.text), data.data());
    v.type = order.empty() ? t.type : InOrder(t.type, ir::Inverse(order));
    v.data = order.empty() ? data : Reorder(data, t.type, ir::Inverse(order));
    op.inputs.push_back(graph->AddValue(std::move(v)));
  }
  std::vector<TensorType> outputs = c.outputs;
  for (TensorType& t : outputs) {
    if (!taken.empty()) t.shape = Shape();
  }
  const auto types = ResultsOf(*named.def, op.native, native, constant, outputs);
  if (!types) return false;
  if (layouts && !ir::IsIdentity(layouts->data)) op.out_order = layouts->data;
  for (const TensorType& t : *types) {
    DescribedValue v;
    v.role = DescribedValue::kResult;
    if (!op.out_order.empty() && t.shape.rank() != op.out_order.size()) return false;
    v.type = op.out_order.empty() ? t : InOrder(t, ir::Inverse(op.out_order));
    op.outputs.push_back(graph->AddValue(std::move(v)));
  }
  graph->ops.push_back(std::move(op));
  return true;
}

}  // namespace tim::vx::layout_test
#endif  // TIMCL_TESTS_LAYOUT_DRAW_H_
