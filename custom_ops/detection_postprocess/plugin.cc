// DetectionPostprocess by name:
//   CreateOperation("custom_ops.detection_postprocess", {{"num_classes", 90}, ...})
#include "detection_postprocess.h"
#include "tim/vx/op_plugin.h"

// The class has a struct Attrs and a constructor (Graph*, const Attrs&): no more is needed.
TIMCL_OP_PLUGIN("custom_ops.detection_postprocess", "1.0.0") {
  plugin.Add<custom_ops::DetectionPostprocess>("custom_ops.detection_postprocess");
}
