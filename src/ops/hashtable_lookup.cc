// HashtableLookup: rows of a table by their key.  Source: NNAPI HASHTABLE_LOOKUP.
#include "tim/vx/ops/hashtable_lookup.h"

#include <algorithm>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

enum Input : size_t { kLookups, kKeys, kValues };

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(kValues, 1, 64));
  const Shape& values = op.in(kValues).shape();
  const int64_t keys = op.in(kKeys).shape().count(), rows = values[values.rank() - 1];
  if (keys == rows) return Status();
  return op.InputError(kKeys, Code::kInvalidShape,
                       std::to_string(keys) + " keys for the " + std::to_string(rows) +
                           " rows of " + op.in_label(kValues));
}

Result<Shapes> Infer(const OpView& op) {
  const int64_t n = op.in(kLookups).shape().count();
  Shape y = op.in(kValues).shape();
  y[y.rank() - 1] = n;
  return Shapes{y, {n}};
}

Status Reference(const OpView&, const ref::Inputs& ins, ref::Outputs& outs) {
  const int64_t keys = ins[kKeys].count(), inner = ins[kValues].count() / keys;
  for (int64_t i = 0; i < ins[kLookups].count(); ++i) {
    int64_t row = 0;
    while (row < keys && ins[kKeys].Raw(row) != ins[kLookups].Raw(i)) ++row;
    for (int64_t k = 0; k < inner; ++k) {
      const int64_t to = i * inner + k;
      row < keys ? ref::Copy(outs[0], to, ins[kValues], row * inner + k) : outs[0].Set(to, 0);
    }
    outs[1].Set(i, row < keys ? 1 : 0);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const int64_t n = op.in(kLookups).shape().count(), keys = op.in(kKeys).shape().count();
  const int64_t inner = op.in(kValues).shape().count() / keys, run = RunLength(request.caps);
  const int64_t per_row = DivideUp(inner, run);
  std::vector<int32_t> table;
  AppendDivision(per_row, &table);
  const Operand rows = Scratch(0, static_cast<size_t>(n) * sizeof(int32_t), "S", "int");
  return Launches{{.source = "hashtable_lookup.cl",
                   .entry = "hashtable_lookup",
                   .operands = {In(kLookups, "L"), In(kKeys, "K"), rows, Out(1, "H")},
                   .sizes = {{"COUNT", n}, {"KEYS", keys}},
                   .defines = {{"STEP", 0}},
                   .global = Grid(n),
                   .local = {16, 1, 1}},
                  {.source = "hashtable_lookup.cl",
                   .entry = "hashtable_lookup",
                   .operands = {rows, In(kValues, "V"), Out(0, "Y"), Data(table, "T", "int")},
                   .sizes = {{"ITEMS", n * per_row}, {"INNER", inner}},
                   .defines = {{"STEP", 1}, {"RUN", run}},
                   .global = Grid(n * per_row),
                   .local = {64, 1, 1}}};
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void Cases(CaseMaker& make) {
  using namespace cases;
  const NoAttrs none;
  auto add = [&](int64_t n, const std::vector<double>& keys, TensorType values, const char* note) {
    values.shape.push_back(static_cast<int64_t>(keys.size()));
    make.Of(none)
        .In(I32({n}), -2, 9)
        .In(I32({static_cast<int64_t>(keys.size())}))
        .Values(keys)
        .In(values)
        .Out({values.dtype, {}, values.quant})
        .Out(Plain(DataType::UINT8))
        .Note(note);
  };
  add(1, {0}, F32(), "one element");
  add(9, {-1, 0, 3, 4, 8}, F32({7}), "sorted keys");
  add(9, {4, 8, -1, 4, 0}, F32({35, 2}), "keys in any order, one twice");
  add(12, {1, 2, 3}, U8({5}), "a zero point");
  make.Of(none)
      .In(I32({6}), 0, 5)
      .In(I32({4}))
      .Values({0, 2, 3, 5})
      .In(F32({5, 4}))
      .Note("types")
      .EachType();
  make.Of(none)
      .In(I32({256}), 0, 1023)
      .In(I32({1024}), 0, 1023)
      .In(F32({128, 1024}))
      .Out(F32())
      .Out(Plain(DataType::UINT8))
      .Note("1024 keys")
      .Bench();
}

constexpr OpDef kHashtableLookup = {.name = "HashtableLookup",
                                    .inputs = "input_lookups input_keys input_values",
                                    .outputs = "output output_hits",
                                    .types = "i32, i32, number -> number, u8|i8|bool|i32|f32|f16",
                                    .schema = &kAttrSchema<NoAttrs>,
                                    .verify = Verify,
                                    .infer = Infer,
                                    .reference = Reference,
                                    .kernels = kKernels,
                                    .tolerance = Tolerance::Exact(),
                                    .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_PLAIN_OP_CLASS(HashtableLookup);

TIMCL_OPS(hashtable_lookup) { Add(kHashtableLookup); }

}  // namespace tim::vx::ops
