// RmsNorm: what the library asks of a custom operator. ../README.md goes through it.
#include "rms_norm.h"

#include <cmath>
#include <tuple>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources kRmsNormFiles;  // rms_norm.cl, by CMakeLists.txt
namespace {

tim::vx::Status Reference(float epsilon, const tim::vx::ref::Input& x, tim::vx::ref::Output& y) {
  const int64_t width = x.type().shape[0];
  for (int64_t first = 0; first < x.count(); first += width) {
    double sum = 0;
    for (int64_t i = first; i < first + width; ++i) sum += x.At(i) * x.At(i);
    const double root = std::sqrt(sum / static_cast<double>(width) + epsilon);
    for (int64_t i = first; i < first + width; ++i) y.Set(i, x.At(i) / root);
  }
  return tim::vx::Status();
}

}  // namespace

RmsNorm::RmsNorm(tim::vx::Graph* graph, const Attrs& attrs)
    : CustomOpBase(graph, 1, 1, -1, "custom_ops.rms_norm"), attrs_(attrs) {
  kernel_resource_ = kRmsNormFiles.Find("rms_norm.cl")->text;
  SetTypes("f32 -> f32");
  SetReference([attrs](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    return Reference(attrs.epsilon, inputs[0], outputs[0]);
  });
}

std::shared_ptr<tim::vx::Operation> RmsNorm::Clone(std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<RmsNorm>(attrs_);
}

void RmsNorm::SetupShapeInfor() { outputs_size_[0] = inputs_size_[0]; }

void RmsNorm::SetupParams(std::vector<tim::vx::DataType>, std::string&) { func_name_ = "rms_norm"; }

void RmsNorm::SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                           std::vector<size_t>& local_size) {
  const uint32_t width = inputs_size_[0][0];
  uint32_t rows = 1;
  for (size_t i = 1; i < inputs_size_[0].size(); ++i) rows *= inputs_size_[0][i];
  tim::vx::ops::param_transform(std::make_tuple(width, rows, attrs_.epsilon), param_list_);
  SetWorkItems(rows, dim, global_size, local_size);
}

}  // namespace custom_ops
