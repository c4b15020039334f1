// A program written for the original API, C++11: relu(a + b).
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

#include "permute_vector.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"
#include "vsi_nn_pub.h"

// Such programs use an operator only where its macro is defined.
#if !defined(VSI_FEAT_OP_CUMSUM) || !defined(VSI_FEAT_OP_MAX_POOL3D) ||                       \
    !defined(VSI_FEAT_OP_MAXPOOLWITHARGMAX) || !defined(VSI_FEAT_OP_MOD) ||                   \
    !defined(VSI_FEAT_OP_SCATTER_ND_UPDATE) || !defined(VSI_FEAT_OP_COS) ||                   \
    !defined(VSI_FEAT_OP_TAN) || !defined(VSI_FEAT_OP_ATAN) || !defined(VSI_FEAT_OP_ATANH) || \
    !defined(VSI_FEAT_OP_ACOSH) || !defined(VSI_EXPAND_BROADCAST_ENABLE_DIMENSIONS)
#error "a feature macro is missing"
#endif
#if __has_include("tim/vx/ops/tiny_yolov4_postprocess.h") && \
                  !defined(VSI_FEAT_OP_CUSTOM_TINY_YOLOV4_POSTPROCESS)
#error "TinyYolov4Postprocess is there, its feature macro is not"
#endif

int main() {
  const std::shared_ptr<tim::vx::Context> context = tim::vx::Context::Create();
  const std::shared_ptr<tim::vx::Graph> graph = context->CreateGraph();
  const tim::vx::ShapeType shape = {4};
  const tim::vx::TensorSpec in(tim::vx::DataType::FLOAT32, shape, tim::vx::TensorAttribute::INPUT);
  const tim::vx::TensorSpec out(tim::vx::DataType::FLOAT32, shape,
                                tim::vx::TensorAttribute::OUTPUT);
  const std::shared_ptr<tim::vx::Tensor> a = graph->CreateTensor(in), b = graph->CreateTensor(in);
  const std::shared_ptr<tim::vx::Tensor> sum = graph->CreateTensor(in.AsTransientSpec());
  const std::shared_ptr<tim::vx::Tensor> y = graph->CreateTensor(out);
  graph->CreateOperation<tim::vx::ops::Add>()->BindInputs({a, b}).BindOutputs({sum});
  graph->CreateOperation<tim::vx::ops::Relu>()->BindInput(sum).BindOutput(y);

  const std::vector<float> left = {-3, 1, 2, 0.5f}, right = {1, 1, -4, 0.25f};
  std::vector<float> result(4);
  const bool ran = a->CopyDataToTensor(left.data(), 16) && b->CopyDataToTensor(right.data(), 16) &&
                   graph->Compile() && graph->Run() && y->CopyDataFromTensor(result.data());
  if (!ran || result != std::vector<float>{0, 2, 0, 0.75f}) {
    std::cerr << "wrong:";
    for (const float value : result) std::cerr << " " << value;
    std::cerr << "\n";
    return 1;
  }
  const tim::transform::IPermuteVectorPtr identity = tim::transform::MakeShared(3);
  return identity->IsAligned() ? 0 : 1;
}
