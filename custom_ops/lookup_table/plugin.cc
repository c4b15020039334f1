// LookupTable by name: CreateOperation("custom_ops.lookup_table", {{"file", "sigmoid_uint8.txt"}}).
#include "lookup_table.h"
#include "tim/vx/op_plugin.h"

// The class has a struct Attrs and a constructor (Graph*, const Attrs&): no more is needed.
TIMCL_OP_PLUGIN("custom_ops.lookup_table", "1.0.0") {
  plugin.Add<custom_ops::LookupTable>("custom_ops.lookup_table");
}
