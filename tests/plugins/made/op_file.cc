// Makes a plugin of one file of src/ops, which stands beside this one among its sources: each
// operator of its table again, as plugin.<name>, since the library has that name already.
#include <deque>
#include <string>

#include "tim/vx/op_plugin.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

namespace tim::vx::ops {
void JOIN(RegisterOps_, OP_FILE)(OpRegistry& registry, const char* origin);
}

TIMCL_OP_PLUGIN("op_file." TEXT(OP_FILE), "1.0.0") {
  static std::deque<std::string> names;  // as long as the library; the body may run again
  tim::vx::OpRegistry registry;
  tim::vx::ops::JOIN(RegisterOps_, OP_FILE)(registry, "app");
  for (const auto& def : registry.All()) {
    tim::vx::OpDef copy = *def;
    copy.name = names.emplace_back("plugin." + std::string(def->name));
    plugin.Add(copy);
  }
}
