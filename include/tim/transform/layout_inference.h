// Layout inference: a graph whose operators name the layouts of their data becomes one in which
// every operator runs in the order that it is defined in.
#ifndef TIM_TRANSFORM_LAYOUT_INFERENCE_H_
#define TIM_TRANSFORM_LAYOUT_INFERENCE_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/tensor.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace transform {

/// A permutation of dimensions; defined in "permute_vector.h".
class IPermuteVector;

/// Builds a graph of `ctx` that computes what src_graph means when the layout arguments of its
/// operators are obeyed: CWHN data, IcWHOc kernels and so on. (Without it these arguments have no
/// effect.) Transposes are inserted where orders differ, and merged and cancelled; constants are
/// permuted on the host. src_graph is not changed, and neither graph is compiled.
///
/// Returns the new graph, and its tensor for each input and output of src_graph. These keep shape,
/// order, type and attribute. Constants and the contents of VARIABLE tensors are copied, those of
/// inputs are not.
///
/// tensor_pv_map: inputs, constants and outputs of src_graph whose memory is permuted. Operators
/// see the tensor N with N.dim[pv[i]] == declared dim[i], and all their arguments speak of N.
///
/// What cannot be understood (an operator that does not verify, a permutation of another rank)
/// fails the Compile() of the new graph, which then does nothing else. Without a graph or a
/// context, or where memory or a user's Clone() fails, the result is a null pointer and an empty
/// map.
TIMCL_API std::pair<std::shared_ptr<vx::Graph>,
                    std::map<std::shared_ptr<vx::Tensor>, std::shared_ptr<vx::Tensor>>>
LayoutInference(
    const std::shared_ptr<vx::Graph>& src_graph, std::shared_ptr<vx::Context>& ctx,
    std::map<std::shared_ptr<vx::Tensor>, std::shared_ptr<IPermuteVector>> tensor_pv_map =
        std::map<std::shared_ptr<vx::Tensor>, std::shared_ptr<IPermuteVector>>());

}  // namespace transform
}  // namespace tim

#endif  // TIM_TRANSFORM_LAYOUT_INFERENCE_H_
