// Test cases in the making: see tim/vx/testing.h.
#include "tim/vx/testing.h"

#include <algorithm>
#include <sstream>

namespace tim::vx {
namespace {

size_t OutputsOf(const OpDef& def) {
  std::istringstream words(def.outputs);
  size_t n = 0;
  for (std::string word; words >> word;) ++n;
  return n;
}

}  // namespace

CaseMaker::~CaseMaker() = default;

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
CaseBuilder& CaseBuilder::Note(const char* note) {
  case_.note = note;
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

void CaseBuilder::EachType(int channel_dim) {
  added_ = true;
  const size_t inputs = case_.inputs.size();
  const size_t outputs = std::max(case_.outputs.size(), OutputsOf(make_->def()));
  for (const TypeRow& row : ListTypes(make_->def(), inputs, outputs)) {
    size_t most = 1;
    for (const TypeRow::Operand& o : row.operands) most = std::max(most, o.types.size());
    // Twice through the alternatives of every operand, the second time out of step: pairs without
    // the full product.
    for (size_t k = 0; k < 2 * most; ++k) {
      Case c = case_;
      c.outputs.resize(outputs);
      for (size_t i = 0; i < inputs + outputs; ++i) {
        const TypeRow::Operand& o = row.operands[i];
        if (i < inputs && c.inputs[i].type.dtype == DataType::UNKNOWN) continue;  // left out
        TensorType& t = i < inputs ? c.inputs[i].type : c.outputs[i - inputs];
        const size_t step = k < most || i == 0 ? k : k + i;
        const TensorType& type = o.types.empty() ? c.inputs[static_cast<size_t>(o.same_as)].type
                                                 : o.types[step % o.types.size()];
        t.dtype = type.dtype;
        t.quant = type.quant;
        if (!t.per_channel()) continue;
        const int last = static_cast<int>(std::max<size_t>(t.shape.rank(), 1)) - 1;
        const int dim = channel_dim >= 0 ? std::min(channel_dim, last) : last;
        t = cases::PerChannel(t.dtype, t.shape, dim);
      }
      Finish(std::move(c));
    }
  }
}

TensorType cases::PerChannel(DataType dtype, const Shape& shape, int32_t dim, float scale) {
  const auto channels = static_cast<size_t>(shape.dim(static_cast<size_t>(dim)));
  std::vector<float> scales;
  for (size_t c = 0; c < channels; ++c)
    scales.push_back(scale * (0.8f + 0.14f * static_cast<float>(c % 5)));
  return {dtype, shape,
          Quantization(QuantType::SYMMETRIC_PER_CHANNEL, dim, scales,
                       std::vector<int32_t>(channels, 0))};
}

}  // namespace tim::vx
