// Svdf: filters of low rank that remember their last products.  Source: TFLite SVDF; NNAPI SVDF.
#include "tim/vx/ops/svdf.h"

#include <string>
#include <vector>

#include "tim/vx/recurrent.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct SvdfAttrs {
  int32_t rank = 1, num_units = 1, spectrogram_length = 1;
  TIMCL_FIELDS(rank, num_units, spectrogram_length)
};

enum Input : size_t { kX, kState, kFeature, kTime, kBias };

struct Sizes {
  int64_t features, batch, units, rank, memory;
  int64_t length;  // of a line of the state
};
Sizes SizesOf(const OpView& op) {
  const auto& a = op.attrs<SvdfAttrs>();
  const Shape& x = op.in(kX).shape();
  Sizes s = {x[0], x[1], a.num_units, a.rank, op.in(kTime).shape()[0], 0};
  const int64_t filters = s.units * s.rank;
  s.length =
      op.in(kState).present() ? op.in(kState).shape().count() / (filters * s.batch) : s.memory;
  return s;
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<SvdfAttrs>();
  if (a.rank <= 0 || a.num_units <= 0) {
    return op.Error(Code::kInvalidArgument, "rank " + to_string(a.rank) + " and num_units " +
                                                to_string(a.num_units) + " must be positive");
  }
  for (size_t i : {kX, kFeature, kTime}) TIMCL_TRY(op.CheckRank(i, 2, 2));
  const int64_t filters = int64_t{a.rank} * a.num_units, batch = op.in(kX).shape()[1];
  const std::string why = "for rank " + to_string(a.rank) + " and num_units " +
                          to_string(a.num_units) + ", with " + op.in_label(kX);
  TIMCL_TRY(op.CheckShape(kFeature, {op.in(kX).shape()[0], filters}, why));
  const int64_t memory = op.in(kTime).shape()[0];
  TIMCL_TRY(op.CheckShape(kTime, {memory, filters}, why));
  TIMCL_TRY(recurrent::CheckCount(op, kBias, {a.num_units}, why));
  if (!op.in(kState).present()) return Status();
  const int64_t count = op.in(kState).shape().count();
  if (count == memory * filters * batch || count == (memory - 1) * filters * batch) return Status();
  return op.InputError(kState, Code::kInvalidShape,
                       Shape{memory * filters, batch}.ToString() + " is expected, or " +
                           Shape{(memory - 1) * filters, batch}.ToString() + ", " +
                           recurrent::AsSaidBy(op, kX, kTime));
}

Result<Shapes> Infer(const OpView& op) {
  const Sizes s = SizesOf(op);
  const TensorView state = op.in(kState);
  return Shapes{{s.units, s.batch},
                state.present() ? state.shape() : Shape{s.length * s.units * s.rank, s.batch}};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = SizesOf(op);
  const bool has_bias = op.in(kBias).present();
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t u = 0; u < s.units; ++u) {
      double sum = has_bias ? ins[kBias].At(u) : 0;
      for (int64_t f = u * s.rank; f < (u + 1) * s.rank; ++f) {
        // Oldest first; the state may lack the oldest.
        std::vector<double> line(static_cast<size_t>(s.memory + 1), 0);
        const int64_t at = (b * s.units * s.rank + f) * s.length;
        for (int64_t m = 0; op.in(kState).present() && m < s.length; ++m)
          line[static_cast<size_t>(s.memory - s.length + m)] = ins[kState].At(at + m);
        for (int64_t k = 0; k < s.features; ++k)
          line.back() += ins[kX].At(b * s.features + k) * ins[kFeature].At(f * s.features + k);
        line.erase(line.begin());
        for (int64_t m = 0; m < s.memory; ++m)
          sum += line[static_cast<size_t>(m)] * ins[kTime].At(f * s.memory + m);
        for (int64_t m = 0; m < s.length; ++m)
          outs[1].Set(at + m, line[static_cast<size_t>(s.memory - s.length + m)]);
      }
      outs[0].Set(b * s.units + u, sum);
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const Sizes s = SizesOf(op);
  KernelSpec k = {
      .source = "svdf.cl",
      .entry = "svdf",
      .operands = {In(kX, "X")},
      .sizes = {{"FEATURES", s.features},
                {"UNITS", s.units},
                {"RANK", s.rank},
                {"MEMORY", s.memory},
                {"LENGTH", s.length},
                {"BATCH", s.batch}},
      .defines = {{"HAS_STATE", op.in(kState).present()}, {"HAS_BIAS", op.in(kBias).present()}},
      .dims = 2,
      .global = Grid(s.units, s.batch),
      .local = {16, 1, 1}};
  if (op.in(kState).present()) k.operands.push_back(In(kState, "S"));
  k.operands.push_back(In(kFeature, "WF"));
  k.operands.push_back(In(kTime, "WT"));
  if (op.in(kBias).present()) k.operands.push_back(In(kBias, "B"));
  k.operands.push_back(Out(0, "Y"));
  k.operands.push_back(Out(1, "T"));
  return Launches{k};
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void Advise(const OpView& op, std::vector<std::string>* warnings) {
  const int64_t memory = op.in(kTime).shape()[0];
  const int32_t length = op.attrs<SvdfAttrs>().spectrogram_length;
  if (memory == length) return;
  warnings->push_back(op.label() + ": attribute spectrogram_length " + to_string(length) +
                      " contradicts " + op.in_label(kTime) + ", whose first dimension counts");
}

void Cases(CaseMaker& make) {
  using namespace cases;
  struct Form {
    int32_t rank, units, memory;
    int64_t in, batch, length;  // length 0: no state
    bool bias;
  };
  auto add = [&](const Form& f, const TensorType& type, bool constant, const char* note,
                 recurrent::How how = recurrent::How::kOnce) {
    CaseBuilder c = make.Of(SvdfAttrs{f.rank, f.units, f.memory});
    const int64_t filters = int64_t{f.rank} * f.units;
    auto operand = [&](const Shape& shape, bool fixed, bool there) {
      recurrent::AddOperand(c, there ? type : TensorType(), shape, fixed, 1);
    };
    operand({f.in, f.batch}, false, true);
    operand({f.length * filters, f.batch}, false, f.length > 0);
    operand({f.in, filters}, constant, true);
    operand({f.memory, filters}, constant, true);
    operand({f.units}, constant, f.bias);
    recurrent::Finish(c, note, how);
  };
  add({1, 1, 1, 1, 1, 1, true}, F32(), true, "one element");
  add({1, 4, 10, 3, 2, 10, true}, F32(), true, "rank 1");
  add({2, 5, 7, 19, 3, 7, false}, F32(), true, "rank 2, no bias");
  add({3, 5, 7, 19, 3, 6, true}, F32(), true, "the shorter state");
  add({2, 3, 2, 3, 2, 1, true}, F32(), true, "one entry of state");
  add({2, 17, 4, 9, 2, 0, true}, F32(), true, "no state");
  add({2, 5, 7, 19, 3, 7, true}, F32(), false, "computed weights");
  add({2, 5, 7, 19, 3, 7, true}, F16(), true, "f16");
  add({2, 5, 4, 9, 2, 4, true}, F32(), true, "types", recurrent::How::kEachType);
  add({2, 128, 16, 128, 1, 16, true}, F32(), true, "128 units", recurrent::How::kBench);
}

constexpr OpDef kSvdf = {.name = "Svdf",
                         .inputs = "input state_in? weights_feature weights_time bias?",
                         .outputs = "output state_out",
                         .types = "f32|f16, f32|f16, f32|f16, f32|f16, f32|f16 -> f32|f16, f32|f16",
                         .schema = &kAttrSchema<SvdfAttrs>,
                         .verify = Verify,
                         .infer = Infer,
                         .reference = Reference,
                         .kernels = kKernels,
                         .tolerance = Tolerance::Sum(),
                         .cases = TIMCL_CASES(Cases),
                         .advise = Advise};

}  // namespace

TIMCL_OP_CLASS_WITH(Svdf, SvdfAttrs, (int32_t rank, int32_t num_units, int32_t spectrogram_length),
                    (rank, num_units, spectrogram_length), rank_(rank), num_units_(num_units),
                    spectrogram_length_(spectrogram_length));

TIMCL_OPS(svdf) { Add(kSvdf); }

}  // namespace tim::vx::ops
