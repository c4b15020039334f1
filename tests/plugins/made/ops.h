// Operators for the plugins of the tests.
#ifndef TIMCL_TESTS_PLUGINS_MADE_OPS_H_
#define TIMCL_TESTS_PLUGINS_MADE_OPS_H_

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tim/vx/op_kit.h"
#include "tim/vx/op_plugin.h"
#include "tim/vx/ops/custom_base.h"

namespace made {

using namespace tim::vx;

struct TimesAttrs {
  float factor = 2;
  TIMCL_FIELDS(factor)
};

inline Status Times(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    outs[0].Set(i, static_cast<double>(op.attrs<TimesAttrs>().factor) * ins[0].At(i));
  }
  return Status();
}

/// factor * x.
constexpr OpDef TimesOp(const char* name) {
  OpDef def;
  def.name = name;
  def.types = "f32 -> f32";
  def.schema = &kAttrSchema<TimesAttrs>;
  def.infer = ShapeOfInput;
  def.reference = Times;
  return def;
}

/// The same, and takes its time.
inline Status SlowTimes(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return Times(op, ins, outs);
}

inline const char kShiftSource[] =
    "__kernel void shift(__global const float* x, __global float* y, float by) {\n"
    "  y[get_global_id(0)] = x[get_global_id(0)] + by;\n"
    "}\n";

/// x + by, a class with an OpenCL kernel.
class Shift : public ops::CustomOpBase {
 public:
  struct Attrs {
    float by = 1;
    TIMCL_FIELDS(by)
  };
  Shift(Graph* graph, const Attrs& attrs) : CustomOpBase(graph, 1, 1, -1, "made.shift") {
    ops::param_transform(std::make_tuple(attrs.by), param_list_);
    kernel_resource_ = kShiftSource;
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>&) const override { return nullptr; }

 protected:
  void SetupShapeInfor() override { outputs_size_[0] = inputs_size_[0]; }
  void SetupParams(std::vector<DataType>, std::string&) override { func_name_ = "shift"; }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global, std::vector<size_t>&) override {
    dim = 1;
    global[0] = 1;
    for (const uint32_t extent : outputs_size_[0]) global[0] *= extent;
  }
};

/// x + by, of a class whose Clone makes another one of itself, and a function that makes it: what
/// DefineOpClass does not make.
class OwnClone : public Shift {
 public:
  using Shift::Shift;
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<OwnClone>(Attrs());
  }
};
inline std::shared_ptr<Operation> MakeOwnClone(Graph* graph, const AnyAttrs& attrs) {
  return std::make_shared<OwnClone>(graph, attrs.As<Shift::Attrs>("operation"));
}

}  // namespace made

#endif  // TIMCL_TESTS_PLUGINS_MADE_OPS_H_
