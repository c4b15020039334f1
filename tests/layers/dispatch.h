// What the two test layers share: the copy of the loader's dispatch table, and the entry points
// that CL/cl_layer.h asks of every layer. A layer includes this once and defines InstallHooks().
#ifndef TIMCL_TESTS_LAYERS_DISPATCH_H_
#define TIMCL_TESTS_LAYERS_DISPATCH_H_

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#pragma GCC visibility push(default)
#include <CL/cl_layer.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstring>

namespace timcl_layer {

// Static, not inline: inline variables are unique in a process, and two layers would share them.
static cl_icd_dispatch next;   // the functions below this layer; null where the loader has none
static cl_icd_dispatch hooks;  // what callers of this layer see
static void InstallHooks();    // changes entries of `hooks`; each layer has its own

// Puts Hook::Run in the table in place of Member, unless nothing lies below it.
template <auto Member, typename Hook>
static void Install() {
  if (next.*Member != nullptr) hooks.*Member = &Hook::Run;
}

}  // namespace timcl_layer

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                               size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const char* text = "timcl test layer";
  const bool is_version = name == CL_LAYER_API_VERSION;
  if (!is_version && name != CL_LAYER_NAME) return CL_INVALID_VALUE;
  const size_t need = is_version ? sizeof(version) : std::strlen(text) + 1;
  if (value != nullptr) {
    if (size < need) return CL_INVALID_VALUE;
    std::memcpy(value, is_version ? static_cast<const void*>(&version) : text, need);
  }
  if (size_ret != nullptr) *size_ret = need;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch* target,
                                            cl_uint* num_entries_ret,
                                            const cl_icd_dispatch** dispatch_ret) {
  if (target == nullptr || num_entries_ret == nullptr || dispatch_ret == nullptr) {
    return CL_INVALID_VALUE;
  }
  // A loader older or newer than these headers has a shorter or longer table; both are prefixes of
  // the same list, so the common part is what can be wrapped.
  const size_t ours = sizeof(cl_icd_dispatch) / sizeof(void*);
  const size_t common = std::min<size_t>(num_entries, ours);
  std::memcpy(static_cast<void*>(&timcl_layer::next), target, common * sizeof(void*));
  timcl_layer::hooks = timcl_layer::next;
  timcl_layer::InstallHooks();
  *num_entries_ret = static_cast<cl_uint>(common);
  *dispatch_ret = &timcl_layer::hooks;
  return CL_SUCCESS;
}

}  // extern "C"

#endif  // TIMCL_TESTS_LAYERS_DISPATCH_H_
