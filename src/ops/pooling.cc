// Shapes and reference of the pooling operators.
#include "tim/vx/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tim::vx::pooling {

using std::to_string;

Status CheckWindow(const OpView& op, size_t d, int64_t size, int64_t stride,
                   const std::string& which) {
  if (size == 0) return op.Error(Code::kInvalidArgument, "attribute ksize" + which + " is 0");
  if (stride != 0 || size == op.in(0).shape()[d]) return Status();
  return op.Error(Code::kInvalidArgument,
                  "attribute stride" + which + " is 0, which needs a window as large as the input");
}

Result<Shapes> PooledShape(const OpView& op, const Pool& pool) {
  Shape y = op.in(0).shape();
  for (size_t d = 0; d + 2 < y.rank(); ++d) {
    const Window& w = pool.axes[d];
    y[d] = w.out(pool.round);
    if (y[d] > 0) continue;
    return op.InputError(0, Code::kInvalidShape,
                         "a window of " + to_string(w.size) +
                             " does not fit into the padded dimension " + to_string(d));
  }
  return Shapes{y};
}

Status PoolReference(const Pool& pool, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& [wx, wy, wz] = pool.axes;
  const int64_t ow = wx.out(pool.round), oh = wy.out(pool.round), od = wz.out(pool.round);
  const int64_t window = wx.size * wy.size * wz.size;
  const bool most = pool.type == PoolType::MAX;
  for (int64_t at = 0; at < outs[0].count(); ++at) {
    const int64_t left = at % ow * wx.stride - wx.front;
    const int64_t top = at / ow % oh * wy.stride - wy.front;
    const int64_t near = at / (ow * oh) % od * wz.stride - wz.front;
    const int64_t plane = at / (ow * oh * od);
    float r = most ? -std::numeric_limits<float>::infinity() : 0.0f;
    int64_t cells = 0;
    for (int64_t k = 0; k < window; ++k) {
      const int64_t ix = left + k % wx.size, iy = top + k / wx.size % wy.size;
      const int64_t iz = near + k / (wx.size * wy.size);
      if (ix < 0 || ix >= wx.in || iy < 0 || iy >= wy.in || iz < 0 || iz >= wz.in) continue;
      const float v = ins[0].Float(((plane * wz.in + iz) * wy.in + iy) * wx.in + ix);
      ++cells;
      if (most) {
        r = std::isnan(r) || v <= r ? r : v;  // a NaN wins and stays
      } else {
        r += pool.type == PoolType::L2 ? v * v : v;
      }
    }
    if (pool.type == PoolType::AVG) r = r / static_cast<float>(window);
    if (pool.type == PoolType::L2) r = std::sqrt(r / static_cast<float>(window));
    if (pool.type == PoolType::AVG_ANDROID) r = r / static_cast<float>(std::max<int64_t>(cells, 1));
    outs[0].Set(at, r);
  }
  return Status();
}

}  // namespace tim::vx::pooling
