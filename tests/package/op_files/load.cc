// Takes the operators out of the other library and runs one of them, under a name that the built-in
// table does not have.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
void RegisterBuiltinOps(OpRegistry& registry);
}

namespace {

using namespace tim::vx;

struct Own : BuiltinOp {
  Own(Graph* graph, const OpDef& def)
      : BuiltinOp(graph, def, AnyAttrs(def.schema, def.schema->make_default())) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Own>(Def());
  }
};

int Fail(const std::string& why) {
  std::cerr << "wrong: " << why << "\n";
  return 1;
}

}  // namespace

int main() {
  OpRegistry registry;
  ops::RegisterBuiltinOps(registry);
  for (const auto& def : registry.All()) {
    const Status s = ParseTypes(*def);
    if (!s.ok()) return Fail(s.message());
  }
  OpDef def = *registry.Find("CumSum");
  def.name = "OwnCumSum";
  ContextOptions options;
  options.host_only = true;
  auto graph = Context::Create(options)->CreateGraph();
  const ShapeType shape = {3};
  auto x = graph->CreateTensor({DataType::FLOAT32, shape, INPUT});
  auto y = graph->CreateTensor({DataType::FLOAT32, shape, OUTPUT});
  graph->CreateOperation<Own>(def)->BindInput(x).BindOutput(y);
  const std::vector<float> in = {-1, 0, 2};
  std::vector<float> out(3);
  const bool ran =
      x->CopyDataToTensor(in.data()) && graph->Run() && y->CopyDataFromTensor(out.data());
  if (!ran || out != std::vector<float>{-1, -1, 1}) return Fail(graph->LastStatus().message());
  std::cout << registry.All().size() << " operators\n";
  return 0;
}
