// Attention: two products of matrices with a softmax between them, as one op. Only passes put it
// into graphs (pass fuse_attention), where its kernel, which never writes the scores, pays. Source:
// Vaswani et al., "Attention Is All You Need" (2017), section 3.2.1.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tim/vx/fold_rule.h"
#include "tim/vx/matrix_product.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct AttentionAttrs {
  float scale = 1.0f;       // of the scores, before the mask
  float beta = 1.0f;        // of the softmax
  bool key_turned = false;  // the keys are columns: key [Tk, D, ...] instead of [D, Tk, ...]
  TIMCL_FIELDS(scale, beta, key_turned)
};

/// query [D, Tq, ...], key, value [DV, Tk, ...], mask [Tk or 1, Tq or 1, ...]; what follows are
/// batches.
struct Extents {
  int64_t d, dv, queries, keys;
  Shape batch;
};
Extents ExtentsOf(const OpView& op) {
  const Shape &q = op.in(0).shape(), &k = op.in(1).shape(), &v = op.in(2).shape();
  Extents e = {};
  e.d = q.dim(0), e.queries = q.dim(1), e.dv = v.dim(0);
  e.keys = k.dim(op.attrs<AttentionAttrs>().key_turned ? 0 : 1);
  const size_t rank = std::max({q.rank(), k.rank(), v.rank()});
  for (size_t i = 2; i < rank; ++i) e.batch.push_back(std::max({q.dim(i), k.dim(i), v.dim(i)}));
  return e;
}

Status Verify(const OpView& op) {
  for (const size_t i : {0, 1, 2}) TIMCL_TRY(op.CheckRank(i, 2, 64));
  const Extents e = ExtentsOf(op);
  const bool turned = op.attrs<AttentionAttrs>().key_turned;
  const auto wrong = [&](size_t i, const std::string& why) {
    return op.InputError(i, Code::kInvalidShape, why);
  };
  if (op.in(1).shape().dim(turned ? 1 : 0) != e.d) return wrong(1, "not as wide as the queries");
  if (op.in(2).shape().dim(1) != e.keys) return wrong(2, "not one value for each key");
  for (const size_t i : {0, 1, 2, 3}) {
    if (!op.in(i).present()) continue;
    const Shape& t = op.in(i).shape();
    bool fits = t.rank() <= e.batch.rank() + 2;
    for (size_t n = 0; n < e.batch.rank(); ++n)
      fits = fits && (t.dim(n + 2) == 1 || t.dim(n + 2) == e.batch[n]);
    if (i == 3) {
      fits =
          fits && (t.dim(0) == 1 || t.dim(0) == e.keys) && (t.dim(1) == 1 || t.dim(1) == e.queries);
    }
    if (!fits) return wrong(i, "does not broadcast to the others");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const Extents e = ExtentsOf(op);
  Shape y = {e.dv, e.queries};
  for (size_t i = 0; i < e.batch.rank(); ++i) y.push_back(e.batch[i]);
  return Shapes{y};
}

Status Expand(ExpandBuilder& b) {
  const auto& a = b.op().attrs<AttentionAttrs>();
  // Between the products numbers stay float32, whatever the tensors are.
  TensorType like = b.op().in(0).type();
  like.dtype = DataType::FLOAT32;
  auto scores = b.Add("Matmul", {{"transpose_b", !a.key_turned}}, {b.in(0), b.in(1)}, like);
  if (a.scale != 1.0f) scores = b.Add("Multiply", {}, {scores, b.Constant(a.scale)}, like);
  if (b.op().in(3).present()) scores = b.Add("Add", {}, {scores, b.in(3)}, like);
  const auto weights =
      b.Add("Softmax", {{"beta", double{a.beta}}, {"axis", int64_t{0}}}, {scores}, like);
  b.AddTo(0, "Matmul", {}, {weights, b.in(2)});
  return Status();
}

// What attention.cl has room for.
constexpr int64_t kWidest = 256, kQueries = 64;

Result<KernelOffer> AcceptsTiles(const OpView& op, const KernelRequest& request) {
  const auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (request.relaxed && request.caps.dot_product_bf16 && op.in(0).dtype() == DataType::FLOAT32)
    return refuse("products of bfloat16 are faster");
  const Extents e = ExtentsOf(op);
  if (!(op.attrs<AttentionAttrs>().beta > 0)) return refuse("beta is not positive");
  if (e.dv < 16) return refuse(to_string(e.dv) + " columns are less than one vector");
  if (std::max(e.d, e.dv) > kWidest)
    return refuse("heads of more than " + to_string(kWidest) + " numbers");
  if (op.in(3).present() && op.in(3).shape().dim(0) != e.keys)
    return refuse("a mask that is the same for all keys");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}

Result<Launches> Tiles(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<AttentionAttrs>();
  const Extents e = ExtentsOf(op);
  const bool few = request.caps.few_registers();
  const int64_t vectors = few || e.dv < 32 ? 1 : 2, width = 16 * vectors;
  const TensorView mask = op.in(3);
  const int form = !mask.present() ? 0 : mask.shape().dim(1) == 1 ? 1 : 2;
  std::vector<std::vector<int64_t>> starts;
  for (const size_t i : {0, 1, 2, 3})
    starts.push_back(MatrixStarts(mask.present() || i < 3 ? op.in(i).shape() : Shape(), e.batch));
  std::vector<int32_t> table;
  const auto batches = static_cast<int64_t>(starts[0].size());
  for (size_t z = 0; z < starts[0].size(); ++z) {
    for (const auto& of : starts) table.push_back(static_cast<int32_t>(of[z]));
  }
  // As many queries as there is room for, where that leaves some work-items for each core.
  const int64_t wanted = 4 * static_cast<int64_t>(request.caps.compute_units);
  int64_t rows = kQueries;
  while (rows > 32 && DivideUp(e.queries, rows) * batches < wanted) rows -= width;
  KernelSpec spec;
  spec.source = "attention.cl";
  spec.entry = "attention";
  spec.operands = {In(0, "Q"), In(1, "K"), In(2, "V")};
  if (form != 0) spec.operands.push_back(In(3, "M"));
  spec.operands.push_back(Data(table, "T", "int"));
  spec.operands.push_back(Out(0, "Y"));
  spec.sizes = {{"TQ", e.queries},
                {"TK", e.keys},
                {"D", e.d},
                {"DV", e.dv},
                {"ROWS", rows},
                {"K_KEY", a.key_turned ? 1 : e.d},
                {"K_TERM", a.key_turned ? e.keys : 1},
                {"M_QUERY", e.keys}};
  spec.reals = {{"SCALE", a.scale}, {"BETA", a.beta}};
  spec.defines = {{"MR", few ? 4 : 8}, {"NV", vectors}, {"MASK", form}, {"UNIT", a.beta == 1.0f}};
  spec.dims = 2;
  spec.global = Grid(DivideUp(e.queries, rows), batches);
  spec.float_math = true;
  spec.flops =
      2.0 * static_cast<double>(e.queries * e.keys) * static_cast<double>((e.d + e.dv) * batches);
  return Launches{spec};
}

constexpr KernelCandidate kKernels[] = {{"tiles", AcceptsTiles, Tiles}};

void Cases(CaseMaker& make) {
  using namespace cases;
  DataType dtype = DataType::FLOAT32;
  const auto add = [&](int64_t d, int64_t dv, int64_t queries, int64_t keys, const Shape& mask,
                       const AttentionAttrs& attrs, const char* note) {
    const auto of = [dtype](const Shape& shape) { return TensorType{dtype, shape, {}}; };
    CaseBuilder c = make.Of(attrs);
    c.In(of({d, queries, 3, 2}), -2, 2);
    c.In(of(attrs.key_turned ? Shape{keys, d, 3, 2} : Shape{d, keys, 3, 2}), -2, 2);
    c.In(of({dv, keys, 3, 2}));
    if (!mask.empty()) c.In(of(mask), -3, 3);
    c.Note(note);
  };
  const AttentionAttrs plain, scaled = {0.125f, 1.0f, false}, turned = {0.3f, 0.7f, true};
  for (const int64_t tokens : {1, 7, 33, 130}) {
    for (const int64_t d : {16, 24, 64}) {
      add(d, d, tokens, tokens, {}, scaled, "tokens and heads");
      add(d, d, tokens, tokens, {tokens}, scaled, "a mask of keys");
      add(d, d, tokens, tokens, {tokens, tokens}, turned, "a mask of scores, turned keys");
    }
  }
  dtype = DataType::FLOAT16;
  for (const int64_t tokens : {7, 130}) {
    for (const int64_t d : {24, 64}) {
      add(d, d, tokens, tokens, {}, scaled, "f16");
      add(d, d + 9, tokens, tokens + 3, {tokens + 3}, scaled, "f16, a mask of keys");
      add(d - 1, d, tokens, tokens, {tokens, tokens}, turned, "f16, turned keys");
    }
  }
  add(8, 40, 66, 1100, {1100, 66}, scaled, "f16, blocks of keys");
  dtype = DataType::FLOAT32;
  add(3, 17, 9, 20, {}, plain, "narrow");
  add(5, 47, 65, 4, {4, 65, 3, 1}, plain, "a mask for each of some batches");
  add(19, 33, 3, 21, {21, 1, 1, 2}, turned, "ragged");
  add(255, 250, 18, 37, {}, scaled, "wide heads");
  add(8, 32, 5, 513, {}, scaled, "one more than a block of keys");
  add(8, 40, 66, 1100, {1100, 66}, scaled, "blocks of keys");
  add(5, 7, 4, 6, {}, plain, "less than a vector");
  make.Of(scaled)
      .In(F32({20, 33, 3}))
      .In(F32({20, 18, 1, 2}))
      .In(F32({48, 18}))
      .Note("batches broadcast");
  make.Of(scaled)
      .In(F32({20, 33}))
      .In(F32({20, 18}))
      .In(F32({20, 18}))
      .In(F32({1, 33}))
      .Note("a mask of queries");
  const double inf = std::numeric_limits<double>::infinity();
  for (const int64_t keys : {5, 600}) {
    // The first keys, in one case a whole block of them, count for nothing.
    std::vector<double> mask(static_cast<size_t>(keys), 0.5);
    std::fill(mask.begin(), mask.begin() + (keys > 512 ? 520 : 3), -inf);
    make.Of(plain)
        .In(F32({20, 18}))
        .In(F32({20, keys}))
        .In(F32({20, keys}))
        .In(F32({keys}))
        .Values(mask)
        .Note("minus infinity");
    std::fill(mask.begin(), mask.end(), -3e38);
    make.Of(plain)
        .In(F32({20, 18}))
        .In(F32({20, keys}))
        .In(F32({20, keys}))
        .In(F32({keys}))
        .Values(mask)
        .Note("all alike");
    mask.assign(1, -inf);
    make.Of(plain)
        .In(F32({20, 18}))
        .In(F32({20, keys}))
        .In(F32({20, keys}))
        .In(F32({keys}))
        .Values(mask)
        .Note("no key");
  }
  for (const int64_t tokens : {128, 512, 1024, 2048}) {
    for (const TensorType& heads : {F32({64, tokens, 12}), F16({64, tokens, 12})})
      make.Of(scaled).In(heads).In(heads).In(heads).Note("12 heads").Bench();
  }
}

constexpr OpDef kAttention = {.name = "Attention",
                              .inputs = "query key value mask?",
                              .types = "f32, f32, f32, f32 -> f32; f16, f16, f16, f16 -> f16",
                              .schema = &kAttrSchema<AttentionAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = ReferenceByExpansion,
                              .kernels = kKernels,
                              .expand = Expand,
                              // The errors of the scores, within 4 ulp of the sums of their
                              // products, are those of the exponents.
                              .tolerance = {64, 1e-6, 1, true},
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OPS(attention) {
  OpDef def = kAttention;
  def.origin = origin;
  AddInternalOp(def);
}

}  // namespace tim::vx::ops
