// Composed operators that several tests use.
#ifndef TIMCL_TESTS_COMPOSED_OPS_H_
#define TIMCL_TESTS_COMPOSED_OPS_H_

#include <memory>
#include <string>
#include <vector>

#include "hswish.h"
#include "samples/attention/attention.h"
#include "samples/rnncell/simple_rnn.h"
#include "support/api_support.h"
#include "tim/vx/composed_op.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"

namespace tim::vx::test {

inline const TensorType kF32 = {DataType::FLOAT32, {}, Quantization()};

struct AxpyAttrs {
  float a = 1;
  TIMCL_FIELDS(a)
};
/// a * x + y, as the comment of ComposedOp has it.
class Axpy : public ComposedOp<Axpy, AxpyAttrs> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) {
    def.name = "Axpy";
    def.inputs = "x y";
  }
  static Status Expand(ExpandBuilder& b) {
    const auto a = b.Constant(b.op().attrs<AxpyAttrs>().a);
    const auto ax = b.Add<ops::Multiply>({b.in(0), a}, b.TypeOf(b.in(0)));
    b.AddTo<ops::Add>(0, {ax, b.in(1)});
    return Status();
  }
};

/// The same with an output type in between that is float, and a rule for layouts.
class FloatAxpy : public ComposedOp<FloatAxpy, AxpyAttrs> {
 public:
  // With a constructor of its own.
  FloatAxpy(Graph* graph, float a) : ComposedOp(graph, AxpyAttrs{a}) {}
  static void Define(OpDef& def) {
    def.name = "FloatAxpy";
    def.inputs = "x y";
    def.types = "real, real -> real";
    def.layout = LayoutRule::SameForAll();
  }
  static Status Expand(ExpandBuilder& b) {
    const auto a = b.Constant(b.op().attrs<AxpyAttrs>().a);
    const auto ax = b.Add<ops::Multiply>({b.in(0), a}, kF32);
    b.AddTo<ops::Add>(0, {ax, b.in(1)});
    return Status();
  }
};

/// a * (a * x + y) + y: composed of a composed op, by its class and by its name.
class Axpy2 : public ComposedOp<Axpy2, AxpyAttrs> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) {
    def.name = "Axpy2";
    def.inputs = "x y";
  }
  static Status Expand(ExpandBuilder& b) {
    const AxpyAttrs attrs = b.op().attrs<AxpyAttrs>();
    b.AddTo<Axpy>(0, {b.Add<Axpy>({b.in(0), b.in(1)}, kF32, attrs), b.in(1)}, attrs);
    return Status();
  }
};
class Axpy2ByName : public ComposedOp<Axpy2ByName, AxpyAttrs> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) {
    def.name = "Axpy2ByName";
    def.inputs = "x y";
  }
  static Status Expand(ExpandBuilder& b) {
    const AttrMap attrs = b.op().any_attrs().Map();
    b.AddTo(0, "Axpy", attrs, {b.Add("Axpy", attrs, {b.in(0), b.in(1)}, kF32), b.in(1)});
    return Status();
  }
};

/// The custom operator without its reference: an OpenCL kernel and nothing else.
class KernelAlone : public custom_ops::Hswish {
 public:
  explicit KernelAlone(Graph* graph) : Hswish(graph) { SetReference(nullptr); }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<KernelAlone>();
  }
};

/// hswish(x) + hswish(-x): of a custom operator, whose kernel is OpenCL C of a user's.
class SwishBothWays : public ComposedOp<SwishBothWays> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) { def.name = "SwishBothWays"; }
  static Status Expand(ExpandBuilder& b) {
    const auto there = b.Add<KernelAlone>({b.in(0)}, kF32);
    const auto minus = b.Add<ops::Multiply>({b.in(0), b.Constant(-1.0f)}, kF32);
    const auto back = b.Add<KernelAlone>({minus}, kF32);
    b.AddTo<ops::Add>(0, {there, back});
    return Status();
  }
};

/// A composed op that takes a built-in one's name.
class CalledRelu : public ComposedOp<CalledRelu> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) { def.name = "Relu"; }
  static Status Expand(ExpandBuilder& b) {
    b.AddTo<ops::Abs>(0, {b.in(0)});
    return Status();
  }
};

}  // namespace tim::vx::test

#endif  // TIMCL_TESTS_COMPOSED_OPS_H_
