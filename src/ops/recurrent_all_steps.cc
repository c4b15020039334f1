// A pass over a sequence in few launches: one product for what all steps take from the input, then
// one kernel that walks through the steps (recurrent_sequence.cl).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tim/vx/matrix_product.h"
#include "tim/vx/recurrent.h"

namespace tim::vx::recurrent {
namespace {

constexpr int64_t kLanes = 16;  // units of a block

size_t Index(const Part& p) { return static_cast<size_t>(p.input); }
bool IsByte(DataType t) { return t == DataType::INT8 || t == DataType::UINT8; }
/// VSTORE stores it.
bool StoresLanes(const TensorType& t) {
  return t.dtype == DataType::FLOAT32 || (IsByte(t.dtype) && t.quantized() && !t.per_channel());
}

/// The zero point of a type in bytes with sign, or more than they reach.
int32_t ZeroPoint(const TensorType& t) {
  return t.zero_point() - (t.dtype == DataType::UINT8 ? 128 : 0);
}
/// Weights that vpdpbusd can read: stored bytes, but for their sign, are multiples of the scale.
bool BytesWithSign(const OpView& op, const Part& weight) {
  const TensorType& t = op.in(Index(weight)).type();
  return IsByte(t.dtype) && t.quantized() && !t.per_channel() && ZeroPoint(t) == 0;
}

bool Bounded(Activation a) {
  return a == Activation::kTanh || a == Activation::kSigmoid || a == Activation::kHardSigmoid ||
         a == Activation::kRelu1;
}

class Layer {
 public:
  Layer(const OpView& op, const Pass& p, const DeviceCaps& caps) : op_(op), p_(p), caps_(caps) {
    for (size_t g = 0; g < p.gates.size(); ++g) {
      if (p.gates[g].input.present()) gates_.push_back(g);
    }
    blocks_ = DivideUp(p.units, kLanes);
    rows_ = p.steps * p.batch;
  }

  int64_t gates() const { return static_cast<int64_t>(gates_.size()); }
  int64_t length() const { return blocks_ * kLanes; }
  int64_t columns() const { return blocks_ * gates() * kLanes; }

  Status Check() const {
    auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
    if (p_.cell == Cell::kGruReset) {
      return refuse("the reset gate before the product makes two dependent products of each step");
    }
    if (p_.projection.present()) return refuse("it has a projection");
    if (p_.aux.present()) return refuse("it has an aux input");
    for (size_t g : gates_) {
      const Gate& gate = p_.gates[g];
      if (gate.norm.present()) return refuse("it has layer normalisation");
      if (gate.peephole.present()) return refuse("it has peepholes");
      for (const Part& part : {gate.input, gate.recurrent, gate.bias, gate.recurrent_bias}) {
        if (part.present() && op_.in(Index(part)).data() == nullptr)
          return refuse(op_.in_label(Index(part)) + " is not constant");
      }
    }
    // Its rows are those of a matrix.
    for (int64_t n : {p_.x.offset, p_.x.per_step, p_.x.per_batch}) {
      if (n % p_.features != 0) return refuse("the sequence is a part of other data");
    }
    const int64_t most = std::numeric_limits<int32_t>::max();
    const Result<int64_t> sums = Shape{columns() + 64, rows_}.CheckedCount();
    const Result<int64_t> weights =
        Shape{columns() + 64, std::max(length(), p_.features)}.CheckedCount();
    const Result<int64_t> states = Shape{length(), p_.batch, 6}.CheckedCount();
    if (!sums.ok() || *sums > most || !weights.ok() || *weights > most || !states.ok() ||
        *states > most)
      return refuse("more than 2^31 - 1 packed elements");
    return Status();
  }

  void Launch(size_t number, Launches* launches) {
    scratch_ = number * 8;
    launches_ = launches;
    if (DotInput()) {
      ProjectBytes();
    } else {
      ProjectFloats();
    }
    if (Workers() > 1) Zero();
    Walk();
  }

 private:
  /// What a bias adds, as a number.
  double Bias(const Part& bias, int64_t u, int data, const Part& weight) const {
    if (!bias.present()) return 0;
    const TensorView t = op_.in(Index(bias));
    const ref::Input values(t.data(), t.type());
    if (!IsInteger(t.dtype())) return values.At(bias.offset + u);
    const float scale = data < 0 ? 1.0f : op_.in(static_cast<size_t>(data)).type().scale();
    return static_cast<double>(values.Raw(bias.offset + u)) * scale *
           op_.in(Index(weight)).type().scale();
  }
  int StateInput() const { return p_.h.present() ? p_.h.input : p_.x.index; }
  /// The candidate of a GRU gates its recurrent bias too.
  bool KeepsRecurrentBias(size_t g) const { return p_.cell == Cell::kGru && g == 2; }
  /// What gate `g` gets besides products.
  float BiasOf(size_t g, int64_t u) const {
    const Gate& gate = p_.gates[g];
    double sum = Bias(gate.bias, u, p_.x.index, gate.input);
    if (!KeepsRecurrentBias(g)) sum += Bias(gate.recurrent_bias, u, StateInput(), gate.recurrent);
    return static_cast<float>(sum);
  }

  /// Calls put(column, gate, unit) for every column of P that is a unit's.
  template <class F>
  void EachColumn(F put) const {
    for (int64_t u = 0; u < p_.units; ++u) {
      for (int64_t g = 0; g < gates(); ++g) {
        put((u / kLanes * gates() + g) * kLanes + u % kLanes, gates_[static_cast<size_t>(g)], u);
      }
    }
  }
  ref::Input Values(const Part& part) const {
    const TensorView t = op_.in(Index(part));
    return ref::Input(t.data(), t.type());
  }
  /// Row u of stored bytes with sign.
  std::vector<int8_t> Bytes(const Part& weight, int64_t u, int64_t terms) const {
    const ref::Input values = Values(weight);
    const int64_t flip = values.type().dtype == DataType::UINT8 ? 128 : 0;
    std::vector<int8_t> row;
    for (int64_t k = 0; k < terms; ++k)
      row.push_back(static_cast<int8_t>(values.Raw(weight.offset + u * terms + k) - flip));
    return row;
  }

  KernelSpec& Add(const char* source, const char* entry) {
    KernelSpec spec;
    spec.source = source;
    spec.entry = entry;
    spec.float_math = true;
    launches_->push_back(std::move(spec));
    return launches_->back();
  }
  Operand Own(size_t index, int64_t count, const char* name, const char* element = "float") const {
    const size_t size = std::string(element) == "uchar" ? 1 : 4;
    return Scratch(scratch_ + index, static_cast<size_t>(count) * size, name, element);
  }
  Operand P(const char* name) const { return Own(0, rows_ * columns(), name); }

  // ------------------------------------------------------------------------ the input's product

  bool DotInput() const {
    const TensorType& x = op_.in(static_cast<size_t>(p_.x.index)).type();
    if (!caps_.dot_product_u8s8 || !IsByte(x.dtype) || !x.quantized()) return false;
    return std::all_of(gates_.begin(), gates_.end(),
                       [&](size_t g) { return BytesWithSign(op_, p_.gates[g].input); });
  }

  void ProjectBytes() {
    const int64_t n = columns(), k = p_.features;
    const int64_t vectors = n <= 32 ? 2 : rows_ == 1 ? 8 : rows_ <= 4 ? 6 : 4;
    const int64_t rows = rows_ == 1 ? 1 : rows_ <= 4 ? 4 : vectors == 2 ? 12 : 6;
    const int64_t width = kLanes * vectors, groups = DivideUp(n, width), fours = DivideUp(k, 4);
    const auto padded = static_cast<size_t>(groups * width);
    std::vector<int8_t> packed(padded * static_cast<size_t>(fours * 4));
    std::vector<int32_t> bias(padded);
    std::vector<float> m(padded), real_bias(padded);
    const auto x = static_cast<size_t>(p_.x.index);
    const TensorType& type = op_.in(x).type();
    EachColumn([&](int64_t column, size_t g, int64_t u) {
      const Part& weight = p_.gates[g].input;
      const std::vector<int8_t> row = Bytes(weight, u, k);
      int64_t sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const int8_t w = row[static_cast<size_t>(i)];
        packed[static_cast<size_t>(((column / width * fours + i / 4) * width + column % width) * 4 +
                                   i % 4)] = w;
        sum += w;
      }
      const auto c = static_cast<size_t>(column);
      bias[c] = static_cast<int32_t>(-(ZeroPoint(type) + 128) * sum);
      m[c] = type.scale() * op_.in(Index(weight)).type().scale();
      real_bias[c] = BiasOf(g, u);
    });
    KernelSpec& spec = Add("matmul8.cl", "matmul8");
    spec.operands = {In(x, "X"),
                     Data(packed, "W", "char"),
                     Data(bias, "B", "int"),
                     Data(m, "M8", "float"),
                     Data(real_bias, "R", "float"),
                     P("Y")};
    spec.sizes = {{"M", rows_}, {"N", n}, {"K", k}, {"LIMIT", 0}};
    spec.defines = {{"DOT", 1},
                    {"MR", rows},
                    {"NV", vectors},
                    {"REAL_BIAS", 1},
                    {"FLIP", type.dtype == DataType::INT8 ? 128 : 0},
                    {"OWN_Y", 1}};
    spec.dims = 2;
    spec.global = Grid(DivideUp(rows_, rows), groups);
    spec.flops = FlopsOfProduct();
  }
  double FlopsOfProduct() const {
    return 2.0 * static_cast<double>(rows_ * columns()) * static_cast<double>(p_.features);
  }

  void ProjectFloats() {
    const auto x = static_cast<size_t>(p_.x.index);
    Operand a = In(x, "A");
    const bool converts = op_.in(x).dtype() != DataType::FLOAT32;
    if (converts) {
      const int64_t count = rows_ * p_.features;
      a = Own(4, count, "A");
      Load(In(x, "S"), Own(4, count, "H"), count);
    }
    const int64_t n = columns(), k = p_.features;
    const auto tile = MatrixTile::Of(rows_, n, caps_);
    const int64_t width = tile.columns(), panels = DivideUp(n, width);
    std::vector<float> packed(static_cast<size_t>(panels * width * k));
    std::vector<float> bias(static_cast<size_t>(panels * width));
    EachColumn([&](int64_t column, size_t g, int64_t u) {
      const Part& weight = p_.gates[g].input;
      const ref::Input values = Values(weight);
      for (int64_t i = 0; i < k; ++i) {
        packed[static_cast<size_t>((column / width * k + i) * width + column % width)] =
            values.Float(weight.offset + u * k + i);
      }
      bias[static_cast<size_t>(column)] = BiasOf(g, u);
    });
    const int64_t blocks = BlocksOfTerms(rows_, k);
    const int64_t rows = tile.RowsOfItem(rows_, panels, caps_);
    KernelSpec& spec = Add("matrix_product.cl", "matrix_product");
    spec.operands = {a, Data(packed, "B", "float"), Data(bias, "bias", "float"), P("Y")};
    spec.sizes = {
        {"M", rows_}, {"N", n},   {"K", k},     {"ROWS", rows}, {"BLOCK", DivideUp(k, blocks)},
        {"A_M", k},   {"A_K", 1}, {"B_STEP", 0}};
    spec.defines = {{"MR", tile.rows},   {"NV", tile.vectors},  {"A_FORM", 0},
                    {"OWN_A", converts}, {"B_FORM", 0},         {"HAS_BIAS", 1},
                    {"BATCHED", 0},      {"SPLIT", blocks > 1}, {"AHEAD", rows_ > tile.rows},
                    {"OWN_Y", 1}};
    spec.dims = 3;
    spec.global = Grid(DivideUp(rows_, rows), panels, 1);
    spec.flops = FlopsOfProduct();
  }

  /// Fills memory of the op's own from a tensor, or with zeros where `from` has no name.
  void Load(const Operand& from, const Operand& to, int64_t count) {
    KernelSpec& spec = Add("recurrent_load.cl", "recurrent_load");
    if (!from.name.empty()) spec.operands.push_back(from);
    spec.operands.push_back(to);
    spec.sizes = {{"COUNT", count}, {"S_AT", 0}};
    spec.defines = {{"HAS_STATE", !from.name.empty()}};
    spec.dims = 1;
    spec.global = Grid(count);
    spec.local = {16, 1, 1};
  }

  // ---------------------------------------------------------------------------------- the steps

  double ProductOfStep() const {
    return static_cast<double>(columns()) * static_cast<double>(length());
  }
  /// Work-groups that share a step. They wait for each other, some 0.2 us, which a product that
  /// takes one core 0.5 us repays.
  int64_t Workers() const {
    const double worth_sharing = DotStates() ? 48e3 : 16e3;
    if (ProductOfStep() * static_cast<double>(p_.batch) < worth_sharing) return 1;
    return std::min(static_cast<int64_t>(caps_.compute_units), blocks_);
  }
  static constexpr int64_t kTeamLine = 32;  // TEAM_LINE of team.clh
  int64_t TeamInts() const { return (Workers() + 1) * kTeamLine; }
  void Zero() { Load({}, Own(3, TeamInts(), "H"), TeamInts()); }

  /// The largest magnitude of a state, or 0: not known.
  float Reach() const {
    const bool in_reach =
        p_.cell == Cell::kRnn ? Bounded(p_.activation)
        : p_.cell == Cell::kLstm
            ? Bounded(p_.recurrent_activation)
            : Bounded(p_.activation) && (p_.recurrent_activation == Activation::kSigmoid ||
                                         p_.recurrent_activation == Activation::kHardSigmoid);
    if (!in_reach) return 0;
    if (!p_.h.present()) return 1;
    const TensorType& h = op_.in(Index(p_.h)).type();
    if (!IsInteger(h.dtype)) return 0;
    const double low = static_cast<double>(LowestOf(h.dtype) - h.zero_point());
    const double high = static_cast<double>(HighestOf(h.dtype) - h.zero_point());
    return std::max(1.0f, static_cast<float>(std::max(-low, high)) * h.scale());
  }
  /// Whether states may be whole numbers of 24 bits: they are known to be in reach, and no NaN.
  bool DotStates() const {
    if (!DotInput() || Reach() == 0) return false;
    if (p_.c.present() && !IsInteger(op_.in(Index(p_.c)).dtype())) return false;
    return std::all_of(gates_.begin(), gates_.end(),
                       [&](size_t g) { return BytesWithSign(op_, p_.gates[g].recurrent); });
  }

  void Walk() {
    const bool bytes = DotStates(), team = Workers() > 1;
    const int64_t states = 2 * p_.batch * length();
    // A power of two, so that scaling does not round.
    const float fine = bytes ? 0x1p23f / std::exp2(std::ceil(std::log2(Reach()))) : 1.0f;
    KernelSpec& spec = Add("recurrent_sequence.cl", "recurrent_sequence");
    if (bytes) {
      PackBytes(fine, &spec);
    } else {
      PackFloats(&spec);
    }
    if (p_.cell == Cell::kGru) {
      std::vector<float> bias(static_cast<size_t>(length()));
      const Gate& candidate = p_.gates[2];
      for (int64_t u = 0; u < p_.units; ++u) {
        bias[static_cast<size_t>(u)] = static_cast<float>(
            Bias(candidate.recurrent_bias, u, StateInput(), candidate.recurrent));
      }
      spec.operands.push_back(Data(bias, "RB", "float"));
    }
    spec.operands.push_back(P("P"));
    spec.operands.push_back(bytes ? Own(1, 3 * states, "H", "uchar") : Own(1, states, "H"));
    if (p_.cell != Cell::kRnn) spec.operands.push_back(Own(2, p_.batch * length(), "C"));
    if (team) spec.operands.push_back(Own(3, TeamInts(), "T", "int"));
    if (p_.h.present()) spec.operands.push_back(In(Index(p_.h), "S"));
    if (p_.c.present()) spec.operands.push_back(In(Index(p_.c), "SC"));
    for (const auto& [to, name] :
         {std::pair(&p_.output, "Y"), std::pair(&p_.h_out, "YH"), std::pair(&p_.c_out, "YC")}) {
      if (to->present()) spec.operands.push_back(Out(static_cast<size_t>(to->index), name));
    }
    const TensorType stored = op_.out(static_cast<size_t>(p_.output.index)).type();
    const bool lanes = p_.output.index == 0 && StoresLanes(stored);
    const int64_t row = p_.features, batch_rows = bytes ? 2 : 4;
    const int64_t together = p_.batch == 1 ? 1 : batch_rows;
    // As many sums as hide the latency of an addition.
    const int64_t chains = together > 1 ? (gates() == 1 ? 2 : 1) : gates() == 1 ? 8 : 2;
    spec.sizes = {{"STEPS", p_.steps},
                  {"BATCH", p_.batch},
                  {"UNITS", p_.units},
                  {"BLOCKS", blocks_},
                  {"P_AT", p_.x.offset / row},
                  {"P_STEP", p_.x.per_step / row},
                  {"P_BATCH", p_.x.per_batch / row},
                  {"S_AT", p_.h.offset},
                  {"SC_AT", p_.c.offset},
                  {"Y_AT", p_.output.offset},
                  {"Y_STEP", p_.output.per_step},
                  {"Y_BATCH", p_.output.per_batch},
                  {"YH_AT", p_.h_out.offset},
                  {"YH_BATCH", p_.h_out.per_batch},
                  {"YC_AT", p_.c_out.offset},
                  {"YC_BATCH", p_.c_out.per_batch}};
    spec.reals = {{"FINE", fine}, {"CLIP", p_.cell_clip}, {"FORGET", p_.forget_bias}};
    spec.defines = {{"CELL", p_.cell == Cell::kRnn   ? 0
                             : p_.cell == Cell::kGru ? 1
                                                     : 3},
                    {"GATES", gates()},
                    {"CIFG", p_.cell == Cell::kLstm && gates() == 3},
                    {"BYTES", bytes},
                    {"TEAM", team},
                    {"HAS_S", p_.h.present()},
                    {"HAS_SC", p_.c.present()},
                    {"HAS_YH", p_.h_out.present()},
                    {"HAS_YC", p_.c_out.present()},
                    {"STORES", lanes                               ? 2
                               : stored.dtype == DataType::FLOAT32 ? 1
                                                                   : 0},
                    {"ROWS", together},
                    {"CHAINS", chains},
                    {"ACTIVATION", static_cast<int>(p_.activation)},
                    {"RECURRENT_ACTIVATION", static_cast<int>(p_.recurrent_activation)}};
    spec.dims = 1;
    spec.global = Grid(Workers());
    spec.flops = 2.0 * ProductOfStep() * static_cast<double>(rows_);
  }

  void PackFloats(KernelSpec* spec) const {
    std::vector<float> packed(static_cast<size_t>(columns() * length()));
    const int64_t step = gates() * kLanes;
    EachColumn([&](int64_t column, size_t g, int64_t u) {
      const Part& weight = p_.gates[g].recurrent;
      const ref::Input values = Values(weight);
      for (int64_t k = 0; k < p_.units; ++k) {
        packed[static_cast<size_t>((column / step * length() + k) * step + column % step)] =
            values.Float(weight.offset + u * p_.units + k);
      }
    });
    spec->operands = {Data(packed, "R", "float")};
  }
  void PackBytes(float fine, KernelSpec* spec) const {
    std::vector<int8_t> packed(static_cast<size_t>(columns() * length()));
    std::vector<int32_t> sums(static_cast<size_t>(columns()));
    std::vector<float> m;
    for (size_t g : gates_) m.push_back(op_.in(Index(p_.gates[g].recurrent)).type().scale() / fine);
    const int64_t step = gates() * kLanes;
    EachColumn([&](int64_t column, size_t g, int64_t u) {
      const std::vector<int8_t> row = Bytes(p_.gates[g].recurrent, u, p_.units);
      for (int64_t k = 0; k < p_.units; ++k) {
        const int8_t w = row[static_cast<size_t>(k)];
        packed[static_cast<size_t>(((column / step * length() + k / 4 * 4) * step) +
                                   column % step * 4 + k % 4)] = w;
        sums[static_cast<size_t>(column)] -= 128 * w;
      }
    });
    spec->operands = {Data(packed, "R", "char"), Data(sums, "SUMS", "int"), Data(m, "MR", "float")};
  }

  const OpView& op_;
  const Pass& p_;
  const DeviceCaps& caps_;
  std::vector<size_t> gates_;  // those with weights
  int64_t blocks_ = 1, rows_ = 1;
  size_t scratch_ = 0;
  Launches* launches_ = nullptr;
};

}  // namespace

Result<KernelOffer> AcceptsAllSteps(const OpView& op, const KernelRequest& request,
                                    const Passes& passes) {
  if (!request.caps.register_tiles_pay)
    return Status::Error(Code::kUnsupported, "register tiles do not pay on this device");
  for (const Pass& p : passes) TIMCL_TRY(Layer(op, p, request.caps).Check());
  return KernelOffer{StoresLanes(op.out(0).type()) ? KernelSpec::Epilogue::kLanes
                                                   : KernelSpec::Epilogue::kNone};
}

Result<Launches> MakeAllSteps(const OpView& op, const KernelRequest& request,
                              const Passes& passes) {
  Launches launches;
  for (size_t i = 0; i < passes.size(); ++i)
    Layer(op, passes[i], request.caps).Launch(i, &launches);
  return launches;
}

}  // namespace tim::vx::recurrent
