// A graph as plain data, of which two real ones are made: the source, whose operators name their
// layouts, and the plain one, where each of them stands between transposes written out. Layout
// inference of the first must compute what the second does.
#ifndef TIMCL_TESTS_LAYOUT_DESCRIBED_GRAPH_H_
#define TIMCL_TESTS_LAYOUT_DESCRIBED_GRAPH_H_

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compat/permute_vector.h"
#include "ir/layout.h"
#include "ir/packed.h"
#include "support/api_support.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/builtin_op.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops/transpose.h"

namespace tim::vx::layout_test {

using ir::Order;
using TensorPtr = std::shared_ptr<Tensor>;
using GraphPtr = std::shared_ptr<Graph>;

/// The layout arguments of the operators, by the facts about the API and not by their definitions.
struct LayoutArguments {
  const char* data;    // the attribute for these inputs and all outputs
  const char* kernel;  // the attribute for input 1; "" if it is no kernel
  std::vector<size_t> data_inputs;
};
inline const std::map<std::string, LayoutArguments>& LayoutTable() {
  static const auto* const table = new std::map<std::string, LayoutArguments>{
      {"Conv1d", {"input_layout", "kernel_layout", {0}}},
      {"Conv2d", {"input_layout", "kernel_layout", {0}}},
      {"Conv3d", {"input_layout", "kernel_layout", {0}}},
      {"GroupedConv1d", {"input_layout", "kernel_layout", {0}}},
      {"GroupedConv2d", {"input_layout", "kernel_layout", {0}}},
      {"DeConv1d", {"input_layout", "kernel_layout", {0}}},
      {"DeConv2d", {"input_layout", "kernel_layout", {0}}},
      {"Pool1d", {"layout", "", {0}}},
      {"Pool2d", {"layout", "", {0}}},
      {"MaxPool3d", {"layout", "", {0}}},
      {"MaxpoolWithArgmax", {"layout", "", {0}}},
      {"MaxpoolWithArgmax2", {"layout", "", {0}}},
      {"MaxUnpool2d", {"layout", "", {0, 1}}},
      {"MaxpoolGrad", {"layout", "", {0, 1}}},
      {"Resize", {"layout", "", {0}}},
      {"Resize1d", {"layout", "", {0}}},
      {"SpaceToDepth", {"layout", "", {0}}},
      {"DepthToSpace", {"layout", "", {0}}},
      {"Space2Batch", {"layout", "", {0}}},
      {"Batch2Space", {"layout", "", {0}}},
      {"BatchNorm", {"input_layout", "", {0}}},
      {"InstanceNormalization", {"input_layout", "", {0}}},
      {"RoiAlign", {"input_layout", "", {0}}},
      {"RoiPool", {"input_layout", "", {0}}}};
  return *table;
}
/// The permutations of the facts: from the named order to that of the operators.
inline Order OrderOf(const std::string& layout, size_t rank) {
  static const auto* const orders = new std::map<std::string, Order>{
      {"CWHN", {1, 2, 0, 3}},   {"CWHDN", {1, 2, 3, 0, 4}}, {"IcWHOc", {1, 2, 0, 3}},
      {"OcIcWH", {2, 3, 1, 0}}, {"IcOcWH", {2, 3, 0, 1}},   {"OcIcWHD", {2, 3, 4, 1, 0}}};
  const auto it = orders->find(layout);
  return it != orders->end() && it->second.size() == rank ? it->second : ir::Identity(rank);
}

/// An operator by its definition.
class AnyOp : public BuiltinOp {
 public:
  AnyOp(Graph* graph, OpDef def, AnyAttrs attrs) : BuiltinOp(graph, def, std::move(attrs)) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<AnyOp>(Def(), AttrsOf(*this));
  }
};

inline AnyAttrs With(const AnyAttrs& attrs, const std::string& name, const std::string& value) {
  AttrMap map = attrs.Map();
  map.Set(name, value);
  return AnyAttrs(attrs.schema(), *attrs.schema()->from_map(map));
}

inline TensorType InOrder(TensorType type, const Order& order) {
  type.shape = ir::Permuted(type.shape, order);
  if (type.per_channel()) {
    const auto dim = static_cast<size_t>(type.quant.ChannelDim());
    type.quant.SetChannelDim(static_cast<int32_t>(ir::PlaceOf(order, dim)));
  }
  return type;
}

/// Dense data of `type` in another order, element by element.
inline std::vector<std::byte> Reorder(const std::vector<std::byte>& data, const TensorType& type,
                                      const Order& order) {
  const Shape to = ir::Permuted(type.shape, order);
  std::vector<std::byte> out(data.size());
  const size_t width = data.size() / static_cast<size_t>(type.count());
  for (int64_t i = 0; i < type.count(); ++i) {
    std::vector<int64_t> at(order.size());
    int64_t rest = i;
    for (size_t d = 0; d < order.size(); ++d) {
      at[order[d]] = rest % to[d];
      rest /= to[d];
    }
    int64_t from = 0;
    for (size_t d = order.size(); d-- > 0;) from = from * type.shape[d] + at[d];
    std::memcpy(out.data() + static_cast<size_t>(i) * width,
                data.data() + static_cast<size_t>(from) * width, width);
  }
  return out;
}

inline std::shared_ptr<transform::IPermuteVector> VectorOf(const Order& order) {
  auto vector = transform::MakeShared(static_cast<uint32_t>(order.size()));
  for (uint32_t i = 0; i < order.size(); ++i) vector->At(i) = order[i];
  return vector;
}

struct DescribedValue {
  TensorType type;  // as operators see it
  enum Role { kInput, kConstant, kResult } role = kInput;
  std::vector<std::byte> data;  // of inputs and constants
  bool output = false;          // of results
  /// The order of its memory in the source; {} = none is given.
  Order stored = {};
  /// What the source declares for a result that is no output, or for an output left open.
  ShapeType sloppy = {};
  bool open = false;  // an output without declared shape
};

struct DescribedOp {
  std::shared_ptr<const OpDef> def;
  AnyAttrs attrs;                    // with layouts
  AnyAttrs native;                   // without
  std::vector<int> inputs, outputs;  // values; -1: left out
  std::vector<Order> in_orders;      // what brings each input to the native order; {}: nothing
  Order out_order;                   // in which the results come; {}: the native one
};

struct DescribedGraph {
  std::vector<DescribedValue> values;
  std::vector<DescribedOp> ops;

  int AddValue(DescribedValue value) {
    values.push_back(std::move(value));
    return static_cast<int>(values.size()) - 1;
  }
  const DescribedValue& value(int id) const { return values[static_cast<size_t>(id)]; }
  DescribedValue& value(int id) { return values[static_cast<size_t>(id)]; }
};

/// One of the two graphs with what its values became.
struct Built {
  GraphPtr graph;
  std::vector<TensorPtr> tensors;  // by value; null for values nobody uses
  std::map<TensorPtr, std::shared_ptr<transform::IPermuteVector>> orders;
};

inline TensorSpec SpecOf(const DescribedValue& v, bool source) {
  const TensorType type = source && !v.stored.empty() ? InOrder(v.type, v.stored) : v.type;
  TensorAttribute attribute = TensorAttribute::TRANSIENT;
  if (v.role == DescribedValue::kInput) attribute = TensorAttribute::INPUT;
  if (v.role == DescribedValue::kConstant) attribute = TensorAttribute::CONSTANT;
  if (v.role == DescribedValue::kResult && v.output) attribute = TensorAttribute::OUTPUT;
  ShapeType shape = type.shape.ToShapeType();
  if (attribute == TensorAttribute::TRANSIENT) shape = source ? v.sloppy : ShapeType();
  if (v.open) shape = {};
  return TensorSpec(type.dtype, shape, attribute, type.quant);
}

/// `source`: operators with layouts over data in their orders. Else the plain graph, which has an
/// explicit Transpose for each of these.
inline Built Build(const DescribedGraph& described, const std::shared_ptr<Context>& context,
                   bool source) {
  Built b;
  b.graph = context->CreateGraph();
  for (const DescribedValue& v : described.values) {
    const void* data = nullptr;
    std::vector<std::byte> stored;
    if (v.role == DescribedValue::kConstant) {
      stored = source && !v.stored.empty() ? Reorder(v.data, v.type, v.stored) : v.data;
      data = stored.data();
    }
    b.tensors.push_back(b.graph->CreateTensor(SpecOf(v, source), data));
    if (source && !v.stored.empty()) b.orders[b.tensors.back()] = VectorOf(v.stored);
  }
  auto transposed = [&](const TensorPtr& from, const Order& order) {
    TensorType type = {from->GetDataType(), {}, from->GetQuantization()};
    if (type.per_channel()) {
      type.quant.SetChannelDim(
          static_cast<int32_t>(ir::PlaceOf(order, static_cast<size_t>(type.quant.ChannelDim()))));
    }
    auto to =
        b.graph->CreateTensor(TensorSpec(type.dtype, {}, TensorAttribute::TRANSIENT, type.quant));
    (*b.graph->CreateOperation<ops::Transpose>(std::vector<uint32_t>(order)))
        .BindInput(from)
        .BindOutput(to);
    return to;
  };
  for (const DescribedOp& o : described.ops) {
    auto op = b.graph->CreateOperation<AnyOp>(*o.def, source ? o.attrs : o.native);
    for (size_t i = 0; i < o.inputs.size(); ++i) {
      if (o.inputs[i] < 0) {
        op->BindInput(b.graph->CreateTensorPlaceHolder());
        continue;
      }
      const DescribedValue& v = described.value(o.inputs[i]);
      const Order& order = o.in_orders[i];
      TensorPtr t = b.tensors[static_cast<size_t>(o.inputs[i])];
      if (!source && !order.empty() && v.role == DescribedValue::kConstant) {
        const TensorType type = InOrder(v.type, order);
        t = b.graph->CreateTensor(
            TensorSpec(type.dtype, type.shape.ToShapeType(), CONSTANT, type.quant),
            Reorder(v.data, v.type, order).data());
      } else if (!source && !order.empty()) {
        t = transposed(t, order);
      }
      op->BindInput(t);
    }
    for (const int id : o.outputs) {
      const TensorPtr& y = b.tensors[static_cast<size_t>(id)];
      if (source || o.out_order.empty()) {
        op->BindOutput(y);
        continue;
      }
      auto native = b.graph->CreateTensor(
          TensorSpec(y->GetDataType(), {}, TensorAttribute::TRANSIENT,
                     InOrder({y->GetDataType(), Shape(std::vector<int64_t>(o.out_order.size(), 1)),
                              y->GetQuantization()},
                             o.out_order)
                         .quant));
      op->BindOutput(native);
      (*b.graph->CreateOperation<ops::Transpose>(ir::Inverse(o.out_order)))
          .BindInput(native)
          .BindOutput(y);
    }
  }
  return b;
}

inline size_t CountOps(const GraphPtr& graph, const std::string& kind) {
  size_t count = 0;
  for (const auto& op : graph->OpVector()) count += op->Kind() == kind;
  return count;
}

/// Compiles, fills the inputs and runs. Results of the outputs by value, in the order that
/// operators see; empty where it failed, with the reason.
inline std::map<int, std::vector<std::byte>> RunGraph(const DescribedGraph& described,
                                                      const GraphPtr& graph,
                                                      const std::vector<TensorPtr>& tensors,
                                                      bool source, std::string* why) {
  std::map<int, std::vector<std::byte>> results;
  const auto in_memory = [&](const DescribedValue& v) {
    return source && !v.stored.empty() ? InOrder(v.type, v.stored) : v.type;
  };
  if (!graph->Compile()) {
    *why = graph->LastStatus().message();
    return results;
  }
  for (size_t i = 0; i < described.values.size(); ++i) {
    const DescribedValue& v = described.values[i];
    if (v.role != DescribedValue::kInput) continue;
    const auto data = source && !v.stored.empty() ? Reorder(v.data, v.type, v.stored) : v.data;
    std::vector<std::byte> shared = data;  // as the host shares it: 4-bit elements are packed
    if (IsPacked(v.type.dtype)) Pack(in_memory(v), data.data(), shared.data());
    tensors[i]->CopyDataToTensor(shared.data());
  }
  if (!graph->Run()) {
    *why = graph->LastStatus().message();
    return results;
  }
  for (size_t i = 0; i < described.values.size(); ++i) {
    const DescribedValue& v = described.values[i];
    if (v.role != DescribedValue::kResult || !v.output) continue;
    std::vector<std::byte> data(v.type.bytes());
    if (!tensors[i]->CopyDataFromTensor(data.data())) {
      *why = "output " + std::to_string(i) + " cannot be read";
      return {};
    }
    if (IsPacked(v.type.dtype)) {
      const auto shared = data;
      Unpack(in_memory(v), shared.data(), data.data());
    }
    if (source && !v.stored.empty()) {
      data = Reorder(data, InOrder(v.type, v.stored), ir::Inverse(v.stored));
    }
    results[static_cast<int>(i)] = std::move(data);
  }
  return results;
}

using test::HostContext;

}  // namespace tim::vx::layout_test
#endif  // TIMCL_TESTS_LAYOUT_DESCRIBED_GRAPH_H_
