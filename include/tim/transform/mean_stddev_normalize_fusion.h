// Normalisation that is written out as eleven operators becomes one.
#ifndef TIM_TRANSFORM_MEAN_STDDEV_NORMALIZE_FUSION_H_
#define TIM_TRANSFORM_MEAN_STDDEV_NORMALIZE_FUSION_H_

#include <memory>

#include "tim/vx/graph.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace transform {

/// Edits the graph in place: each group of operators that computes
///   mean = Mean(x),  factor = gamma / sqrt(Mean((x - mean)^2) + eps),
///   y = x * factor + (beta - mean * factor)
/// becomes a LayerNormalization where the mean is taken along one dimension, and an
/// InstanceNormalization where it is taken along all but the channels and the outermost one. Of the
/// latter, those whose channels are the fastest dimension are CWHN and ask for LayoutInference.
/// Groups that mean something else, or parts of which are used elsewhere, stay as they are.
TIMCL_API void MeanStdDevNormalization(std::shared_ptr<vx::Graph>& src_graph);

}  // namespace transform
}  // namespace tim

#endif  // TIM_TRANSFORM_MEAN_STDDEV_NORMALIZE_FUSION_H_
