// The launches of products of float32 and half matrices: tile, panels and blocks.
#include "tim/vx/matrix_product.h"

#include <algorithm>
#include <limits>
#include <string>

#include "tim/vx/bfloat16.h"
#include "tim/vx/float16.h"

namespace tim::vx {
namespace {

using std::to_string;

// What matrix_product.cl has room for.
constexpr int64_t kBlockTerms = 512, kBlockRows = 128;
// ROWS of matrix_dot.cl.
constexpr int64_t kRowsOfDots = 32;
// Terms of a panel that stay in the second-level cache beside what they meet.
constexpr int64_t kTermsInCache = 1024;
// Elements of a matrix that stays there as a whole.
constexpr int64_t kCached = 128 * 1024;

bool IsHalf(const TensorView& t) { return t.dtype() == DataType::FLOAT16; }

/// One panel, [terms][width]; a few terms of all lines at a time, so that what is written in
/// strides stays in the cache.
template <class T, class ValueOf>
void PackPanel(int64_t lines, int64_t terms, int64_t width, T* to, ValueOf value_of) {
  constexpr int64_t kTogether = 16;
  for (int64_t begin = 0; begin < terms; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, terms);
    for (int64_t c = 0; c < lines; ++c) {
      for (int64_t k = begin; k < end; ++k) to[k * width + c] = value_of(c, k);
    }
  }
}

/// Values of `t` as [ceil(lines / width)][terms][width] of element T, padded with zeros.
/// value_of(i) is element i as that.
template <class T, class ValueOf>
Operand PackedPanels(int64_t lines, int64_t terms, int64_t width, const char* name,
                     const char* element, ValueOf value_of) {
  const auto pack = [=](T* to) {
    for (int64_t first = 0; first < lines; first += width, to += terms * width) {
      PackPanel(std::min(width, lines - first), terms, width, to,
                [=](int64_t c, int64_t k) { return value_of((first + c) * terms + k); });
    }
  };
  return PackedData<T>(DivideUp(lines, width) * terms * width, name, element, pack);
}
/// In float32.
Operand Packed(const TensorView& t, int64_t lines, int64_t terms, int64_t width, const char* name) {
  const RealValues values(t.data(), t.dtype());
  return PackedPanels<float>(lines, terms, width, name, "float",
                             [=](int64_t i) { return values[i]; });
}
/// In half, as it is.
Operand PackedHalves(const TensorView& t, int64_t lines, int64_t terms, int64_t width,
                     const char* name) {
  const auto* const values = t.data_as<uint16_t>();
  return PackedPanels<uint16_t>(lines, terms, width, name, "half",
                                [=](int64_t i) { return values[i]; });
}

/// The same in pairs, [ceil(lines / width)][ceil(terms / 2)][width].
Operand PackedPairs(const TensorView& t, int64_t lines, int64_t terms, int64_t width,
                    const char* name) {
  const int64_t pairs = DivideUp(terms, 2);
  const auto* const values = t.data_as<float>();
  const auto pack = [=](int32_t* to) {
    for (int64_t first = 0; first < lines; first += width, to += pairs * width) {
      PackPanel(std::min(width, lines - first), pairs, width, to, [=](int64_t c, int64_t k) {
        const float* const pair = values + (first + c) * terms + 2 * k;
        return ToBfloat16Pair(pair[0], 2 * k + 1 < terms ? pair[1] : 0.0f);
      });
    }
  };
  return PackedData<int32_t>(DivideUp(lines, width) * pairs * width, name, "int", pack);
}

/// Lines that are a multiple of 4096 bytes apart meet in few sets of the caches.
bool CrowdsCaches(int64_t step, int64_t lines) { return step % 1024 == 0 && lines >= 64; }

/// How matrix_product.cl gets at B.
enum class B { kConstant, kPacked, kRows, kTurned };
B FormOfB(const MatrixProduct& p, const MatrixTile& tile, const OpView& op) {
  if (p.weights) return B::kConstant;
  if (p.bf16 || IsHalf(op.in(1))) return B::kPacked;
  if (p.b_n != 1) return p.k <= kBlockTerms ? B::kTurned : B::kPacked;
  // Packing pays where many rows of A use it. Measured: a wide panel, whose pieces of a row are
  // four lines of the cache each, is as near where it lies until B is several times as large.
  const bool wide = tile.vectors > 2 && p.k <= kTermsInCache;
  const bool slow = CrowdsCaches(p.b_k, p.k) || p.k * p.n > (wide ? 5 : 1) * kCached;
  return p.m >= 128 && slow ? B::kPacked : B::kRows;
}
bool PacksA(const MatrixProduct& p, const OpView& op) {
  return p.a_k != 1 && (IsHalf(op.in(0)) || (p.n >= 256 && CrowdsCaches(p.a_k, p.k)));
}
/// Few rows use a weight so seldom that reading half as much pays for converting it each time.
bool KeepsHalf(const MatrixProduct& p, const OpView& op) {
  return p.weights && p.m <= 4 && IsHalf(op.in(1));
}

/// For each batch where its matrices begin.
Operand StartsOf(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int32_t> table;
  for (size_t z = 0; z < a.size(); ++z) {
    table.push_back(static_cast<int32_t>(a[z]));
    table.push_back(static_cast<int32_t>(b[z]));
  }
  return Data(table, "T", "int");
}

/// Packs the matrices of an input that begin at `starts`; sets where each begins then.
KernelSpec PackLaunch(size_t input, int64_t lines, int64_t terms, int64_t width, int64_t step_k,
                      int64_t step_line, bool bf16, std::vector<int64_t>* starts) {
  const Distinct d(*starts);
  const int64_t panels = DivideUp(lines, width);
  const int64_t size = panels * (bf16 ? DivideUp(terms, 2) : terms) * width;
  for (size_t z = 0; z < starts->size(); ++z) (*starts)[z] = d.index[z] * size;
  const std::vector<int32_t> table(d.values.begin(), d.values.end());
  const auto count = static_cast<int64_t>(table.size());
  const bool turned = step_line != 1;
  const int64_t run = turned ? 256 : 8, together = turned ? 1 : 1024 / width;
  KernelSpec spec;
  spec.source = "matrix_pack.cl";
  spec.entry = "matrix_pack";
  spec.operands = {In(input, "X"), Data(table, "T", "int"),
                   Scratch(input, static_cast<size_t>(count * size) * sizeof(float), "P",
                           bf16 ? "int" : "float")};
  spec.sizes = {{"LINES", lines},     {"K", terms},    {"TERMS", run},
                {"PANELS", together}, {"X_K", step_k}, {"X_LINE", step_line}};
  spec.defines = {{"WIDTH", width}, {"TURNED", turned}, {"BF16", bf16}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(terms, run), DivideUp(panels, together), count);
  return spec;
}

/// Rounds the rows of the matrices of input 0 to bfloat16, or converts them from half to float32,
/// likewise.
KernelSpec RoundLaunch(const MatrixProduct& p, int64_t workers, std::vector<int64_t>* starts) {
  const Distinct d(*starts);
  const int64_t size = p.m * (p.bf16 ? DivideUp(p.k, 2) : p.k);
  for (size_t z = 0; z < starts->size(); ++z) (*starts)[z] = d.index[z] * size;
  const std::vector<int32_t> table(d.values.begin(), d.values.end());
  const auto count = static_cast<int64_t>(table.size());
  const int64_t rows = DivideUp(p.m * count, 4 * workers);
  KernelSpec spec;
  spec.source = "matrix_round.cl";
  spec.entry = "matrix_round";
  spec.operands = {In(0, "X"), Data(table, "T", "int"),
                   Scratch(0, static_cast<size_t>(count * size) * sizeof(int32_t), "P",
                           p.bf16 ? "int" : "float")};
  spec.sizes = {{"LINES", p.m}, {"K", p.k}, {"ROWS", rows}, {"STEP", p.a_m}};
  spec.defines = {{"BF16", p.bf16}};
  spec.dims = 2;
  spec.global = Grid(DivideUp(p.m, rows), count);
  return spec;
}

}  // namespace

MatrixTile MatrixTile::Of(int64_t m, int64_t n, const DeviceCaps& caps) {
  if (caps.few_registers()) {
    if (m > 4) return {6, 1};
    return {m == 1 ? 1 : 4, m > 1 || n < 64 ? 1 : 4};
  }
  // One row has one product per weight that is read: many sums at once hide the memory's latency.
  if (m <= 4) return {m == 1 ? 1 : 4, n < 64 ? 1 : 4};
  if (n < 32) return {8, 1};
  // Six rows of A meet in one set of the first-level cache without evicting each other, which pays
  // for a few rows and columns of the last tiles that are nobody's, not for many.
  const auto unused = [&](int64_t rows, int64_t columns) {
    return static_cast<double>(DivideUp(m, rows) * rows * DivideUp(n, columns) * columns);
  };
  return n >= 64 && unused(6, 64) < 1.02 * unused(8, 32) ? MatrixTile{6, 4} : MatrixTile{8, 2};
}

int64_t MatrixTile::RowsOfItem(int64_t m, int64_t panels, const DeviceCaps& caps,
                               int64_t least) const {
  const int64_t items = DivideUp(8 * static_cast<int64_t>(caps.compute_units), panels);
  const int64_t wanted = std::max(DivideUp(m, items), least);
  // A wide panel is enough work for fewer rows.
  const int64_t most = vectors > 2 ? std::max<int64_t>(48, least) : kBlockRows;
  return std::min(DivideUp(wanted, rows), most / rows) * rows;
}

int64_t BlocksOfTerms(int64_t m, int64_t terms) {
  return m > 4 ? DivideUp(terms, kTermsInCache) : 1;
}

Result<KernelOffer> MatrixProduct::Accepts(const OpView& op, const KernelRequest& request) const {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (bf16 && !request.caps.dot_product_bf16)
    return refuse("the device has no products of bfloat16");
  if (bf16 && a_k != 1) return refuse("the rows of A do not lie in one piece");
  for (const TensorView& t : {op.in(0), op.in(1), op.in(2), op.out(0)}) {
    if (!t.present() || t.dtype() == DataType::FLOAT32) continue;
    if (bf16 || !IsHalf(t))
      return refuse((bf16 ? "only f32, not " : "only f32 and f16, not ") + t.label());
  }
  if (weights) {
    if (k * n < 1024) return refuse("too small to be worth packing");
  } else {
    if (n < 16) return refuse(to_string(n) + " columns are less than one vector");
    if (b_n != 1 && m < 32) return refuse(to_string(m) + " rows do not repay turning B");
    if (m * n * k < 4096) return refuse("too small to be worth a tile");
  }
  const int64_t most = std::numeric_limits<int32_t>::max(), batches = std::max(a.size(), b.size());
  if ((n + 64) * k > most / batches || (m + 8) * k > most / batches)
    return refuse("more than 2^31 - 1 packed elements");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}

Result<Launches> MatrixProduct::Launch(const OpView& op, const KernelRequest& request) const {
  const auto tile = MatrixTile::Of(m, n, request.caps);
  const int64_t width = tile.columns(), panels = DivideUp(n, width);
  const auto batches = static_cast<int64_t>(a.size());
  const B form = FormOfB(*this, tile, op);
  const bool pack_a = PacksA(*this, op), keeps_half = KeepsHalf(*this, op);
  std::vector<int64_t> a0 = a, b0 = b;
  Launches launches;
  const auto workers = static_cast<int64_t>(request.caps.compute_units);
  const int64_t steps = bf16 ? DivideUp(k, 2) : k;
  const char* const factor = bf16 ? "int" : "float";
  if (pack_a) launches.push_back(PackLaunch(0, m, k, tile.rows, a_k, a_m, false, &a0));
  if ((bf16 || IsHalf(op.in(0))) && !pack_a) launches.push_back(RoundLaunch(*this, workers, &a0));
  const bool made_a = !launches.empty();
  if (form == B::kPacked) launches.push_back(PackLaunch(1, n, k, width, b_k, b_n, bf16, &b0));

  const bool panels_made = form == B::kConstant || form == B::kPacked;
  const int64_t blocks = panels_made ? BlocksOfTerms(m, steps) : 1;
  const int64_t rows =
      tile.RowsOfItem(m, panels * batches, request.caps, form == B::kTurned ? 64 : 1);

  // What one work-item shares with the next stays in the second-level cache; the other operand is
  // read from beyond it again and again: A once per panel, or B once per ROWS.
  // Panels are fetched ahead, rows are not.
  const bool columns_first = m * steps > kCached / 2 && 2 * rows > width;

  KernelSpec spec;
  spec.source = "matrix_product.cl";
  spec.entry = bf16 ? "matrix_product_bf16" : "matrix_product";
  spec.operands.push_back(made_a ? Scratch(0, launches[0].operands[2].bytes, "A", factor)
                                 : In(0, "A"));
  switch (form) {
    case B::kConstant:
      spec.operands.push_back(bf16         ? PackedPairs(op.in(1), n, k, width, "B")
                              : keeps_half ? PackedHalves(op.in(1), n, k, width, "B")
                                           : Packed(op.in(1), n, k, width, "B"));
      break;
    case B::kPacked:
      spec.operands.push_back(Scratch(1, launches.back().operands[2].bytes, "B", factor));
      break;
    default:
      spec.operands.push_back(In(1, "B"));
  }
  // A computed bias is read as it is, without padding.
  const TensorView bias = op.in(2);
  const int form_of_bias = !bias.present() ? 0 : bias.data() != nullptr ? 1 : 2;
  if (form_of_bias != 0)
    spec.operands.push_back(form_of_bias == 1 ? Packed(bias, n, 1, width, "bias") : In(2, "bias"));
  const bool batched = batches > 1;
  if (batched) spec.operands.push_back(StartsOf(a0, b0));
  spec.operands.push_back(Out(0, "Y"));
  spec.sizes = {{"M", m},
                {"N", n},
                {"K", steps},
                {"ROWS", rows},
                {"BLOCK", DivideUp(steps, blocks)},
                {"A_M", made_a ? steps : a_m},
                {"A_K", made_a ? 1 : a_k},
                {"B_STEP", b_n == 1 ? b_k : b_n}};
  spec.defines = {{"MR", tile.rows},
                  {"NV", tile.vectors},
                  {"A_FORM", pack_a},
                  {"B_FORM", static_cast<int>(form)},
                  {"HAS_BIAS", form_of_bias},
                  {"BATCHED", batched},
                  {"SPLIT", blocks > 1},
                  {"AHEAD", form != B::kTurned && m > tile.rows},
                  {"BF16", bf16},
                  {"HALF_PANELS", keeps_half},
                  {"OWN_A", made_a},
                  {"COLUMNS_FIRST", columns_first}};
  spec.dims = 3;
  spec.global = columns_first ? Grid(panels, DivideUp(m, rows), batches)
                              : Grid(DivideUp(m, rows), panels, batches);
  spec.flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k * batches);
  launches.push_back(std::move(spec));
  return launches;
}

Result<KernelOffer> MatrixProduct::AcceptsDots(const OpView& op,
                                               const KernelRequest& request) const {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  for (const TensorView& t : {op.in(0), op.in(1), op.in(2), op.out(0)}) {
    if (t.present() && t.dtype() != DataType::FLOAT32 && !IsHalf(t))
      return refuse("only f32 and f16, not " + t.label());
  }
  if (a_k != 1 || b_k != 1) return refuse("the terms of a sum do not lie side by side");
  if (k < 16) return refuse("sums of less than 16 terms");
  if (m * n * k < 4096) return refuse("too small to be worth a tile");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}

Result<Launches> MatrixProduct::LaunchDots(const OpView& op, const KernelRequest& request) const {
  const int64_t rows = m == 1 ? 1 : request.caps.few_registers() ? 2 : 4;
  const int64_t together = rows == 2 ? 2 : 4;  // lines of B
  const auto batches = static_cast<int64_t>(a.size());
  const bool batched = batches > 1, has_bias = op.in(2).present();
  KernelSpec spec;
  spec.source = "matrix_dot.cl";
  spec.entry = "matrix_dot";
  spec.operands = {In(0, "A"), In(1, "B")};
  if (has_bias) spec.operands.push_back(In(2, "bias"));
  if (batched) spec.operands.push_back(StartsOf(a, b));
  spec.operands.push_back(Out(0, "Y"));
  spec.sizes = {{"M", m}, {"N", n}, {"K", k}, {"A_M", a_m}, {"B_N", b_n}};
  spec.defines = {{"MR", rows}, {"NB", together}, {"HAS_BIAS", has_bias}, {"BATCHED", batched}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(n, 16), DivideUp(m, kRowsOfDots), batches);
  spec.flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k * batches);
  return Launches{spec};
}

}  // namespace tim::vx
