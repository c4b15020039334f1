// A plugin of operators as it was compiled when the tables were of minor 0: timcl_plugin ended
// behind `vendor`, and nobody knew of compilers. Its plugin.h is the file of that time.
#include "minor_0/plugin.h"
// Finds plugin.h included, so its tables are the old ones.
#include "plugins/made/ops.h"

static_assert(TIMCL_ABI_MINOR == 0);
static_assert(sizeof(timcl_plugin) == offsetof(timcl_plugin, vendor) + sizeof(void*));

namespace {

void Add(tim::vx::OpPlugin& plugin) { plugin.Add(made::TimesOp("test.minor_0")); }

}  // namespace

extern "C" timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api*,
                                           const timcl_plugin** out) {
  static const timcl_ops_api ops = {TIMCL_HEADER(timcl_ops_api), TIMCL_CXX_TAG,
                                    tim::vx::op_plugin_detail::RegisterOps<Add>, nullptr};
  // The words behind the table are no pointers.
  static const struct {
    timcl_plugin plugin;
    uintptr_t behind[3];
  } table = {{TIMCL_HEADER(timcl_plugin), "test.minor_0", "1.0.0", &ops, "Minor Ltd"}, {8, 8, 8}};
  if (host_major != TIMCL_ABI_MAJOR) return TIMCL_VERSION_MISMATCH;
  *out = &table.plugin;
  return TIMCL_OK;
}
