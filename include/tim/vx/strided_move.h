// What operators share that move elements by a rule of digits: the index of an element on one side,
// written in digits of mixed radix, gives its place on the other side as a sum of strides.
#ifndef TIM_VX_STRIDED_MOVE_H_
#define TIM_VX_STRIDED_MOVE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// A move of input 0 to output 0. One side is walked element by element, in its own order: the
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
};

/// The launch of strided_move.cl that makes it. Scatters must reach each element of the result.
TIMCL_API Launches StridedMoveLaunches(const KernelRequest& request, const StridedMove& move);

}  // namespace tim::vx
#endif  // TIM_VX_STRIDED_MOVE_H_
