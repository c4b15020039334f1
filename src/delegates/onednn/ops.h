// What the delegate knows of each kind of op.
#ifndef TIMCL_DELEGATES_ONEDNN_OPS_H_
#define TIMCL_DELEGATES_ONEDNN_OPS_H_

#include <string>
#include <vector>

#include "plan.h"

namespace tim::vx::onednn {

/// One op of the graph.
struct Op {
  std::string label;
  const Primitive* primitive = nullptr;
  std::vector<TensorView> in;
  TensorView out;
  bool relu = false;  // a Relu is part of it; `out` is the Relu's

  TensorView In(size_t i) const { return i < in.size() ? in[i] : TensorView(); }
};

/// Adds the steps of an op. kUnsupported: the plan is as it was before, and the text says why, in
/// words that end "not replaced by ...: ".
Status AddOp(const Op& op, Plan* plan);

/// Whether AddOp heeds `relu`, for an op that it takes.
bool TakesRelu(const Op& op);

}  // namespace tim::vx::onednn
#endif  // TIMCL_DELEGATES_ONEDNN_OPS_H_
