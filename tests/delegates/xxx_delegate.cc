#include "delegates/xxx_delegate.h"

#include <cmath>
#include <new>

namespace xxx {
namespace {

/// What the framework knows of an operator; empty: nothing.
std::function<float(float, float)> FunctionOf(const Primitive& primitive) {
  if (primitive.kind == "Add") return [](float x, float y) { return x + y; };
  if (primitive.kind == "Sub") return [](float x, float y) { return x - y; };
  if (primitive.kind == "Relu") return [](float x, float) { return x > 0 ? x : 0; };
  if (primitive.kind == "Neg") return [](float x, float) { return -x; };
  float alpha = 0;
  if (primitive.kind == "LeakyRelu" && primitive.attrs.Get("alpha", &alpha) == RET_OK)
    return [alpha](float x, float) { return x > 0 ? x : alpha * x; };
  return nullptr;
}

}  // namespace

Status XXXDelegate::Init() { return RET_OK; }

bool XXXDelegate::IsSupport(kernel::Kernel* kernel, const Primitive* primitive) const {
  for (const TensorView& tensor : kernel->inputs()) {
    if (tensor == nullptr || tensor.dtype() != DataType::FLOAT32) return false;
    if (tensor.ElementNum() != kernel->outputs()[0].ElementNum()) return false;
  }
  return FunctionOf(*primitive) != nullptr;
}

Status XXXDelegate::Build(DelegateModel* model) {
  KernelIter from = model->BeginKernelIterator();
  KernelIter end = model->BeginKernelIterator();
  for (KernelIter iter = model->BeginKernelIterator(); iter != model->EndKernelIterator(); iter++) {
    kernel::Kernel* kernel = *iter;
    if (IsSupport(kernel, model->GetPrimitive(kernel))) {
      end = iter;
    } else {
      if (from != end) {
        auto graph_kernel = CreateXXXGraph(from, end, model);
        iter = model->Replace(from, end + 1, graph_kernel);
      }
      from = iter + 1;
      end = iter + 1;
    }
  }
  return RET_OK;
}

kernel::Kernel* XXXDelegate::CreateXXXGraph(KernelIter from, KernelIter end,
                                            DelegateModel* model) const {
  auto in_tensors = model->SubgraphInputs(from, end + 1);
  auto out_tensors = model->SubgraphOutputs(from, end + 1);
  auto graph_kernel = new (std::nothrow) XXXGraph(in_tensors, out_tensors);
  if (graph_kernel == nullptr) return nullptr;
  graph_kernel->set_name("XXXGraph");
  for (KernelIter iter = from; iter != end + 1; iter++) {
    if (graph_kernel->AddOp(model->GetPrimitive(*iter), *iter) != RET_OK) {
      delete graph_kernel;
      return nullptr;
    }
  }
  return graph_kernel;
}

Status XXXGraph::AddOp(const Primitive* primitive, const kernel::Kernel* kernel) {
  XXXOp op{FunctionOf(*primitive), kernel->inputs(), kernel->outputs()[0]};
  if (op.f == nullptr) return RET_ERROR;
  ops_.push_back(op);
  return RET_OK;
}

Status XXXGraph::Prepare() {
  for (const XXXOp& op : ops_) {
    if (op.output.MutableData() == nullptr) return RET_ERROR;
  }
  return RET_OK;
}

Status XXXGraph::Execute() {
  for (const XXXOp& op : ops_) {
    auto x = static_cast<const float*>(op.inputs.front().Data().get());
    auto y = static_cast<const float*>(op.inputs.back().Data().get());
    auto out = static_cast<float*>(op.output.MutableData());
    for (int64_t i = 0; i < op.output.ElementNum(); ++i) out[i] = op.f(x[i], y[i]);
  }
  return RET_OK;
}

}  // namespace xxx
