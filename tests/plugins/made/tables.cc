// Tables of another minor version, filled in by hand: shorter and longer than the library's.
#include "ops.h"

namespace {

using namespace made;

void Add(OpPlugin& plugin) { plugin.Add(TimesOp("test.tables")); }

// The next minor: more members behind ours, which must not disturb.
struct LongOps {
  timcl_ops_api ops;
  void* more[4];
};
struct LongPlugin {
  timcl_plugin plugin;
  void* more[4];
};

}  // namespace

extern "C" timcl_status timcl_plugin_query(uint32_t, [[maybe_unused]] const timcl_host_api* host,
                                           const timcl_plugin** out) {
  static LongOps ops = {
      {TIMCL_HEADER(timcl_ops_api), TIMCL_CXX_TAG, op_plugin_detail::RegisterOps<Add>, nullptr},
      {}};
  static LongPlugin plugin = {{TIMCL_HEADER(timcl_plugin), "test.tables", "1.0.0", &ops.ops,
                               "Tables Ltd", nullptr, nullptr, nullptr},
                              {}};
#if defined(MADE_shorter)
  // A minor before the vendor: what stands there is not a pointer.
  plugin.plugin.h.size = offsetof(timcl_plugin, vendor);
  plugin.plugin.vendor = reinterpret_cast<const char*>(8);
#elif defined(MADE_longer)
  ops.ops.h.size = sizeof(LongOps), ops.ops.h.minor = 7;
  plugin.plugin.h.size = sizeof(LongPlugin), plugin.plugin.h.minor = 7;
  for (void*& more : plugin.more) more = &more;
#elif defined(MADE_query_throws)
  throw std::runtime_error("thrown through C");
#endif
  *out = &plugin.plugin;
  return TIMCL_OK;
}
