// What tests of the public API share: one context per program, and short ways to make tensors.
#ifndef TIMCL_TESTS_SUPPORT_API_SUPPORT_H_
#define TIMCL_TESTS_SUPPORT_API_SUPPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/operation.h"
#include "tim/vx/tensor.h"

namespace tim::vx::test {

using TensorPtr = std::shared_ptr<Tensor>;
using GraphPtr = std::shared_ptr<Graph>;

/// On the default device. Opened once: programs are built once.
inline const std::shared_ptr<Context>& SharedContext() {
  static const std::shared_ptr<Context> context = Context::Create();
  return context;
}

/// All operators on the reference backend: no kernel is compiled. One of its own, for tests that
/// change it.
inline std::shared_ptr<Context> NewHostContext() {
  ContextOptions options;
  options.host_only = true;
  return Context::Create(options);
}
/// The same, opened once.
inline const std::shared_ptr<Context>& HostContext() {
  static const std::shared_ptr<Context> context = NewHostContext();
  return context;
}

/// False where TIMCL_DEVICE=reference asks for no OpenCL: what needs it is skipped then.
inline bool HasOpenCl() { return SharedContext()->DeviceName() != "reference"; }

inline TensorPtr Make(const GraphPtr& graph, TensorAttribute attr, const ShapeType& shape,
                      DataType type = DataType::FLOAT32, const Quantization& q = Quantization(),
                      const void* data = nullptr) {
  return graph->CreateTensor(TensorSpec(type, shape, attr, q), data);
}
inline TensorPtr Input(const GraphPtr& graph, const ShapeType& shape,
                       DataType type = DataType::FLOAT32, const Quantization& q = Quantization()) {
  return Make(graph, TensorAttribute::INPUT, shape, type, q);
}
inline TensorPtr Output(const GraphPtr& graph, const ShapeType& shape,
                        DataType type = DataType::FLOAT32, const Quantization& q = Quantization()) {
  return Make(graph, TensorAttribute::OUTPUT, shape, type, q);
}
inline TensorPtr Between(const GraphPtr& graph, const ShapeType& shape = {},
                         DataType type = DataType::FLOAT32) {
  return Make(graph, TensorAttribute::TRANSIENT, shape, type);
}
inline TensorPtr Constant(const GraphPtr& graph, const ShapeType& shape,
                          const std::vector<float>& values) {
  return Make(graph, TensorAttribute::CONSTANT, shape, DataType::FLOAT32, Quantization(),
              values.data());
}

template <class Op, class... Args>
std::shared_ptr<Op> Bind(const GraphPtr& graph, const std::vector<TensorPtr>& inputs,
                         const std::vector<TensorPtr>& outputs, Args... args) {
  auto op = graph->CreateOperation<Op>(args...);
  (*op).BindInputs(inputs).BindOutputs(outputs);
  return op;
}

/// All elements of a tensor that the host may read.
template <class T = float>
std::vector<T> Read(const TensorPtr& tensor, size_t count) {
  std::vector<T> values(count, T(-99));
  if (!tensor->CopyDataFromTensor(values.data())) values.clear();
  return values;
}
template <class T>
bool Write(const TensorPtr& tensor, const std::vector<T>& values) {
  return tensor->CopyDataToTensor(values.data(), static_cast<uint32_t>(values.size() * sizeof(T)));
}

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_SUPPORT_API_SUPPORT_H_
