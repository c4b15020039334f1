// Runs the cases of every operator of a plugin: check <file>.
#include <iostream>
#include <string>
#include <vector>

#include "tim/vx/check_op.h"
#include "tim/vx/context.h"

int main(int, char** argv) {
  using namespace tim::vx;
  auto context = Context::Create();
  std::vector<PluginInfo> loaded;
  if (Status s = context->LoadPlugin(argv[1], &loaded); !s.ok()) {
    std::cerr << s.message() << "\n";
    return 1;
  }
  bool good = true;
  for (const std::string& op : loaded[0].ops) {
    const std::string wrong = testing::CheckCases(context->Ops().Find(op));
    std::cout << op << ": " << (wrong.empty() ? "good" : wrong) << "\n";
    good = good && wrong.empty();
  }
  return good ? 0 : 1;
}
