// A shared library of operators that any program finds at run time (Context::LoadPlugins):
//
//   TIMCL_OP_PLUGIN("acme.attention", "1.2.0") {
//     plugin.Add(kFlashAttention);              // an OpDef
//     plugin.Add<SlidingWindow>("acme.window");  // a class: DefineOpClass in tim/vx/op_class.h
//   }
//
// Once per library, in one source file. In CMake, timcl_add_op_plugin builds it.
#ifndef TIM_VX_OP_PLUGIN_H_
#define TIM_VX_OP_PLUGIN_H_

#include <exception>
#include <string_view>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_class.h"
#include "tim/vx/op_def.h"
#include "tim/vx/plugin.h"

/// The version of the library that these headers belong to: OpDef is another struct in the next.
#define TIMCL_CXX_VERSION "1.0"

#define TIMCL_TEXT_(x) #x
#define TIMCL_TEXT(x) TIMCL_TEXT_(x)
#if defined(__GXX_ABI_VERSION)
#define TIMCL_CXX_ABI_ TIMCL_TEXT(__GXX_ABI_VERSION)
#else
#define TIMCL_CXX_ABI_ "unknown"
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI)
#define TIMCL_CXX_STRINGS_ TIMCL_TEXT(_GLIBCXX_USE_CXX11_ABI)
#else
#define TIMCL_CXX_STRINGS_ "unknown"
#endif
/// What must be equal on both sides for C++ objects to pass between them.
#define TIMCL_CXX_TAG                                     \
  "timcl " TIMCL_CXX_VERSION " / C++ ABI " TIMCL_CXX_ABI_ \
  " / libstdc++ dual ABI " TIMCL_CXX_STRINGS_

namespace tim::vx {

/// What the body of TIMCL_OP_PLUGIN adds to.
class OpPlugin {
 public:
  OpPlugin(const timcl_host_api* host, void* registry) : host_(host), registry_(registry) {}

  /// The struct is copied; its name and all that it points to live as long as the library: literals
  /// and constants do. Its `origin` will be the library's file. The first failure stays.
  void Add(const OpDef& def) {
    if (status_ == TIMCL_OK) status_ = host_->add_op(registry_, &def);
  }
  template <class Class>
  void Add(std::string_view name) {
    Add(DefineOpClass<Class>(name));
  }
  timcl_status status() const { return status_; }

 private:
  const timcl_host_api* host_;
  void* registry_;
  timcl_status status_ = TIMCL_OK;
};

namespace op_plugin_detail {

inline timcl_status Fail(const timcl_host_api* host, timcl_status status, const char* text) {
  if (TIMCL_HAS(timcl_host_api, host, set_error)) host->set_error(text);
  return status;
}

/// What timcl_add_op_plugin(... KERNELS ...) writes.
#ifdef TIMCL_PLUGIN_KERNELS
extern const KernelSources kPluginKernels;
inline constexpr const KernelSources* kOwnKernels = &kPluginKernels;
#else
inline constexpr const KernelSources* kOwnKernels = nullptr;
#endif

/// No exception leaves the library.
template <void (*kBody)(OpPlugin&)>
timcl_status RegisterOps(const timcl_host_api* host, void* registry) noexcept {
  if (!TIMCL_HAS(timcl_host_api, host, add_op)) {
    return Fail(host, TIMCL_VERSION_MISMATCH, "the library does not take operators from plugins");
  }
  OpPlugin plugin(host, registry);
  try {
    kBody(plugin);
  } catch (const std::exception& e) {
    return Fail(host, TIMCL_PLUGIN, e.what());
  } catch (...) {
    return Fail(host, TIMCL_PLUGIN, "TIMCL_OP_PLUGIN threw something that is no std::exception");
  }
  return plugin.status();
}

}  // namespace op_plugin_detail
}  // namespace tim::vx

/// Defines the library's one symbol; a body that calls plugin.Add follows.
#define TIMCL_OP_PLUGIN(plugin_name, plugin_version)                                         \
  static void TimclAddOps(::tim::vx::OpPlugin& plugin);                                      \
  extern "C" timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api*,     \
                                             const timcl_plugin** out) {                     \
    static const timcl_ops_api ops = {TIMCL_HEADER(timcl_ops_api), TIMCL_CXX_TAG,            \
                                      ::tim::vx::op_plugin_detail::RegisterOps<TimclAddOps>, \
                                      ::tim::vx::op_plugin_detail::kOwnKernels};             \
    static const timcl_plugin table = {TIMCL_HEADER(timcl_plugin),                           \
                                       plugin_name,                                          \
                                       plugin_version,                                       \
                                       &ops,                                                 \
                                       nullptr,                                              \
                                       nullptr,                                              \
                                       nullptr,                                              \
                                       nullptr};                                             \
    if (host_major != TIMCL_ABI_MAJOR) return TIMCL_VERSION_MISMATCH;                        \
    *out = &table;                                                                           \
    return TIMCL_OK;                                                                         \
  }                                                                                          \
  static void TimclAddOps([[maybe_unused]] ::tim::vx::OpPlugin& plugin)

#endif  // TIM_VX_OP_PLUGIN_H_
