// Attention: fused scaled dot-product attention with a sliding window and an attention sink.
#ifndef CUSTOM_OPS_ATTENTION_ATTENTION_H_
#define CUSTOM_OPS_ATTENTION_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/ops/custom_base.h"

namespace custom_ops {

/// For each query, a mean of the values, weighted by how well the keys fit:
///   score_j = scale * (query . key_j)    weight_j = exp(score_j) / (exp(sink) + sum exp(score_k))
///   query   T[head_size, queries, heads, batch]      T: FLOAT32 or FLOAT16
///   key     T[head_size, keys, kv_heads, batch]      heads is a multiple of kv_heads: neighbouring
///   value   T[value_size, keys, kv_heads, batch]     heads share one of key and value
///   sink    T[heads]; only with Attrs::sink. A score that takes its share and brings no value
///   output  T[value_size, queries, heads, batch]
/// Causal, with the last query at the last key, as with a cache of keys: query i sees the keys up
/// to i + keys - queries, and of those the last `window`. There are no fewer keys than queries.
/// A NaN among what a query sees makes its results NaN.
/// Source: A. Vaswani et al., "Attention is all you need", 2017; sliding window: I. Beltagy et al.,
/// "Longformer", 2020; the sink in the denominator: G. Xiao et al., "Efficient streaming language
/// models with attention sinks", 2023, with a learned score per head.
class Attention : public tim::vx::ops::CustomOpBase {
 public:
  /// What it takes by name as well.
  struct Attrs {
    float scale = 0;     // 0: 1 / sqrt(head_size)
    int32_t window = 0;  // 0: all keys before the query
    bool sink = false;   // whether there is a fourth input
    TIMCL_FIELDS(scale, window, sink)
  };
  Attention(tim::vx::Graph* graph, const Attrs& attrs);
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override;

 protected:
  void SetupShapeInfor() override;
  void SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) override;
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override;

 private:
  Attrs attrs_;
};

}  // namespace custom_ops

#endif  // CUSTOM_OPS_ATTENTION_ATTENTION_H_
