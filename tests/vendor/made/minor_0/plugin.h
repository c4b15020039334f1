/* The binary contract between the library and plugins: shared libraries that Context::LoadPlugin
   and Context::LoadPlugins open at run time. C99, and C++11 and later. A plugin exports one symbol,
   timcl_plugin_query. Operators written in C++ use tim/vx/op_plugin.h, which fills all of this in.
 */
#ifndef TIM_VX_PLUGIN_H_
#define TIM_VX_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a table changes its meaning: libraries and plugins of different majors do not load. */
#define TIMCL_ABI_MAJOR 1
/* Grows when a table gains members, which stand behind the others. */
#define TIMCL_ABI_MINOR 0

/* The first member of every table. `size` is the table's size in bytes as its writer knows it. A
   reader looks at no member beyond it: older and newer minors of one major work together. */
typedef struct timcl_header {
  uint32_t size;
  uint16_t major;
  uint16_t minor;
} timcl_header;

/* The header of a table of this type. */
#define TIMCL_HEADER(table_type) \
  { sizeof(table_type), TIMCL_ABI_MAJOR, TIMCL_ABI_MINOR }

/* Whether a table reaches as far as a member. */
#define TIMCL_HAS(table_type, table, member) \
  ((table)->h.size >= offsetof(table_type, member) + sizeof((table)->member))

/* The same numbers as tim::vx::Code. */
typedef int32_t timcl_status;
enum {
  TIMCL_OK = 0,
  TIMCL_INVALID_ARGUMENT = 1,
  TIMCL_INVALID_SHAPE = 2,
  TIMCL_INVALID_TYPE = 3,
  TIMCL_INVALID_GRAPH = 4,
  TIMCL_UNSUPPORTED = 5,
  TIMCL_OUT_OF_MEMORY = 6,
  TIMCL_KERNEL_BUILD = 7,
  TIMCL_DEVICE = 8,
  TIMCL_BAD_BINARY = 9,
  TIMCL_VERSION_MISMATCH = 10,
  TIMCL_PLUGIN = 11,
  TIMCL_NOT_FOUND = 12,
  TIMCL_ALREADY_EXISTS = 13,
  TIMCL_IO = 14,
  TIMCL_CANCELLED = 15,
  TIMCL_INTERNAL = 16
};

enum { TIMCL_LOG_ERROR = 1, TIMCL_LOG_WARN = 2, TIMCL_LOG_INFO = 3, TIMCL_LOG_DEBUG = 4 };

/* Given by the library, so that a plugin can be one that links against nothing. Lives as long as
   the process. Threads: any. */
typedef struct timcl_host_api {
  timcl_header h;
  const char* library_version; /* "1.0.0" */
  /* One line for the log, under topic "plugin". */
  void (*log)(int32_t level, const char* text);
  /* The words behind the failure that the plugin is about to return, on this thread; copied. */
  void (*set_error)(const char* text);
  /* For timcl_ops_api.register_ops alone. op_def: a tim::vx::OpDef, which is copied; what it points
     to lives in the plugin, until the library is closed. */
  timcl_status (*add_op)(void* registry, const void* op_def);
} timcl_host_api;

/* Operators written in C++. */
typedef struct timcl_ops_api {
  timcl_header h;
  /* What the layout of C++ objects depends on. The library takes only its own: TIMCL_CXX_TAG of
     tim/vx/op_plugin.h. */
  const char* cxx_tag;
  /* Calls host->add_op(registry, ...) for each operator. All are registered, or none. */
  timcl_status (*register_ops)(const timcl_host_api* host, void* registry);
  /* The plugin's kernel files, a tim::vx::KernelSources; may be null. */
  const void* kernels;
} timcl_ops_api;

/* What a plugin is. Constant, and lives until the library is closed. */
typedef struct timcl_plugin {
  timcl_header h;
  const char* name; /* unique in a context, such as "acme.attention" */
  const char* version;
  const timcl_ops_api* ops; /* null: none */
  const char* vendor;       /* may be null */
} timcl_plugin;

#if defined(__GNUC__) || defined(__clang__)
#define TIMCL_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define TIMCL_PLUGIN_EXPORT
#endif

/* The one symbol. Called each time the plugin is loaded into a context, perhaps by several threads.
   host_major is TIMCL_ABI_MAJOR of the library; where it differs from the plugin's own, `host` is
   not to be read, and TIMCL_VERSION_MISMATCH is the answer. */
TIMCL_PLUGIN_EXPORT timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host,
                                                    const timcl_plugin** out);

#ifdef __cplusplus
}
#endif

#endif /* TIM_VX_PLUGIN_H_ */
