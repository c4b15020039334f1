// What the recurrent operators share (RNN, GRU, LSTM, in one or two directions): an op describes
// its operands as passes over a sequence; the reference and the launches of a pass live here.
#ifndef TIM_VX_RECURRENT_H_
#define TIM_VX_RECURRENT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx::recurrent {

/// By the numbers that recurrent.clh knows. Hard sigmoid is clamp(0.2 x + 0.5, 0, 1).
enum class Activation { kNone, kRelu, kRelu1, kRelu6, kTanh, kSigmoid, kHardSigmoid };
/// By the enumerators of a class of the API: their names are the same everywhere, their numbers are
/// not. What only some of them have (kRELU1) counts as none.
template <class Class>
Activation ActivationOf(int act_type) {
  switch (act_type) {
    case Class::kRELU:
      return Activation::kRelu;
    case Class::kRELU6:
      return Activation::kRelu6;
    case Class::kTANH:
      return Activation::kTanh;
    case Class::kSIGMOID:
      return Activation::kSigmoid;
    case Class::kHARDSIGMOID:
      return Activation::kHardSigmoid;
    default:
      return Activation::kNone;
  }
}

/// A matrix or vector inside input `input` of the op, from element `offset` on. -1: left out.
struct Part {
  int input = -1;
  int64_t offset = 0;
  bool present() const { return input >= 0; }
};

/// Where element (step, batch, feature) of a sequence lies in operand `index`: at offset + step *
/// per_step + batch * per_batch + feature. A pass that runs backward counts its own steps, so its
/// per_step is negative.
struct Sequence {
  int index = -1;
  int64_t offset = 0, per_step = 0, per_batch = 0;
  bool present() const { return index >= 0; }
};

/// One gate's operands. Its sum is input * x + bias + recurrent * h + recurrent_bias + aux * a +
/// peephole . c (c: the previous cell state). With a norm the rest of the sum is normalised over
/// the units, multiplied by norm, and then the bias is added.
struct Gate {
  Part input, recurrent, bias, recurrent_bias, aux, peephole, norm;
};

enum class Cell {
  kRnn,       // gates: one
  kGru,       // gates z r h; the reset gate is applied after the recurrent product
  kGruReset,  // the same, the reset gate is applied before it
  kLstm,      // gates i f c o; without input weights of i, i = 1 - f
};

/// One pass over a sequence. All arithmetic is float32; states stay float32 between steps.
struct Pass {
  Cell cell = Cell::kRnn;
  int64_t steps = 1, batch = 1, features = 1, aux_features = 1, units = 1;
  int64_t state = 1;  // length of h: units, or what an LSTM's projection gives
  Sequence x, aux;
  std::vector<Gate> gates;
  Part h, c;  // states before the first step, dense; zeros where left out
  Part projection, projection_bias;
  Activation activation = Activation::kTanh;
  Activation recurrent_activation = Activation::kSigmoid;
  float cell_clip = 0, forget_bias = 0;
  // Results, in outputs of the op.
  Sequence output;  // h of every step; of the last step where per_step is 0
  Sequence h_out, c_out;
};
using Passes = std::vector<Pass>;

/// Checks of operands that may be left out; `why` ends the message.
TIMCL_API Status CheckShape(const OpView& op, size_t input, const Shape& shape,
                            const std::string& why);
/// The same for the count of elements alone: biases and states, which callers declare with
/// dimensions of 1.
TIMCL_API Status CheckCount(const OpView& op, size_t input, const Shape& shape,
                            const std::string& why);
/// "as input 0 ... and input 1 ... say".
TIMCL_API std::string AsSaidBy(const OpView& op, size_t a, size_t b);

/// Input `input` as a sequence: {feature, batch, time}, else {feature, time, batch}.
TIMCL_API Sequence InputSequence(const OpView& op, size_t input, bool time_major);
/// Extents of input 0, laid out like that.
inline int64_t BatchOf(const OpView& op, bool time_major) {
  return op.in(0).shape()[time_major ? 1 : 2];
}
inline int64_t StepsOf(const OpView& op, bool time_major) {
  return op.in(0).shape()[time_major ? 2 : 1];
}
/// Every step of the pass in output `output`, laid out like that: `length` elements per entry, of
/// which its own begin at `offset`.
TIMCL_API Sequence OutputSequence(const Pass& pass, int output, int64_t length, int64_t offset,
                                  bool time_major);
/// The same sequence from its last step to its first.
TIMCL_API Sequence Backward(Sequence s, int64_t steps);
/// A part that is the whole input where it is bound.
TIMCL_API Part Whole(const OpView& op, size_t input);

TIMCL_API Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs,
                           const Passes& passes);
/// kUnsupported where an element's number does not fit the kernels' int.
TIMCL_API Result<KernelOffer> Accepts(const OpView& op, const Passes& passes);
TIMCL_API Result<Launches> MakeLaunches(const OpView& op, const Passes& passes);

/// The same with all steps in one launch, which keeps the weights in the caches (register tiles on
/// a CPU). Refuses layers with projections, peepholes, norms, aux inputs, computed weights.
TIMCL_API Result<KernelOffer> AcceptsAllSteps(const OpView& op, const KernelRequest& request,
                                              const Passes& passes);
TIMCL_API Result<Launches> MakeAllSteps(const OpView& op, const KernelRequest& request,
                                        const Passes& passes);

/// Reference and kernel candidates of an op whose passes kPasses describes.
template <Passes (*kPasses)(const OpView&)>
struct Definition {
  static Status Compute(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    return Reference(op, ins, outs, kPasses(op));
  }
  static Result<KernelOffer> Asked(const OpView& op, const KernelRequest&) {
    return Accepts(op, kPasses(op));
  }
  static Result<Launches> Make(const OpView& op, const KernelRequest&) {
    return MakeLaunches(op, kPasses(op));
  }
  static Result<KernelOffer> AskedAll(const OpView& op, const KernelRequest& request) {
    return AcceptsAllSteps(op, request, kPasses(op));
  }
  static Result<Launches> MakeAll(const OpView& op, const KernelRequest& request) {
    return MakeAllSteps(op, request, kPasses(op));
  }
  static constexpr KernelCandidate kKernels[] = {{"all_steps", AskedAll, MakeAll},
                                                 {"steps", Asked, Make}};
};

/// States stay in float32, but sums differ by their order and exp and tanh by some ulp, and steps
/// add that up.
inline constexpr Tolerance kTolerance = Tolerance::Ulp(32, 1, 4e-6);

/// For cases with many operands: the next one, `shape` of a type, drawn from [-reach, reach]. A
/// dtype UNKNOWN leaves it out.
TIMCL_API void AddOperand(CaseBuilder& c, TensorType type, const Shape& shape, bool constant,
                          double reach);
/// Weights of a sum of so many terms within this reach neither let states grow without end nor make
/// the network chaotic, where rounding errors grow from step to step.
inline double WeightReach(int64_t terms) { return 1.5 / std::sqrt(static_cast<double>(terms)); }
inline double BiasReach(const TensorType& bias) { return IsInteger(bias.dtype) ? 700 : 0.5; }
inline Shape SequenceShape(int64_t features, int64_t batch, int64_t steps, bool time_major) {
  return time_major ? Shape{features, batch, steps} : Shape{features, steps, batch};
}
/// What becomes of a case whose operands are all there.
enum class How { kOnce, kEachType, kBench };
TIMCL_API void Finish(CaseBuilder& c, const char* note, How how);

}  // namespace tim::vx::recurrent
#endif  // TIM_VX_RECURRENT_H_
