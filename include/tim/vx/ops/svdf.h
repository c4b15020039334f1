// Svdf: a fully connected layer of low rank that remembers.
#ifndef TIM_VX_OPS_SVDF_H_
#define TIM_VX_OPS_SVDF_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Singular value decomposition filter: each of U * rank filters f remembers the last M products of
/// its feature weights with the input and weighs them.
///   a_f = sum_j x[j] * weights_feature[j, f]; the line m_f moves by one, a_f becomes its newest
///   output[u] = bias[u] + sum over r, k of m_f[k] * weights_time[k, f] with f = u * rank + r
///   input            T[I, B]      T: f32 f16
///   state_in         T[M * U * rank, B]: the line of filter f before it moves, oldest first, from
///                    f * M on; or T[(M - 1) * U * rank, B] without the entry that drops out; zeros
///                    where left out
///   weights_feature  T[I, U * rank]
///   weights_time     T[M, U * rank]
///   bias             T[U]; may be left out
///   output 0         T[U, B]
///   output 1         T, state_in's shape: the lines after they moved; in the shorter form the
///                    newest M - 1 entries
/// Attributes: rank; num_units; spectrogram_length is informational: weights_time says M, and a
/// warning if the two differ.
/// Errors: kInvalidArgument if rank or num_units is not positive; kInvalidShape if the extents do
/// not fit.
/// Source: TFLite SVDF; NNAPI SVDF (the shorter state).
class TIMCL_API Svdf : public BuiltinOp {
 public:
  Svdf(Graph* graph, int32_t rank, int32_t num_units, int32_t spectrogram_length);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t rank_;
  int32_t num_units_;
  int32_t spectrogram_length_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SVDF_H_
