// FoldScales: a scale and a shift by channel move into the weights and the bias beside them.
// Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference" (2018), section 3.2, batch normalization folding.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compiler/rewriter.h"

namespace tim::vx::compiler {
namespace {

/// Weights and bias of a sum of products, as constants of their own.
struct NewConstants {
  int weight = -1, bias = -1;
};

double At(const std::vector<double>& list, int64_t c) {
  return list.size() == 1 ? list[0] : list[static_cast<size_t>(c)];
}

class Folder {
 public:
  Folder(Rewriter* rewriter, bool relaxed)
      : rewriter_(*rewriter), graph_(rewriter->graph()), relaxed_(relaxed) {}

  /// Tries to merge the op into the one before it, or into the one behind it.
  void Visit(int id, bool before) {
    const ir::Node& n = graph_.node(id);
    const FoldRule* const rule = n.dead ? nullptr : rewriter_.RuleOf(id);
    if (rule == nullptr || rule->affine == nullptr) return;
    // What the op computes has the extents of what it scales.
    const auto affine = rule->affine(graph_.view(id));
    if (!affine || affine->scale.empty() || affine->shift.size() != affine->scale.size()) return;
    const TensorType& x = graph_.value(n.inputs[affine->input]).type;
    if (x.dtype != DataType::FLOAT32) return;
    if (!(graph_.value(n.outputs[0]).type == x) || !(n.out_types[0] == x)) return;
    if (before) {
      IntoProducer(id, *affine);
    } else {
      IntoReader(id, *affine);
    }
  }

 private:
  std::optional<ChannelWeights> WeightsOf(int id) {
    const FoldRule* const rule = id < 0 ? nullptr : rewriter_.RuleOf(id);
    if (rule == nullptr || rule->weights == nullptr) return std::nullopt;
    return rule->weights(graph_.view(id));
  }

  void IntoProducer(int id, const ChannelAffine& a) {
    const int x = graph_.node(id).inputs[a.input], y = graph_.node(id).outputs[0];
    const int sum = graph_.value(x).producer;
    const auto w = WeightsOf(sum);
    if (!w || rewriter_.OnlyReader(x) != id) return;
    if (a.scale.size() > 1 && (a.axis != w->out_axis || Count(a) != w->channels)) return;
    if (!(graph_.node(sum).out_types[0] == graph_.value(x).type)) return;
    NewConstants made;
    const bool finite = Make(
        sum, *w, &made, [&](int64_t o, int64_t) { return At(a.scale, o); },
        [&](int64_t o, double bias, double) { return bias * At(a.scale, o) + At(a.shift, o); });
    if (!finite || !Take(sum, made, -1)) return;
    rewriter_.Remove(id, "merged into " + graph_.view(sum).label(), kWhy);
    graph_.value(x).producer = -1;
    graph_.value(y).producer = sum;
    graph_.node(sum).outputs[0] = y;
  }

  void IntoReader(int id, const ChannelAffine& a) {
    const int x = graph_.node(id).inputs[a.input], y = graph_.node(id).outputs[0];
    const int sum = rewriter_.OnlyReader(y);
    const auto w = WeightsOf(sum);
    // In bfloat16 a tensor that is not centred loses what the scale would have kept.
    if (!w || relaxed_ || graph_.node(sum).inputs[0] != y) return;
    const bool shifts =
        std::any_of(a.shift.begin(), a.shift.end(), [](double s) { return s != 0; });
    if (shifts && !w->inside) return;  // cells outside are zeros that nothing shifts
    const int64_t inputs = graph_.value(y).type.shape.dim(w->in_axis);
    if (a.scale.size() > 1 && (a.axis != w->in_axis || Count(a) != inputs)) return;
    NewConstants made;
    const bool finite = Make(
        sum, *w, &made, [&](int64_t, int64_t i) { return At(a.scale, i); },
        [&](int64_t, double bias, double shift) { return bias + shift; }, &a.shift);
    if (!finite || !Take(sum, made, x)) return;
    rewriter_.Remove(id, "merged into " + graph_.view(sum).label(), kWhy);
  }

  static int64_t Count(const ChannelAffine& a) { return static_cast<int64_t>(a.scale.size()); }

  /// Weights times scale(o, i), of channel o of the result and i of the input; the bias of channel
  /// o by bias(o, before, sum of its weights times `shift`). In double, rounded once. False where
  /// one is not finite.
  template <class Scale, class Bias>
  bool Make(int sum, const ChannelWeights& w, NewConstants* made, Scale scale, Bias bias,
            const std::vector<double>* shift = nullptr) {
    const OpView op = graph_.view(sum);
    const TensorView weight = op.in(1), before = op.in(2);
    if (weight.shape().count() != w.channels * w.per_slice * w.taps) return false;
    void *weights = nullptr, *biases = nullptr;
    made->weight = rewriter_.AddConstant(weight.type(), &weights);
    made->bias =
        rewriter_.AddConstant({DataType::FLOAT32, Shape{w.channels}, Quantization()}, &biases);
    if (made->weight < 0 || made->bias < 0) return false;
    const auto* from = weight.data_as<float>();
    auto* to = static_cast<float*>(weights);
    bool finite = true;
    for (int64_t o = 0; o < w.channels; ++o) {
      double shifted = 0;
      for (int64_t k = 0; k < w.per_slice; ++k) {
        // A kernel may have more channels than there are.
        const bool used = k < w.used;
        const int64_t i = o / w.group * w.used + k;
        const double factor = used ? scale(o, i) : 1.0;
        for (int64_t t = 0; t < w.taps; ++t, ++from, ++to) {
          const double v = *from;
          *to = static_cast<float>(v * factor);
          if (used && shift != nullptr) shifted += v * At(*shift, i);
          finite = finite && std::isfinite(*to);
        }
      }
      const double old = before.present() ? before.data_as<float>()[o] : 0.0;
      const auto b = static_cast<float>(bias(o, old, shifted));
      static_cast<float*>(biases)[o] = b;
      finite = finite && std::isfinite(b);
    }
    return finite;
  }

  /// Gives the op these constants, and input 0 unless that is -1.
  bool Take(int sum, const NewConstants& made, int input) {
    return rewriter_.Try(sum, [&](ir::Node* n) {
      if (input >= 0) n->inputs[0] = input;
      n->inputs.resize(3, -1);
      n->inputs[1] = made.weight;
      n->inputs[2] = made.bias;
    });
  }

  static constexpr const char* kWhy = "in its weights and its bias";
  Rewriter& rewriter_;
  ir::Graph& graph_;
  const bool relaxed_;
};

}  // namespace

Status FoldScales(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  Rewriter rewriter(&graph, options, merged);
  Folder folder(&rewriter, options.relaxed);
  // Towards the weights, so that of several in a row each finds them beside it.
  for (const int id : order) folder.Visit(id, true);
  for (size_t k = order.size(); k-- > 0;) folder.Visit(order[k], false);
  return Status();
}

}  // namespace tim::vx::compiler
