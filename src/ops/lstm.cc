// Long short-term memories over a sequence, in one or two directions.  Source: NNAPI
// UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM; ONNX LSTM-14.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tim/vx/ops/bidirectional_sequence_lstm.h"
#include "tim/vx/ops/unidirectional_sequence_lstm.h"
#include "tim/vx/recurrent.h"

namespace tim::vx::ops {

TIMCL_ENUM(UnidirectionalSequenceLstm::ActivationType, {UnidirectionalSequenceLstm::kNONE, "NONE"},
           {UnidirectionalSequenceLstm::kRELU, "RELU"},
           {UnidirectionalSequenceLstm::kRELU6, "RELU6"},
           {UnidirectionalSequenceLstm::kTANH, "TANH"},
           {UnidirectionalSequenceLstm::kSIGMOID, "SIGMOID"},
           {UnidirectionalSequenceLstm::kHARDSIGMOID, "HARDSIGMOID"});
TIMCL_ENUM(BidirectionalSequenceLstm::ActivationType, {BidirectionalSequenceLstm::kNONE, "NONE"},
           {BidirectionalSequenceLstm::kRELU, "RELU"}, {BidirectionalSequenceLstm::kRELU1, "RELU1"},
           {BidirectionalSequenceLstm::kRELU6, "RELU6"}, {BidirectionalSequenceLstm::kTANH, "TANH"},
           {BidirectionalSequenceLstm::kSIGMOID, "SIGMOID"},
           {BidirectionalSequenceLstm::kHARDSIGMOID, "HARDSIGMOID"});

namespace {

namespace rnn = recurrent;
using rnn::How;
using rnn::Pass;
using rnn::Passes;
using std::to_string;
using Uni = UnidirectionalSequenceLstm;
using Bi = BidirectionalSequenceLstm;

template <class Class>
struct LstmAttrs {
  using Activation = typename Class::ActivationType;
  static constexpr auto ActivationOf = rnn::ActivationOf<Class>;
  float cell_clip = 0, proj_clip = 0;
  Activation act_type = Class::kTANH;
  float forget_bias = 0;
  bool time_major = false;
  Activation recurrent_act_type = Class::kSIGMOID;
  bool return_sequences = false;
  TIMCL_FIELDS(cell_clip, proj_clip, act_type, forget_bias, time_major, recurrent_act_type,
               return_sequences)
};
using UniAttrs = LstmAttrs<Uni>;
using BiAttrs = LstmAttrs<Bi>;

/// Inputs of one direction: the first of each group, whose gates are in the order i f g o.
struct Slots {
  size_t h, c, weight, recurrent, peephole, bias, projection, projection_bias, norm, aux,
      aux_weight, recurrent_bias, count;
};
constexpr size_t kAbsent = 1000;
constexpr Slots kUni = {1, 2, 3, 7, 11, 14, 18, 19, 20, 24, 25, 29, 33};
constexpr Slots kForward = {35, 36, 1, 5, 9, 12, 16, 17, 48, kAbsent, kAbsent, 56, 64};
constexpr Slots kBackward = {37, 38, 18, 22, 26, 29, 33, 34, 52, kAbsent, kAbsent, 60, 64};
constexpr size_t kUnusedAux = 39, kUnusedAuxWeight = 40;  // 8 weights

/// The slot of gate g's peephole: the candidate has none.
size_t Peephole(const Slots& s, size_t g) {
  return g == 2 ? kAbsent : s.peephole + (g == 3 ? 2 : g);
}

int64_t UnitsOf(const OpView& op, const Slots& s) { return op.in(s.weight + 1).shape()[1]; }
int64_t StateOf(const OpView& op, const Slots& s) {
  const TensorView projection = op.in(s.projection);
  return projection.present() ? projection.shape()[1] : UnitsOf(op, s);
}
Status CheckDirection(const OpView& op, const Slots& s, int64_t batch) {
  TIMCL_TRY(op.CheckRank(s.weight + 1, 2, 2));
  const TensorView projection = op.in(s.projection);
  if (projection.present()) TIMCL_TRY(op.CheckRank(s.projection, 2, 2));
  const int64_t units = UnitsOf(op, s), state = StateOf(op, s), features = op.in(0).shape()[0];
  const std::string why = rnn::AsSaidBy(op, 0, s.weight + 1);
  TIMCL_TRY(rnn::CheckShape(op, s.projection, {units, state}, why));
  if (!projection.present() && op.in(s.projection_bias).present()) {
    return op.InputError(s.projection_bias, Code::kInvalidGraph,
                         "it comes without a projection, input " + to_string(s.projection));
  }
  TIMCL_TRY(rnn::CheckCount(op, s.projection_bias, {state}, why));
  const std::string of_state =
      projection.present() ? rnn::AsSaidBy(op, s.weight + 1, s.projection) : why;
  const TensorView aux = op.in(s.aux);
  if (aux.present()) {
    TIMCL_TRY(op.CheckRank(s.aux, 3, 3));
    TIMCL_TRY(op.CheckShape(s.aux, {aux.shape()[0], op.in(0).shape()[1], op.in(0).shape()[2]},
                            "of the same sequence as " + op.in_label(0)));
  }
  const bool coupled = !op.in(s.weight).present();
  for (size_t g = coupled ? 1 : 0; g < 4; ++g) {
    if (!op.in(s.recurrent + g).present()) {
      return op.Error(Code::kInvalidGraph,
                      "input " + to_string(s.recurrent + g) + ", the recurrent weights that " +
                          op.in_label(s.weight + g) + " goes with, is left out");
    }
    TIMCL_TRY(op.CheckShape(s.weight + g, {features, units}, why));
    TIMCL_TRY(op.CheckShape(s.recurrent + g, {state, units}, of_state));
    for (size_t i : {Peephole(s, g), s.bias + g, s.norm + g, s.recurrent_bias + g})
      TIMCL_TRY(rnn::CheckCount(op, i, {units}, why));
    if (s.aux == kAbsent) continue;
    if (op.in(s.aux_weight + g).present() != aux.present()) {
      return op.Error(Code::kInvalidGraph, "an aux input goes with a weight for each gate: input " +
                                               to_string(s.aux) + " is " +
                                               (aux.present() ? "bound" : "left out") + ", input " +
                                               to_string(s.aux_weight + g) +
                                               (aux.present() ? " is left out" : " is bound"));
    }
    if (aux.present()) TIMCL_TRY(op.CheckShape(s.aux_weight + g, {aux.shape()[0], units}, why));
  }
  TIMCL_TRY(rnn::CheckCount(op, s.h, {state, batch}, of_state));
  return rnn::CheckCount(op, s.c, {units, batch}, why);
}

template <class Attrs>
Status CheckAttrs(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  if (std::isnan(a.cell_clip) || std::isnan(a.forget_bias)) {
    return op.Error(Code::kInvalidArgument, "cell_clip and forget_bias must be numbers, they are " +
                                                to_string(a.cell_clip) + " and " +
                                                to_string(a.forget_bias));
  }
  return op.CheckRank(0, 3, 3);
}

/// Results go to outputs `first` to `first` + 2.
template <class Attrs>
Pass DirectionOf(const OpView& op, const Slots& s, const Attrs& a, int first) {
  Pass p;
  p.cell = rnn::Cell::kLstm;
  p.steps = rnn::StepsOf(op, a.time_major);
  p.batch = rnn::BatchOf(op, a.time_major);
  p.features = op.in(0).shape()[0];
  p.units = UnitsOf(op, s);
  p.state = StateOf(op, s);
  p.x = rnn::InputSequence(op, 0, a.time_major);
  p.aux = rnn::InputSequence(op, s.aux, a.time_major);
  if (p.aux.present()) p.aux_features = op.in(s.aux).shape()[0];
  p.gates.resize(4);
  for (size_t g = op.in(s.weight).present() ? 0 : 1; g < 4; ++g) {
    rnn::Gate& gate = p.gates[g];
    gate.input = rnn::Whole(op, s.weight + g);
    gate.recurrent = rnn::Whole(op, s.recurrent + g);
    gate.bias = rnn::Whole(op, s.bias + g);
    gate.recurrent_bias = rnn::Whole(op, s.recurrent_bias + g);
    gate.peephole = rnn::Whole(op, Peephole(s, g));
    gate.norm = rnn::Whole(op, s.norm + g);
    if (p.aux.present()) gate.aux = rnn::Whole(op, s.aux_weight + g);
  }
  p.h = rnn::Whole(op, s.h);
  p.c = rnn::Whole(op, s.c);
  p.projection = rnn::Whole(op, s.projection);
  p.projection_bias = rnn::Whole(op, s.projection_bias);
  p.recurrent_activation = Attrs::ActivationOf(a.recurrent_act_type);
  p.cell_clip = a.cell_clip;
  p.forget_bias = a.forget_bias;
  p.output = {first, 0, 0, p.state};
  if (a.return_sequences) p.output = rnn::OutputSequence(p, first, p.state, 0, a.time_major);
  const auto outputs = static_cast<int>(op.num_outputs());
  if (first + 1 < outputs) p.h_out = {first + 1, 0, 0, p.state};
  if (first + 2 < outputs) p.c_out = {first + 2, 0, 0, p.units};
  return p;
}

template <class Attrs>
void AddShapes(const OpView& op, const Slots& s, const Attrs& a, Shapes* shapes) {
  const Shape& x = op.in(0).shape();
  const int64_t batch = rnn::BatchOf(op, a.time_major), state = StateOf(op, s);
  const Shape h = {state, batch};
  shapes->push_back(a.return_sequences ? Shape{state, x[1], x[2]} : h);
  shapes->push_back(h);
  shapes->push_back({UnitsOf(op, s), batch});
}

template <class Attrs>
void AdviseAttrs(const OpView& op, bool projects, std::vector<std::string>* warnings) {
  const auto& a = op.attrs<Attrs>();
  if (a.act_type != Attrs().act_type) {
    warnings->push_back(op.label() +
                        ": act_type is not applied, as in TIM-VX: the cell's activation is tanh");
  }
  if (a.proj_clip > 0 && projects)
    warnings->push_back(op.label() + ": proj_clip is not applied, as in TIM-VX");
}

Status VerifyUni(const OpView& op) {
  TIMCL_TRY(CheckAttrs<UniAttrs>(op));
  return CheckDirection(op, kUni, rnn::BatchOf(op, op.attrs<UniAttrs>().time_major));
}
Result<Shapes> InferUni(const OpView& op) {
  Shapes shapes;
  AddShapes(op, kUni, op.attrs<UniAttrs>(), &shapes);
  return shapes;
}
Passes PassesUni(const OpView& op) { return {DirectionOf(op, kUni, op.attrs<UniAttrs>(), 0)}; }
void AdviseUni(const OpView& op, std::vector<std::string>* warnings) {
  AdviseAttrs<UniAttrs>(op, op.in(kUni.projection).present(), warnings);
}

Status VerifyBi(const OpView& op) {
  TIMCL_TRY(CheckAttrs<BiAttrs>(op));
  const int64_t batch = rnn::BatchOf(op, op.attrs<BiAttrs>().time_major);
  TIMCL_TRY(CheckDirection(op, kForward, batch));
  return CheckDirection(op, kBackward, batch);
}
Result<Shapes> InferBi(const OpView& op) {
  Shapes shapes;
  AddShapes(op, kForward, op.attrs<BiAttrs>(), &shapes);
  AddShapes(op, kBackward, op.attrs<BiAttrs>(), &shapes);
  return shapes;
}
Passes PassesBi(const OpView& op) {
  const auto& a = op.attrs<BiAttrs>();
  Pass fw = DirectionOf(op, kForward, a, 0), bw = DirectionOf(op, kBackward, a, 3);
  bw.x = rnn::Backward(bw.x, bw.steps);
  if (a.return_sequences) bw.output = rnn::Backward(bw.output, bw.steps);
  return {fw, bw};
}
void AdviseBi(const OpView& op, std::vector<std::string>* warnings) {
  AdviseAttrs<BiAttrs>(
      op, op.in(kForward.projection).present() || op.in(kBackward.projection).present(), warnings);
  for (size_t i = kUnusedAux; i < kUnusedAuxWeight + 8; ++i) {
    if (!op.in(i).present()) continue;
    warnings->push_back(op.label() + ": " + op.in_label(i) + " is not used, as in TIM-VX");
    return;
  }
}

// -------------------------------------------------------------------------------------- cases

/// What an LSTM of a case has, and its sizes.
struct Form {
  int64_t in = 5, units = 6, batch = 2, steps = 4;
  int64_t state = 0, aux = 0;  // with a projection, with an aux input
  bool coupled = false, peepholes = false, norms = false;
  bool biases = true, recurrent_biases = false, states = true, constant = true;
  TensorType x = cases::F32(), weight = cases::F32(), bias = cases::F32(), h = cases::F32();
};

/// Operands by slot; what is not set is left out.
class Operands {
 public:
  explicit Operands(size_t count) : slots_(count) {}
  void Set(size_t slot, const TensorType& type, const Shape& shape, bool constant, double reach) {
    slots_[slot] = {type, shape, constant, reach};
  }
  void AddTo(CaseBuilder& c) const {
    for (const Slot& s : slots_) rnn::AddOperand(c, s.type, s.shape, s.constant, s.reach);
  }

  void SetDirection(const Slots& s, const Form& f, bool time_major) {
    const int64_t state = f.state != 0 ? f.state : f.units;
    const double bias_reach = rnn::BiasReach(f.bias);
    const TensorType f32 = cases::F32();
    for (size_t g = f.coupled ? 1 : 0; g < 4; ++g) {
      Set(s.weight + g, f.weight, {f.in, f.units}, f.constant, rnn::WeightReach(f.in));
      Set(s.recurrent + g, f.weight, {state, f.units}, f.constant, rnn::WeightReach(state));
      if (f.biases) Set(s.bias + g, f.bias, {f.units}, f.constant, bias_reach);
      if (f.recurrent_biases) Set(s.recurrent_bias + g, f.bias, {f.units}, f.constant, bias_reach);
      if (f.peepholes && g != 2) Set(Peephole(s, g), f32, {f.units}, f.constant, 0.7);
      if (f.norms) Set(s.norm + g, f32, {f.units}, f.constant, 1);
      if (f.aux != 0) Set(s.aux_weight + g, f.weight, {f.aux, f.units}, f.constant, 0.5);
    }
    if (f.aux != 0) {
      Set(s.aux, f.x, rnn::SequenceShape(f.aux, f.batch, f.steps, time_major), false, 1);
    }
    if (f.state != 0) {
      Set(s.projection, f.weight, {f.units, state}, f.constant, 0.7);
      if (f.biases) Set(s.projection_bias, f32, {state}, f.constant, 0.5);
    }
    if (!f.states) return;
    Set(s.h, f.h, {state, f.batch}, false, 1);
    Set(s.c, f.h, {f.units, f.batch}, false, 1);
  }
  void SetInput(const Form& f, bool time_major) {
    Set(0, f.x, rnn::SequenceShape(f.in, f.batch, f.steps, time_major), false, 1);
  }

 private:
  struct Slot {
    TensorType type;
    Shape shape;
    bool constant = false;
    double reach = 1;
  };
  std::vector<Slot> slots_;
};

std::vector<std::pair<Form, const char*>> Forms() {
  using namespace cases;
  const TensorType i8 = Affine(DataType::INT8, {}, 1.0f / 128, 0);
  const TensorType w8 = Affine(DataType::INT8, {}, 0.006f, 0);
  Form one, odd, computed, bare, f16, integers, hybrid;
  one.in = one.units = one.batch = one.steps = 1;
  odd.in = 17, odd.units = 19, odd.batch = 3, odd.steps = 5;
  computed.constant = false;
  bare.biases = bare.states = false;
  f16.x = f16.weight = f16.bias = f16.h = F16();
  integers.x = integers.h = i8, integers.weight = w8, integers.bias = I32();
  integers.recurrent_biases = true;
  hybrid.weight = w8;
  Form coupled, peepholes, projected, norms, aux, recurrent, all;
  coupled.coupled = true;
  peepholes.peepholes = true;
  projected.state = 3;
  norms.norms = true;
  aux.aux = 9;
  recurrent.recurrent_biases = true;
  all.peepholes = all.norms = all.recurrent_biases = true;
  all.state = 9;
  Form coupled_all = all, integer_norms = integers, projected_integers = integers;
  coupled_all.coupled = true;
  integer_norms.norms = true;
  projected_integers.state = 5;
  return {{one, "one element"},
          {odd, "odd sizes"},
          {computed, "computed weights"},
          {bare, "no biases, no states"},
          {f16, "f16"},
          {integers, "i8 with i32 biases"},
          {hybrid, "i8 weights"},
          {coupled, "coupled gates"},
          {peepholes, "peepholes"},
          {projected, "a projection"},
          {norms, "layer normalisation"},
          {aux, "an aux input"},
          {recurrent, "recurrent biases"},
          {all, "peepholes, norms and a projection"},
          {coupled_all, "the same, coupled"},
          {integer_norms, "i32 biases behind norms"},
          {projected_integers, "i8 projection"}};
}

void CasesUni(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const UniAttrs& a, const Form& f, const char* note, How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    Operands o(kUni.count);
    o.SetInput(f, a.time_major);
    o.SetDirection(kUni, f, a.time_major);
    o.AddTo(c);
    rnn::Finish(c, note, how);
  };
  auto attrs = [](bool time_major, bool sequences) {
    UniAttrs a;
    a.time_major = time_major, a.return_sequences = sequences;
    return a;
  };
  for (const auto& [form, note] : Forms()) add(attrs(true, true), form, note);
  for (bool sequences : {false, true}) add(attrs(false, sequences), {}, "batch major");
  add(attrs(true, false), {}, "the last step");
  for (Uni::ActivationType act :
       {Uni::kNONE, Uni::kRELU, Uni::kRELU6, Uni::kTANH, Uni::kHARDSIGMOID}) {
    UniAttrs a = attrs(true, true);
    a.recurrent_act_type = act;
    add(a, {}, "recurrent activations");
  }
  UniAttrs a = attrs(false, true);
  a.cell_clip = 0.3f, a.forget_bias = 1;
  add(a, {}, "a clipped cell, a forget bias");
  a.act_type = Uni::kRELU, a.proj_clip = 0.1f;
  Form f;
  f.aux = 4, f.state = 4;
  add(a, f, "act_type and proj_clip change nothing");
  f = {};
  f.steps = 40, f.batch = 1;
  add(attrs(true, true), f, "a long sequence");
  f.in = 33, f.units = 65, f.steps = 7;
  add(attrs(true, true), f, "shared by work-groups");
  f.batch = 5;
  add(attrs(false, false), f, "shared by work-groups, the last step");
  const TensorType u8 = Affine(DataType::UINT8, {}, 1.0f / 128, 121);
  f.x = f.h = u8, f.weight = Affine(DataType::UINT8, {}, 0.006f, 128);
  f.units = 113, f.batch = 3;
  add(attrs(false, true), f, "u8, shared by work-groups");
  f.h = Affine(DataType::INT8, {}, 1.0f / 32, 5);
  f.batch = 1;
  add(attrs(true, false), f, "u8, states beyond 1");
  f = {};
  f.in = 3, f.units = 9, f.batch = 2, f.steps = 2;
  add(attrs(true, true), f, "types", How::kEachType);
  f.in = f.units = 128, f.batch = 1, f.steps = 32;
  add(attrs(true, true), f, "128 units, 32 steps", How::kBench);
  f.in = f.units = 256, f.steps = 100;
  add(attrs(true, true), f, "256 units, 100 steps", How::kBench);
  f.x = f.h = Affine(DataType::INT8, {}, 1.0f / 128, 0);
  f.weight = Affine(DataType::INT8, {}, 0.006f, 0);
  add(attrs(true, true), f, "i8, 256 units, 100 steps", How::kBench);
}

void CasesBi(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const BiAttrs& a, const Form& fw, const Form& bw, const char* note,
                 How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    Operands o(kForward.count);
    o.SetInput(fw, a.time_major);
    o.SetDirection(kForward, fw, a.time_major);
    o.SetDirection(kBackward, bw, a.time_major);
    o.AddTo(c);
    rnn::Finish(c, note, how);
  };
  auto attrs = [](bool time_major, bool sequences) {
    BiAttrs a;
    a.time_major = time_major, a.return_sequences = sequences;
    return a;
  };
  for (const auto& [form, note] : Forms()) {
    if (form.aux == 0) add(attrs(true, true), form, form, note);
  }
  Form wide;
  wide.units = 9, wide.state = 4, wide.peepholes = true;
  for (bool time_major : {false, true}) {
    for (bool sequences : {false, true})
      add(attrs(time_major, sequences), {}, wide, "two numbers of units");
  }
  for (int act : {0, 1, 2, 3, 4, 31}) {
    BiAttrs a = attrs(true, true);
    a.recurrent_act_type = static_cast<Bi::ActivationType>(act);
    add(a, {}, {}, "recurrent activations");
  }
  BiAttrs a = attrs(false, true);
  a.cell_clip = 0.3f, a.forget_bias = 1, a.act_type = Bi::kRELU, a.proj_clip = 0.1f;
  add(a, wide, {}, "a clipped cell, a forget bias; act_type and proj_clip change nothing");
  Form f;
  f.in = 3, f.units = 9, f.batch = 2, f.steps = 2;
  add(attrs(true, true), f, f, "types", How::kEachType);
  f.in = f.units = 64, f.batch = 1, f.steps = 32;
  add(attrs(true, true), f, f, "64 units, 32 steps", How::kBench);
}

#define TIMCL_LSTM_OPERANDS(p)                                                                  \
  p "weight_i? " p "weight_f " p "weight_c " p "weight_o " p "recurrent_i? " p "recurrent_f " p \
    "recurrent_c " p "recurrent_o " p "peephole_i? " p "peephole_f? " p "peephole_o? " p        \
    "bias_i? " p "bias_f? " p "bias_c? " p "bias_o? " p "projection? " p "projection_bias? "
#define TIMCL_LSTM_FOUR(p) p "_i? " p "_f? " p "_c? " p "_o? "
#define TIMCL_LSTM_DATA "f32|f16|i8|u8, "
#define TIMCL_LSTM_STATE "f32|f16|i8|u8|i16, "
#define TIMCL_LSTM_DATA4 TIMCL_LSTM_DATA TIMCL_LSTM_DATA TIMCL_LSTM_DATA TIMCL_LSTM_DATA
#define TIMCL_LSTM_VECTOR3 "f32|f16|i8|u8, f32|f16|i8|u8, f32|f16|i8|u8, "
#define TIMCL_LSTM_BIAS "f32|f16|i32, "
#define TIMCL_LSTM_BIAS4 TIMCL_LSTM_BIAS TIMCL_LSTM_BIAS TIMCL_LSTM_BIAS TIMCL_LSTM_BIAS
#define TIMCL_LSTM_TYPES                                                                \
  TIMCL_LSTM_DATA4 TIMCL_LSTM_DATA4 TIMCL_LSTM_VECTOR3 TIMCL_LSTM_BIAS4 TIMCL_LSTM_DATA \
      TIMCL_LSTM_BIAS

constexpr OpDef kUnidirectionalSequenceLstm = {
    .name = "UnidirectionalSequenceLstm",
    .inputs = "input h_state? c_state? " TIMCL_LSTM_OPERANDS("") TIMCL_LSTM_FOUR(
        "norm") "aux_input? " TIMCL_LSTM_FOUR("aux_weight") TIMCL_LSTM_FOUR("recurrent_bias"),
    .outputs = "output h_state_out? c_state_out?",
    .types = TIMCL_LSTM_DATA TIMCL_LSTM_STATE TIMCL_LSTM_STATE TIMCL_LSTM_TYPES TIMCL_LSTM_DATA4
        TIMCL_LSTM_DATA TIMCL_LSTM_DATA4 "f32|f16|i32* -> f32|f16|i8|u8|i16*",
    .schema = &kAttrSchema<UniAttrs>,
    .verify = VerifyUni,
    .infer = InferUni,
    .reference = rnn::Definition<PassesUni>::Compute,
    .kernels = rnn::Definition<PassesUni>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesUni),
    .advise = AdviseUni};

constexpr OpDef kBidirectionalSequenceLstm = {
    .name = "BidirectionalSequenceLstm",
    .inputs =
        "input " TIMCL_LSTM_OPERANDS("fw_")
            TIMCL_LSTM_OPERANDS(
                "bw_") "fw_h_state? fw_c_state? bw_h_state? bw_c_state? "
                       "aux_input? " TIMCL_LSTM_FOUR("fw_aux_weight")
                           TIMCL_LSTM_FOUR("bw_aux_weight") TIMCL_LSTM_FOUR("fw_norm")
                               TIMCL_LSTM_FOUR("bw_norm") TIMCL_LSTM_FOUR("fw_recurrent_bias")
                                   TIMCL_LSTM_FOUR("bw_recurrent_bias"),
    .outputs = "fw_output fw_h_state_out fw_c_state_out bw_output bw_h_state_out bw_c_state_out",
    .types = TIMCL_LSTM_DATA TIMCL_LSTM_TYPES TIMCL_LSTM_TYPES TIMCL_LSTM_STATE TIMCL_LSTM_STATE
        TIMCL_LSTM_STATE TIMCL_LSTM_STATE TIMCL_LSTM_DATA TIMCL_LSTM_DATA4 TIMCL_LSTM_DATA4
            TIMCL_LSTM_DATA4 TIMCL_LSTM_DATA4 "f32|f16|i32* -> f32|f16|i8|u8|i16*",
    .schema = &kAttrSchema<BiAttrs>,
    .verify = VerifyBi,
    .infer = InferBi,
    .reference = rnn::Definition<PassesBi>::Compute,
    .kernels = rnn::Definition<PassesBi>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesBi),
    .advise = AdviseBi};
#undef TIMCL_LSTM_OPERANDS
#undef TIMCL_LSTM_FOUR
#undef TIMCL_LSTM_DATA
#undef TIMCL_LSTM_STATE
#undef TIMCL_LSTM_DATA4
#undef TIMCL_LSTM_VECTOR3
#undef TIMCL_LSTM_BIAS
#undef TIMCL_LSTM_BIAS4
#undef TIMCL_LSTM_TYPES

}  // namespace

TIMCL_OP_CLASS_WITH(UnidirectionalSequenceLstm, UniAttrs,
                    (float cell_clip, float proj_clip, ActivationType act_type, float forget_bias,
                     bool time_major, ActivationType recurrent_act_type, bool return_sequences),
                    (cell_clip, proj_clip, act_type, forget_bias, time_major, recurrent_act_type,
                     return_sequences),
                    act_type_(act_type));
TIMCL_OP_CLASS_WITH(BidirectionalSequenceLstm, BiAttrs,
                    (float cell_clip, float proj_clip, ActivationType act_type, float forget_bias,
                     bool time_major, ActivationType recurrent_act_type, bool return_sequences),
                    (cell_clip, proj_clip, act_type, forget_bias, time_major, recurrent_act_type,
                     return_sequences),
                    cell_clip_(cell_clip), proj_clip_(proj_clip), act_type_(act_type),
                    forget_bias_(forget_bias), time_major_(time_major),
                    recurrent_act_type_(recurrent_act_type), return_sequences_(return_sequences));

TIMCL_OPS(lstm) {
  Add(kUnidirectionalSequenceLstm);
  Add(kBidirectionalSequenceLstm);
}

}  // namespace tim::vx::ops
