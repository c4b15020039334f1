// What the library asks for: who Acme is and which halves this library has.
#include "tim/vx/backend_plugin.h"

#if defined(ACME_COMPILER)
#include "compiler.h"
#endif
#if defined(ACME_DISPATCHER)
#include "device.h"
#endif

// Names of plugins are unique in a context, so each of the three libraries has its own.
#if !defined(ACME_DISPATCHER)
constexpr const char* kName = "acme.compiler";
#elif !defined(ACME_COMPILER)
constexpr const char* kName = "acme.dispatcher";
#else
constexpr const char* kName = "acme";
#endif

TIMCL_BACKEND_PLUGIN(kName, "1.0.0", "Acme") {
  plugin.SetSdkVersion("2026.1");
#if defined(ACME_COMPILER)
  plugin.AddCompiler<acme::Compiler>({"A100", "A50"});
#endif
#if defined(ACME_DISPATCHER)
  plugin.AddDispatcher<acme::Device>();
#endif
}
