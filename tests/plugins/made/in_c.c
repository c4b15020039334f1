/* Plugins in C, each with one thing wrong: which one is a macro MADE_... */
#include "tim/vx/plugin.h"

#if defined(MADE_no_symbol)

extern int timcl_test_no_symbol;
int timcl_test_no_symbol = 0;

#else

#if defined(MADE_needs_gone)
int timcl_test_gone(void);
int timcl_test_use(void);
int timcl_test_use(void) { return timcl_test_gone(); }
#endif

#if defined(MADE_tag_null)
#define TAG NULL
#elif defined(MADE_register_null) || defined(MADE_registers_none) || defined(MADE_no_error_words) || \
    defined(MADE_speaks)
#include "tag.h" /* TAG, as g++ 12 has it; the test compares it with the library's own */
#else
#define TAG "timcl 0.9 / C++ ABI 1002 / libstdc++ dual ABI 0"
#endif

static timcl_status Register(const timcl_host_api* host, void* registry) {
  (void)registry;
#if defined(MADE_no_error_words)
  (void)host;
  return TIMCL_OUT_OF_MEMORY;
#elif defined(MADE_speaks)
  host->log(TIMCL_LOG_ERROR, "spoken by a plugin");
  host->set_error(NULL);
  host->set_error("the licence has run out");
  if (host->add_op(registry, NULL) == TIMCL_OK) return TIMCL_OK;
  return TIMCL_UNSUPPORTED;
#else
  (void)host;
  return TIMCL_OK;
#endif
}

timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host,
                                const timcl_plugin** out) {
  static timcl_ops_api ops = {TIMCL_HEADER(timcl_ops_api), TAG, Register, NULL};
  static timcl_plugin plugin = {TIMCL_HEADER(timcl_plugin), "test.broken", "0.1.0", &ops, "Broken",
                                NULL, NULL, NULL};
  if (host_major != TIMCL_ABI_MAJOR || !TIMCL_HAS(timcl_host_api, host, set_error)) {
    return TIMCL_VERSION_MISMATCH;
  }
#if defined(MADE_null_table)
  (void)plugin;
  *out = NULL;
  return TIMCL_OK;
#endif
#if defined(MADE_refuses)
  host->set_error("no such accelerator here");
  return TIMCL_DEVICE;
#elif defined(MADE_refuses_wordless)
  return TIMCL_DEVICE;
#elif defined(MADE_odd_status)
  return -77;
#elif defined(MADE_other_major)
  plugin.h.major = 2;
  plugin.h.minor = 3;
#elif defined(MADE_ops_of_other_major)
  ops.h.major = 2;
#elif defined(MADE_name_beyond_table)
  plugin.h.size = (uint32_t)offsetof(timcl_plugin, name);
#elif defined(MADE_no_name)
  plugin.name = "";
#elif defined(MADE_ops_beyond_table)
  plugin.h.size = (uint32_t)offsetof(timcl_plugin, ops);
#elif defined(MADE_no_ops)
  plugin.ops = NULL;
#elif defined(MADE_tag_beyond_table)
  ops.h.size = (uint32_t)offsetof(timcl_ops_api, cxx_tag);
#elif defined(MADE_register_null)
  ops.register_ops = NULL;
#endif
  *out = &plugin;
  return TIMCL_OK;
}

#endif
