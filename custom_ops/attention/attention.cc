// Attention: checks, definition and launch.
#include "attention.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources kAttentionFiles;  // attention.cl, by CMakeLists.txt
namespace {

using tim::vx::Code;
using tim::vx::ShapeType;
using tim::vx::Status;

/// Each work-item holds the sum of its values in private memory.
constexpr uint32_t kMaxValueSize = 1024;

std::string ToText(const ShapeType& shape) { return tim::vx::Shape(shape).ToString(); }

float ScaleOf(const Attention::Attrs& a, int64_t head_size) {
  return a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<float>(head_size));
}

/// The definition, score by score, in two passes. Tests compare the kernel with it, and it runs
/// where there is no OpenCL.
Status Reference(const Attention::Attrs& a, const tim::vx::ref::Inputs& inputs,
                 tim::vx::ref::Outputs& outputs) {
  const tim::vx::Shape &q = inputs[0].type().shape, &v = inputs[2].type().shape;
  const int64_t head_size = q[0], queries = q[1], heads = q[2], value_size = v[0], keys = v[1];
  const int64_t group = heads / v[2];
  const double scale = ScaleOf(a, head_size);
  for (int64_t row = 0; row < queries * heads * q[3]; ++row) {
    const int64_t query = row % queries, head = row / queries % heads;
    const int64_t lines = (row / queries / heads * v[2] + head / group) * keys;
    const int64_t last = query + keys - queries;
    const int64_t first = a.window > 0 ? std::max<int64_t>(last - a.window + 1, 0) : 0;
    const double sink = a.sink ? inputs[3].At(head) : -INFINITY;
    std::vector<double> scores;
    double largest = std::fmax(sink, -FLT_MAX);
    for (int64_t key = first; key <= last; ++key) {
      double score = 0;
      for (int64_t d = 0; d < head_size; ++d)
        score += inputs[0].At(row * head_size + d) * inputs[1].At((lines + key) * head_size + d);
      scores.push_back(scale * score);
      largest = std::fmax(largest, scores.back());
    }
    double sum = std::exp(sink - largest);
    for (const double score : scores) sum += std::exp(score - largest);
    for (int64_t d = 0; d < value_size; ++d) {
      double mixed = 0;
      for (int64_t key = first; key <= last; ++key) {
        mixed += std::exp(scores[static_cast<size_t>(key - first)] - largest) / sum *
                 inputs[2].At((lines + key) * value_size + d);
      }
      outputs[0].Set(row * value_size + d, mixed);
    }
  }
  return Status();
}

}  // namespace

Attention::Attention(tim::vx::Graph* graph, const Attrs& attrs)
    : CustomOpBase(graph, attrs.sink ? 4 : 3, 1, -1, "custom_ops.attention"), attrs_(attrs) {
  kernel_resource_ = kAttentionFiles.Find("attention.cl")->text;
  SetTypes("f32* -> f32; f16* -> f16");
  UseTensorMacros(attrs.sink ? "Q K V SINK" : "Q K V", "Y");
  SetReference([a = attrs_](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    return Reference(a, inputs, outputs);
  });
  if (!std::isfinite(attrs.scale))
    Fail(Code::kInvalidArgument, "scale is " + std::to_string(attrs.scale) + ", not finite");
  if (attrs.window < 0)
    Fail(Code::kInvalidArgument, "window is " + std::to_string(attrs.window) + ", below 0");
}

std::shared_ptr<tim::vx::Operation> Attention::Clone(std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<Attention>(attrs_);
}

void Attention::SetupShapeInfor() {
  static const char* const kNames[] = {"query", "key", "value"};
  const auto bad = [&](const std::string& message) { Fail(Code::kInvalidShape, message); };
  for (size_t i = 0; i < 3; ++i) {
    if (inputs_size_[i].size() != 4) {
      return bad(std::string(kNames[i]) + " is " + ToText(inputs_size_[i]) +
                 ", expected [size, length, heads, batch]");
    }
  }
  const ShapeType &q = inputs_size_[0], &k = inputs_size_[1], &v = inputs_size_[2];
  const std::string q_and_k = "query " + ToText(q) + " and key " + ToText(k);
  if (k[0] != q[0] || k[3] != q[3]) return bad(q_and_k + " differ in head_size or batch");
  if (v[1] != k[1] || v[2] != k[2] || v[3] != k[3])
    return bad("key " + ToText(k) + " and value " + ToText(v) + " differ behind their size");
  if (k[1] < q[1]) return bad(q_and_k + ": there are fewer keys than queries");
  if (q[2] % k[2] != 0) return bad(q_and_k + ": heads is no multiple of kv_heads");
  if (attrs_.sink && inputs_size_[3] != ShapeType{q[2]})
    return bad("sink is " + ToText(inputs_size_[3]) + ", expected one number per head " +
               ToText({q[2]}));
  outputs_size_[0] = {v[0], q[1], q[2], q[3]};
}

void Attention::SetupParams(std::vector<tim::vx::DataType>, std::string& build_option) {
  const uint32_t value_size = outputs_size_[0][0];
  if (value_size > kMaxValueSize) {
    return Fail(Code::kUnsupported, "the kernel takes values of up to " +
                                        std::to_string(kMaxValueSize) + " elements, not " +
                                        std::to_string(value_size));
  }
  func_name_ = "attention";
  build_option = "-DVALUE_SIZE=" + std::to_string(value_size) +
                 (attrs_.sink ? " -DWITH_SINK=1" : " -DWITH_SINK=0");
}

void Attention::SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                             std::vector<size_t>& local_size) {
  const auto extent = [&](size_t input, size_t i) {
    return static_cast<int>(inputs_size_[input][i]);
  };
  const int queries = extent(0, 1), heads = extent(0, 2), rows = queries * heads * extent(0, 3);
  tim::vx::ops::param_transform(
      std::make_tuple(rows, queries, extent(1, 1), heads, extent(1, 2), extent(0, 0), attrs_.window,
                      ScaleOf(attrs_, inputs_size_[0][0])),
      param_list_);
  SetWorkItems(static_cast<size_t>(rows), dim, global_size, local_size);
}

}  // namespace custom_ops
