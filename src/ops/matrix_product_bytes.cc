// The launches of products of matrices of bytes neither of which is constant: what is packed, and
// what zero points add.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/matrix_product.h"
#include "tim/vx/weighted_sum_bytes.h"

namespace tim::vx {
namespace {

using std::to_string;
using weighted_sum::ByteTile;
using weighted_sum::IsByte;

/// Terms of a sum that stays in 32 bits with all that zero points add: four times 255 * 128.
constexpr int64_t kMostTerms = 16384;

/// The zero point of the bytes as the kernel sees them: without sign those of A, with sign of B.
int32_t ZeroOf(const TensorType& t, DataType as) {
  const int32_t shift = t.dtype == as ? 0 : as == DataType::UINT8 ? 128 : -128;
  return t.zero_point() + shift;
}
int FlipOf(const TensorView& t, DataType as) { return t.dtype() == as ? 0 : 0x80; }

int64_t PackedBytes(const MatrixProduct& p, const ByteTile& tile) {
  return DivideUp(p.n, tile.columns()) * tile.columns() * DivideUp(p.k, 4) * 4;
}

}  // namespace

Result<KernelOffer> MatrixProduct::AcceptsBytes(const OpView& op, const KernelRequest& request,
                                                bool dot) const {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (dot && !request.caps.dot_product_u8s8)
    return refuse("the device has no dot product of bytes");
  for (const TensorView& t : {op.in(0), op.in(1)}) {
    if (!IsByte(t.type())) return refuse("only i8 and u8 with one scale, not " + t.label());
    const int32_t zero = t.type().zero_point();
    if (zero < LowestOf(t.dtype()) || zero > HighestOf(t.dtype()))
      return refuse("the zero point of " + t.label() + " is no element of it");
  }
  const TensorView y = op.out(0);
  if (!IsByte(y.type()) && y.dtype() != DataType::FLOAT32)
    return refuse("only i8 and u8 with one scale and f32, not " + y.label());
  const TensorView bias = op.in(2);
  if (bias.present() && bias.dtype() != DataType::INT32)
    return refuse("only a bias of i32, not " + bias.label());
  if (n < 16) return refuse(to_string(n) + " columns are less than one vector");
  if (m < 4) return refuse(to_string(m) + " rows do not repay packing B");
  if (m * n * k < 4096) return refuse("too small to be worth a tile");
  if (k > kMostTerms) return refuse("sums of more than " + to_string(kMostTerms) + " terms");
  // Scaled sums are converted to 32 bits before they are limited to 8.
  const double of_bias = bias.present() ? 0x1p31 : 0;
  const double reach = (static_cast<double>(k) * 255 * 255 + of_bias) * std::abs(scale);
  if (IsByte(y.type()) && !(reach < 1e9))
    return refuse("results may leave 32 bits before they are limited");
  const auto tile = ByteTile::Of(m, n, request.caps);
  const auto batches = static_cast<int64_t>(std::max(a.size(), b.size()));
  if (PackedBytes(*this, tile) > std::numeric_limits<int32_t>::max() / batches)
    return refuse("more than 2^31 - 1 packed elements");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kLanes, .stores_once = n % 16 == 0};
}

Result<Launches> MatrixProduct::LaunchBytes(const OpView& op, const KernelRequest& request,
                                            bool dot) const {
  const auto tile = ByteTile::Of(m, n, request.caps);
  const int64_t groups = DivideUp(n, tile.columns());
  const Distinct matrices(b);
  const auto count = static_cast<int64_t>(matrices.values.size());
  const Operand packed =
      Scratch(0, static_cast<size_t>(count * PackedBytes(*this, tile)), "W", "char");
  const Operand sums = Scratch(
      1, static_cast<size_t>(count * groups * tile.columns()) * sizeof(int32_t), "S", "int");
  KernelSpec pack;
  pack.source = "matrix_pack8.cl";
  pack.entry = "matrix_pack8";
  pack.operands = {
      In(1, "X"),
      Data(std::vector<int32_t>(matrices.values.begin(), matrices.values.end()), "T", "int"),
      packed, sums};
  pack.sizes = {{"N", n}, {"K", k}, {"X_K", b_k}, {"X_N", b_n}};
  pack.defines = {{"DOT", dot}, {"NV", tile.vectors}, {"FLIP", FlipOf(op.in(1), DataType::INT8)}};
  pack.dims = 2;
  pack.global = Grid(groups, count);

  std::vector<int32_t> table;
  for (size_t z = 0; z < a.size(); ++z) {
    table.push_back(static_cast<int32_t>(a[z]));
    table.push_back(static_cast<int32_t>(matrices.index[z]));
  }
  const int32_t zero = ZeroOf(op.in(1).type(), DataType::INT8);
  KernelSpec product;
  product.source = "matmul8.cl";
  product.entry = "matmul8";
  product.operands = {In(0, "X"), packed, sums, Data(table, "T", "int")};
  const bool has_bias = op.in(2).present();
  if (has_bias) product.operands.push_back(In(2, "bias"));
  product.operands.push_back(Out(0, "Y"));
  // Without dot product, sums are those of floats: they move before they reach 2^24.
  constexpr int64_t kLimit = (int64_t{1} << 24) / (255 * 128);
  product.sizes = {{"M", m},
                   {"N", n},
                   {"K", k},
                   {"LIMIT", kLimit},
                   {"X_M", a_m},
                   {"X_K", a_k},
                   {"X_ZERO", ZeroOf(op.in(0).type(), DataType::UINT8)},
                   {"W_ZERO", zero}};
  product.reals = {{"SCALE", scale}};
  product.defines = {
      {"DOT", dot},          {"PAIRED", 1},           {"SHORTS", 0},
      {"WIDE", 0},           {"MR", tile.rows},       {"NV", tile.vectors},
      {"REAL_BIAS", 0},      {"ROW_SUMS", zero != 0}, {"FLIP", FlipOf(op.in(0), DataType::UINT8)},
      {"INT_BIAS", has_bias}};
  product.dims = 3;
  product.global = Grid(DivideUp(m, tile.rows), groups, static_cast<int64_t>(a.size()));
  product.flops =
      2.0 * static_cast<double>(m * n) * static_cast<double>(k) * static_cast<double>(a.size());
  return Launches{pack, product};
}

}  // namespace tim::vx
