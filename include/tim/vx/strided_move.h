// What operators share that move elements by a rule of digits: the index of an element on one side,
// written in digits of mixed radix, gives its place on the other side as a sum of strides.
#ifndef TIM_VX_STRIDED_MOVE_H_
#define TIM_VX_STRIDED_MOVE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// A move of one input to one output. One side is walked element by element, in its own order: the
/// result, or the input where `scatter` is set.
struct StridedMove {
  struct Digit {
    int64_t extent;
    int64_t stride;  // elements on the other side
    /// Cells along the bounded axes of the other side.
    std::array<int64_t, 2> step = {0, 0};
  };
  /// An axis of the other side that digits may leave; extent 0: they never do.
  struct Bound {
    int64_t first = 0;  // the cell where all digits are 0
    int64_t extent = 0;
  };
  std::vector<Digit> digits;  // fastest first
  int64_t start = 0;          // the place where all digits are 0
  std::array<Bound, 2> bounds = {};
  /// Elements that leave the bounds go nowhere; without scatter they are 0.
  bool scatter = false;
  size_t input = 0, output = 0;
};

/// The launch of strided_move.cl that makes it. Scatters must reach each element of the result,
/// together where several make one output.
TIMCL_API KernelSpec StridedMoveLaunch(const KernelRequest& request, const StridedMove& move);

namespace join {

/// The part that one input fills of each line of output 0: `length` elements of lines that begin at
/// `start` and are `stride` apart.
struct Part {
  int64_t length, start, stride;
};
/// kInvalidGraph unless as many inputs are bound as attribute input_cnt says, where it is not 0.
TIMCL_API Status CheckInputCount(const OpView& op, int32_t input_cnt);
TIMCL_API void Reference(const Part& part, const ref::Input& in, ref::Output& out);
/// The launch that moves the `count` elements of input k.
TIMCL_API KernelSpec Launch(const KernelRequest& request, int64_t count, size_t k,
                            const Part& part);

}  // namespace join

/// Reference and kernel of an op that joins its inputs, of which k fills kPartOf(op, k).
template <join::Part (*kPartOf)(const OpView&, size_t k)>
struct JoinOp {
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    for (size_t k = 0; k < ins.size(); ++k) join::Reference(kPartOf(op, k), ins[k], outs[0]);
    return Status();
  }
  static Result<Launches> General(const OpView& op, const KernelRequest& request) {
    Launches launches;
    for (size_t k = 0; k < op.num_inputs(); ++k)
      launches.push_back(join::Launch(request, op.in(k).shape().count(), k, kPartOf(op, k)));
    return launches;
  }
  static constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};
};

}  // namespace tim::vx
#endif  // TIM_VX_STRIDED_MOVE_H_
