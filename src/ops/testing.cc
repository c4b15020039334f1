// Test cases in the making: see tim/vx/testing.h.
#include "tim/vx/testing.h"

#include <algorithm>
#include <sstream>

namespace tim::vx {
namespace {

size_t CountOf(const char* operands) {
  std::istringstream words(operands);
  size_t n = 0;
  for (std::string word; words >> word;) ++n;
  return n;
}
size_t OutputsOf(const OpDef& def) { return CountOf(def.outputs); }

/// Another scale and zero point for a result, so that storing it is no copy of stored numbers.
Quantization OwnScale(const Quantization& q) {
  if (q.Type() == QuantType::DYNAMIC_FIXED_POINT)
    return Quantization(q.Type(), static_cast<int8_t>(q.Fl() - 1));
  if (q.Type() != QuantType::ASYMMETRIC) return q;
  return Quantization(q.Type(), q.Scales()[0] * 0.61f, q.ZeroPoints()[0] + 3);
}

}  // namespace

CaseMaker::~CaseMaker() = default;

std::vector<Case> ListCases(const OpDef& def) {
  struct Collector : CaseMaker {
    explicit Collector(const OpDef& of) : of_(of) {}
    const OpDef& def() const override { return of_; }
    void Add(Case c) override { cases.push_back(std::move(c)); }
    const OpDef& of_;
    std::vector<Case> cases;
  } collector(def);
  if (def.cases != nullptr) def.cases(collector);
  return std::move(collector.cases);
}

CaseBuilder::~CaseBuilder() {
  if (!added_) Finish(std::move(case_));
}

CaseBuilder& CaseBuilder::In(const TensorType& type, double lo, double hi) {
  case_.inputs.push_back({type, false, lo, hi, {}});
  return *this;
}
CaseBuilder& CaseBuilder::Const(const TensorType& type, double lo, double hi) {
  case_.inputs.push_back({type, true, lo, hi, {}});
  return *this;
}
CaseBuilder& CaseBuilder::Input(CaseTensor tensor) {
  case_.inputs.push_back(std::move(tensor));
  return *this;
}
CaseBuilder& CaseBuilder::None() {
  case_.inputs.push_back({});
  return *this;
}
CaseBuilder& CaseBuilder::Values(std::vector<double> values) {
  case_.inputs.back().values = std::move(values);
  return *this;
}
CaseBuilder& CaseBuilder::Out(const TensorType& type) {
  case_.outputs.push_back(type);
  return *this;
}
CaseBuilder& CaseBuilder::Note(std::string note) {
  case_.note = std::move(note);
  return *this;
}
CaseBuilder& CaseBuilder::Bench() {
  case_.bench = true;
  return *this;
}

void CaseBuilder::Finish(Case c) {
  const size_t outputs = OutputsOf(make_->def());
  while (c.outputs.size() < outputs && !c.inputs.empty()) {
    TensorType type = c.inputs[0].type;
    type.shape = {};
    c.outputs.push_back(std::move(type));
  }
  make_->Add(std::move(c));
}

void CaseBuilder::EachType(int channel_dim) { Sweep(channel_dim, 2, false); }
void CaseBuilder::EachTypeOnce(int channel_dim) { Sweep(channel_dim, 1, true); }

void CaseBuilder::Sweep(int channel_dim, size_t passes, bool own_scales) {
  added_ = true;
  const size_t inputs = case_.inputs.size();
  const size_t outputs = std::max(case_.outputs.size(), OutputsOf(make_->def()));
  for (const TypeRow& row : ListTypes(make_->def(), inputs, outputs)) {
    size_t most = 1;
    for (const TypeRow::Operand& o : row.operands) most = std::max(most, o.types.size());
    const bool pairs = std::any_of(row.operands.begin() + 1, row.operands.end(),
                                   [](const TypeRow::Operand& o) { return o.types.size() > 1; });
    // The second time through the alternatives is out of step: pairs without the full product.
    for (size_t k = 0; k < (pairs ? passes : 1) * most; ++k) {
      Case c = case_;
      c.outputs.resize(outputs);
      for (size_t i = 0; i < inputs + outputs; ++i) {
        const TypeRow::Operand& o = row.operands[i];
        if (i < inputs && c.inputs[i].type.dtype == DataType::UNKNOWN) continue;  // left out
        TensorType& t = i < inputs ? c.inputs[i].type : c.outputs[i - inputs];
        if (o.types.empty()) {
          const TensorType& other = c.inputs[static_cast<size_t>(o.same_as)].type;
          t.dtype = other.dtype, t.quant = other.quant;
          continue;
        }
        const size_t step = k < most || i == 0 ? k : k + i;
        const TensorType& type = o.types[step % o.types.size()];
        t.dtype = type.dtype;
        t.quant = own_scales && i >= inputs ? OwnScale(type.quant) : type.quant;
        if (!t.per_channel()) continue;
        const int last = static_cast<int>(std::max<size_t>(t.shape.rank(), 1)) - 1;
        const int dim = channel_dim >= 0 ? std::min(channel_dim, last) : last;
        t = cases::PerChannel(t.dtype, t.shape, dim, 0.005f, type.quant.Type());
      }
      Finish(std::move(c));
    }
  }
}

TensorType cases::PerChannel(DataType dtype, const Shape& shape, int32_t dim, float scale,
                             QuantType type) {
  const auto channels = static_cast<size_t>(shape.dim(static_cast<size_t>(dim)));
  std::vector<float> scales;
  for (size_t c = 0; c < channels; ++c)
    scales.push_back(scale * (0.8f + 0.14f * static_cast<float>(c % 5)));
  return {dtype, shape, Quantization(type, dim, scales, std::vector<int32_t>(channels, 0))};
}

std::vector<TensorType> cases::DeclaredTypes(const OpDef& def, size_t i, const Shape& shape) {
  const std::vector<TypeRow> rows = ListTypes(def, CountOf(def.inputs), CountOf(def.outputs));
  if (rows.empty()) return {};
  std::vector<TensorType> types = rows[0].operands[i].types;
  for (TensorType& t : types) t.shape = shape;
  return types;
}

}  // namespace tim::vx
