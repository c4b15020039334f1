// Each kind of op as primitives of oneDNN. What an op means is said in its file in src/ops; here
// stands how oneDNN is made to compute the same.
//   Integer results must be exact. Sums of integers are computed over float32 numbers that are
// integers, or by int8 instructions with exact accumulators, and only where no sum can reach 2^24;
// they are scaled and rounded in the very steps of the reference. Point-wise ops on
// integers are computed over the real numbers that they stand for, as the reference does it.
#include "ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "tim/vx/op_kit.h"

namespace tim::vx::onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using std::to_string;

Status Refuse(std::string why) { return Status::Error(Code::kUnsupported, std::move(why)); }

bool IsFloat(const TensorView& t) { return t.dtype() == DataType::FLOAT32; }
bool IsByte(const TensorView& t) {
  return t.dtype() == DataType::INT8 || t.dtype() == DataType::UINT8;
}

/// kUnsupported unless all attributes are among `known`.
Status CheckNames(const Op& op, const std::set<std::string_view>& known) {
  for (const auto& [name, value] : op.primitive->attrs) {
    if (known.count(name) == 0) return Refuse("its attribute " + name + " is not known here");
  }
  return Status();
}

Status CheckTypes(const Op& op, size_t inputs) {
  for (size_t i = 0; i <= inputs; ++i) {
    const TensorView t = i < inputs ? op.In(i) : op.out;
    if (!t.present()) return Refuse("input " + to_string(i) + " is left out");
    if (!IsFloat(t) && !IsByte(t)) return Refuse("only f32, i8 and u8, not " + t.label());
  }
  return Status();
}

/// Writes a float32 or 8-bit tensor by the rules of ref::Output, inline.
class Store {
 public:
  Store(void* data, const TensorType& t)
      : data_(data),
        is_float_(t.dtype == DataType::FLOAT32),
        zero_(static_cast<float>(t.zero_point())),
        inverse_(static_cast<float>(1.0 / static_cast<double>(t.scale()))) {
    if (is_float_) return;
    lowest_ = static_cast<float>(LowestOf(t.dtype)),
    highest_ = static_cast<float>(HighestOf(t.dtype));
  }
  /// A real number.
  void Real(int64_t i, float real) const { Scaled(i, is_float_ ? real : real * inverse_); }
  /// One in units of the scale.
  void Scaled(int64_t i, float v) const {
    if (is_float_) {
      static_cast<float*>(data_)[i] = v;
      return;
    }
    v += zero_;
    // Limits first: they are whole numbers. A NaN becomes the zero point.
    if (std::isnan(v)) v = zero_;
    v = v < lowest_ ? lowest_ : v > highest_ ? highest_ : v;
    static_cast<uint8_t*>(data_)[i] = static_cast<uint8_t>(std::lrint(v));  // halves to even
  }

 private:
  void* data_;
  bool is_float_;
  float zero_, inverse_, lowest_ = 0, highest_ = 0;
};

// Sums of products.

/// Largest magnitude of a stored number minus its zero point.
int64_t Reach(const TensorType& t) {
  const int64_t zero = t.per_channel() ? 0 : t.zero_point();
  return std::max(HighestOf(t.dtype) - zero, zero - LowestOf(t.dtype));
}

/// Largest sum of magnitudes of `terms` weights, `stride` apart from channel to channel.
int64_t ReachOfSum(const TensorView& w, int64_t channels, int64_t terms, int64_t stride) {
  if (!w.is_const()) return Reach(w.type()) * terms;
  const ref::Input in(w.data(), w.type());
  const int64_t zero = w.type().per_channel() ? 0 : w.type().zero_point();
  int64_t most = 0;
  for (int64_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (int64_t k = 0; k < terms; ++k) sum += std::abs(in.Raw(c * stride + k) - zero);
    most = std::max(most, sum);
  }
  return most;
}

/// What sums of products have in common: input 0, weight 1, bias 2 (may be left out), output 0.
struct Sum {
  bool integers = false;
  TensorView bias;
  int64_t channels = 1;
  int64_t inner = 1;  // results of one channel that lie side by side
};

/// Checks the types; `reach` bounds the sum of the magnitudes of the weights of one result.
template <class ReachFunction>
Status CheckSum(const Op& op, ReachFunction reach, Sum* sum) {
  TIMCL_TRY(CheckTypes(op, 2));
  sum->integers = IsByte(op.In(0)) && IsByte(op.In(1));
  sum->bias = op.In(2);
  const bool has_bias = sum->bias.present();
  if (!sum->integers) {
    if (!IsFloat(op.out)) return Refuse("a float sum is rounded: its order would show");
    if (has_bias && !IsFloat(sum->bias))
      return Refuse("only a bias of f32, not " + sum->bias.label());
    return Status();
  }
  if (has_bias && sum->bias.dtype() == DataType::FLOAT16)
    return Refuse("only a bias of integers or f32, not " + sum->bias.label());
  constexpr int64_t kExact = 1 << 24;  // float32 counts so far
  const int64_t weights = reach();
  if (weights > kExact / Reach(op.In(0).type())) {
    return Refuse("its integer sums may reach " + to_string(Reach(op.In(0).type())) + " * " +
                  to_string(weights) + ", beyond the 2^24 up to which they are exact");
  }
  return Status();
}

/// Integer sums become results: scaled, with the bias, rounded, as the op defines it.
void ScaleSums(const Op& op, const Sum& sum, const memory& sums, Plan* plan) {
  const TensorType x = op.In(0).type(), w = op.In(1).type(), y = op.out.type();
  const TensorType b = sum.bias.type();
  const bool has_bias = sum.bias.present(), real_bias = has_bias && !IsInteger(b.dtype);
  const double s_y = IsInteger(y.dtype) && !real_bias ? y.scale() : 1.0;
  std::vector<float> m;
  for (int64_t c = 0; c < sum.channels; ++c) {
    const float s_w = w.scale(w.per_channel() ? static_cast<size_t>(c) : 0);
    m.push_back(static_cast<float>(static_cast<double>(x.scale()) * s_w / s_y));
  }
  const memory bias = has_bias ? plan->Elements(sum.bias, false) : memory();
  const memory to = plan->Elements(op.out, true);
  plan->Loop("scale sums", [=, channels = sum.channels, inner = sum.inner, n = y.count()] {
    const auto* from = static_cast<const float*>(sums.get_data_handle());
    const ref::Input addend(has_bias ? bias.get_data_handle() : nullptr, b);
    const Store store(to.get_data_handle(), y);
    for (int64_t at = 0, row = 0; at < n; ++row) {
      const int64_t c = row % channels;
      const float scale = m[static_cast<size_t>(c)];
      const int64_t whole = has_bias && !real_bias ? addend.Raw(c) : 0;
      const float real = real_bias ? addend.Float(c) : 0;
      for (const int64_t end = at + inner; at < end; ++at) {
        const float product = static_cast<float>(static_cast<int64_t>(from[at]) + whole) * scale;
        real_bias ? store.Real(at, product + real) : store.Scaled(at, product);
      }
    }
  });
}

dnnl::primitive_attr SumAttr(const Op& op) {
  dnnl::primitive_attr attr = Plan::Attr();
  if (op.relu) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, algorithm::eltwise_relu, 0, 0);
    attr.set_post_ops(after);
  }
  return attr;
}

/// Adds the primitive behind `pd`; `x`, `w` and `y` are the operands as dense tensors.
template <class PrimitiveDesc>
void RunSum(const Op& op, const Sum& sum, const PrimitiveDesc& pd, Form form, const Desc& x,
            const Desc& w, Plan* plan) {
  Plan::Args args = {{DNNL_ARG_SRC, plan->Read(op.In(0), form, x, pd.src_desc())},
                     {DNNL_ARG_WEIGHTS, plan->Read(op.In(1), form, w, pd.weights_desc())}};
  const Desc dst = pd.dst_desc();
  if (!sum.integers) {
    if (sum.bias.present())
      args[DNNL_ARG_BIAS] = plan->Read(sum.bias, Form::kStored, pd.bias_desc());
    args[DNNL_ARG_DST] = plan->Write(op.out, dst);
    return plan->Run(pd, std::move(args));
  }
  memory sums = plan->Temporary(dst);
  args[DNNL_ARG_DST] = sums;
  plan->Run(pd, std::move(args));
  if (dst != Dense(dst.dims())) sums = plan->Reordered(sums, Dense(dst.dims()), false);
  ScaleSums(op, sum, sums, plan);
}

/// Instructions that add four products of bytes into 32 bits without saturating in between.
bool HasExactInt8() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
    case dnnl::cpu_isa::avx2_vnni:
      return true;
    default:
      return false;
  }
}

struct ConvolutionAttrs {
  std::array<uint32_t, 2> stride = {1, 1}, dilation = {1, 1};
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};
  int32_t multiplier = 0, group = 1;
};

Status AddConvolution(const Op& op, Plan* plan) {
  const bool grouped = op.primitive->kind == "GroupedConv2d";
  // The layouts are those that layout inference found, or would; the op does not read them.
  if (grouped) {
    TIMCL_TRY(CheckNames(
        op, {"stride", "dilation", "padding", "pad", "group", "input_layout", "kernel_layout"}));
  } else {
    TIMCL_TRY(CheckNames(op, {"stride", "dilation", "padding", "pad", "multiplier", "weights",
                              "ksize", "input_layout", "kernel_layout"}));
  }
  ConvolutionAttrs a;
  const AttrMap& attrs = op.primitive->attrs;
  TIMCL_TRY(attrs.Get("stride", &a.stride));
  TIMCL_TRY(attrs.Get("dilation", &a.dilation));
  TIMCL_TRY(attrs.Get("padding", &a.padding));
  TIMCL_TRY(attrs.Get("pad", &a.pad));
  if (grouped) TIMCL_TRY(attrs.Get("group", &a.group));
  if (!grouped) TIMCL_TRY(attrs.Get("multiplier", &a.multiplier));

  const Shape &x = op.In(0).shape(), &w = op.In(1).shape(), &y = op.out.shape();
  const int64_t groups = a.multiplier > 0 ? x[2] : a.group;
  const int64_t channels = y[2], used = x[2] / groups;
  const int64_t per_slice = a.multiplier > 0 ? 1 : w[2];  // input channels of the kernel
  const int64_t taps = w[0] * w[1];
  Sum sum;
  sum.channels = channels, sum.inner = y[0] * y[1];
  TIMCL_TRY(CheckSum(
      op, [&] { return ReachOfSum(op.In(1), channels, used * taps, per_slice * taps); }, &sum));

  Dims extent(2), stride(2), dilation(2), front(2), rear(2);  // H, W
  for (size_t d = 0; d < 2; ++d) {
    const Window window = MakeWindow(x[d], w[d], a.stride[d], a.dilation[d], a.padding,
                                     a.pad[2 * d], a.pad[2 * d + 1]);
    const size_t at = 1 - d;
    extent[at] = x[d], stride[at] = window.stride, dilation[at] = window.dilation - 1;
    front[at] = window.front;
    // The positions are the output's: the last one decides what lies behind the input.
    rear[at] = (y[d] - 1) * window.stride + window.reach() - x[d] - window.front;
    if (rear[at] >= 0) continue;
    extent[at] += rear[at];  // cells that no window reaches
    rear[at] = 0;
    if (extent[at] <= 0) return Refuse("its windows lie in the padding alone");
  }
  const Dims of_x = {x[3], x[2], extent[0], extent[1]};
  const Dims of_y = {y[3], channels, y[1], y[0]};
  const int64_t slice = per_slice * taps;
  Dims of_w = {channels / groups, used, w[1], w[0]}, w_strides = {slice, taps, w[0], 1};
  if (groups > 1) {
    of_w.insert(of_w.begin(), groups);
    w_strides.insert(w_strides.begin(), channels / groups * slice);
  }
  const Dims x_strides = DenseStrides({x[3], x[2], x[1], x[0]});
  const Desc bias = !sum.integers && sum.bias.present() ? Dense({channels}) : Desc();

  auto describe = [&](Type x_type, Type w_type, const dnnl::primitive_attr& attr) {
    const Desc src = Any(of_x, x_type), weights = Any(of_w, w_type), dst = Any(of_y);
    const prop_kind forward = prop_kind::forward_inference;
    const algorithm direct = algorithm::convolution_direct;
    using Forward = dnnl::convolution_forward;
    return Forward::primitive_desc(
        bias
            ? Forward::desc(forward, direct, src, weights, bias, dst, stride, dilation, front, rear)
            : Forward::desc(forward, direct, src, weights, dst, stride, dilation, front, rear),
        attr, plan->engine());
  };
  const TensorType &x_type = op.In(0).type(), &w_type = op.In(1).type();
  const bool w_is_centered =
      w_type.dtype == DataType::INT8 && (w_type.per_channel() || w_type.zero_point() == 0);
  if (sum.integers && w_is_centered && HasExactInt8()) {
    dnnl::primitive_attr attr = Plan::Attr();
    if (x_type.zero_point() != 0) attr.set_zero_points(DNNL_ARG_SRC, 0, {x_type.zero_point()});
    const Type bytes = x_type.dtype == DataType::UINT8 ? Type::u8 : Type::s8;
    const auto pd = describe(bytes, Type::s8, attr);
    if (std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos) {
      RunSum(op, sum, pd, Form::kStored, Desc(of_x, bytes, x_strides),
             Desc(of_w, Type::s8, w_strides), plan);
      return Status();
    }
  }
  RunSum(op, sum, describe(Type::f32, Type::f32, SumAttr(op)),
         sum.integers ? Form::kCentered : Form::kReal, Desc(of_x, Type::f32, x_strides),
         Desc(of_w, Type::f32, w_strides), plan);
  return Status();
}

Status AddFullyConnected(const Op& op, Plan* plan) {
  TIMCL_TRY(CheckNames(op, {"axis", "weights"}));
  uint32_t axis = 0;
  TIMCL_TRY(op.primitive->attrs.Get("axis", &axis));
  const Shape &x = op.In(0).shape(), &w = op.In(1).shape();
  Sum sum;
  sum.channels = w[w.rank() - 1];
  int64_t terms = 1;
  for (size_t d = 0; d < x.rank() && d <= axis; ++d) terms *= x[d];
  TIMCL_TRY(CheckSum(
      op, [&] { return ReachOfSum(op.In(1), sum.channels, terms, terms); }, &sum));
  const Dims of_x = {x.count() / terms, terms}, of_w = {sum.channels, terms};
  const Dims of_y = {of_x[0], sum.channels};
  using Forward = dnnl::inner_product_forward;
  const prop_kind forward = prop_kind::forward_inference;
  // Dense data: nothing is gained from another order of two dimensions.
  const Forward::primitive_desc pd(
      !sum.integers && sum.bias.present()
          ? Forward::desc(forward, Dense(of_x), Any(of_w), Dense({sum.channels}), Dense(of_y))
          : Forward::desc(forward, Dense(of_x), Any(of_w), Dense(of_y)),
      SumAttr(op), plan->engine());
  RunSum(op, sum, pd, sum.integers ? Form::kCentered : Form::kReal, Dense(of_x), Dense(of_w), plan);
  return Status();
}

Status AddMatmul(const Op& op, Plan* plan) {
  TIMCL_TRY(CheckNames(op, {"transpose_a", "transpose_b", "adjoint_a", "adjoint_b"}));
  std::array<bool, 2> turned = {};
  for (const auto& [name, operand] :
       {std::pair("transpose_a", 0), {"transpose_b", 1}, {"adjoint_a", 0}, {"adjoint_b", 1}}) {
    bool turn = false;
    TIMCL_TRY(op.primitive->attrs.Get(name, &turn));
    turned[static_cast<size_t>(operand)] = turned[static_cast<size_t>(operand)] || turn;
  }
  const Shape &a = op.In(0).shape(), &b = op.In(1).shape();
  // Rows by columns as the product sees them, and how far apart. A vector is a row on the left, a
  // column on the right.
  auto matrix = [&](size_t operand) {
    const Shape& s = op.In(operand).shape();
    const int64_t d0 = s.dim(0), d1 = s.dim(1);
    if (s.rank() < 2)
      return operand == 0 ? std::pair(Dims{1, d0}, Dims{d0, 1})
                          : std::pair(Dims{d0, 1}, Dims{1, 1});
    return turned[operand] ? std::pair(Dims{d0, d1}, Dims{1, d0})
                           : std::pair(Dims{d1, d0}, Dims{d0, 1});
  };
  std::array<Dims, 2> dims, strides;
  for (size_t i = 0; i < 2; ++i) std::tie(dims[i], strides[i]) = matrix(i);
  const int64_t terms = dims[0][1];
  Dims of_y = {dims[0][0], dims[1][1]};
  std::array<int64_t, 2> step = {a.dim(0) * a.dim(1), b.dim(0) * b.dim(1)};
  for (size_t d = 2; d < std::max(a.rank(), b.rank()); ++d) {
    for (size_t i = 0; i < 2; ++i) {
      const int64_t n = op.In(i).shape().dim(d);
      dims[i].insert(dims[i].begin(), n);
      strides[i].insert(strides[i].begin(), step[i]);
      step[i] *= n;
    }
    of_y.insert(of_y.begin(), std::max(a.dim(d), b.dim(d)));
  }
  Sum sum;
  TIMCL_TRY(CheckSum(
      op, [&] { return Reach(op.In(1).type()) * terms; }, &sum));
  sum.inner = op.out.ElementNum();
  const Desc x(dims[0], Type::f32, strides[0]), w(dims[1], Type::f32, strides[1]);
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, w, Dense(of_y)), SumAttr(op),
                                        plan->engine());
  RunSum(op, sum, pd, sum.integers ? Form::kCentered : Form::kReal, x, w, plan);
  return Status();
}

// Pooling and point-wise ops: over real numbers.

/// Runs `run(result)`, where the result is a float32 tensor of layout `made`, and stores it as the
/// output's type says.
template <class F>
void StoreReal(const Op& op, const Desc& made, Plan* plan, F run) {
  if (IsFloat(op.out)) return run(plan->Write(op.out, made));
  memory real = plan->Temporary(made);
  run(real);
  if (made != Dense(made.dims())) real = plan->Reordered(real, Dense(made.dims()), false);
  const memory to = plan->Elements(op.out, true);
  plan->Loop("quantize", [real, to, type = op.out.type()] {
    const auto* from = static_cast<const float*>(real.get_data_handle());
    const Store store(to.get_data_handle(), type);
    for (int64_t i = 0, n = type.count(); i < n; ++i) store.Real(i, from[i]);
  });
}

Status AddPool(const Op& op, Plan* plan) {
  TIMCL_TRY(CheckNames(op, {"type", "padding", "ksize", "stride", "pad", "round_type", "layout"}));
  PoolType type = PoolType::MAX;
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 2> ksize = {}, steps = {};
  std::array<uint32_t, 4> pad = {};
  RoundType round = RoundType::FLOOR;
  const AttrMap& attrs = op.primitive->attrs;
  TIMCL_TRY(attrs.Get("type", &type));
  TIMCL_TRY(attrs.Get("padding", &padding));
  TIMCL_TRY(attrs.Get("ksize", &ksize));
  TIMCL_TRY(attrs.Get("stride", &steps));
  TIMCL_TRY(attrs.Get("pad", &pad));
  TIMCL_TRY(attrs.Get("round_type", &round));
  TIMCL_TRY(CheckTypes(op, 1));
  if (type == PoolType::L2) return Refuse("oneDNN has no L2 pooling");
  if (type != PoolType::MAX && !IsFloat(op.out))
    return Refuse("an average is rounded: how it was divided would show");
  const Shape &x = op.In(0).shape(), &y = op.out.shape();
  const size_t rank = x.rank();
  Dims of_x = {x[rank - 1], x[rank - 2], 1, 1}, of_y = of_x;
  Dims size(2, 1), stride(2, 1), front(2, 0), rear(2, 0);  // H, W; a rank of 3 has no height
  for (size_t d = 0; d + 2 < rank; ++d) {
    const Window window =
        MakeWindow(x[d], ksize[d], steps[d], 1, padding, pad[2 * d], pad[2 * d + 1]);
    const size_t at = 1 - d;
    of_x[2 + at] = x[d], of_y[2 + at] = y[d];
    size[at] = window.size, stride[at] = window.stride, front[at] = window.front;
    rear[at] =
        std::max<int64_t>((y[d] - 1) * window.stride + window.reach() - x[d] - window.front, 0);
    if (window.front >= window.size || (y[d] - 1) * window.stride - window.front >= x[d])
      return Refuse("a window lies in the padding alone");
  }
  const algorithm how = type == PoolType::MAX   ? algorithm::pooling_max
                        : type == PoolType::AVG ? algorithm::pooling_avg_include_padding
                                                : algorithm::pooling_avg_exclude_padding;
  const Desc src = plan->LayoutOf(op.In(0), Form::kReal, Dense(of_x));
  // oneDNN has fast code for blocked layouts; dense ones stay as they are.
  const bool dense = src == Dense(of_x);
  const dnnl::pooling_forward::primitive_desc pd(
      {prop_kind::forward_inference, how, src, dense ? Dense(of_y) : Any(of_y), stride, size, front,
       rear},
      Plan::Attr(), plan->engine());
  StoreReal(op, pd.dst_desc(), plan, [&](const memory& result) {
    plan->Run(pd, {{DNNL_ARG_SRC, plan->Read(op.In(0), Form::kReal, Dense(of_x), src)},
                   {DNNL_ARG_DST, result}});
  });
  return Status();
}

/// A function of one number. Attributes by name, or the values themselves.
struct Function {
  const char* kind;
  algorithm how;
  const char *alpha_name = "", *beta_name = "";
  float alpha = 0, beta = 0;
  /// Its float32 steps are the definition's, or the op allows for the difference: an integer result
  /// is the right one.
  bool for_integers = true;
};
// Not Elu, Log, Mish, SoftRelu (less precise than the ops ask for), Rsqrt (-0 gives -infinity).
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Function kFunctions[] = {
    {"Relu", algorithm::eltwise_relu},
    {"Relu1", algorithm::eltwise_clip, "", "", -1, 1},
    {"Relu6", algorithm::eltwise_clip, "", "", 0, 6},
    {"Clip", algorithm::eltwise_clip, "min", "max", -kInfinity, kInfinity},
    {"LeakyRelu", algorithm::eltwise_relu, "alpha"},
    {"Linear", algorithm::eltwise_linear, "a", "b", 0, 0, false},
    {"Sigmoid", algorithm::eltwise_logistic},
    {"Tanh", algorithm::eltwise_tanh},
    {"Swish", algorithm::eltwise_swish, "", "", 1},
    {"HardSwish", algorithm::eltwise_hardswish, "", "", 0, 0, false},
    {"Abs", algorithm::eltwise_abs},
    {"Square", algorithm::eltwise_square},
    {"Sqrt", algorithm::eltwise_sqrt},
    {"Exp", algorithm::eltwise_exp},
    {"Round", algorithm::eltwise_round},
    {"Rcp", algorithm::eltwise_pow, "", "", 1, -1},
};

const Function* FunctionOf(const std::string& kind) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const Function& f) { return kind == f.kind; });
  return found == std::end(kFunctions) ? nullptr : found;
}

Status AddFunction(const Op& op, Plan* plan) {
  const Function& f = *FunctionOf(op.primitive->kind);
  std::set<std::string_view> names;
  float alpha = f.alpha, beta = f.beta;
  for (const auto& [name, value] : {std::pair(f.alpha_name, &alpha), {f.beta_name, &beta}}) {
    if (*name == 0) continue;
    names.insert(name);
    TIMCL_TRY(op.primitive->attrs.Get(name, value));
  }
  TIMCL_TRY(CheckNames(op, names));
  TIMCL_TRY(CheckTypes(op, 1));
  if (!f.for_integers && !IsFloat(op.out))
    return Refuse("an integer result would show that oneDNN rounds at other steps");
  const Dims dims = DimsOf(op.In(0).shape());
  Desc lies = plan->LayoutOf(op.In(0), Form::kReal, Dense(dims)), plain = Dense(dims);
  if (lies == plain) lies = plain = Dense({op.In(0).ElementNum()});
  const dnnl::eltwise_forward::primitive_desc pd(
      {prop_kind::forward_inference, f.how, lies, alpha, beta}, Plan::Attr(), plan->engine());
  StoreReal(op, lies, plan, [&](const memory& result) {
    plan->Run(pd, {{DNNL_ARG_SRC, plan->Read(op.In(0), Form::kReal, plain, lies)},
                   {DNNL_ARG_DST, result}});
  });
  return Status();
}

/// The operands of a broadcast, fastest dimension last; neighbours that all operands walk in one go
/// are one dimension.
std::array<Dims, 3> Broadcast(const Op& op) {
  const std::array<Shape, 3> shapes = {op.In(0).shape(), op.In(1).shape(), op.out.shape()};
  const size_t rank = std::max(shapes[0].rank(), shapes[1].rank());
  std::array<Dims, 3> dims;
  std::array<bool, 2> was = {};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t n = std::max(shapes[0].dim(d), shapes[1].dim(d));
    if (n == 1) continue;
    const std::array<bool, 2> is = {shapes[0].dim(d) != 1, shapes[1].dim(d) != 1};
    const bool joins = !dims[2].empty() && is == was;
    was = is;
    for (size_t k = 0; k < 3; ++k) {
      const int64_t extent = k == 2 || is[k] ? n : 1;
      joins ? void(dims[k].front() *= extent) : void(dims[k].insert(dims[k].begin(), extent));
    }
  }
  if (dims[2].empty()) dims = {Dims{1}, Dims{1}, Dims{1}};
  return dims;
}

struct Arithmetic {
  const char* kind;
  algorithm how;
  bool commutes, scaled;
};
constexpr Arithmetic kArithmetic[] = {
    {"Add", algorithm::binary_add, true, false},
    {"Sub", algorithm::binary_sub, false, false},
    {"Multiply", algorithm::binary_mul, true, true},
    {"Div", algorithm::binary_div, false, true},
    {"Minimum", algorithm::binary_min, true, false},
    {"Maximum", algorithm::binary_max, true, false},
};

const Arithmetic* ArithmeticOf(const std::string& kind) {
  const auto* found = std::find_if(std::begin(kArithmetic), std::end(kArithmetic),
                                   [&](const Arithmetic& f) { return kind == f.kind; });
  return found == std::end(kArithmetic) ? nullptr : found;
}

Status AddArithmetic(const Op& op, Plan* plan) {
  const Arithmetic& f = *ArithmeticOf(op.primitive->kind);
  float scale = 1;
  if (f.scaled) TIMCL_TRY(op.primitive->attrs.Get("scale", &scale));
  TIMCL_TRY(CheckNames(
      op, f.scaled ? std::set<std::string_view>{"scale"} : std::set<std::string_view>{}));
  TIMCL_TRY(CheckTypes(op, 2));
  dnnl::primitive_attr attr = Plan::Attr();
  if (scale != 1) {
    dnnl::post_ops after;
    after.append_eltwise(1.0f, algorithm::eltwise_linear, scale, 0);
    attr.set_post_ops(after);
  }
  std::array<Dims, 3> dims = Broadcast(op);
  std::array<Desc, 2> plain = {Dense(dims[0]), Dense(dims[1])}, lies = plain;
  Desc made = Dense(dims[2]);
  if (op.In(0).shape() == op.In(1).shape()) {
    // Whatever layout one of them has.
    const Dims whole = DimsOf(op.In(0).shape());
    for (size_t k = 0; k < 2; ++k) {
      const Desc at = plan->LayoutOf(op.In(k), Form::kReal, Dense(whole));
      if (at == Dense(whole)) continue;
      plain = {Dense(whole), Dense(whole)}, lies = {at, at}, made = at;
      break;
    }
  }
  std::array<size_t, 2> order = {0, 1};
  // oneDNN repeats its second operand.
  if (f.commutes && dims[0] != dims[2]) order = {1, 0};
  const dnnl::binary::primitive_desc pd({f.how, lies[order[0]], lies[order[1]], made}, attr,
                                        plan->engine());
  StoreReal(op, made, plan, [&](const memory& result) {
    const memory first = plan->Read(op.In(order[0]), Form::kReal, plain[order[0]], lies[order[0]]);
    const memory second = plan->Read(op.In(order[1]), Form::kReal, plain[order[1]], lies[order[1]]);
    plan->Run(pd, {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}, {DNNL_ARG_DST, result}});
  });
  return Status();
}

using Adder = Status (*)(const Op&, Plan*);
Adder AdderOf(const std::string& kind) {
  if (kind == "Conv2d" || kind == "GroupedConv2d") return AddConvolution;
  if (kind == "FullyConnected") return AddFullyConnected;
  if (kind == "Matmul") return AddMatmul;
  if (kind == "Pool2d") return AddPool;
  if (FunctionOf(kind) != nullptr) return AddFunction;
  if (ArithmeticOf(kind) != nullptr) return AddArithmetic;
  return nullptr;
}

}  // namespace

Status AddOp(const Op& op, Plan* plan) {
  const Adder add = AdderOf(op.primitive->kind);
  if (add == nullptr) return Refuse("it is of no kind that oneDNN is asked for");
  try {
    plan->Begin(op.label);
    return add(op, plan);
  } catch (const dnnl::error& e) {
    return Refuse(std::string("oneDNN: ") + e.what());
  }
}

bool TakesRelu(const Op& op) {
  const Adder add = AdderOf(op.primitive->kind);
  const bool sums = add == AddConvolution || add == AddFullyConnected || add == AddMatmul;
  return sums && !(IsByte(op.In(0)) && IsByte(op.In(1)));
}

}  // namespace tim::vx::onednn
