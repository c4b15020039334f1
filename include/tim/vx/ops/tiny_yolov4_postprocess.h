// TinyYolov4Postprocess: scores and boxes from the feature maps of tiny YOLOv4.
#ifndef TIM_VX_OPS_TINY_YOLOV4_POSTPROCESS_H_
#define TIM_VX_OPS_TINY_YOLOV4_POSTPROCESS_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Turns the two feature maps of tiny YOLOv4 into a score per class and a box for each cell and
/// anchor.
///   input0   u8[W0, H0, 255, N]   the coarse map: for each of 3 anchors x, y, w, h, objectness, 80
///            classes
///   input1   u8[W1, H1, 255, N]   the fine map
///   grid0    u8[W0, H0, 2] or u8[2, W0, H0]    x and y of each cell of input0; also [2, W0 * H0]
///   grid1    the same for input1
///   output0  u8[80, boxes, 1]     scores: sigmoid(objectness) * sigmoid(class)
///   output1  u8[4, boxes, 1]      boxes: center x, center y, width, height
/// boxes = 3 * N * (W1 * H1 + W0 * H0): the fine map first, then by anchor, image, y, x.
/// x and y = (sigmoid(t) * 1.05 - 0.025 + grid) * stride, stride = 32 for a map of 13 x 13, else
/// 16; width and height = exp(t) * anchor. Anchors: (23,27) (37,58) (81,82) for the fine map,
/// (81,82) (135,169) (344,319) for the coarse one. A stored byte has 256 values, so functions of t
/// are tables, computed in double: a device's exp rounds nothing another way than the reference.
/// Sigmoids of scores are rounded to multiples of 1 / 256 as the original's are, from 0 to 255 /
/// 256, and their product is exact; those of boxes are rounded to float32 after the 0.025, as the
/// original keeps them in float. The grid is whole planes where its first two dimensions are those
/// of the map, else pairs. Errors: kInvalidShape if a map has no 255 channels, the maps differ in
/// N, or a grid does not fit its map. Source: TIM-VX TinyYolov4Postprocess; YOLOv4
/// (arXiv:2004.10934).
class TIMCL_API TinyYolov4Postprocess : public BuiltinOp {
 public:
  TinyYolov4Postprocess(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_TINY_YOLOV4_POSTPROCESS_H_
