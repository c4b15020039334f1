/* A compiler that takes nothing and tells all that the library shows it of a graph, by the function
   whose address is option "tell". What null arguments and indices beyond the end are answered is
   checked on the way. */
#include "tim/vx/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const timcl_host_api* h;
static void (*Tell)(const char*);

/* What is wrong becomes the reason of the failure. */
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) return h->set_error(#condition), TIMCL_INTERNAL; \
  } while (0)

static timcl_status Nulls(void) {
  timcl_attr attr;
  timcl_quant quant;
  timcl_blob blob;
  const char* value = "untouched";
  CHECK(h->h.size == sizeof(timcl_host_api) && h->h.major == 1 && h->h.minor == TIMCL_ABI_MINOR);
  CHECK(h->graph_num_ops(NULL) == 0 && h->graph_op(NULL, 0) == NULL);
  CHECK(h->graph_num_inputs(NULL) == 0 && h->graph_input(NULL, 0) == NULL);
  CHECK(h->graph_num_outputs(NULL) == 0 && h->graph_output(NULL, 0) == NULL);
  CHECK(h->op_kind(NULL) == NULL && h->op_name(NULL) == NULL && h->op_label(NULL) == NULL);
  CHECK(h->op_num_inputs(NULL) == 0 && h->op_input(NULL, 0) == NULL);
  CHECK(h->op_num_outputs(NULL) == 0 && h->op_output(NULL, 0) == NULL);
  CHECK(h->op_num_attrs(NULL) == 0 && h->op_attr_at(NULL, 0, &attr) == NULL);
  CHECK(h->op_attr(NULL, "axis", &attr) == TIMCL_INVALID_ARGUMENT);
  CHECK(h->tensor_id(NULL) == 0 && h->tensor_name(NULL) == NULL && h->tensor_label(NULL) == NULL);
  CHECK(h->tensor_type(NULL) == TIMCL_TYPE_UNKNOWN && h->tensor_rank(NULL) == 0);
  CHECK(h->tensor_dims(NULL) == NULL && h->tensor_bytes(NULL) == 0 && h->tensor_data(NULL) == NULL);
  CHECK(h->tensor_quant(NULL, &quant) == TIMCL_INVALID_ARGUMENT);
  CHECK(h->tensor_producer(NULL, NULL) == NULL && h->tensor_num_consumers(NULL, NULL) == 0);
  CHECK(h->tensor_consumer(NULL, NULL, 0) == NULL);
  CHECK(h->select(NULL, NULL, 0) == TIMCL_INVALID_ARGUMENT);
  h->reject(NULL, NULL, NULL);
  h->log(TIMCL_LOG_DEBUG, NULL);
  CHECK(h->option(NULL, "key") == NULL && h->num_options(NULL) == 0);
  CHECK(h->option_at(NULL, 0, &value) == NULL && strcmp(value, "untouched") == 0);
  CHECK(h->asset(NULL, "name", &blob) == TIMCL_INVALID_ARGUMENT && h->num_assets(NULL) == 0);
  CHECK(h->asset_at(NULL, 0, &blob) == NULL);
  return TIMCL_OK;
}

static timcl_status Create(const timcl_host_api* host, const timcl_options* options,
                           const timcl_assets* assets, void** compiler) {
  const char* address = host->option(options, "tell");
  const size_t number = address ? (size_t)strtoull(address, NULL, 10) : 0;
  timcl_blob blob;
  h = host;
  memcpy(&Tell, &number, sizeof number);
  *compiler = NULL; /* it needs none */
  CHECK(h->option(options, NULL) == NULL && h->option(options, "none") == NULL);
  CHECK(h->option_at(options, h->num_options(options), NULL) == NULL);
  CHECK(h->asset(assets, NULL, &blob) == TIMCL_INVALID_ARGUMENT);
  CHECK(h->asset(assets, "none", &blob) == TIMCL_NOT_FOUND);
  CHECK(h->asset_at(assets, h->num_assets(assets), &blob) == NULL);
  return Nulls();
}
static void Destroy(void* compiler) { (void)compiler; }

static void TellAttr(char* line, size_t room, const char* name, const timcl_attr* a) {
  size_t i, at = (size_t)snprintf(line, room, "  %s (%d)", name, a->kind);
  switch (a->kind) {
    case TIMCL_ATTR_BOOL:
      snprintf(line + at, room - at, " %s", a->bool_value ? "true" : "false");
      break;
    case TIMCL_ATTR_INT:
      snprintf(line + at, room - at, " %ld", (long)a->int_value);
      break;
    case TIMCL_ATTR_FLOAT:
      snprintf(line + at, room - at, " %g", a->float_value);
      break;
    case TIMCL_ATTR_STRING:
      snprintf(line + at, room - at, " %s", a->string_value);
      break;
    case TIMCL_ATTR_INTS:
    case TIMCL_ATTR_FLOATS:
      for (i = 0; i < a->count; ++i) {
        at += (size_t)snprintf(line + at, room - at, " %g",
                               a->kind == TIMCL_ATTR_INTS ? (double)a->ints[i] : a->floats[i]);
      }
      break;
    default:
      break;
  }
}

static timcl_status TellTensor(const char* what, const timcl_graph* graph, const timcl_tensor* t) {
  char line[400];
  size_t at, d;
  timcl_quant quant;
  const timcl_op* writer;
  if (t == NULL) return Tell("  left out"), TIMCL_OK;
  writer = h->tensor_producer(graph, t);
  at = (size_t)snprintf(line, sizeof line, "  %s %s '%s' type %d [", what, h->tensor_label(t),
                        h->tensor_name(t), h->tensor_type(t));
  for (d = 0; d < h->tensor_rank(t); ++d)
    at += (size_t)snprintf(line + at, sizeof line - at, " %ld", (long)h->tensor_dims(t)[d]);
  at += (size_t)snprintf(line + at, sizeof line - at, " ] %u bytes%s, by %s, for %u",
                         (unsigned)h->tensor_bytes(t), h->tensor_data(t) ? ", constant" : "",
                         writer ? h->op_label(writer) : "others",
                         (unsigned)h->tensor_num_consumers(graph, t));
  for (d = 0; d < h->tensor_num_consumers(graph, t); ++d) {
    const timcl_op* reader = h->tensor_consumer(graph, t, d);
    size_t i, reads = 0;
    for (i = 0; i < h->op_num_inputs(reader); ++i)
      reads += h->tensor_id(h->op_input(reader, i)) == h->tensor_id(t);
    CHECK(reads > 0);
  }
  CHECK(h->tensor_consumer(graph, t, d) == NULL);
  CHECK(h->tensor_quant(t, NULL) == TIMCL_INVALID_ARGUMENT);
  CHECK(h->tensor_quant(t, &quant) == TIMCL_OK);
  if (quant.kind != TIMCL_QUANT_NONE) {
    at += (size_t)snprintf(line + at, sizeof line - at, ", quant %d along %d:", quant.kind,
                           quant.channel_dim);
    for (d = 0; d < quant.count; ++d) {
      at += (size_t)snprintf(line + at, sizeof line - at, " %g+%d", (double)quant.scales[d],
                             quant.zero_points ? quant.zero_points[d] : 0);
    }
  }
  Tell(line);
  return TIMCL_OK;
}

static timcl_status Partition(void* compiler, const char* model, const timcl_graph* graph,
                              timcl_selection* selection) {
  size_t i, k;
  char line[400];
  timcl_attr attr, again;
  (void)compiler, (void)model;
  CHECK(h->graph_op(graph, h->graph_num_ops(graph)) == NULL);
  CHECK(h->graph_input(graph, h->graph_num_inputs(graph)) == NULL);
  CHECK(h->graph_output(graph, h->graph_num_outputs(graph)) == NULL);
  for (i = 0; i < h->graph_num_ops(graph); ++i) {
    const timcl_op* op = h->graph_op(graph, i);
    snprintf(line, sizeof line, "%s '%s' = %s", h->op_kind(op), h->op_name(op), h->op_label(op));
    Tell(line);
    CHECK(h->op_attr_at(op, h->op_num_attrs(op), &attr) == NULL);
    CHECK(h->op_attr(op, "none", &attr) == TIMCL_NOT_FOUND);
    CHECK(h->op_attr(op, NULL, &attr) == TIMCL_INVALID_ARGUMENT);
    for (k = 0; k < h->op_num_attrs(op); ++k) {
      const char* name = h->op_attr_at(op, k, &attr);
      CHECK(h->op_attr_at(op, k, NULL) == name);
      CHECK(h->op_attr(op, name, &again) == TIMCL_OK && again.kind == attr.kind);
      TellAttr(line, sizeof line, name, &attr);
      Tell(line);
    }
    CHECK(h->op_input(op, h->op_num_inputs(op)) == NULL);
    CHECK(h->op_output(op, h->op_num_outputs(op)) == NULL);
    for (k = 0; k < h->op_num_inputs(op); ++k) {
      if (TellTensor("in", graph, h->op_input(op, k)) != TIMCL_OK) return TIMCL_INTERNAL;
    }
    for (k = 0; k < h->op_num_outputs(op); ++k) {
      if (TellTensor("out", graph, h->op_output(op, k)) != TIMCL_OK) return TIMCL_INTERNAL;
    }
  }
  Tell("border");
  for (k = 0; k < h->graph_num_inputs(graph); ++k) {
    if (TellTensor("in", graph, h->graph_input(graph, k)) != TIMCL_OK) return TIMCL_INTERNAL;
  }
  for (k = 0; k < h->graph_num_outputs(graph); ++k) {
    if (TellTensor("out", graph, h->graph_output(graph, k)) != TIMCL_OK) return TIMCL_INTERNAL;
  }
  h->reject(selection, h->graph_op(graph, 0), NULL);
  return TIMCL_OK;
}

/* Never called: nothing is taken. */
static timcl_status Compile(void* compiler, const char* model, const timcl_graph* const* parts,
                            size_t num_parts, void** result) {
  (void)compiler, (void)model, (void)parts, (void)num_parts, (void)result;
  return TIMCL_INTERNAL;
}
static size_t None(void* result) {
  (void)result;
  return 0;
}
static timcl_status Module(void* result, size_t index, timcl_blob* code) {
  (void)result, (void)index, (void)code;
  return TIMCL_INTERNAL;
}
static timcl_status CallOf(void* result, size_t index, const char** entry, size_t* module) {
  (void)result, (void)index, (void)entry, (void)module;
  return TIMCL_INTERNAL;
}
static timcl_status DeviceCreate(const timcl_host_api* host, const timcl_options* options,
                                 void** device) {
  (void)host, (void)options, (void)device;
  return TIMCL_INTERNAL;
}
static timcl_status ContextCreate(void* device, const timcl_blob* code, void* live,
                                  const char* entry, const timcl_tensor* const* inputs,
                                  size_t num_inputs, const timcl_tensor* const* outputs,
                                  size_t num_outputs, void** context) {
  (void)device, (void)code, (void)live, (void)entry, (void)inputs, (void)num_inputs;
  (void)outputs, (void)num_outputs, (void)context;
  return TIMCL_INTERNAL;
}
static timcl_status Bind(void* context, int32_t is_output, size_t index, const timcl_buffer* buffer) {
  (void)context, (void)is_output, (void)index, (void)buffer;
  return TIMCL_INTERNAL;
}
static timcl_status Invoke(void* context) {
  (void)context;
  return TIMCL_INTERNAL;
}

timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host,
                                const timcl_plugin** out) {
  static const timcl_compiler_api compiler = {TIMCL_HEADER(timcl_compiler_api), NULL, Create,
                                              Destroy, NULL, Partition, Compile, None, Module, None,
                                              CallOf, Destroy, NULL};
  static const timcl_dispatch_api dispatch = {TIMCL_HEADER(timcl_dispatch_api), DeviceCreate,
                                              Destroy, NULL, NULL, ContextCreate, Destroy, NULL,
                                              Bind, Invoke, NULL, NULL};
  static const timcl_plugin plugin = {TIMCL_HEADER(timcl_plugin), "probe", "1.0", NULL, "probe",
                                      NULL, &compiler, &dispatch};
  if (host_major != TIMCL_ABI_MAJOR || !TIMCL_HAS(timcl_host_api, host, asset_at))
    return TIMCL_VERSION_MISMATCH;
  *out = &plugin;
  return TIMCL_OK;
}
