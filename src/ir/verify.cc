// VerifyNode: operand counts, dtypes, the op's own checks, shape inference, and what becomes of a
// declared output shape.
#include <fmt/format.h>

#include <sstream>

#include "ir/graph.h"

namespace tim::vx::ir {
namespace {

struct Arity {
  size_t least = 0, most = 0;
  std::string names;
};

Arity ParseArity(const char* list) {
  Arity a;
  std::istringstream words(list);
  for (std::string w; words >> w;) {
    a.names += (a.names.empty() ? "" : ", ") + w;
    if (w.back() == '*') {
      ++a.least, a.most = 1u << 20;
    } else {
      ++a.most;
      if (w.back() != '?') a.least = a.most;
    }
  }
  return a;
}

std::string OperandLabel(const char* what, size_t i, const std::string& name) {
  return name.empty() ? fmt::format("{} {}", what, i) : fmt::format("{} {} '{}'", what, i, name);
}

Status CheckQuantization(const OpView& op, const TensorView& t, const char* what, size_t i) {
  const Quantization& q = t.type().quant;
  if (q.Type() == QuantType::NONE || q.Type() == QuantType::DYNAMIC_FIXED_POINT) return Status();
  auto bad = [&](const std::string& why) {
    return op.Error(Code::kInvalidArgument, fmt::format("{} {} {}: {}", what, i, t.label(), why))
        .AtTensor(t.name());
  };
  if (q.Scales().empty()) return bad("quantization has no scale");
  for (float s : q.Scales()) {
    if (!(s > 0.0f) || !std::isfinite(s))
      return bad(fmt::format("quantization scale {} is not a positive number", s));
  }
  if (!t.type().per_channel()) return Status();
  const int64_t dim = q.ChannelDim();
  if (dim < 0 || dim >= static_cast<int64_t>(t.shape().rank())) {
    return bad(fmt::format("channel_dim {} is outside [0, {})", dim, t.shape().rank()));
  }
  const int64_t channels = t.shape()[static_cast<size_t>(dim)];
  if (static_cast<int64_t>(q.Scales().size()) != channels) {
    return bad(fmt::format("{} scales for {} channels along dimension {}", q.Scales().size(),
                           channels, dim));
  }
  return Status();
}

Status CheckOperand(const OpView& op, const TensorView& t, const char* what, size_t i) {
  if (t.dtype() == DataType::UNKNOWN) {
    return op
        .Error(Code::kInvalidType,
               fmt::format("{} {} {} has DataType::UNKNOWN", what, i, t.label()))
        .AtTensor(t.name());
  }
  return CheckQuantization(op, t, what, i);
}

}  // namespace

Status VerifyNode(Graph& graph, int id) {
  const OpView op = graph.view(id);
  const OpDef& def = op.def();
  if (graph.node(id).attrs.schema() != def.schema) {
    auto attrs = graph.node(id).attrs.By(def.schema);
    if (!attrs.ok()) return attrs.status().AtOp(op.label());
    graph.node(id).attrs = std::move(*attrs);
  }
  if (def.schema != nullptr && def.schema->check != nullptr) {
    if (const Status s = def.schema->check(op.any_attrs().data()); !s.ok())
      return s.AtOp(op.label());
  }
  const Arity in = ParseArity(def.inputs), out = ParseArity(def.outputs);
  size_t bound = op.num_inputs();
  while (bound > 0 && !op.in(bound - 1).present()) --bound;
  if (bound < in.least || op.num_inputs() > in.most) {
    return op.Error(Code::kInvalidGraph,
                    fmt::format("{} inputs are bound, {} expected: {}", bound,
                                in.least == in.most ? fmt::format("{}", in.least)
                                : in.most > 1000    ? fmt::format("at least {}", in.least)
                                                    : fmt::format("{} to {}", in.least, in.most),
                                in.names));
  }
  if (op.num_outputs() < out.least || op.num_outputs() > out.most) {
    return op.Error(Code::kInvalidGraph, fmt::format("{} outputs are bound, {} expected: {}",
                                                     op.num_outputs(), out.least, out.names));
  }
  std::istringstream words(def.inputs);
  std::string word;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    if (i == 0 || word.back() != '*') words >> word;
    if (!op.in(i).present()) {
      if (word.back() == '?') continue;
      return op.Error(Code::kInvalidGraph,
                      fmt::format("input {} '{}' is left out but not optional", i, word));
    }
    TIMCL_TRY(CheckOperand(op, op.in(i), "input", i));
    if (auto bytes = op.in(i).type().CheckedBytes(); !bytes.ok()) {
      return bytes.status().AtOp(op.label()).AtTensor(OperandLabel("input", i, op.in(i).name()));
    }
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const Value& v = graph.value(op.out(i).id());
    graph.node(id).out_types[i] = v.type;
    // A per-channel result needs its shape first, which is checked below.
    if (!v.infer_shape) TIMCL_TRY(CheckOperand(op, op.out(i), "output", i));
  }
  TIMCL_TRY(CheckTypes(op));
  if (def.verify != nullptr) TIMCL_TRY(def.verify(op));
  if (def.infer == nullptr) return op.Error(Code::kInternal, "the operator has no shape inference");
  TIMCL_ASSIGN(const Shapes shapes, def.infer(op));
  if (shapes.size() < op.num_outputs()) {
    return op.Error(Code::kInvalidGraph, fmt::format("{} outputs are bound, but the op has {}",
                                                     op.num_outputs(), shapes.size()));
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    Value& v = graph.value(graph.node(id).outputs[i]);
    TensorType& computed = graph.node(id).out_types[i];
    computed.shape = shapes[i];
    const bool open = v.infer_shape || def.declared == Declared::kOverwritten;
    if (auto bytes = v.type.CheckedBytes(); !open && !bytes.ok()) {
      return op
          .Error(bytes.status().code(), fmt::format("output {}: {}", i, bytes.status().detail()))
          .AtTensor(v.name);
    }
    // An extent that inference cannot make sense of may still be declared (a window larger than its
    // input, say).
    const bool extents_win =
        !open && def.declared == Declared::kExtentWins && v.type.shape.rank() == shapes[i].rank();
    if (!extents_win) {
      if (auto n = shapes[i].CheckedCount(); !n.ok()) {
        return n.status().AtOp(op.label()).AtTensor(OperandLabel("output", i, v.name));
      }
    }
    if (open) {
      v.type.shape = shapes[i];
      TIMCL_TRY(CheckOperand(op, op.out(i), "output", i));
    } else if (extents_win &&
               (!shapes[i].CheckedCount().ok() || v.type.count() != shapes[i].count())) {
      computed.shape = v.type.shape;
    } else if (def.declared == Declared::kMustMatch ? v.type.shape != shapes[i]
                                                    : v.type.count() != shapes[i].count()) {
      return op
          .Error(Code::kInvalidShape,
                 fmt::format("output {} '{}' is declared {}, the op computes {}", i, v.name,
                             v.type.shape.ToString(), shapes[i].ToString()))
          .AtTensor(v.name);
    }
    if (auto bytes = v.type.CheckedBytes(); !bytes.ok()) {
      return bytes.status().AtOp(op.label()).AtTensor(OperandLabel("output", i, v.name));
    }
  }
  return Status();
}

}  // namespace tim::vx::ir
