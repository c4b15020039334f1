// Acme's compiler: turns parts of graphs into bytecode, which is text with one line per
// instruction. README.md shows some; device.cc runs it.
#ifndef ACME_COMPILER_H_
#define ACME_COMPILER_H_

#include <string>
#include <vector>

#include "tim/vx/backend_plugin.h"

namespace acme {

namespace vendor = tim::vx::vendor;

class Compiler : public vendor::Compiler {
 public:
  using vendor::Compiler::Compiler;
  void Partition(const std::string& model, const vendor::Graph& graph,
                 vendor::Selection& selection) override;
  vendor::Compiled Compile(const std::string& model,
                           const std::vector<vendor::Graph>& parts) override;
};

}  // namespace acme

#endif  // ACME_COMPILER_H_
