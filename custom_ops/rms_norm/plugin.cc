// RmsNorm by name: CreateOperation("custom_ops.rms_norm", {{"epsilon", 1e-5}}).
#include "rms_norm.h"
#include "tim/vx/op_plugin.h"

TIMCL_OP_PLUGIN("custom_ops.rms_norm", "1.0.0") {
  plugin.Add<custom_ops::RmsNorm>("custom_ops.rms_norm");
}
