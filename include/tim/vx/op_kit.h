// What the author of an operator includes: the definition (op_def.h), its test cases (testing.h),
// and what operators have in common, so that an op's file says only what is special about the op.
#ifndef TIM_VX_OP_KIT_H_
#define TIM_VX_OP_KIT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>

#include "tim/vx/builtin_op.h"
#include "tim/vx/exact_division.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx {

/// Attributes of an op that has none.
struct NoAttrs {
  TIMCL_FIELDS()
};

/// Infer function: one output of the shape of input 0.
inline Result<Shapes> ShapeOfInput(const OpView& op) { return Shapes{op.in(0).shape()}; }

/// Toward 0, saturating; NaN gives 0.
inline int64_t Saturated(double v) {
  if (v != v) return 0;
  if (v <= -0x1p63) return std::numeric_limits<int64_t>::min();
  if (v >= 0x1p63) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(v);
}

/// A window that slides along one axis, with the pads that its attributes amount to.
/// Source: ONNX Conv-11 (auto_pad); NNAPI, implicit padding.
struct Window {
  int64_t in = 1, size = 1, stride = 1, dilation = 1, front = 0, rear = 0;
  /// Cells from the first to the last tap.
  int64_t reach() const { return (size - 1) * dilation + 1; }
  /// Positions; 0 where the window does not fit.
  int64_t out(RoundType round = RoundType::FLOOR) const {
    const int64_t room = in + front + rear - reach();
    const int64_t up = round == RoundType::CEILING ? stride - 1 : 0;
    return room < 0 ? 0 : (room + up) / stride + 1;
  }
  /// Whether a cell of the input lies between the first and the last tap of each of `count`
  /// positions.
  bool Meets(int64_t count) const { return front < reach() && (count - 1) * stride - front < in; }
};
/// SAME: ceil(in / stride) positions, the odd cell goes to the rear. VALID: no pads. AUTO and NONE:
/// `front` and `rear` as given. A dilation of 0 counts as 1, and so does a stride of 0.
inline Window MakeWindow(int64_t in, int64_t size, int64_t stride, int64_t dilation,
                         PadType padding, int64_t front, int64_t rear) {
  Window w = {in, size, stride > 0 ? stride : 1, dilation > 0 ? dilation : 1, front, rear};
  if (padding == PadType::VALID) w.front = w.rear = 0;
  if (padding == PadType::SAME) {
    const int64_t out = (in + w.stride - 1) / w.stride;
    int64_t total = (out - 1) * w.stride + w.reach() - in;
    if (total < 0) total = 0;
    w.front = total / 2;
    w.rear = total - w.front;
  }
  return w;
}

/// Whether kernels have VLOAD and VSTORE of it, of 16 elements at once.
inline bool IsWide(const TensorView& t) {
  switch (t.dtype()) {
    case DataType::FLOAT32:
    case DataType::FLOAT16:
      return true;
    case DataType::INT8:
    case DataType::UINT8:
    case DataType::INT16:
      return t.type().quantized() && !t.type().per_channel();
    default:
      return false;
  }
}

/// Work-items for `count` elements of which each takes `run` neighbours.
inline int64_t DivideUp(int64_t count, int64_t run) { return (count + run - 1) / run; }
/// Neighbours per work-item of a kernel that moves data: many on a CPU, where each work-item costs;
/// one on a GPU, where neighbouring work-items share memory accesses.
inline int64_t RunLength(const DeviceCaps& caps) { return caps.is_cpu ? 16 : 1; }

namespace op_kit_detail {
template <class Class>
using BaseOf = std::conditional_t<std::is_base_of_v<BuiltinOp, Class>, BuiltinOp, Operation>;
template <class Class, class Attrs>
std::shared_ptr<Operation> CloneOf(const Class& op, std::shared_ptr<Graph>& graph) {
  return std::apply(
      [&](const auto&... field) -> std::shared_ptr<Operation> {
        return graph->CreateOperation<Class>(field...);
      },
      AttrsOf<Attrs>(op).Fields());
}
}  // namespace op_kit_detail
}  // namespace tim::vx

/// The typed class of an op file, whose definition is k<Class>: its constructor, and Clone, which
/// calls the constructor with the attributes in the order of TIMCL_FIELDS.
///   TIMCL_PLAIN_OP_CLASS(Relu);                                          no attributes
///   TIMCL_OP_CLASS(Softmax, SoftmaxAttrs, (float beta, int32_t axis), (beta, axis));
///   TIMCL_OP_CLASS_WITH(Elu, AlphaAttrs, (float alpha), (alpha), alpha_(alpha));
/// The last one also fills the protected members that the original's class has. Where the file is
/// built as a plugin (TIMCL_OP_FILE_AS_PLUGIN) all are nothing: the class belongs to the library.
#ifdef TIMCL_OP_FILE_AS_PLUGIN
#define TIMCL_PLAIN_OP_CLASS(Class) static_assert(true, "takes the semicolon")
#define TIMCL_OP_CLASS(Class, Attrs, Params, Args) static_assert(true, "takes the semicolon")
#define TIMCL_OP_CLASS_WITH(Class, Attrs, Params, Args, ...) \
  static_assert(true, "takes the semicolon")
#else
#define TIMCL_PLAIN_OP_CLASS(Class)                                                            \
  Class::Class(Graph* graph)                                                                   \
      : ::tim::vx::op_kit_detail::BaseOf<Class>(graph, k##Class,                               \
                                                ::tim::vx::MakeAttrs(::tim::vx::NoAttrs{})) {} \
  TIMCL_OP_CLONE_(Class, ::tim::vx::NoAttrs)
#define TIMCL_OP_CLASS(Class, Attrs, Params, Args)                                                \
  Class::Class(Graph* graph TIMCL_MORE_ Params)                                                   \
      : ::tim::vx::op_kit_detail::BaseOf<Class>(graph, k##Class,                                  \
                                                ::tim::vx::MakeAttrs(Attrs{TIMCL_LIST_ Args})) {} \
  TIMCL_OP_CLONE_(Class, Attrs)
#define TIMCL_OP_CLASS_WITH(Class, Attrs, Params, Args, ...)                                    \
  Class::Class(Graph* graph TIMCL_MORE_ Params)                                                 \
      : ::tim::vx::op_kit_detail::BaseOf<Class>(graph, k##Class,                                \
                                                ::tim::vx::MakeAttrs(Attrs{TIMCL_LIST_ Args})), \
        __VA_ARGS__ {}                                                                          \
  TIMCL_OP_CLONE_(Class, Attrs)
#define TIMCL_OP_CLONE_(Class, Attrs)                                            \
  std::shared_ptr<Operation> Class::Clone(std::shared_ptr<Graph>& graph) const { \
    return ::tim::vx::op_kit_detail::CloneOf<Class, Attrs>(*this, graph);        \
  }                                                                              \
  static_assert(true, "takes the semicolon")
#define TIMCL_LIST_(...) __VA_ARGS__
#define TIMCL_MORE_(...) , __VA_ARGS__
#endif

#endif  // TIM_VX_OP_KIT_H_
