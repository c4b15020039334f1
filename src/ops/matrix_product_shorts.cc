// The launches of products of matrices of up to 16 bits: what is packed.
#include <algorithm>
#include <limits>
#include <string>

#include "tim/vx/matrix_product.h"

namespace tim::vx {
namespace {

using std::to_string;

// Panels of matmul16.cl.
constexpr int64_t kRows = 8, kColumns = 16;

/// Largest magnitude of stored value minus zero point.
int64_t Reach(const TensorType& t) {
  return std::max(HighestOf(t.dtype) - t.zero_point(), t.zero_point() - LowestOf(t.dtype));
}

/// Packs the matrices of an input that begin at `starts` as `count` panels' worth of doubles.
KernelSpec PackLaunch(size_t input, const std::vector<int64_t>& starts, int64_t lines,
                      int64_t terms, int64_t width, int64_t step_k, int64_t step_line) {
  constexpr int64_t kTerms = 256;
  const auto count = static_cast<int64_t>(starts.size());
  const int64_t padded = DivideUp(lines, width) * width;
  KernelSpec spec;
  spec.source = "matrix_pack16.cl";
  spec.entry = "matrix_pack16";
  spec.operands = {
      In(input, "X"), Data(std::vector<int32_t>(starts.begin(), starts.end()), "T", "int"),
      Scratch(input, static_cast<size_t>(count * padded * terms) * sizeof(double), "P", "double")};
  spec.sizes = {
      {"LINES", lines}, {"K", terms}, {"TERMS", kTerms}, {"X_K", step_k}, {"X_LINE", step_line}};
  spec.defines = {{"WIDTH", width}, {"TURNED", step_line != 1}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(terms, kTerms), DivideUp(lines, 16), count);
  return spec;
}

/// Constant columns likewise, at Compile().
Operand PackedColumns(const TensorView& w, int64_t columns, int64_t terms) {
  const ref::Input values(w.data(), w.type());
  const int64_t zero = w.type().zero_point();
  const auto pack = [=](double* to) {
    for (int64_t n = 0; n < columns; ++n) {
      double* const panel = to + n / kColumns * terms * kColumns + n % kColumns;
      for (int64_t k = 0; k < terms; ++k)
        panel[k * kColumns] = static_cast<double>(values.Raw(n * terms + k) - zero);
    }
  };
  return PackedData<double>(DivideUp(columns, kColumns) * kColumns * terms, "B", "double", pack);
}

}  // namespace

Result<KernelOffer> MatrixProduct::AcceptsShorts(const OpView& op,
                                                 const KernelRequest& request) const {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (!request.caps.has_double) return refuse("the device has no double");
  for (const TensorView& t : {op.in(0), op.in(1)}) {
    if (!IsWide(t) || !IsInteger(t.dtype()))
      return refuse("only i8, i16 and u8 with one scale, not " + t.label());
    const int32_t zero = t.type().zero_point();
    if (zero < LowestOf(t.dtype()) || zero > HighestOf(t.dtype()))
      return refuse("the zero point of " + t.label() + " is no element of it");
  }
  const TensorView bias = op.in(2), y = op.out(0);
  if (bias.present() && bias.dtype() != DataType::INT32 && bias.dtype() != DataType::INT64)
    return refuse("only a bias of i32 and i64, not " + bias.label());
  if (!IsWide(y)) return refuse("only i8, i16, u8 with one scale, f16 and f32, not " + y.label());
  if (m < 4 || n < 4) return refuse("less than 4 rows or columns do not repay packing");
  if (m * n * k < 4096) return refuse("too small to be worth a tile");
  constexpr int64_t kExact = int64_t{1} << 53;
  if (k > kExact / (Reach(op.in(0).type()) * Reach(op.in(1).type())))
    return refuse("sums may leave 53 bits");
  const int64_t most = std::numeric_limits<int32_t>::max();
  const auto batches = static_cast<int64_t>(std::max(a.size(), b.size()));
  if ((std::max(m, n) + kColumns) * k > most / batches)
    return refuse("more than 2^31 - 1 packed elements");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kLanes, .stores_once = true};
}

Result<Launches> MatrixProduct::LaunchShorts(const OpView& op, const KernelRequest& request) const {
  const Distinct rows(a), columns(b);
  const auto batches = static_cast<int64_t>(a.size());
  Launches launches = {PackLaunch(0, rows.values, m, k, kRows, a_k, a_m)};
  if (!weights) launches.push_back(PackLaunch(1, columns.values, n, k, kColumns, b_k, b_n));
  const auto packed = [&](size_t i, const char* name) {
    return Scratch(i, launches[i].operands[2].bytes, name, "double");
  };
  std::vector<int32_t> table;
  for (size_t z = 0; z < a.size(); ++z) {
    table.push_back(static_cast<int32_t>(rows.index[z]));
    table.push_back(static_cast<int32_t>(columns.index[z]));
  }
  const int64_t panels = DivideUp(n, kColumns);
  const int64_t rows_of_item = MatrixTile{kRows, 1}.RowsOfItem(m, panels * batches, request.caps);
  const bool has_bias = op.in(2).present();
  KernelSpec spec;
  spec.source = "matmul16.cl";
  spec.entry = "matmul16";
  spec.operands = {packed(0, "A"), weights ? PackedColumns(op.in(1), n, k) : packed(1, "B"),
                   Data(table, "T", "int")};
  if (has_bias) spec.operands.push_back(In(2, "bias"));
  spec.operands.push_back(Out(0, "Y"));
  spec.sizes = {{"M", m}, {"N", n}, {"K", k}, {"ROWS", rows_of_item}};
  spec.reals = {{"SCALE", scale}};
  spec.defines = {
      {"MR", request.caps.few_registers() ? 2 : 8}, {"FIXED_B", weights}, {"HAS_BIAS", has_bias}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(m, rows_of_item), panels, batches);
  spec.flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k * batches);
  launches.push_back(std::move(spec));
  return launches;
}

}  // namespace tim::vx
