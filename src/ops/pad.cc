// Pad and PadV2: add cells around a tensor.  Source: ONNX Pad-13; tf.pad.
#include "tim/vx/ops/pad.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tim/vx/fold_rule.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/ops/pad_v2.h"

namespace tim::vx::ops {

TIMCL_ENUM(Pad::pad_mode_type, {Pad::PAD_MODE_CONSTANT, "CONSTANT"}, {Pad::PAD_MODE_EDGE, "EDGE"},
           {Pad::PAD_MODE_SYMMETRIC, "SYMMETRIC"}, {Pad::PAD_MODE_REFLECT, "REFLECT"});
TIMCL_ENUM(PadV2::pad_mode_type, {PadV2::PAD_MODE_CONSTANT, "CONSTANT"},
           {PadV2::PAD_MODE_EDGE, "EDGE"}, {PadV2::PAD_MODE_SYMMETRIC, "SYMMETRIC"},
           {PadV2::PAD_MODE_REFLECT, "REFLECT"});

namespace {

using std::to_string;

/// Of the class Pad or PadV2, whose modes have the same numbers.
template <class Class, class Number>
struct AttrsOfClass {
  std::vector<uint32_t> front_size;  // one entry per dimension, 0 = fastest
  std::vector<uint32_t> back_size;
  Number const_val = 0;  // a real number, quantized like the output
  typename Class::pad_mode_type pad_mode = Class::PAD_MODE_CONSTANT;
  TIMCL_FIELDS(front_size, back_size, const_val, pad_mode)
};
using PadAttrs = AttrsOfClass<Pad, int32_t>;
using PadV2Attrs = AttrsOfClass<PadV2, float>;
static_assert(static_cast<int>(PadV2::PAD_MODE_REFLECT) == Pad::PAD_MODE_REFLECT &&
              static_cast<int>(PadV2::PAD_MODE_SYMMETRIC) == Pad::PAD_MODE_SYMMETRIC &&
              static_cast<int>(PadV2::PAD_MODE_EDGE) == Pad::PAD_MODE_EDGE);

template <class Attrs>
Status Verify(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  const Shape& x = op.in(0).shape();
  if (a.front_size.size() != x.rank() || a.back_size.size() != x.rank()) {
    return op.Error(Code::kInvalidArgument,
                    "attributes front_size and back_size have " + to_string(a.front_size.size()) +
                        " and " + to_string(a.back_size.size()) + " entries for " + op.in_label(0));
  }
  for (size_t d = 0; d < x.rank() && static_cast<int>(a.pad_mode) >= Pad::PAD_MODE_SYMMETRIC; ++d) {
    const int64_t most = static_cast<int>(a.pad_mode) == Pad::PAD_MODE_REFLECT ? x[d] - 1 : x[d];
    if (std::max(a.front_size[d], a.back_size[d]) > most) {
      return op.Error(Code::kInvalidArgument,
                      "dimension " + to_string(d) + " of " + op.in_label(0) +
                          " is too small to be mirrored over " +
                          to_string(std::max(a.front_size[d], a.back_size[d])) + " cells");
    }
  }
  return Status();
}

template <class Attrs>
Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  Shape y = op.in(0).shape();
  for (size_t d = 0; d < y.rank(); ++d) y[d] += int64_t{a.front_size[d]} + a.back_size[d];
  return Shapes{y};
}

/// The cell of the input behind position c of a dimension, -1 where the constant stands.
int64_t Source(int64_t c, int64_t extent, int mode) {
  if (c >= 0 && c < extent) return c;
  switch (mode) {
    case Pad::PAD_MODE_EDGE:
      return c < 0 ? 0 : extent - 1;
    case Pad::PAD_MODE_SYMMETRIC:
      return c < 0 ? -1 - c : 2 * extent - 1 - c;
    case Pad::PAD_MODE_REFLECT:
      return c < 0 ? -c : 2 * extent - 2 - c;
    default:
      return -1;
  }
}

template <class Attrs>
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<Attrs>();
  const TensorType &tx = op.in(0).type(), &ty = op.out(0).type();
  const Shape &x = tx.shape, &y = ty.shape;
  for (int64_t i = 0; i < ty.count(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    bool inside = true;
    for (size_t d = 0; d < y.rank(); ++d) {
      const int64_t c = Source(rest % y[d] - a.front_size[d], x[d], static_cast<int>(a.pad_mode));
      inside = inside && c >= 0;
      from += c * stride;
      stride *= x[d];
      rest /= y[d];
    }
    if (!inside) {
      outs[0].Set(i, a.const_val);
    } else {
      ref::Copy(outs[0], i, ins[0], from);
    }
  }
  return Status();
}

/// The constant as a kernel stores it: in the arithmetic of whole numbers it is cut, not rounded.
template <class Number>
float ConstantOf(const OpView& op, Number value) {
  const TensorType& y = op.out(0).type();
  if (!IsInteger(y.dtype) || y.quantized()) return static_cast<float>(value);
  const double real = static_cast<double>(value);
  if (std::isnan(real)) return 0;
  return static_cast<float>(std::clamp(std::nearbyint(real), static_cast<double>(LowestOf(y.dtype)),
                                       static_cast<double>(HighestOf(y.dtype))));
}

template <class Attrs>
Result<KernelOffer> Accepts(const OpView& op, const KernelRequest&) {
  const auto& a = op.attrs<Attrs>();
  if (static_cast<int>(a.pad_mode) != Pad::PAD_MODE_CONSTANT) return KernelOffer{};
  const double value = static_cast<double>(a.const_val);
  if (std::is_integral_v<decltype(a.const_val)> && static_cast<float>(value) != value) {
    return Status::Error(Code::kUnsupported,
                         "the constant " + to_string(a.const_val) + " is no float");
  }
  if (op.out(0).dtype() == DataType::INT64 && !(std::fabs(value) < 9e18)) {
    return Status::Error(Code::kUnsupported,
                         "the constant " + to_string(a.const_val) + " is no 64-bit integer");
  }
  return KernelOffer{};
}

template <class Attrs>
Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<Attrs>();
  const Shape& x = op.in(0).shape();
  struct Dimension {
    int64_t out, in, front;
  };
  std::vector<Dimension> dims;
  bool joins = false;  // the last one has no padding
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool bare = a.front_size[d] == 0 && a.back_size[d] == 0;
    if (bare && x[d] == 1) continue;
    if (bare && joins) {
      dims.back().out *= x[d], dims.back().in *= x[d];
    } else {
      dims.push_back({x[d] + a.front_size[d] + a.back_size[d], x[d], a.front_size[d]});
    }
    joins = bare;
  }
  if (dims.empty()) dims.push_back({1, 1, 0});
  const int64_t run = RunLength(request.caps);
  const int64_t across = DivideUp(dims[0].out, run);
  const int64_t items = op.out(0).shape().count() / dims[0].out * across;
  std::vector<int32_t> table;
  for (size_t d = 0; d < dims.size(); ++d) {
    AppendDivision(d == 0 ? across : dims[d].out, &table);
    for (int64_t v : {dims[d].in, dims[d].front}) table.push_back(static_cast<int32_t>(v));
  }
  return Launches{
      {.source = "pad.cl",
       .entry = "pad",
       .operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")},
       .sizes = {{"LENGTH", dims[0].out}, {"ITEMS", items}},
       .reals = {{"VALUE", ConstantOf(op, a.const_val)}},
       .defines = {{"MODE", static_cast<int>(a.pad_mode)}, {"RANK", dims.size()}, {"RUN", run}},
       .global = Grid(items),
       .local = {64, 1, 1}}};
}

/// With the same encoding on both sides: it stores the constant as the real number that it reads
/// back.
template <class Attrs>
std::optional<Padding> PaddingOf(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  const TensorType &x = op.in(0).type(), &y = op.out(0).type();
  if (static_cast<int>(a.pad_mode) != Pad::PAD_MODE_CONSTANT || !SameEncoding(x, y) ||
      x.per_channel())
    return std::nullopt;
  return Padding{{a.front_size.begin(), a.front_size.end()},
                 {a.back_size.begin(), a.back_size.end()},
                 static_cast<double>(a.const_val)};
}
template <class Attrs>
constexpr FoldRule kFolds = {.padding = PaddingOf<Attrs>};

constexpr KernelCandidate kKernels[] = {{"general", Accepts<PadAttrs>, General<PadAttrs>}};

void Cases(CaseMaker& make) {
  using namespace cases;
  for (Pad::pad_mode_type mode : {Pad::PAD_MODE_CONSTANT, Pad::PAD_MODE_EDGE,
                                  Pad::PAD_MODE_SYMMETRIC, Pad::PAD_MODE_REFLECT}) {
    auto add = [&](std::vector<uint32_t> front, std::vector<uint32_t> back, int32_t value,
                   const Shape& x, const char* note) {
      make.Of(PadAttrs{front, back, value, mode}).In(F32(x)).Note(note);
    };
    add({0}, {0}, 3, {1}, "nothing");
    add({3}, {2}, 3, {5}, "a vector");
    add({1, 2, 0, 0}, {2, 0, 0, 0}, -2, {9, 7, 3, 2}, "width and height");
    add({0, 0, 1, 0}, {0, 0, 2, 1}, 3, {5, 3, 4, 2}, "channels and images");
    add({0, 1, 0, 0}, {0, 1, 0, 0}, 1, {1, 3, 1, 5}, "extents of 1");
    add({1, 0, 1, 1, 0, 1}, {0, 1, 1, 0, 1, 1}, 1, {2, 3, 2, 2, 3, 2}, "rank 6");
    add({1, 2}, {2, 1}, 1, {40, 30}, "beyond a work-group");
  }
  // How values are stored does not depend on where they come from: two modes do.
  const PadAttrs constant = {{1, 0, 2}, {0, 2, 1}, 2, Pad::PAD_MODE_CONSTANT};
  const PadAttrs mirrored = {{1, 0, 2}, {0, 2, 1}, 2, Pad::PAD_MODE_SYMMETRIC};
  make.Of(constant).In(F32({7, 5, 3})).Note("types").EachType();
  make.Of(mirrored).In(F32({7, 5, 3})).Note("types").EachTypeOnce();
  for (int32_t value : {0, -5, 1000}) {
    make.Of(PadAttrs{{1, 1}, {1, 1}, value}).In(U8({6, 4})).Note("constants");
    make.Of(PadAttrs{{1, 1}, {1, 1}, value}).In(F16({6, 4})).Note("constants");
  }
  make.Of(PadAttrs{{1, 1, 0, 0}, {1, 1, 0, 0}})
      .In(F32({56, 56, 64, 1}))
      .Note("one cell around 64 channels")
      .Bench();
}

constexpr OpDef kPad = {.name = "Pad",
                        .types = "copyable -> copyable",
                        .schema = &kAttrSchema<PadAttrs>,
                        .verify = Verify<PadAttrs>,
                        .infer = Infer<PadAttrs>,
                        .reference = Reference<PadAttrs>,
                        .kernels = kKernels,
                        .layout = LayoutRule::FollowsAxis("", "front_size back_size"),
                        .declared = Declared::kMustMatch,
                        .tolerance = Tolerance::Exact(),
                        .cases = TIMCL_CASES(Cases)};

constexpr KernelCandidate kPadV2Kernels[] = {{"general", Accepts<PadV2Attrs>, General<PadV2Attrs>}};

void PadV2Cases(CaseMaker& make) {
  using namespace cases;
  using A = PadV2Attrs;
  for (PadV2::pad_mode_type mode : {PadV2::PAD_MODE_CONSTANT, PadV2::PAD_MODE_EDGE,
                                    PadV2::PAD_MODE_SYMMETRIC, PadV2::PAD_MODE_REFLECT}) {
    make.Of(A{{0}, {0}, 3, mode}).In(F32({1})).Note("nothing");
    make.Of(A{{1, 2, 0, 0}, {2, 0, 0, 1}, -2.25f, mode}).In(F32({9, 7, 3, 2})).Note("modes");
    make.Of(A{{0, 1}, {1, 0}, 0.5f, mode}).In(F32({37, 3})).Note("beyond a vector");
  }
  for (float value : {0.0f, 0.4f, -1e30f, INFINITY, std::nanf("")}) {
    make.Of(A{{1, 1}, {1, 1}, value}).In(F32({6, 4})).Note("constants");
    make.Of(A{{1, 1}, {1, 1}, value}).In(U8({6, 4})).Note("constants");
    make.Of(A{{1, 1}, {1, 1}, value}).In(F16({6, 4})).Note("constants");
    make.Of(A{{1, 1}, {1, 1}, value}).In(I32({6, 4})).Note("constants");
  }
  for (float value : {2.5f, -3.7f, 2.9f}) {
    make.Of(A{{1, 1}, {1, 1}, value}).In(I32({6, 4})).Note("rounded");
    make.Of(A{{1}, {1}, value}).In(Plain(DataType::INT64, {6})).Note("rounded");
  }
  make.Of(A{{1, 0, 2}, {0, 2, 1}, 1.25f}).In(F32({7, 5, 3})).Note("types").EachType();
  make.Of(A{{1, 1, 0, 0}, {1, 1, 0, 0}, 0}).In(F32({56, 56, 64, 1})).Note("64 channels").Bench();
}

constexpr OpDef kPadV2 = {.name = "PadV2",
                          .types = "copyable -> copyable",
                          .schema = &kAttrSchema<PadV2Attrs>,
                          .verify = Verify<PadV2Attrs>,
                          .infer = Infer<PadV2Attrs>,
                          .reference = Reference<PadV2Attrs>,
                          .kernels = kPadV2Kernels,
                          .layout = LayoutRule::FollowsAxis("", "front_size back_size"),
                          .declared = Declared::kMustMatch,
                          .tolerance = Tolerance::Exact(),
                          .cases = TIMCL_CASES(PadV2Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Pad, PadAttrs,
                    (const std::vector<uint32_t>& front_size,
                     const std::vector<uint32_t>& back_size, int32_t const_val,
                     pad_mode_type pad_mode),
                    (front_size, back_size, const_val, pad_mode), front_size_(front_size),
                    back_size_(back_size), const_val_(const_val), pad_mode_(pad_mode));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
Pad::Pad(Graph* graph, const std::vector<uint32_t>& front_size,
         const std::vector<uint32_t>& back_size, int32_t const_val)
    : Pad(graph, front_size, back_size, const_val, PAD_MODE_CONSTANT) {}
#endif

TIMCL_OP_CLASS_WITH(PadV2, PadV2Attrs,
                    (const std::vector<uint32_t>& front_size,
                     const std::vector<uint32_t>& back_size, float const_val,
                     pad_mode_type pad_mode),
                    (front_size, back_size, const_val, pad_mode), front_size_(front_size),
                    back_size_(back_size), const_val_(const_val), pad_mode_(pad_mode));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
PadV2::PadV2(Graph* graph, const std::vector<uint32_t>& front_size,
             const std::vector<uint32_t>& back_size, float const_val)
    : PadV2(graph, front_size, back_size, const_val, PAD_MODE_CONSTANT) {}
#endif

TIMCL_OPS(pad) {
  Add(kPad);
  Add(kPadV2);
  AddFoldRule(kPad, &kFolds<PadAttrs>);
  AddFoldRule(kPadV2, &kFolds<PadV2Attrs>);
}

}  // namespace tim::vx::ops
