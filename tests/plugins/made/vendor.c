/* A vendor's plugin in C99 (vendor_throws.cc compiles it as C++): takes Add, Multiply and Relu over
   float32 tensors of equal size, with bytecode of its own. Macros say what it brings and how it is
   called; options, or the environment variable ACME_FAULT, make it misbehave:
     fault    what goes wrong, by the names that Is(...) compares with; several, separated by ','
     trace    the address of a void(*)(const char*) that is told of every call
     align, pitch, extra    what the dispatcher wants of memory: alignment, a multiple for rows of
                            dimension 0, more bytes
     split    a partition for each operator
     live     modules have live handles
     licence  model a2 is compiled for
     resize   the dispatcher takes other shapes
 */
#include "tim/vx/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "acme.npu"
#endif
#ifndef VENDOR
#define VENDOR "acme"
#endif
#ifndef SDK
#define SDK "3.1"
#endif
#ifndef THROWS
#define THROWS(function) (void)0
#endif

typedef struct Settings {
  const timcl_host_api* host;
  char fault[64];
  void (*trace)(const char*);
  size_t align, pitch, extra;
  int split, live, licence, resize;
} Settings;

static size_t Number(const timcl_host_api* host, const timcl_options* options, const char* key) {
  const char* value = host->option(options, key);
  return value ? (size_t)strtoull(value, NULL, 10) : 0;
}
static void Read(Settings* s, const timcl_host_api* host, const timcl_options* options) {
  const char* fault = host->option(options, "fault");
  memset(s, 0, sizeof *s);
  s->host = host;
  if (fault == NULL) fault = getenv("ACME_FAULT");
  if (fault != NULL) strncpy(s->fault, fault, sizeof s->fault - 1);
  {
    const size_t address = Number(host, options, "trace");
    memcpy(&s->trace, &address, sizeof address);
  }
  s->align = Number(host, options, "align");
  s->pitch = Number(host, options, "pitch");
  s->extra = Number(host, options, "extra");
  s->split = host->option(options, "split") != NULL;
  s->live = host->option(options, "live") != NULL;
  s->licence = host->option(options, "licence") != NULL;
  s->resize = host->option(options, "resize") != NULL;
}
static int Is(const Settings* s, const char* fault) {
  const size_t length = strlen(fault);
  const char* at = strstr(s->fault, fault);
  return at != NULL && (at == s->fault || at[-1] == ',') &&
         (at[length] == 0 || at[length] == ',');
}
static void Trace(const Settings* s, const char* what, const char* more) {
  char line[160];
  if (s->trace == NULL) return;
  snprintf(line, sizeof line, "%s%s%s", what, *more ? " " : "", more);
  s->trace(line);
}
static timcl_status Fails(const Settings* s, timcl_status status, const char* words) {
  s->host->set_error(words);
  return status;
}

/* The code: words of 32 bits.
     magic, number of programs, then the programs:
       words in it, inputs, outputs, others (constants and values between operators), steps
       for each other: elements, 1 for a constant and its elements, 0 without
       for each step: operator, elements, slot of the result, slots of both operands
   Slots count inputs, outputs, others. Program i has the entry "program i". */
enum { MAGIC = 0x454d4341, kAdd = 1, kMultiply = 2, kRelu = 3 };

typedef struct Words {
  uint32_t* at;
  size_t count, room;
} Words;
#ifndef NO_COMPILER

static void Put(Words* w, uint32_t word) {
  if (w->count == w->room) {
    w->room = w->room ? 2 * w->room : 64;
    w->at = (uint32_t*)realloc(w->at, w->room * sizeof(uint32_t));
  }
  w->at[w->count++] = word;
}

typedef struct Compiler {
  Settings s;
} Compiler;

typedef struct Result {
  Settings s;
  Words code;
  size_t calls;
  char entry[32];
} Result;

static const char* const kModels[] = {"a1", "a2", NULL};

static timcl_status Create(const timcl_host_api* host, const timcl_options* options,
                           const timcl_assets* assets, void** compiler) {
  Compiler* c = (Compiler*)calloc(1, sizeof *c);
  char line[160];
  size_t i;
  Read(&c->s, host, options);
  *compiler = c; /* the library must not look at it when this fails */
  if (Is(&c->s, "create")) {
    const Settings s = c->s;
    free(c);
    return Fails(&s, TIMCL_IO, "the SDK is not installed");
  }
  if (Is(&c->s, "throw create")) {
    free(c);
    THROWS("create");
  }
  Trace(&c->s, "create", "");
  for (i = 0; i < host->num_options(options); ++i) {
    const char* value = NULL;
    const char* key = host->option_at(options, i, &value);
    if (strcmp(key, "trace") == 0) continue;
    snprintf(line, sizeof line, "%s=%s", key, value);
    Trace(&c->s, "option", line);
  }
  for (i = 0; i < host->num_assets(assets); ++i) {
    timcl_blob by_index, by_name;
    const char* name = host->asset_at(assets, i, &by_index);
    if (host->asset(assets, name, &by_name) != TIMCL_OK || by_name.data != by_index.data) abort();
    snprintf(line, sizeof line, "%s %.*s", name, (int)by_name.size, (const char*)by_name.data);
    Trace(&c->s, "asset", line);
  }
  return TIMCL_OK;
}
static void Destroy(void* compiler) {
  Trace(&((Compiler*)compiler)->s, "destroy", "");
  free(compiler);
}

static timcl_status CheckTarget(void* compiler, const char* model) {
  const Settings* s = &((Compiler*)compiler)->s;
  Trace(s, "check_target", model);
  if (Is(s, "throw check_target")) THROWS("check_target");
  if (strcmp(model, "a2") == 0 && !s->licence)
    return Fails(s, TIMCL_NOT_FOUND, "model a2 needs a licence");
  if (Is(s, "wordless veto")) return TIMCL_DEVICE;
  return TIMCL_OK;
}

/* 0: it is taken. */
static const char* WhyNot(const timcl_host_api* h, const timcl_op* op) {
  const char* kind = h->op_kind(op);
  timcl_attr scale;
  size_t i, bytes;
  if (strcmp(kind, "Add") != 0 && strcmp(kind, "Multiply") != 0 && strcmp(kind, "Relu") != 0)
    return "there is no instruction for it";
  if (h->op_attr(op, "scale", &scale) == TIMCL_OK &&
      (scale.kind != TIMCL_ATTR_FLOAT || scale.float_value != 1.0))
    return "products are not scaled here";
  bytes = h->tensor_bytes(h->op_output(op, 0));
  if (h->tensor_type(h->op_output(op, 0)) != TIMCL_TYPE_FLOAT32) return "only float32 is known";
  for (i = 0; i < h->op_num_inputs(op); ++i) {
    if (h->tensor_type(h->op_input(op, i)) != TIMCL_TYPE_FLOAT32) return "only float32 is known";
    if (h->tensor_bytes(h->op_input(op, i)) != bytes) return "operands of other sizes";
  }
  return NULL;
}

static timcl_status Partition(void* compiler, const char* model, const timcl_graph* graph,
                              timcl_selection* selection) {
  const Settings* s = &((Compiler*)compiler)->s;
  const timcl_host_api* h = s->host;
  size_t i;
  Trace(s, "partition", model);
  if (Is(s, "throw partition")) THROWS("partition");
  if (Is(s, "no partition")) return Fails(s, TIMCL_UNSUPPORTED, "it is a holiday");
  if (Is(s, "broken partition")) return Fails(s, TIMCL_INTERNAL, "the planner lost its plan");
  for (i = 0; i < h->graph_num_ops(graph); ++i) {
    const timcl_op* op = h->graph_op(graph, i);
    const char* why = WhyNot(h, op);
    if (why != NULL) {
      h->reject(selection, op, why);
      continue;
    }
    if (h->select(selection, op, s->split ? (int32_t)i : 0) != TIMCL_OK) return TIMCL_INTERNAL;
    if (Is(s, "select twice") && h->select(selection, op, 0) != TIMCL_ALREADY_EXISTS)
      return TIMCL_INTERNAL;
    if (Is(s, "reject selected")) h->reject(selection, op, "on second thoughts");
  }
  if (Is(s, "select foreign")) {
    static const int none = 0;
    if (h->select(selection, (const timcl_op*)&none, 0) != TIMCL_INVALID_GRAPH) return TIMCL_INTERNAL;
    if (h->select(NULL, NULL, 0) != TIMCL_INVALID_ARGUMENT) return TIMCL_INTERNAL;
  }
  if (Is(s, "select null") && h->select(selection, NULL, 0) != TIMCL_INVALID_GRAPH)
    return TIMCL_INTERNAL;
  return TIMCL_OK;
}

/* Slots by the number of a tensor. */
typedef struct Slots {
  uint32_t ids[1024];
  uint32_t count;
} Slots;
static uint32_t SlotOf(const Slots* slots, uint32_t id) {
  uint32_t i;
  for (i = 0; i < slots->count; ++i) {
    if (slots->ids[i] == id) return i;
  }
  return UINT32_MAX;
}
static int AddSlot(Slots* slots, uint32_t id) {
  if (SlotOf(slots, id) != UINT32_MAX) return 0;
  if (slots->count == 1024) return 0;
  slots->ids[slots->count++] = id;
  return 1;
}

static void CompilePart(const timcl_host_api* h, const timcl_graph* part, Words* code) {
  Slots slots;
  size_t i, k, other_at;
  const size_t start = code->count;
  slots.count = 0;
  for (i = 0; i < 5; ++i) Put(code, 0);
  for (i = 0; i < h->graph_num_inputs(part); ++i)
    AddSlot(&slots, h->tensor_id(h->graph_input(part, i)));
  for (i = 0; i < h->graph_num_outputs(part); ++i)
    AddSlot(&slots, h->tensor_id(h->graph_output(part, i)));
  other_at = slots.count;
  for (i = 0; i < h->graph_num_ops(part); ++i) {
    const timcl_op* op = h->graph_op(part, i);
    const size_t inputs = h->op_num_inputs(op);
    for (k = 0; k <= inputs; ++k) {
      const timcl_tensor* t = k < inputs ? h->op_input(op, k) : h->op_output(op, 0);
      const size_t bytes = h->tensor_bytes(t);
      const void* data = h->tensor_data(t);
      if (!AddSlot(&slots, h->tensor_id(t))) continue;
      Put(code, (uint32_t)(bytes / 4));
      Put(code, data != NULL);
      if (data != NULL) {
        size_t e;
        for (e = 0; e < bytes / 4; ++e) Put(code, ((const uint32_t*)data)[e]);
      }
    }
  }
  for (i = 0; i < h->graph_num_ops(part); ++i) {
    const timcl_op* op = h->graph_op(part, i);
    const char* kind = h->op_kind(op);
    const timcl_tensor* result = h->op_output(op, 0);
    Put(code, strcmp(kind, "Add") == 0 ? kAdd : strcmp(kind, "Multiply") == 0 ? kMultiply : kRelu);
    Put(code, (uint32_t)(h->tensor_bytes(result) / 4));
    Put(code, SlotOf(&slots, h->tensor_id(result)));
    Put(code, SlotOf(&slots, h->tensor_id(h->op_input(op, 0))));
    Put(code, h->op_num_inputs(op) > 1 ? SlotOf(&slots, h->tensor_id(h->op_input(op, 1))) : 0);
  }
  code->at[start] = (uint32_t)(code->count - start);
  code->at[start + 1] = (uint32_t)h->graph_num_inputs(part);
  code->at[start + 2] = (uint32_t)h->graph_num_outputs(part);
  code->at[start + 3] = (uint32_t)(slots.count - other_at);
  code->at[start + 4] = (uint32_t)h->graph_num_ops(part);
}

static timcl_status Compile(void* compiler, const char* model, const timcl_graph* const* parts,
                            size_t num_parts, void** result) {
  const Settings* s = &((Compiler*)compiler)->s;
  const timcl_host_api* h = s->host;
  Result* r;
  char line[32];
  size_t i, k;
  (void)model;
  snprintf(line, sizeof line, "%u parts", (unsigned)num_parts);
  Trace(s, "compile", line);
  if (Is(s, "throw compile")) THROWS("compile");
  if (Is(s, "compile")) return Fails(s, TIMCL_DEVICE, "the linker crashed");
  if (Is(s, "odd compile")) return 1234;
  if (Is(s, "compile nothing")) return Fails(s, TIMCL_UNSUPPORTED, "out of registers");
  if (Is(s, "wordless compile")) return TIMCL_UNSUPPORTED;
  if (Is(s, "compile one by one") && num_parts > 1)
    return Fails(s, TIMCL_UNSUPPORTED, "one at a time, please");
  for (i = 0; i < num_parts; ++i) {
    for (k = 0; Is(s, "compile no Multiply") && k < h->graph_num_ops(parts[i]); ++k) {
      const timcl_op* op = h->graph_op(parts[i], k);
      if (strcmp(h->op_kind(op), "Multiply") == 0) {
        char words[96];
        snprintf(words, sizeof words, "%s: the multiplier is broken", h->op_label(op));
        return Fails(s, TIMCL_UNSUPPORTED, words);
      }
    }
  }
  r = (Result*)calloc(1, sizeof *r);
  r->s = *s;
  r->calls = num_parts;
  Put(&r->code, MAGIC);
  Put(&r->code, (uint32_t)num_parts);
  for (i = 0; i < num_parts; ++i) CompilePart(h, parts[i], &r->code);
  *result = r;
  return TIMCL_OK;
}

static size_t NumModules(void* result) {
  return Is(&((Result*)result)->s, "no module") ? 0 : 1;
}
static timcl_status Module(void* result, size_t index, timcl_blob* code) {
  Result* r = (Result*)result;
  if (index != 0) return TIMCL_NOT_FOUND;
  if (Is(&r->s, "throw module")) THROWS("module");
  if (Is(&r->s, "module")) return Fails(&r->s, TIMCL_OUT_OF_MEMORY, "no room to write it");
  code->data = r->code.at;
  code->size = Is(&r->s, "empty module") ? 0 : r->code.count * sizeof(uint32_t);
  if (Is(&r->s, "null module")) code->data = NULL;
  return TIMCL_OK;
}
static size_t NumCalls(void* result) {
  Result* r = (Result*)result;
  if (Is(&r->s, "throw num_calls")) THROWS("num_calls");
  return r->calls + (Is(&r->s, "more calls") ? 1 : 0) - (Is(&r->s, "fewer calls") ? 1 : 0);
}
static timcl_status CallOf(void* result, size_t index, const char** entry, size_t* module_index) {
  Result* r = (Result*)result;
  if (Is(&r->s, "call")) return Fails(&r->s, TIMCL_INTERNAL, "which call?");
  snprintf(r->entry, sizeof r->entry, "program %u", (unsigned)index);
  *entry = r->entry;
  if (Is(&r->s, "empty entry")) *entry = "";
  if (Is(&r->s, "null entry")) *entry = NULL;
  if (Is(&r->s, "unknown entry")) *entry = "main";
  if (Is(&r->s, "unset module")) return TIMCL_OK;
  *module_index = Is(&r->s, "module beyond") ? 7 : 0;
  return TIMCL_OK;
}
static void DestroyResult(void* result) {
  Result* r = (Result*)result;
  Trace(&r->s, "destroy_result", "");
  if (Is(&r->s, "throw destroy_result")) {
    free(r->code.at);
    free(r);
    THROWS("destroy_result");
    return;
  }
  free(r->code.at);
  free(r);
}
static timcl_status LiveHandle(void* result, size_t module_index, void** live) {
  Result* r = (Result*)result;
  (void)module_index;
  if (Is(&r->s, "live")) return Fails(&r->s, TIMCL_INTERNAL, "it is dead");
  if (!r->s.live) return TIMCL_UNSUPPORTED;
  Trace(&r->s, "live_handle", "");
  *live = &r->code;
  return TIMCL_OK;
}

#endif /* NO_COMPILER */

#ifndef NO_DISPATCH

typedef struct Device {
  Settings s;
} Device;

typedef struct Other {
  uint32_t elements;
  float* data;
  int constant;
} Other;
typedef struct ContextOf {
  Settings s;
  uint32_t num_inputs, num_outputs, num_others, num_steps;
  const uint32_t* steps;
  const timcl_tensor** tensors; /* inputs, outputs */
  timcl_buffer* buffers;
  Other* others;
  unsigned runs;
} ContextOf;

static timcl_status DeviceCreate(const timcl_host_api* host, const timcl_options* options,
                                 void** device) {
  Device* d = (Device*)calloc(1, sizeof *d);
  Read(&d->s, host, options);
  *device = d; /* the library must not look at it when this fails */
  if (Is(&d->s, "device") || Is(&d->s, "no device")) {
    const Settings s = d->s;
    free(d);
    return Fails(&s, Is(&s, "device") ? TIMCL_DEVICE : TIMCL_UNSUPPORTED, "no NPU is plugged in");
  }
  if (Is(&d->s, "throw device_create")) {
    free(d);
    THROWS("device_create");
  }
  Trace(&d->s, "device_create", "");
  return TIMCL_OK;
}
static void DeviceDestroy(void* device) {
  Trace(&((Device*)device)->s, "device_destroy", "");
  free(device);
}
#ifndef NO_CHECK_RUNTIME
static timcl_status CheckRuntime(void* device, const char* sdk_version, const char* model) {
  const Settings* s = &((Device*)device)->s;
  char line[64];
  snprintf(line, sizeof line, "%s '%s'", sdk_version, model);
  Trace(s, "check_runtime", line);
  if (strncmp(sdk_version, "3.", 2) != 0 || Is(s, "runtime"))
    return Fails(s, TIMCL_UNSUPPORTED, "the firmware runs code of SDK 3");
  return TIMCL_OK;
}
#endif
static timcl_status RegisterAsset(void* device, const char* name, const timcl_blob* asset) {
  const Settings* s = &((Device*)device)->s;
  char line[96];
  snprintf(line, sizeof line, "%s %u bytes", name, (unsigned)asset->size);
  Trace(s, "register_asset", line);
  if (Is(s, "asset")) return Fails(s, TIMCL_OUT_OF_MEMORY, "the table does not fit");
  return TIMCL_OK;
}

static timcl_status ContextCreate(void* device, const timcl_blob* code, void* live,
                                  const char* entry, const timcl_tensor* const* inputs,
                                  size_t num_inputs, const timcl_tensor* const* outputs,
                                  size_t num_outputs, void** context) {
  const Settings* s = &((Device*)device)->s;
  const uint32_t* words = (const uint32_t*)code->data;
  size_t count = code->size / sizeof(uint32_t), i;
  unsigned program = 0, p;
  ContextOf* c;
  const uint32_t* at;
  Trace(s, live != NULL ? "context_create live" : "context_create", entry);
  if (Is(s, "throw context_create")) THROWS("context_create");
  if (Is(s, "no context")) return Fails(s, TIMCL_UNSUPPORTED, "no core is left");
  if (Is(s, "no second context") && strcmp(entry, "program 1") == 0)
    return Fails(s, TIMCL_UNSUPPORTED, "there is one core");
  if (Is(s, "context")) return Fails(s, TIMCL_DEVICE, "the core does not answer");
  if (live != NULL) {
    words = ((const Words*)live)->at;
    count = ((const Words*)live)->count;
  }
  if (count < 2 || words[0] != MAGIC) return Fails(s, TIMCL_BAD_BINARY, "no code of ours");
  if (sscanf(entry, "program %u", &program) != 1 || program >= words[1])
    return Fails(s, TIMCL_NOT_FOUND, "there is no such program");
  at = words + 2;
  for (p = 0; p < program; ++p) at += at[0];
  if (at[1] != num_inputs || at[2] != num_outputs)
    return Fails(s, TIMCL_INVALID_GRAPH, "another number of tensors than it was compiled for");
  c = (ContextOf*)calloc(1, sizeof *c);
  c->s = *s;
  c->num_inputs = at[1], c->num_outputs = at[2], c->num_others = at[3], c->num_steps = at[4];
  c->tensors = (const timcl_tensor**)calloc(num_inputs + num_outputs, sizeof(void*));
  c->buffers = (timcl_buffer*)calloc(num_inputs + num_outputs, sizeof(timcl_buffer));
  for (i = 0; i < num_inputs; ++i) c->tensors[i] = inputs[i];
  for (i = 0; i < num_outputs; ++i) c->tensors[num_inputs + i] = outputs[i];
  c->others = (Other*)calloc(c->num_others + 1, sizeof(Other));
  at += 5;
  for (i = 0; i < c->num_others; ++i) {
    Other* o = &c->others[i];
    o->elements = *at++;
    o->constant = (int)*at++;
    o->data = (float*)calloc(o->elements, sizeof(float));
    if (o->constant) {
      memcpy(o->data, at, o->elements * sizeof(float));
      at += o->elements;
    }
  }
  c->steps = at; /* the code stays where it is */
  *context = c;
  return TIMCL_OK;
}
static void ContextDestroy(void* context) {
  ContextOf* c = (ContextOf*)context;
  uint32_t i;
  Trace(&c->s, "context_destroy", "");
  for (i = 0; i < c->num_others; ++i) free(c->others[i].data);
  free(c->others);
  free(c->buffers);
  free((void*)c->tensors);
  free(c);
}

static const timcl_tensor* TensorAt(const ContextOf* c, int32_t is_output, size_t index) {
  return c->tensors[(is_output ? c->num_inputs : 0) + index];
}
/* Bytes from one row of dimension 0 to the next. */
static size_t PitchOf(const ContextOf* c, const timcl_tensor* tensor) {
  const timcl_host_api* h = c->s.host;
  const size_t row = h->tensor_rank(tensor) ? (size_t)h->tensor_dims(tensor)[0] * 4 : 4;
  return c->s.pitch ? (row + c->s.pitch - 1) / c->s.pitch * c->s.pitch : row;
}

static timcl_status Requirements(void* context, int32_t is_output, size_t index,
                                 timcl_requirements* needs) {
  const ContextOf* c = (const ContextOf*)context;
  const timcl_host_api* h = c->s.host;
  const timcl_tensor* t = TensorAt(c, is_output, index);
  size_t d;
  if (!TIMCL_HAS(timcl_requirements, needs, strides) || needs->kinds != TIMCL_BUFFER_HOST ||
      needs->alignment != 64 || needs->bytes != h->tensor_bytes(t) || needs->num_strides != 0)
    return Fails(&c->s, TIMCL_INTERNAL, "these are not the library's own");
  if (Is(&c->s, "throw requirements")) THROWS("requirements");
  if (Is(&c->s, "requirements")) return Fails(&c->s, TIMCL_INTERNAL, "it depends");
  if (c->s.align) needs->alignment = c->s.align;
  needs->bytes += c->s.extra;
  if (c->s.pitch) {
    needs->num_strides = h->tensor_rank(t);
    for (d = 0; d < needs->num_strides; ++d) {
      needs->strides[d] = d == 0   ? 4
                          : d == 1 ? PitchOf(c, t)
                                   : needs->strides[d - 1] * (size_t)h->tensor_dims(t)[d - 1];
    }
  }
  if (Is(&c->s, "alignment of 48")) needs->alignment = 48;
  if (Is(&c->s, "alignment of 0")) needs->alignment = 0;
  if (Is(&c->s, "device memory")) needs->kinds = 2;
  if (Is(&c->s, "too many strides")) needs->num_strides = h->tensor_rank(t) + 1;
  if (Is(&c->s, "strides beyond")) needs->num_strides = 1u << 30;
  if (Is(&c->s, "overlap")) {
    needs->num_strides = h->tensor_rank(t);
    for (d = 0; d < needs->num_strides; ++d) needs->strides[d] = 2;
  }
  if (Is(&c->s, "endless strides")) {
    needs->num_strides = h->tensor_rank(t);
    for (d = 0; d < needs->num_strides; ++d) needs->strides[d] = (SIZE_MAX >> 2) << d;
  }
  if (Is(&c->s, "endless bytes")) needs->bytes = SIZE_MAX >> 1;
  return TIMCL_OK;
}

static timcl_status Bind(void* context, int32_t is_output, size_t index,
                         const timcl_buffer* buffer) {
  ContextOf* c = (ContextOf*)context;
  const timcl_tensor* t = TensorAt(c, is_output, index);
  char line[96];
  const size_t align = c->s.align ? c->s.align : 64;
  snprintf(line, sizeof line, "%s %u", is_output ? "output" : "input", (unsigned)index);
  Trace(&c->s, "bind", line);
  if (Is(&c->s, "throw bind")) THROWS("bind");
  if (Is(&c->s, "bind")) return Fails(&c->s, TIMCL_DEVICE, "the page is locked");
  if (buffer->kind != TIMCL_BUFFER_HOST || (size_t)buffer->data % align != 0 ||
      buffer->bytes < c->s.host->tensor_bytes(t) + c->s.extra)
    return Fails(&c->s, TIMCL_INTERNAL, "this is not the memory that was asked for");
  c->buffers[(is_output ? c->num_inputs : 0) + index] = *buffer;
  return TIMCL_OK;
}

/* Element i of a slot. */
static float* ElementOf(ContextOf* c, uint32_t slot, uint32_t i) {
  const uint32_t bound = c->num_inputs + c->num_outputs;
  if (slot >= bound) return &c->others[slot - bound].data[i];
  {
    const timcl_tensor* t = c->tensors[slot];
    const uint32_t row =
        c->s.host->tensor_rank(t) ? (uint32_t)c->s.host->tensor_dims(t)[0] : 1;
    return (float*)((char*)c->buffers[slot].data + (i / row) * PitchOf(c, t)) + i % row;
  }
}
static timcl_status Invoke(void* context) {
  ContextOf* c = (ContextOf*)context;
  const uint32_t* at = c->steps;
  uint32_t step, i;
  Trace(&c->s, "invoke", "");
  if (Is(&c->s, "throw invoke")) THROWS("invoke");
  if (Is(&c->s, "invoke")) return Fails(&c->s, TIMCL_DEVICE, "it overheated");
  if (Is(&c->s, "crash")) abort();
  for (step = 0; step < c->num_steps; ++step, at += 5) {
    for (i = 0; i < at[1]; ++i) {
      const float a = *ElementOf(c, at[3], i), b = *ElementOf(c, at[4], i);
      *ElementOf(c, at[2], i) = at[0] == kAdd        ? a + b
                                : at[0] == kMultiply ? a * b
                                : a > 0              ? a
                                                     : 0;
    }
  }
  ++c->runs;
  return TIMCL_OK;
}

static timcl_status Resize(void* context) {
  ContextOf* c = (ContextOf*)context;
  (void)c;
  if (!c->s.resize) return Fails(&c->s, TIMCL_UNSUPPORTED, "its shapes are burnt in");
  return TIMCL_INTERNAL;
}

static timcl_status Metrics(void* context, int32_t level, timcl_metric* metrics, size_t* count) {
  ContextOf* c = (ContextOf*)context;
  const size_t room = *count;
  if (Is(&c->s, "throw metrics")) THROWS("metrics");
  if (Is(&c->s, "metrics")) return Fails(&c->s, TIMCL_DEVICE, "the counters are stuck");
  *count = 0;
  if (room < 2) return TIMCL_OK;
  metrics[0].name = "steps", metrics[0].value = c->num_steps, metrics[0].unit = "";
  if (level == 0) return *count = 1, TIMCL_OK;
  metrics[1].name = "heat", metrics[1].value = 36.6, metrics[1].unit = "C";
  *count = Is(&c->s, "many metrics") ? 1000 : 2;
  return TIMCL_OK;
}

#endif /* NO_DISPATCH */

/* What the next minor would add. */
typedef struct NewerCompiler {
  timcl_compiler_api api;
  void* more[4];
} NewerCompiler;
typedef struct NewerDispatch {
  timcl_dispatch_api api;
  void* more[4];
} NewerDispatch;
typedef struct NewerPlugin {
  timcl_plugin plugin;
  void* more[4];
} NewerPlugin;

timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host,
                                const timcl_plugin** out) {
#ifndef NO_COMPILER
  static NewerCompiler compiler = {
      {TIMCL_HEADER(timcl_compiler_api), kModels, Create, Destroy, CheckTarget, Partition, Compile,
       NumModules, Module, NumCalls, CallOf, DestroyResult, LiveHandle},
      {NULL, NULL, NULL, NULL}};
#define COMPILER &compiler.api
#else
#define COMPILER NULL
#endif
#ifndef NO_DISPATCH
#ifdef NO_CHECK_RUNTIME
#define CheckRuntime NULL
#endif
  static NewerDispatch dispatch = {
      {TIMCL_HEADER(timcl_dispatch_api), DeviceCreate, DeviceDestroy, CheckRuntime, RegisterAsset,
       ContextCreate, ContextDestroy, Requirements, Bind, Invoke, Resize, Metrics},
      {NULL, NULL, NULL, NULL}};
#define DISPATCH &dispatch.api
#else
#define DISPATCH NULL
#endif
  static NewerPlugin plugin = {
      {TIMCL_HEADER(timcl_plugin), NAME, "3.1.4", NULL, VENDOR, SDK, COMPILER, DISPATCH},
      {NULL, NULL, NULL, NULL}};
  if (host_major != TIMCL_ABI_MAJOR || !TIMCL_HAS(timcl_host_api, host, asset_at))
    return TIMCL_VERSION_MISMATCH;
#if defined(OLDER_MINOR)
  /* Before live_handle, and before metrics; what stands there is no function. */
  compiler.api.h.minor = dispatch.api.h.minor = plugin.plugin.h.minor = 0;
  compiler.api.h.size = (uint32_t)offsetof(timcl_compiler_api, live_handle);
  memset(&compiler.api.live_handle, 1, sizeof(void*));
  dispatch.api.h.size = (uint32_t)offsetof(timcl_dispatch_api, resize);
  memset(&dispatch.api.resize, 1, 2 * sizeof(void*));
#elif defined(NEWER_MINOR)
  compiler.api.h.minor = dispatch.api.h.minor = plugin.plugin.h.minor = 7;
  compiler.api.h.size = sizeof(NewerCompiler);
  dispatch.api.h.size = sizeof(NewerDispatch);
  plugin.plugin.h.size = sizeof(NewerPlugin);
  memset(compiler.more, 1, sizeof compiler.more);
  memset(dispatch.more, 1, sizeof dispatch.more);
  memset(plugin.more, 1, sizeof plugin.more);
#elif defined(COMPILER_LACKS)
  compiler.api.COMPILER_LACKS = NULL;
#elif defined(DISPATCH_LACKS)
  dispatch.api.DISPATCH_LACKS = NULL;
#elif defined(COMPILER_ENDS_AT)
  compiler.api.h.size = (uint32_t)offsetof(timcl_compiler_api, COMPILER_ENDS_AT);
#elif defined(DISPATCH_ENDS_AT)
  dispatch.api.h.size = (uint32_t)offsetof(timcl_dispatch_api, DISPATCH_ENDS_AT);
#elif defined(COMPILER_OF_OTHER_MAJOR)
  compiler.api.h.major = 2;
#elif defined(NO_VENDOR)
  plugin.plugin.vendor = NULL;
#elif defined(NO_SDK)
  plugin.plugin.sdk_version = NULL;
#endif
  *out = &plugin.plugin;
  return TIMCL_OK;
}
