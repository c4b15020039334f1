// DetectionPostprocess: from what an SSD network says of its anchors to a list of detections.
#ifndef CUSTOM_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_
#define CUSTOM_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/ops/custom_base.h"

namespace custom_ops {

/// Decodes boxes, and takes the best ones, without those that overlap a better one.
///   encodings  T[4, anchors, batch]        T: FLOAT32, FLOAT16, UINT8, INT8, for each input its
///              own; y x h w of each box, relative to its anchor
///   scores     T[classes, anchors, batch]  num_classes columns, or one more: then the first is the
///              background, which is never detected
///   anchors    T[4, anchors]               y x h w, with y and x of the centre
///   boxes      FLOAT32[4, max_detections, batch]  ymin xmin ymax xmax
///   classes    FLOAT32[max_detections, batch]     from 0, without the background
///   scores     FLOAT32[max_detections, batch]     highest first
///   count      FLOAT32[batch]                     detections; what lies behind them is 0
/// A box has the class of its highest score; classes do not matter for overlaps. Of equal scores
/// the lower class and the lower anchor win. A score that is NaN counts as absent, and an overlap
/// that is NaN or of a box without area as none, so that results are defined for any input.
/// Source: TensorFlow Lite, TFLite_Detection_PostProcess (kernels/detection_postprocess.cc), with
/// its fast suppression (use_regular_nms false) and max_classes_per_detection 1.
class DetectionPostprocess : public tim::vx::ops::CustomOpBase {
 public:
  /// What it takes by name as well; the names are those of the source.
  struct Attrs {
    int32_t max_detections = 10;
    int32_t num_classes = 0;           // without background; must be set
    float nms_score_threshold = 0;     // lower scores are no detections
    float nms_iou_threshold = 0.5f;    // (0, 1]: larger overlaps (area in common / area of both)
    float y_scale = 10, x_scale = 10;  // what encodings of the centre are divided by,
    float h_scale = 5, w_scale = 5;    // and those of the size
    TIMCL_FIELDS(max_detections, num_classes, nms_score_threshold, nms_iou_threshold, y_scale,
                 x_scale, h_scale, w_scale)
  };
  DetectionPostprocess(tim::vx::Graph* graph, const Attrs& attrs);
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

#endif  // CUSTOM_OPS_DETECTION_POSTPROCESS_DETECTION_POSTPROCESS_H_
