// VerifyNode: operand counts, dtypes, the op's own checks, shape inference, and what becomes of a
// declared output shape.
#include <fmt/format.h>

#include <cmath>

#include "ir/graph.h"
#include "ir/operands.h"

namespace tim::vx::ir {
namespace {

/// One operand of an op, in the words of its messages.
struct Operand {
  const OpView& op;
  bool input;
  size_t i;

  TensorView view() const { return input ? op.in(i) : op.out(i); }
  Status Error(Code code, const std::string& message) const {
    return input ? op.InputError(i, code, message) : op.OutputError(i, code, message);
  }
  Status Error(const Status& status) const { return Error(status.code(), status.detail()); }
};

Status CheckQuantization(const Operand& operand) {
  const TensorView t = operand.view();
  const Quantization& q = t.type().quant;
  if (q.Type() == QuantType::NONE || q.Type() == QuantType::DYNAMIC_FIXED_POINT) return Status();
  auto bad = [&](const std::string& why) { return operand.Error(Code::kInvalidArgument, why); };
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

Status CheckEncoding(const Operand& operand) {
  if (operand.view().dtype() == DataType::UNKNOWN)
    return operand.Error(Code::kInvalidType, "it has DataType::UNKNOWN");
  return CheckQuantization(operand);
}

/// The attributes by the schema of the definition, and its check of them.
Status TakeAttributes(Graph& graph, int id) {
  const OpView op = graph.view(id);
  const AttrSchema* schema = op.def().schema;
  if (graph.node(id).attrs.schema() != schema) {
    auto attrs = graph.node(id).attrs.By(schema);
    if (!attrs.ok()) return attrs.status().AtOp(op.label());
    graph.node(id).attrs = std::move(*attrs);
  }
  if (schema == nullptr || schema->check == nullptr) return Status();
  return schema->check(op.any_attrs().data()).AtOp(op.label());
}

Status CheckInputs(const OpView& op) {
  const OperandNames names(op.def().inputs);
  size_t bound = op.num_inputs();
  while (bound > 0 && !op.in(bound - 1).present()) --bound;
  const size_t least = names.least(), most = names.most();
  if (bound < least || op.num_inputs() > most) {
    return op.Error(Code::kInvalidGraph,
                    fmt::format("{} inputs are bound, {} expected: {}", bound,
                                least == most     ? fmt::format("{}", least)
                                : names.repeats() ? fmt::format("at least {}", least)
                                                  : fmt::format("{} to {}", least, most),
                                names.ToString()));
  }
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    const OperandName name = names.at(i);
    if (!op.in(i).present()) {
      if (name.optional) continue;
      return op.Error(Code::kInvalidGraph,
                      fmt::format("input {} '{}' is left out but not optional", i, name.name));
    }
    const Operand operand{op, true, i};
    TIMCL_TRY(CheckEncoding(operand));
    if (auto bytes = op.in(i).type().CheckedBytes(); !bytes.ok())
      return operand.Error(bytes.status());
  }
  return Status();
}

Status CheckOutputs(Graph& graph, int id) {
  const OpView op = graph.view(id);
  const OperandNames names(op.def().outputs);
  if (op.num_outputs() < names.least() || op.num_outputs() > names.most()) {
    return op.Error(Code::kInvalidGraph,
                    fmt::format("{} outputs are bound, {} expected: {}", op.num_outputs(),
                                names.least(), names.ToString()));
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const Value& v = graph.value(op.out(i).id());
    graph.node(id).out_types[i] = v.type;
    // A per-channel result needs its shape first, which is checked when it is known.
    if (!v.infer_shape) TIMCL_TRY(CheckEncoding({op, false, i}));
  }
  return Status();
}

/// What becomes of output `i`, whose shape the op computes as `inferred`.
Status SettleShape(Graph& graph, int id, size_t i, const Shape& inferred) {
  const OpView op = graph.view(id);
  const Operand operand{op, false, i};
  const Declared declared = op.def().declared;
  Value& v = graph.value(graph.node(id).outputs[i]);
  TensorType& computed = graph.node(id).out_types[i];
  const bool open = v.infer_shape || declared == Declared::kOverwritten;
  if (auto bytes = v.type.CheckedBytes(); !open && !bytes.ok())
    return operand.Error(bytes.status());
  computed.shape = inferred;
  // An extent that inference cannot make sense of may still be declared (a window larger than its
  // input, say).
  const auto count = inferred.CheckedCount();
  const bool extents_win =
      !open && declared == Declared::kExtentWins && v.type.shape.rank() == inferred.rank();
  if (!extents_win && !count.ok()) return operand.Error(count.status());
  const bool same_count = count.ok() && !open && v.type.count() == *count;
  if (open) {
    v.type.shape = inferred;
    TIMCL_TRY(CheckEncoding(operand));
  } else if (extents_win && !same_count) {
    computed.shape = v.type.shape;
  } else if (declared == Declared::kMustMatch ? v.type.shape != inferred : !same_count) {
    return op
        .Error(Code::kInvalidShape,
               fmt::format("output {} '{}' is declared {}, the op computes {}", i, v.name,
                           v.type.shape.ToString(), inferred.ToString()))
        .AtTensor(v.name);
  }
  if (auto bytes = v.type.CheckedBytes(); !bytes.ok()) return operand.Error(bytes.status());
  return Status();
}

}  // namespace

Status VerifyNode(Graph& graph, int id) {
  const OpView op = graph.view(id);
  const OpDef& def = op.def();
  TIMCL_TRY(TakeAttributes(graph, id));
  TIMCL_TRY(CheckInputs(op));
  TIMCL_TRY(CheckOutputs(graph, id));
  TIMCL_TRY(CheckTypes(op));
  if (def.verify != nullptr) TIMCL_TRY(def.verify(op));
  if (def.waits_for != nullptr) return op.Error(Code::kUnsupported, def.waits_for);
  if (def.infer == nullptr) return op.Error(Code::kInternal, "the operator has no shape inference");
  TIMCL_ASSIGN(const Shapes shapes, def.infer(op));
  if (shapes.size() < op.num_outputs()) {
    return op.Error(Code::kInvalidGraph, fmt::format("{} outputs are bound, but the op has {}",
                                                     op.num_outputs(), shapes.size()));
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) TIMCL_TRY(SettleShape(graph, id, i, shapes[i]));
  return def.check_outputs != nullptr ? def.check_outputs(op) : Status();
}

}  // namespace tim::vx::ir
