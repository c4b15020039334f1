// NBG: a binary graph as one operator.  Facts: extension.md 2.
#include "tim/vx/ops/nbg.h"

#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct NbgAttrs {
  const char* binary = nullptr;  // the caller's
  uint64_t inputs = 0;
  uint64_t outputs = 0;
  TIMCL_FIELDS(inputs, outputs)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<NbgAttrs>();
  if (a.binary == nullptr) return op.Error(Code::kInvalidArgument, "the binary is a null pointer");
  if (op.num_inputs() != a.inputs || op.num_outputs() != a.outputs) {
    return op.Error(Code::kInvalidGraph, to_string(op.num_inputs()) + " inputs and " +
                                             to_string(op.num_outputs()) +
                                             " outputs are bound, the constructor was told " +
                                             to_string(a.inputs) + " and " + to_string(a.outputs));
  }
  return Status();
}

constexpr OpDef kNBG = {.name = "NBG",
                        .inputs = "input*",
                        .outputs = "output*",
                        .schema = &kAttrSchema<NbgAttrs>,
                        .verify = Verify,
                        .waits_for =
                            "binary graphs cannot be read yet: this version has neither their "
                            "format nor Graph::CompileToBinary, which writes it; build the graph "
                            "from operators",
                        .layout = LayoutRule::Canonical()};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
NBG::NBG(Graph* graph, const char* binary, size_t input_count, size_t output_count)
    : BuiltinOp(graph, kNBG, MakeAttrs(NbgAttrs{binary, input_count, output_count})) {}

std::shared_ptr<Operation> NBG::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<NbgAttrs>(*this);
  return graph->CreateOperation<NBG>(a.binary, a.inputs, a.outputs);
}
#endif

TIMCL_OPS(nbg) { Add(kNBG); }

}  // namespace tim::vx::ops
