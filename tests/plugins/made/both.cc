// Operators and a vendor's compiler and dispatcher in one plugin.
#include "ops.h"
#include "tim/vx/plugin.h"

extern "C" {
#define timcl_plugin_query VendorQuery
timcl_status VendorQuery(uint32_t host_major, const timcl_host_api* host, const timcl_plugin** out);
#include "vendor.c"  // NOLINT: compiled as C++
#undef timcl_plugin_query
}

namespace {

using namespace made;

void Add(OpPlugin& plugin) {
  plugin.Add(TimesOp("test.both"));
#if defined(MADE_both_duplicate)
  plugin.Add(TimesOp("Relu"));
#endif
}

}  // namespace

extern "C" timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host,
                                           const timcl_plugin** out) {
  static const timcl_ops_api ops = {TIMCL_HEADER(timcl_ops_api), TIMCL_CXX_TAG,
                                    op_plugin_detail::RegisterOps<Add>, nullptr};
  const timcl_plugin* vendor = nullptr;
  const timcl_status status = VendorQuery(host_major, host, &vendor);
  if (status != TIMCL_OK) return status;
  static timcl_plugin plugin = *vendor;
  plugin.h = TIMCL_HEADER(timcl_plugin);
  plugin.name = "test.both";
  plugin.ops = &ops;
  *out = &plugin;
  return TIMCL_OK;
}
