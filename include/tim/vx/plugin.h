/* The binary contract between the library and plugins: shared libraries that Context::LoadPlugin
   and Context::LoadPlugins open at run time. C99, and C++11 and later. A plugin exports one symbol,
   timcl_plugin_query, and brings one or more of three things:
     operators    written in C++; tim/vx/op_plugin.h fills all of this in
     a compiler   takes parts of graphs and turns them into modules of code (bytes) and calls into
                  them; a workstation needs no more
     a dispatcher runs such calls; a device needs no more
   Compilers and dispatchers written in C++ use tim/vx/backend_plugin.h. A compiler and a dispatcher
   of one vendor, of one library or of two, make a backend, whose name is the vendor's.

   Unless it says otherwise: text is UTF-8, ends in 0 and belongs to who gave it; what the library
   gives to a call is valid during that call; what a plugin gives is valid until the next call with
   the same object; shapes stand innermost (fastest) dimension first; the library makes the calls
   that involve one object of the plugin one at a time. No exception may leave a function.
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
#define TIMCL_ABI_MINOR 1

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

/* Views of a graph that is compiled. */
typedef struct timcl_graph timcl_graph;
typedef struct timcl_op timcl_op;
typedef struct timcl_tensor timcl_tensor;
/* What CompileOption says to this vendor: choices by key, and named bytes. */
typedef struct timcl_options timcl_options;
typedef struct timcl_assets timcl_assets;
/* Where a compiler puts its answer. */
typedef struct timcl_selection timcl_selection;

/* Bytes. `fd` is a file that has them too, from `fd_offset` on; -1: there is none. */
typedef struct timcl_blob {
  const void* data;
  size_t size;
  int32_t fd;
  uint64_t fd_offset;
} timcl_blob;

/* Types of elements: the numbers of tim::vx::DataType. INT4 and UINT4 have a byte for each element
   here, INT4's sign extended. */
enum {
  TIMCL_TYPE_UNKNOWN = 0,
  TIMCL_TYPE_INT8 = 1,
  TIMCL_TYPE_UINT8 = 2,
  TIMCL_TYPE_INT16 = 3,
  TIMCL_TYPE_UINT16 = 4,
  TIMCL_TYPE_INT32 = 5,
  TIMCL_TYPE_UINT32 = 6,
  TIMCL_TYPE_INT64 = 7,
  TIMCL_TYPE_FLOAT16 = 8,
  TIMCL_TYPE_FLOAT32 = 9,
  TIMCL_TYPE_BOOL8 = 10,
  TIMCL_TYPE_INT4 = 11,
  TIMCL_TYPE_UINT4 = 12
};

/* Kinds of quantization: the numbers of tim::vx::QuantType. The real number is
   (stored - zero_point) * scale; dynamic fixed point is given as scale 2^-fl, zero point 0. */
enum {
  TIMCL_QUANT_NONE = 0,
  TIMCL_QUANT_ASYMMETRIC = 1,
  TIMCL_QUANT_SYMMETRIC_PER_CHANNEL = 2,
  TIMCL_QUANT_ASYMMETRIC_PER_CHANNEL = 3,
  TIMCL_QUANT_DYNAMIC_FIXED_POINT = 4
};
typedef struct timcl_quant {
  int32_t kind;
  int32_t channel_dim; /* of kinds per channel: the dimension that channels run along */
  size_t count;        /* 0 without quantization, 1 for a whole tensor, else the channels */
  const float* scales;
  const int32_t* zero_points; /* as many; null: all 0 */
} timcl_quant;

/* Kinds of attribute values. */
enum {
  TIMCL_ATTR_NONE = 0,
  TIMCL_ATTR_BOOL = 1,
  TIMCL_ATTR_INT = 2,
  TIMCL_ATTR_FLOAT = 3,
  TIMCL_ATTR_STRING = 4, /* enumerators too, by name */
  TIMCL_ATTR_INTS = 5,
  TIMCL_ATTR_FLOATS = 6,
  TIMCL_ATTR_BYTES = 7
};
/* One attribute. The member that belongs to `kind` counts; sequences have `count` elements. */
typedef struct timcl_attr {
  int32_t kind;
  int32_t bool_value;
  int64_t int_value;
  double float_value;
  const char* string_value;
  const int64_t* ints;
  const double* floats;
  const void* bytes;
  size_t count;
} timcl_attr;

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

  /* Since minor 1. Functions that return a number or a pointer answer 0 or null for an index beyond
     the last one and for null. */

  /* Operators in topological order; what crosses the border of this graph or part of a graph, in
     the order of first use, constants left out. */
  size_t (*graph_num_ops)(const timcl_graph* graph);
  const timcl_op* (*graph_op)(const timcl_graph* graph, size_t index);
  size_t (*graph_num_inputs)(const timcl_graph* graph);
  const timcl_tensor* (*graph_input)(const timcl_graph* graph, size_t index);
  size_t (*graph_num_outputs)(const timcl_graph* graph);
  const timcl_tensor* (*graph_output)(const timcl_graph* graph, size_t index);

  /* Name of its definition ("Conv2d"), the user's name for it (may be ""), and both with its number
     ("Conv2d#12 'stem'"), for messages. */
  const char* (*op_kind)(const timcl_op* op);
  const char* (*op_name)(const timcl_op* op);
  const char* (*op_label)(const timcl_op* op);
  size_t (*op_num_inputs)(const timcl_op* op);
  /* Null too for an optional operand that was left out. */
  const timcl_tensor* (*op_input)(const timcl_op* op, size_t index);
  size_t (*op_num_outputs)(const timcl_op* op);
  const timcl_tensor* (*op_output)(const timcl_op* op, size_t index);
  size_t (*op_num_attrs)(const timcl_op* op);
  /* Attribute `index`: its name; null beyond the last. `value` may be null. */
  const char* (*op_attr_at)(const timcl_op* op, size_t index, timcl_attr* value);
  /* TIMCL_NOT_FOUND: there is none of that name. */
  timcl_status (*op_attr)(const timcl_op* op, const char* name, timcl_attr* value);

  /* A number of its own in its graph: equal in the whole graph and in its parts. */
  uint32_t (*tensor_id)(const timcl_tensor* tensor);
  const char* (*tensor_name)(const timcl_tensor* tensor);  /* may be "" */
  const char* (*tensor_label)(const timcl_tensor* tensor); /* "'main' f32[56,56,24,1]" */
  int32_t (*tensor_type)(const timcl_tensor* tensor);
  size_t (*tensor_rank)(const timcl_tensor* tensor);
  const int64_t* (*tensor_dims)(const timcl_tensor* tensor);
  size_t (*tensor_bytes)(const timcl_tensor* tensor); /* of its dense elements */
  timcl_status (*tensor_quant)(const timcl_tensor* tensor, timcl_quant* quant);
  /* Dense elements of a constant, valid as long as the graph that the call was given; null for what
     is none. */
  const void* (*tensor_data)(const timcl_tensor* tensor);
  /* The operator of this graph that writes it; null: it comes from outside. Operators that read it,
     each once. */
  const timcl_op* (*tensor_producer)(const timcl_graph* graph, const timcl_tensor* tensor);
  size_t (*tensor_num_consumers)(const timcl_graph* graph, const timcl_tensor* tensor);
  const timcl_op* (*tensor_consumer)(const timcl_graph* graph, const timcl_tensor* tensor,
                                     size_t index);

  /* Takes an operator. Operators with different partition indices never run as one part.
     TIMCL_ALREADY_EXISTS: it was taken before; TIMCL_INVALID_GRAPH: it is none of the graph that
     partition was called with. Both fail the compilation, whatever the plugin does with them. */
  timcl_status (*select)(timcl_selection* selection, const timcl_op* op, int32_t partition_index);
  /* Says why an operator is not taken: the report shows it. */
  void (*reject)(timcl_selection* selection, const timcl_op* op, const char* why);

  /* The value that the user set for a key; null: none. */
  const char* (*option)(const timcl_options* options, const char* key);
  size_t (*num_options)(const timcl_options* options);
  const char* (*option_at)(const timcl_options* options, size_t index, const char** value);
  /* Constant and valid until the object that they were given to is destroyed.
     TIMCL_NOT_FOUND: there is none of that name. */
  timcl_status (*asset)(const timcl_assets* assets, const char* name, timcl_blob* blob);
  size_t (*num_assets)(const timcl_assets* assets);
  const char* (*asset_at)(const timcl_assets* assets, size_t index, timcl_blob* blob);
} timcl_host_api;

/* Compiles. One object for each compilation of a graph. */
typedef struct timcl_compiler_api {
  timcl_header h;
  /* Models that it compiles for, ended by a null; null: there is no choice. */
  const char* const* models;
  timcl_status (*create)(const timcl_host_api* host, const timcl_options* options,
                         const timcl_assets* assets, void** compiler);
  void (*destroy)(void* compiler);
  /* Optional. Whether it can compile for a model ("" is its own choice) on this machine, with this
     SDK: anything but TIMCL_OK makes it take nothing of the graph, with the words of set_error as
     the reason. */
  timcl_status (*check_target)(void* compiler, const char* model);
  /* Selects operators of the graph. TIMCL_UNSUPPORTED: it takes nothing. */
  timcl_status (*partition)(void* compiler, const char* model, const timcl_graph* graph,
                            timcl_selection* selection);
  /* Compiles all parts of a graph together. Where that fails with TIMCL_UNSUPPORTED, it is called
     for each part alone: the operators of the parts that fail then go to the next backend. What
     partition selected for an equal graph may come from a cache: it was then not called before. */
  timcl_status (*compile)(void* compiler, const char* model, const timcl_graph* const* parts,
                          size_t num_parts, void** result);
  size_t (*num_modules)(void* result);
  timcl_status (*module)(void* result, size_t index, timcl_blob* code);
  /* As many as parts, in their order. */
  size_t (*num_calls)(void* result);
  timcl_status (*call)(void* result, size_t index, const char** entry, size_t* module_index);
  void (*destroy_result)(void* result);
  /* Optional: an object that a dispatcher of the same library takes in place of the module's bytes,
     in this process alone. It lives as long as the result, which lives as long as the graph. */
  timcl_status (*live_handle)(void* result, size_t module_index, void** live);
} timcl_compiler_api;

/* Kinds of memory. */
enum { TIMCL_BUFFER_HOST = 1 };

#define TIMCL_MAX_RANK 8

/* What a tensor's memory must be like. Set to the library's own by the caller: host memory, dense,
   64-byte aligned. What the library's memory is not by chance, it makes by a copy in each run. */
typedef struct timcl_requirements {
  timcl_header h;
  uint32_t kinds;   /* or of TIMCL_BUFFER_...; the library gives host memory */
  size_t alignment; /* a power of two */
  size_t bytes;     /* at least so many */
  /* Bytes from one element to the next along each dimension of the tensor; num_strides is 0 (dense)
     or its rank. */
  size_t num_strides;
  size_t strides[TIMCL_MAX_RANK];
} timcl_requirements;

typedef struct timcl_buffer {
  timcl_header h;
  uint32_t kind;
  void* data;
  size_t bytes;
} timcl_buffer;

/* A figure of the last invocation: "cycles", 1204, "". */
typedef struct timcl_metric {
  const char* name;
  double value;
  const char* unit;
} timcl_metric;

/* Runs what a compiler of the same vendor made. One device for each compiled graph, one context for
   each call that a part was compiled to. Contexts of one device are used by one thread at a time;
   devices of different graphs at the same time. */
typedef struct timcl_dispatch_api {
  timcl_header h;
  timcl_status (*device_create)(const timcl_host_api* host, const timcl_options* options,
                                void** device);
  void (*device_destroy)(void* device);
  /* Optional. Whether it runs what the SDK of this version compiled for this model. Without it, the
     versions must be equal. */
  timcl_status (*check_runtime)(void* device, const char* sdk_version, const char* model);
  /* Optional: each asset of the graph, once, before the first context. Its bytes stay where they
     are until the device is destroyed. */
  timcl_status (*register_asset)(void* device, const char* name, const timcl_blob* asset);
  /* `live`: what live_handle of the same library gave, else null. `code` and the tensors (border of
     the part: inputs, then outputs) are valid until the context is destroyed.
     TIMCL_NOT_FOUND: there is no such entry. TIMCL_UNSUPPORTED: the part goes to the next backend.
   */
  timcl_status (*context_create)(void* device, const timcl_blob* code, void* live,
                                 const char* entry, const timcl_tensor* const* inputs,
                                 size_t num_inputs, const timcl_tensor* const* outputs,
                                 size_t num_outputs, void** context);
  void (*context_destroy)(void* context);
  /* Optional. */
  timcl_status (*requirements)(void* context, int32_t is_output, size_t index,
                               timcl_requirements* needs);
  /* Before the first invocation, and again whenever the address changed. */
  timcl_status (*bind)(void* context, int32_t is_output, size_t index, const timcl_buffer* buffer);
  /* Returns when the outputs are written. */
  timcl_status (*invoke)(void* context);
  /* Optional. The tensors of context_create have other shapes now; requirements and bind follow.
     TIMCL_UNSUPPORTED, or no such function: the part is compiled anew. */
  timcl_status (*resize)(void* context);
  /* Optional. *count: room in `metrics`, then what was written. Levels: 0 what costs nothing to
     know, higher ones more. */
  timcl_status (*metrics)(void* context, int32_t level, timcl_metric* metrics, size_t* count);
} timcl_dispatch_api;

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
  const char* vendor;       /* may be null, unless it brings a compiler or a dispatcher */
  /* Since minor 1. */
  const char* sdk_version;            /* of the vendor's tools behind it; null: its own version */
  const timcl_compiler_api* compiler; /* null: none */
  const timcl_dispatch_api* dispatch; /* null: none */
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
