// MeanStdDevNormalization: finds the pattern from its first mean on, by consumers, and checks that
// what replaces it has the same meaning.
#include "tim/transform/mean_stddev_normalize_fusion.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "tim/vx/op_def.h"
#include "tim/vx/ops/instancenormalization.h"
#include "tim/vx/ops/layernormalization.h"

namespace tim::transform {
namespace {

using vx::DataLayout;
using vx::DataType;

using GraphPtr = std::shared_ptr<vx::Graph>;
using TensorPtr = std::shared_ptr<vx::Tensor>;
using OpPtr = std::shared_ptr<vx::Operation>;

bool Is(const OpPtr& op, const char* kind) {
  return op != nullptr && op->Kind() == std::string(kind);
}

/// The float32 values of a constant of any type, also behind one op that changes type or shape
/// alone.
std::optional<std::vector<float>> ValuesOf(const GraphPtr& graph, TensorPtr t,
                                           vx::ShapeType* shape) {
  *shape = t->GetShape();
  if (!t->IsConstTensor()) {
    const OpPtr producer = graph->GetProducerOp(t);
    if (!Is(producer, "DataConvert") && !Is(producer, "Reshape")) return std::nullopt;
    if (t->GetDataType() != DataType::FLOAT32) return std::nullopt;
    t = vx::InputsOf(*producer)[0];
    // A Reshape is only understood where its result says how it looks.
    if (Is(producer, "DataConvert") && shape->empty()) *shape = t->GetShape();
    if (!t->IsConstTensor() || vx::Shape(*shape).count() != vx::Shape(t->GetShape()).count())
      return std::nullopt;
  }
  float* const data = t->ConvertTensorToFloat32Data();
  if (data == nullptr) return std::nullopt;
  std::vector<float> values(data, data + vx::Shape(t->GetShape()).count());
  std::free(data);
  return values;
}

std::optional<float> NumberOf(const GraphPtr& graph, const TensorPtr& t) {
  vx::ShapeType shape;
  const auto values = ValuesOf(graph, t, &shape);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

/// The dimensions of a mean that keeps them; nothing for another op.
std::optional<std::set<int64_t>> AxesOfMean(const OpPtr& op, int64_t rank) {
  if (!Is(op, "ReduceMean")) return std::nullopt;
  const vx::AttrMap attrs = op->Attributes();
  if (!std::get<bool>(*attrs.Find("keep_dims"))) return std::nullopt;
  std::set<int64_t> axes;
  for (const int64_t axis : std::get<std::vector<int64_t>>(*attrs.Find("axis")))
    axes.insert(axis < 0 ? axis + rank : axis);
  return axes;
}

bool HasScaleOne(const OpPtr& op) {
  const vx::AttrMap attrs = op->Attributes();
  const auto* scale = attrs.Find("scale");
  return scale == nullptr || std::get<double>(*scale) == 1.0;
}

/// One place where the pattern may be.
class Pattern {
 public:
  Pattern(const GraphPtr& graph, const OpPtr& mean) : graph_(graph), mean0_(mean) {}

  /// Replaces it. False, and nothing is changed, where it is something else.
  bool Replace() {
    if (!Match() || !Understand()) return false;
    RemoveOps();
    vx::ShapeType parameters(rank_, 1);
    parameters[channel_] = static_cast<uint32_t>(beta_.size());
    const vx::TensorSpec spec(DataType::FLOAT32, parameters, vx::TensorAttribute::CONSTANT);
    const TensorPtr beta = graph_->CreateTensor(spec, beta_.data());
    const TensorPtr gamma = graph_->CreateTensor(spec, gamma_.data());
    OpPtr op;
    if (instance_) {
      op = graph_->CreateOperation<vx::ops::InstanceNormalization>(eps_, layout_);
    } else {
      op = graph_->CreateOperation<vx::ops::LayerNormalization>(static_cast<int32_t>(channel_),
                                                                eps_);
    }
    op->SetName(name_);
    (*op).BindInput(x_).BindInput(beta).BindInput(gamma).BindOutput(y_);
    return true;
  }

 private:
  /// The consumer of `t` of that kind, which has `with` as another operand if that is given; null
  /// if there is none.
  OpPtr Reader(const TensorPtr& t, const char* kind, const TensorPtr& with = nullptr) const {
    for (const OpPtr& op : graph_->GetConsumersOp(t)) {
      if (!Is(op, kind)) continue;
      const auto& inputs = vx::InputsOf(*op);
      if (with == nullptr || std::count(inputs.begin(), inputs.end(), with) != 0) return op;
    }
    return nullptr;
  }
  static TensorPtr ResultOf(const OpPtr& op) { return vx::OutputsOf(*op)[0]; }
  static TensorPtr Other(const OpPtr& op, const TensorPtr& operand) {
    const auto& inputs = vx::InputsOf(*op);
    return inputs[0] == operand ? inputs[1] : inputs[0];
  }

  bool Match() {
    x_ = vx::InputsOf(*mean0_)[0];
    const TensorPtr mean = ResultOf(mean0_);
    const OpPtr sub0 = Reader(mean, "Sub", x_);
    const OpPtr mul2 = Reader(mean, "Multiply");
    if (!sub0 || !mul2 || vx::InputsOf(*sub0)[0] != x_) return false;
    const OpPtr pow = Reader(ResultOf(sub0), "Pow");
    if (!pow || vx::InputsOf(*pow)[0] != ResultOf(sub0)) return false;
    exponent_ = vx::InputsOf(*pow)[1];
    mean1_ = Reader(ResultOf(pow), "ReduceMean");
    const OpPtr add0 = mean1_ ? Reader(ResultOf(mean1_), "Add") : nullptr;
    const OpPtr rsqrt = add0 ? Reader(ResultOf(add0), "Rsqrt") : nullptr;
    const OpPtr mul0 = rsqrt ? Reader(ResultOf(rsqrt), "Multiply") : nullptr;
    if (!mul0) return false;
    const TensorPtr factor = ResultOf(mul0);
    const OpPtr mul1 = Reader(x_, "Multiply", factor);
    if (!mul1 || Other(mul2, mean) != factor) return false;
    const OpPtr sub1 = Reader(ResultOf(mul2), "Sub");
    if (!sub1 || vx::InputsOf(*sub1)[1] != ResultOf(mul2)) return false;
    const OpPtr add1 = Reader(ResultOf(mul1), "Add", ResultOf(sub1));
    if (!add1) return false;
    for (const OpPtr& mul : {mul0, mul1, mul2}) {
      if (!HasScaleOne(mul)) return false;
    }
    eps_tensor_ = Other(add0, ResultOf(mean1_));
    gamma_tensor_ = Other(mul0, ResultOf(rsqrt));
    beta_tensor_ = vx::InputsOf(*sub1)[0];
    y_ = ResultOf(add1);
    name_ = add1->Name();
    ops_ = {mean0_, sub0, pow, mean1_, add0, rsqrt, mul0, mul1, mul2, sub1, add1};
    return OnlyUsedInside();
  }

  /// What lies between is read by these ops alone, and is of a real type.
  bool OnlyUsedInside() const {
    if (std::set<OpPtr>(ops_.begin(), ops_.end()).size() != 11) return false;
    for (const OpPtr& op : ops_) {
      const TensorPtr t = ResultOf(op);
      if (t == y_) continue;
      if (t->GetSpec().attr_ != vx::TensorAttribute::TRANSIENT) return false;
      if (t->GetDataType() != DataType::FLOAT32 && t->GetDataType() != DataType::FLOAT16)
        return false;
      for (const OpPtr& reader : graph_->GetConsumersOp(t)) {
        if (std::find(ops_.begin(), ops_.end(), reader) == ops_.end()) return false;
      }
    }
    return true;
  }

  /// Which normalisation it is.
  bool Understand() {
    vx::ShapeType shape = x_->GetShape();
    if (shape.empty()) shape = y_->GetShape();
    if (shape.empty() || std::count(shape.begin(), shape.end(), 0u) != 0) return false;
    rank_ = shape.size();
    const auto rank = static_cast<int64_t>(rank_);
    const auto axes = AxesOfMean(mean0_, rank);
    if (!axes || axes->empty() || axes != AxesOfMean(mean1_, rank)) return false;
    if (NumberOf(graph_, exponent_) != 2.0f) return false;
    const auto eps = NumberOf(graph_, eps_tensor_);
    if (!eps) return false;
    eps_ = *eps;
    std::set<int64_t> but_first, but_last_two;
    for (int64_t d = 0; d + 1 < rank; ++d) {
      if (d > 0) but_first.insert(d);
      if (d + 2 < rank) but_last_two.insert(d);
    }
    if (axes->size() == 1) {
      channel_ = static_cast<size_t>(*axes->begin());
    } else if (*axes == but_last_two) {
      instance_ = true;
      channel_ = rank_ - 2;
    } else if (*axes == but_first && rank_ == 4) {
      instance_ = true;
      layout_ = DataLayout::CWHN;
      channel_ = 0;
    } else {
      return false;
    }
    return channel_ < rank_ && Parameters(gamma_tensor_, shape[channel_], &gamma_) &&
           Parameters(beta_tensor_, shape[channel_], &beta_);
  }

  /// One value for each of `count` channels, from a constant that lies along them or is one number.
  bool Parameters(const TensorPtr& t, uint32_t count, std::vector<float>* values) const {
    vx::ShapeType shape;
    const auto found = ValuesOf(graph_, t, &shape);
    if (!found) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1 && (d != channel_ || shape[d] != count)) return false;
    }
    *values = *found;
    if (found->size() == 1) values->assign(count, found->front());
    return true;
  }

  void RemoveOps() {
    auto removed = [&](const OpPtr& op) {
      return std::find(ops_.begin(), ops_.end(), op) != ops_.end();
    };
    auto& consumers = graph_->TensorConsumer();
    for (auto it = consumers.begin(); it != consumers.end();) {
      auto& readers = it->second;
      readers.erase(std::remove_if(readers.begin(), readers.end(), removed), readers.end());
      it = readers.empty() ? consumers.erase(it) : std::next(it);
    }
    for (const OpPtr& op : ops_) graph_->TensorProducer().erase(ResultOf(op));
    auto& all = graph_->OpVector();
    all.erase(std::remove_if(all.begin(), all.end(), removed), all.end());
  }

  GraphPtr graph_;
  OpPtr mean0_, mean1_;
  std::vector<OpPtr> ops_;
  TensorPtr x_, y_, exponent_, eps_tensor_, gamma_tensor_, beta_tensor_;
  std::string name_;
  size_t rank_ = 0, channel_ = 0;
  bool instance_ = false;
  DataLayout layout_ = DataLayout::WHCN;
  float eps_ = 0;
  std::vector<float> gamma_, beta_;
};

}  // namespace

void MeanStdDevNormalization(GraphPtr& src_graph) {
  if (src_graph == nullptr) return;
  try {
    const std::vector<OpPtr> ops = src_graph->OpVector();
    for (const OpPtr& op : ops) {
      if (!Is(op, "ReduceMean") || vx::InputsOf(*op).size() != 1 || vx::OutputsOf(*op).size() != 1)
        continue;
      Pattern(src_graph, op).Replace();
    }
  } catch (const std::exception&) {
    // Out of memory, most likely: the graph computes the same as it stands.
  }
}

}  // namespace tim::transform
