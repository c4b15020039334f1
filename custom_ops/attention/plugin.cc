// Attention by name: CreateOperation("custom_ops.attention", {{"window", 128}, {"sink", true}}).
#include "attention.h"
#include "tim/vx/op_plugin.h"

// The class has a struct Attrs and a constructor (Graph*, const Attrs&): no more is needed.
TIMCL_OP_PLUGIN("custom_ops.attention", "1.0.0") {
  plugin.Add<custom_ops::Attention>("custom_ops.attention");
}
