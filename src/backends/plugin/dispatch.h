// Running what a vendor's compiler made: a device for each compiled graph, a kernel for each call.
#ifndef TIMCL_BACKENDS_PLUGIN_DISPATCH_H_
#define TIMCL_BACKENDS_PLUGIN_DISPATCH_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/plugin/backend.h"
#include "backends/plugin/host.h"

namespace tim::vx::plugin {

/// Calls a function of a plugin: what goes wrong names both.
template <class F>
Status Ask(const Origin& origin, const char* function, F f) {
  return Ask(fmt::format("plugin '{}': {}", origin.name, function), f);
}
/// The same for a function that makes an object: there is none where it fails, whatever it wrote.
template <class F>
Status Ask(const Origin& origin, const char* function, void** object, F f) {
  void* made = nullptr;
  const Status status = Ask(origin, function, [&] { return f(&made); });
  if (status.ok()) *object = made;
  return status;
}
/// For functions that return nothing: what they throw is logged.
template <class F>
void Tell(const Origin& origin, const char* function, F f) noexcept;
/// Why a plugin says kUnsupported: its own words alone, where it had some. Right behind the Ask.
std::string Reason(const Status& refusal);

timcl_options OptionsOf(const CompileEnv& env);

/// The dispatcher's side of one compiled graph.
struct Device {
  Device(std::shared_ptr<const Dispatcher> dispatcher, const CompileEnv& env);
  ~Device();
  Device(const Device&) = delete;

  const std::shared_ptr<const Dispatcher> half;
  const timcl_options options;
  const timcl_assets assets;
  void* object = nullptr;
};
/// Makes it, and registers all assets.
Result<std::shared_ptr<Device>> OpenDevice(std::shared_ptr<const Dispatcher> dispatcher,
                                           const CompileEnv& env);
/// kVersionMismatch: the device does not run what this compiler made.
Status CheckStamp(const Device& device, const CodeModule::Stamp& stamp);

/// An object in the compiler's library that the dispatcher of the same library may take in place of
/// a module's bytes.
struct Live {
  std::shared_ptr<const void> owner;  // keeps it
  const void* library;                // that it is an object of
  void* object;
};

/// What contexts of one module share.
struct LoadedCode {
  std::vector<std::byte> bytes;
  std::shared_ptr<const Live> live;  // null: there is none for this dispatcher
};
/// The context of one call. kUnsupported: it goes to the next backend.
Result<std::unique_ptr<kernel::Kernel>> MakeKernel(std::shared_ptr<Device> device,
                                                   std::shared_ptr<const LoadedCode> code,
                                                   const Call& call);

template <class F>
void Tell(const Origin& origin, const char* function, F f) noexcept {
  try {
    const Status told = Ask(origin, function, [&] {
      f();
      return TIMCL_OK;
    });
    if (!told.ok()) Host().log(TIMCL_LOG_ERROR, told.detail().c_str());
  } catch (...) {  // no memory for the words
  }
}

}  // namespace tim::vx::plugin
#endif  // TIMCL_BACKENDS_PLUGIN_DISPATCH_H_
