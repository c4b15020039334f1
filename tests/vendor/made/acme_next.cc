// samples/vendor against the plugin.h that CMakeLists.txt beside this folder makes.
#include "plugin.cc"

static_assert(TIMCL_ABI_MINOR == NEXT_MINOR && sizeof(timcl_plugin::next) == 32 &&
              sizeof(timcl_compiler_api::next) == 32 && sizeof(timcl_dispatch_api::next) == 32);
