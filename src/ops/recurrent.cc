// The reference and the launches of a pass over a sequence: what the recurrent operators share.
#include "tim/vx/recurrent.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tim::vx::recurrent {
namespace {

constexpr double kNormEpsilon = 1e-8;

/// Columns of the gates' sums: an LSTM without weights of its input gate keeps the column.
size_t GateCount(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kLstm ? 4 : 3; }
bool CoupledGates(const Pass& p) { return p.cell == Cell::kLstm && !p.gates[0].input.present(); }
bool HasNorm(const Pass& p) {
  for (const Gate& g : p.gates) {
    if (g.norm.present()) return true;
  }
  return false;
}
/// The candidate of a GRU whose reset gate comes after the recurrent product: its recurrent bias is
/// gated too.
bool GatesRecurrentBias(const Pass& p, size_t g) { return p.cell == Cell::kGru && g == 2; }

float ScaleOf(const OpView& op, int input) {
  return input < 0 ? 1.0f : op.in(static_cast<size_t>(input)).type().scale();
}
/// What one unit of an integer bias is worth: its own quantization is informational, as elsewhere.
float BiasScale(const OpView& op, int data, const Part& weight) {
  return ScaleOf(op, data) * ScaleOf(op, weight.input);
}
/// The data that the recurrent weights are multiplied with, as far as it has a type.
int StateInput(const Pass& p) { return p.h.present() ? p.h.input : p.x.index; }
bool IntegerBias(const OpView& op, const Part& bias) {
  return bias.present() && IsInteger(op.in(static_cast<size_t>(bias.input)).dtype());
}

// ---------------------------------------------------------------------------------- reference

template <class T>
T Activate(Activation a, T v) {
  switch (a) {
    case Activation::kNone:
      return v;
    case Activation::kRelu:
      return v < 0 ? 0 : v;
    case Activation::kRelu1:
      return v < -1 ? -1 : v > 1 ? 1 : v;
    case Activation::kRelu6:
      return v < 0 ? 0 : v > 6 ? 6 : v;
    case Activation::kTanh:
      return std::tanh(v);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-v));
    case Activation::kHardSigmoid: {
      const T line = T(0.2) * v + T(0.5);
      return line < 0 ? 0 : line > 1 ? 1 : line;
    }
  }
  return v;
}

template <class T>
class Walk {
 public:
  using Vector = std::vector<T>;
  Walk(const OpView& op, const Pass& p, const ref::Inputs& ins, ref::Outputs& outs)
      : op_(op), p_(p), ins_(ins), outs_(outs) {}

  void Run() {
    for (int64_t b = 0; b < p_.batch; ++b) {
      Vector h = Load(p_.h, b, p_.state), c = Load(p_.c, b, p_.units);
      for (int64_t s = 0; s < p_.steps; ++s) {
        h = Step(s, b, h, &c);
        const bool every = p_.output.per_step != 0;
        if (every || s + 1 == p_.steps) Store(p_.output, s, b, h);
      }
      Store(p_.h_out, 0, b, h);
      Store(p_.c_out, 0, b, c);
    }
  }

 private:
  T At(const Part& part, int64_t i) const {
    return ins_[static_cast<size_t>(part.input)].template As<T>(part.offset + i);
  }
  Vector Load(const Part& state, int64_t b, int64_t length) const {
    Vector v(static_cast<size_t>(length), 0);
    for (int64_t i = 0; state.present() && i < length; ++i)
      v[static_cast<size_t>(i)] = At(state, b * length + i);
    return v;
  }
  void Store(const Sequence& to, int64_t s, int64_t b, const Vector& v) {
    for (size_t i = 0; to.present() && i < v.size(); ++i) {
      outs_[static_cast<size_t>(to.index)].Put(
          to.offset + s * to.per_step + b * to.per_batch + static_cast<int64_t>(i), v[i]);
    }
  }
  T Bias(const Part& bias, int64_t u, int data, const Part& weight) const {
    if (!bias.present()) return 0;
    if (!IntegerBias(op_, bias)) return At(bias, u);
    const int64_t raw = ins_[static_cast<size_t>(bias.input)].Raw(bias.offset + u);
    return static_cast<T>(raw) * BiasScale(op_, data, weight);
  }
  T Times(const Part& weight, int64_t row, const Vector& v) const {
    const auto length = static_cast<int64_t>(v.size());
    T sum = 0;
    for (int64_t k = 0; k < length; ++k)
      sum += At(weight, row * length + k) * v[static_cast<size_t>(k)];
    return sum;
  }
  Vector Read(const Sequence& from, int64_t length, int64_t s, int64_t b) const {
    Vector v;
    for (int64_t k = 0; from.present() && k < length; ++k) {
      v.push_back(ins_[static_cast<size_t>(from.index)].template As<T>(
          from.offset + s * from.per_step + b * from.per_batch + k));
    }
    return v;
  }

  /// What gate g takes from the input: W x + b + aux.
  T Driven(const Gate& g, int64_t u, const Vector& x, const Vector& aux) const {
    T sum = Times(g.input, u, x);
    if (!g.norm.present()) sum += Bias(g.bias, u, p_.x.index, g.input);
    if (g.aux.present()) sum += Times(g.aux, u, aux);
    return sum;
  }
  /// What gate g takes from the state: R h + b.
  T Recalled(const Gate& g, int64_t u, const Vector& h) const {
    return Times(g.recurrent, u, h) + Bias(g.recurrent_bias, u, StateInput(p_), g.recurrent);
  }

  Vector Step(int64_t s, int64_t b, const Vector& h, Vector* c) const {
    const Vector x = Read(p_.x, p_.features, s, b), aux = Read(p_.aux, p_.aux_features, s, b);
    switch (p_.cell) {
      case Cell::kRnn:
        return Each([&](int64_t u) {
          return Activate(p_.activation,
                          Driven(p_.gates[0], u, x, aux) + Recalled(p_.gates[0], u, h));
        });
      case Cell::kLstm:
        return Lstm(x, aux, h, c);
      default:
        return Gru(x, h);
    }
  }
  template <class F>
  Vector Each(F f) const {
    Vector v;
    for (int64_t u = 0; u < p_.units; ++u) v.push_back(static_cast<T>(f(u)));
    return v;
  }

  // z = ract(Wz x + Uz h), r likewise; c = act(W x + r * (U h)) or act(W x + U (r * h)),
  // h' = (1 - z) c + z h.
  Vector Gru(const Vector& x, const Vector& h) const {
    auto gate = [&](size_t g) {
      return Each([&, g](int64_t u) {
        return Activate(p_.recurrent_activation,
                        Driven(p_.gates[g], u, x, {}) + Recalled(p_.gates[g], u, h));
      });
    };
    const Vector z = gate(0), r = gate(1);
    Vector remembered = h;
    for (size_t u = 0; u < h.size(); ++u) remembered[u] *= r[u];
    return Each([&](int64_t u) {
      const auto i = static_cast<size_t>(u);
      const T recalled = p_.cell == Cell::kGru ? r[i] * Recalled(p_.gates[2], u, h)
                                               : Recalled(p_.gates[2], u, remembered);
      const T candidate = Activate(p_.activation, Driven(p_.gates[2], u, x, {}) + recalled);
      return (1 - z[i]) * candidate + z[i] * h[i];
    });
  }

  Vector Lstm(const Vector& x, const Vector& aux, const Vector& h, Vector* c) const {
    auto sums = [&](size_t at) {
      const Gate& g = p_.gates[at];
      Vector v = Each([&](int64_t u) {
        T sum = Driven(g, u, x, aux) + Recalled(g, u, h);
        if (g.peephole.present()) sum += At(g.peephole, u) * (*c)[static_cast<size_t>(u)];
        return sum;
      });
      if (g.norm.present()) Normalize(g, &v);
      return v;
    };
    const bool coupled = CoupledGates(p_);
    const Vector i = coupled ? Vector() : sums(0), f = sums(1), g = sums(2), o = sums(3);
    const auto ract = p_.recurrent_activation;
    Vector m;
    for (size_t u = 0; u < f.size(); ++u) {
      const T keep = Activate(ract, f[u] + static_cast<T>(p_.forget_bias));
      const T take = coupled ? 1 - keep : Activate(ract, i[u]);
      T cell = keep * (*c)[u] + take * std::tanh(g[u]);
      const T clip = static_cast<T>(p_.cell_clip);
      if (clip > 0) cell = cell < -clip ? -clip : cell > clip ? clip : cell;
      (*c)[u] = cell;
      m.push_back(Activate(ract, o[u]) * std::tanh(cell));
    }
    if (!p_.projection.present()) return m;
    Vector projected;
    for (int64_t k = 0; k < p_.state; ++k)
      projected.push_back(Times(p_.projection, k, m) +
                          Bias(p_.projection_bias, k, -1, p_.projection));
    return projected;
  }

  void Normalize(const Gate& g, Vector* v) const {
    const T count = static_cast<T>(v->size());
    T sum = 0, squares = 0;
    for (const T value : *v) sum += value;
    const T mean = sum / count;
    for (const T value : *v) squares += (value - mean) * (value - mean);
    const T deviation = std::sqrt(squares / count + static_cast<T>(kNormEpsilon));
    for (size_t u = 0; u < v->size(); ++u) {
      const auto i = static_cast<int64_t>(u);
      (*v)[u] = ((*v)[u] - mean) / deviation * At(g.norm, i) + Bias(g.bias, i, p_.x.index, g.input);
    }
  }

  const OpView& op_;
  const Pass& p_;
  const ref::Inputs& ins_;
  ref::Outputs& outs_;
};

// ----------------------------------------------------------------------------------- launches

size_t Index(const Part& p) { return static_cast<size_t>(p.input); }

class Emit {
 public:
  Emit(const OpView& op, const Pass& p, size_t number, Launches* launches)
      : op_(op), p_(p), scratch_(number * 8), launches_(*launches) {}

  void Run() {
    const int64_t states = p_.batch * p_.state;
    for (size_t g = 0; g < p_.gates.size(); ++g) FromInput(g);
    LoadState(p_.h, H("H"), states);
    if (p_.cell == Cell::kLstm) LoadState(p_.c, C(), p_.batch * p_.units);
    for (int64_t s = 0; s < p_.steps; ++s) Step(s);
    if (p_.output.per_step != 0) {
      Store(H("H"), p_.state, p_.steps, states, p_.output);
    } else {
      Store(H("H"), p_.state, 1, p_.steps * states, p_.output);
    }
    Store(H("H"), p_.state, 1, p_.steps * states, p_.h_out);
    Store(C("H"), p_.units, 1, 0, p_.c_out);
  }

 private:
  int64_t width() const { return static_cast<int64_t>(GateCount(p_.cell)) * p_.units; }
  Operand Floats(size_t index, int64_t count, const char* name) const {
    return Scratch(scratch_ + index, static_cast<size_t>(count) * sizeof(float), name, "float");
  }
  // What the gates take from the input; states of all steps; cell state; what passes between the
  // launches of one step.
  Operand P() const { return Floats(0, p_.steps * p_.batch * width(), "P"); }
  Operand H(const char* name) const {
    return Floats(1, (p_.steps + 1) * p_.batch * p_.state, name);
  }
  Operand C(const char* name = "C") const { return Floats(2, p_.batch * p_.units, name); }
  Operand M(const char* name = "M") const { return Floats(3, p_.batch * p_.units * 2, name); }
  Operand G() const { return Floats(4, p_.batch * width(), "G"); }

  KernelSpec& Add(const char* source, const char* entry) {
    KernelSpec spec;
    spec.source = source;
    spec.entry = entry;
    spec.local = {16, 1, 1};
    spec.dims = 2;
    spec.float_math = true;
    launches_.push_back(std::move(spec));
    return launches_.back();
  }

  /// P[row][...] = W x + biases, where x is an input of the op or scratch.
  struct Product {
    Operand data;
    Sequence x;
    int64_t terms, units, rows;
    Part weight, b, c;
    float b_scale, c_scale;
    Operand to;
    int64_t at, row;
    bool adds;
  };
  void Multiply(const Product& m) {
    KernelSpec& k = Add("recurrent_input.cl", "recurrent_input");
    k.operands = {m.data, In(Index(m.weight), "W")};
    if (m.b.present()) k.operands.push_back(In(Index(m.b), "B"));
    if (m.c.present()) k.operands.push_back(In(Index(m.c), "C"));
    k.operands.push_back(m.to);
    k.sizes = {{"K", m.terms},
               {"UNITS", m.units},
               {"ROWS", m.rows},
               {"BATCH", p_.batch},
               {"X_AT", m.x.offset},
               {"X_STEP", m.x.per_step},
               {"X_BATCH", m.x.per_batch},
               {"W_AT", m.weight.offset},
               {"B_AT", m.b.offset},
               {"C_AT", m.c.offset},
               {"P_AT", m.at},
               {"P_ROW", m.row}};
    k.reals = {{"B_SCALE", m.b_scale}, {"C_SCALE", m.c_scale}};
    k.defines = {{"FROM_SCRATCH", m.data.kind == Operand::Kind::kScratch},
                 {"HAS_B", m.b.present()},
                 {"INTEGER_B", IntegerBias(op_, m.b)},
                 {"HAS_C", m.c.present()},
                 {"INTEGER_C", IntegerBias(op_, m.c)},
                 {"ADDS", m.adds}};
    k.global = Grid(m.units, m.rows);
    k.flops = 2.0 * static_cast<double>(m.terms) * static_cast<double>(m.units * m.rows);
  }

  void FromInput(size_t g) {
    const Gate& gate = p_.gates[g];
    if (!gate.input.present()) return;
    const int64_t rows = p_.steps * p_.batch, at = static_cast<int64_t>(g) * p_.units;
    Product m = {In(static_cast<size_t>(p_.x.index), "X"),
                 p_.x,
                 p_.features,
                 p_.units,
                 rows,
                 gate.input,
                 gate.norm.present() ? Part() : gate.bias,
                 GatesRecurrentBias(p_, g) ? Part() : gate.recurrent_bias,
                 BiasScale(op_, p_.x.index, gate.input),
                 BiasScale(op_, StateInput(p_), gate.recurrent),
                 P(),
                 at,
                 width(),
                 false};
    Multiply(m);
    if (!gate.aux.present()) return;
    m.data = In(static_cast<size_t>(p_.aux.index), "X");
    m.x = p_.aux;
    m.terms = p_.aux_features;
    m.weight = gate.aux;
    m.b = m.c = Part();
    m.adds = true;
    Multiply(m);
  }

  void LoadState(const Part& state, Operand to, int64_t count) {
    to.name = "H";
    KernelSpec& k = Add("recurrent_load.cl", "recurrent_load");
    if (state.present()) k.operands.push_back(In(Index(state), "S"));
    k.operands.push_back(std::move(to));
    k.sizes = {{"COUNT", count}, {"S_AT", state.offset}};
    k.defines = {{"HAS_STATE", state.present()}};
    k.dims = 1;
    k.global = Grid(count);
  }

  void Store(const Operand& from, int64_t units, int64_t steps, int64_t at, const Sequence& to) {
    if (!to.present()) return;
    KernelSpec& k = Add("recurrent_store.cl", "recurrent_store");
    const int64_t rows = steps * p_.batch;
    k.operands = {from, Out(static_cast<size_t>(to.index), "Y")};
    k.sizes = {{"UNITS", units},    {"ROWS", rows},          {"BATCH", p_.batch},      {"H_AT", at},
               {"Y_AT", to.offset}, {"Y_STEP", to.per_step}, {"Y_BATCH", to.per_batch}};
    k.global = Grid(units, rows);
  }

  void Step(int64_t s) {
    switch (p_.cell) {
      case Cell::kRnn:
        return Rnn(s);
      case Cell::kLstm:
        return Lstm(s);
      case Cell::kGru:
        return Gru(s, 0);
      case Cell::kGruReset:
        Gru(s, 1);
        return Gru(s, 2);
    }
  }
  KernelSpec& PerUnit(const char* source, const char* entry) {
    KernelSpec& k = Add(source, entry);
    k.global = Grid(p_.units, p_.batch);
    k.flops = 2.0 * static_cast<double>(width()) * static_cast<double>(p_.batch * p_.state);
    return k;
  }

  void Rnn(int64_t s) {
    KernelSpec& k = PerUnit("rnn_step.cl", "rnn_step");
    const Part& r = p_.gates[0].recurrent;
    k.operands = {In(Index(r), "R"), P(), H("H")};
    k.sizes = {{"UNITS", p_.units},
               {"BATCH", p_.batch},
               {"AT", s * p_.batch * p_.units},
               {"R_AT", r.offset}};
    k.defines = {{"ACTIVATION", static_cast<int>(p_.activation)}};
  }

  void Gru(int64_t s, int stage) {
    KernelSpec& k = PerUnit("gru_step.cl", "gru_step");
    const Part c = stage == 0 ? p_.gates[2].recurrent_bias : Part();
    if (stage < 2) {
      k.operands.push_back(In(Index(p_.gates[0].recurrent), "RZ"));
      k.operands.push_back(In(Index(p_.gates[1].recurrent), "RR"));
    }
    if (stage != 1) k.operands.push_back(In(Index(p_.gates[2].recurrent), "RH"));
    if (c.present()) k.operands.push_back(In(Index(c), "C"));
    for (const Operand& o : {P(), H("H"), M()}) k.operands.push_back(o);
    k.sizes = {{"UNITS", p_.units}, {"BATCH", p_.batch}, {"AT", s * p_.batch * p_.units}};
    k.reals = {{"C_SCALE", BiasScale(op_, StateInput(p_), p_.gates[2].recurrent)}};
    k.defines = {{"STAGE", stage},
                 {"HAS_C", c.present()},
                 {"INTEGER_C", IntegerBias(op_, c)},
                 {"ACTIVATION", static_cast<int>(p_.activation)},
                 {"RECURRENT_ACTIVATION", static_cast<int>(p_.recurrent_activation)}};
  }

  void Lstm(int64_t s) {
    const bool norm = HasNorm(p_);
    LstmStage(s, norm ? 1 : 0);
    if (norm) {
      for (size_t g = 0; g < 4; ++g) Normalize(g);
      LstmStage(s, 2);
    }
    if (!p_.projection.present()) return;
    Multiply({M("X"),
              {-1, 0, 0, p_.units},
              p_.units,
              p_.state,
              p_.batch,
              p_.projection,
              p_.projection_bias,
              Part(),
              BiasScale(op_, -1, p_.projection),
              1,
              H("P"),
              (s + 1) * p_.batch * p_.state,
              p_.state,
              false});
  }
  void LstmStage(int64_t s, int stage) {
    const bool projects = p_.projection.present(), coupled = CoupledGates(p_);
    KernelSpec& k = PerUnit("lstm_step.cl", "lstm_step");
    auto add = [&](const Part& part, const char* name) {
      if (part.present()) k.operands.push_back(In(Index(part), name));
    };
    if (stage < 2) {
      if (!coupled) add(p_.gates[0].recurrent, "RI");
      add(p_.gates[1].recurrent, "RF");
      add(p_.gates[2].recurrent, "RG");
      add(p_.gates[3].recurrent, "RO");
      add(p_.gates[0].peephole, "CI");
      add(p_.gates[1].peephole, "CF");
      add(p_.gates[3].peephole, "CO");
      k.operands.push_back(P());
      k.operands.push_back(H("H"));
    }
    if (stage > 0) k.operands.push_back(G());
    k.operands.push_back(C());
    k.operands.push_back(projects ? M() : H("M"));
    k.sizes = {{"UNITS", p_.units},
               {"BATCH", p_.batch},
               {"STATE_LENGTH", p_.state},
               {"P_AT", s * p_.batch * width()},
               {"H_AT", s * p_.batch * p_.state},
               {"M_AT", projects ? 0 : (s + 1) * p_.batch * p_.state}};
    k.reals = {{"CLIP", p_.cell_clip}, {"FORGET", p_.forget_bias}};
    k.defines = {{"STAGE", stage},
                 {"CIFG", coupled},
                 {"PEEP_I", p_.gates[0].peephole.present()},
                 {"PEEP_F", p_.gates[1].peephole.present()},
                 {"PEEP_O", p_.gates[3].peephole.present()},
                 {"RECURRENT_ACTIVATION", static_cast<int>(p_.recurrent_activation)}};
  }
  void Normalize(size_t g) {
    const Gate& gate = p_.gates[g];
    if (!gate.norm.present()) return;
    KernelSpec& k = Add("lstm_normalize.cl", "lstm_normalize");
    k.operands = {In(Index(gate.norm), "N")};
    if (gate.bias.present()) k.operands.push_back(In(Index(gate.bias), "B"));
    k.operands.push_back(G());
    k.sizes = {{"UNITS", p_.units}, {"BATCH", p_.batch}, {"GATE", static_cast<int64_t>(g)}};
    k.reals = {{"B_SCALE", BiasScale(op_, p_.x.index, gate.input)}};
    k.defines = {{"HAS_B", gate.bias.present()}, {"INTEGER_B", IntegerBias(op_, gate.bias)}};
    k.dims = 1;
    k.global = Grid(p_.batch);
    k.local = {1, 1, 1};
  }

  const OpView& op_;
  const Pass& p_;
  const size_t scratch_;
  Launches& launches_;
};

}  // namespace

Status CheckShape(const OpView& op, size_t input, const Shape& shape, const std::string& why) {
  return op.in(input).present() ? op.CheckShape(input, shape, why) : Status();
}

Status CheckCount(const OpView& op, size_t input, const Shape& shape, const std::string& why) {
  if (!op.in(input).present() || op.in(input).shape().count() == shape.count()) return Status();
  return op.InputError(input, Code::kInvalidShape,
                       "it has " + std::to_string(op.in(input).shape().count()) + " elements, " +
                           shape.ToString() + " are expected, " + why);
}

std::string AsSaidBy(const OpView& op, size_t a, size_t b) {
  return "as " + op.in_label(a) + " and " + op.in_label(b) + " say";
}

Sequence InputSequence(const OpView& op, size_t input, bool time_major) {
  if (!op.in(input).present()) return {};
  const Shape& x = op.in(input).shape();
  Sequence s = {static_cast<int>(input), 0, x[0] * x.dim(1), x[0]};
  if (!time_major) std::swap(s.per_step, s.per_batch);
  return s;
}

Sequence OutputSequence(const Pass& pass, int output, int64_t length, int64_t offset,
                        bool time_major) {
  if (time_major) return {output, offset, length * pass.batch, length};
  return {output, offset, length, length * pass.steps};
}

Sequence Backward(Sequence s, int64_t steps) {
  s.offset += (steps - 1) * s.per_step;
  s.per_step = -s.per_step;
  return s;
}

Part Whole(const OpView& op, size_t input) {
  return op.in(input).present() ? Part{static_cast<int>(input), 0} : Part();
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs,
                 const Passes& passes) {
  ref::Inputs all = ins;
  all.resize(std::max(ins.size(), op.num_inputs()));
  // Real numbers even where every operand is a plain integer.
  const bool in_double = ref::ArithmeticOf(op) == ref::Arithmetic::kDouble;
  for (const Pass& p : passes) {
    if (in_double) {
      Walk<double>(op, p, all, outs).Run();
    } else {
      Walk<float>(op, p, all, outs).Run();
    }
  }
  return Status();
}

Result<KernelOffer> Accepts(const OpView& op, const Passes& passes) {
  for (const Pass& p : passes) {
    const Result<int64_t> gates =
        Shape{static_cast<int64_t>(GateCount(p.cell)), p.units, p.batch, p.steps}.CheckedCount();
    const Result<int64_t> states = Shape{p.state, p.batch, p.steps + 1}.CheckedCount();
    const int64_t most = std::numeric_limits<int32_t>::max();
    if (!gates.ok() || *gates > most || !states.ok() || *states > most) {
      return op.Error(Code::kUnsupported, std::to_string(p.steps) + " steps of " +
                                              std::to_string(p.units) + " units and batch " +
                                              std::to_string(p.batch) +
                                              " are more gates than a 32-bit index can count");
    }
  }
  return KernelOffer();
}

Result<Launches> MakeLaunches(const OpView& op, const Passes& passes) {
  Launches launches;
  for (size_t i = 0; i < passes.size(); ++i) Emit(op, passes[i], i, &launches).Run();
  return launches;
}

void AddOperand(CaseBuilder& c, TensorType type, const Shape& shape, bool constant, double reach) {
  type.shape = shape;
  if (type.dtype == DataType::UNKNOWN) {
    c.None();
  } else if (constant) {
    c.Const(type, -reach, reach);
  } else {
    c.In(type, -reach, reach);
  }
}

void Finish(CaseBuilder& c, const char* note, How how) {
  c.Note(note);
  if (how == How::kBench) c.Bench();
  if (how == How::kEachType) c.EachType();
}

}  // namespace tim::vx::recurrent
