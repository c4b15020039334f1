// A program of today (C++17 and later), with an operator of its own: twice(x) = 2 x.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/backend.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/ops.h"

namespace {

using namespace tim::vx;

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  return ref::Compute(op, [&](auto zero) {
    for (int64_t i = 0; i < ins[0].count(); ++i) {
      outs[0].Put(i, 2 * ins[0].As<decltype(zero)>(i));
    }
  });
}

constexpr OpDef kTwice = {.name = "Twice",
                          .types = "number -> number",
                          .schema = &kAttrSchema<NoAttrs>,
                          .infer = ShapeOfInput,
                          .reference = Reference};

struct Twice : BuiltinOp {
  explicit Twice(Graph* graph) : BuiltinOp(graph, kTwice, MakeAttrs(NoAttrs{})) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Twice>();
  }
};

}  // namespace

int main() {
  auto context = Context::Create();
  if (!context->Ops().Register(kTwice).ok()) return 1;
  auto graph = context->CreateGraph();
  auto x = graph->CreateTensor({DataType::INT32, {3}, INPUT});
  auto doubled = graph->CreateTensor({DataType::INT32, {}, TRANSIENT});
  auto y = graph->CreateTensor({DataType::INT32, {3}, OUTPUT});
  graph->CreateOperation<Twice>()->BindInput(x).BindOutput(doubled).SetName("mine");
  graph->CreateOperation<ops::Relu>()->BindInput(doubled).BindOutput(y);
  const std::vector<int32_t> in = {-1, 0, 20000001};
  std::vector<int32_t> out(3);
  const bool ran =
      x->CopyDataToTensor(in.data()) && graph->Run() && y->CopyDataFromTensor(out.data());
  const std::string report = graph->Report().ToText();
  if (!ran || out != std::vector<int32_t>{0, 0, 40000002} ||
      report.find("mine") == std::string::npos) {
    std::cerr << "wrong: " << graph->LastStatus().message() << "\n" << report << "\n";
    return 1;
  }
  return 0;
}
