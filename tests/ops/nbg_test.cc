// NBG as its caller sees it while binary graphs are still to come.
#include "tim/vx/ops/nbg.h"

#include "errors/error_fixture.h"
#include "support/clone.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

const char kBytes[64] = "not a binary graph";

class NbgTest : public ErrorTest {};

TEST_F(NbgTest, CompileNamesWhatItWaitsFor) {
  const auto between = Between(graph_, {4});
  Bind<ops::NBG>(graph_, {Input(graph_, {4}), Input(graph_, {2, 3})}, {between}, kBytes, size_t{2},
                 size_t{1})
      ->SetName("detector");
  Bind<ops::Relu>(graph_, {between}, {Output(graph_, {})});  // other ops may follow
  ExpectFailure(Code::kUnsupported, {"NBG#1 'detector'", "binary graphs cannot be read yet",
                                     "Graph::CompileToBinary", "build the graph from operators"});
}

TEST_F(NbgTest, ANullBinary) {
  Bind<ops::NBG>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})}, nullptr, size_t{1},
                 size_t{1});
  ExpectFailure(Code::kInvalidArgument, {"NBG#1", "null pointer"});
}

TEST_F(NbgTest, OtherOperandsThanTheConstructorWasTold) {
  Bind<ops::NBG>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})}, kBytes, size_t{2}, size_t{1});
  ExpectFailure(Code::kInvalidGraph, {"NBG#1", "1 inputs and 1 outputs are bound", "told 2 and 1"});
}

TEST_F(NbgTest, Clone) {
  const char* bytes = kBytes;
  ExpectClones<ops::NBG>(bytes, size_t{3}, size_t{2});
  // The clone has the same binary: a null one would be told as such.
  auto op = graph_->CreateOperation<ops::NBG>(bytes, size_t{1}, size_t{1});
  auto other = SharedContext()->CreateGraph();
  op->Clone(other)->BindInput(Input(other, {4})).BindOutput(Output(other, {4}));
  EXPECT_FALSE(other->Compile());
  EXPECT_EQ(other->LastStatus().code(), Code::kUnsupported) << other->LastStatus().message();
}

TEST_F(NbgTest, ABinaryGraphIsNotWritten) {
  size_t size = static_cast<size_t>(-1);
  EXPECT_FALSE(graph_->CompileToBinary(nullptr, &size));
  EXPECT_EQ(graph_->LastStatus().code(), Code::kInvalidGraph) << "no operations";
  Bind<ops::Relu>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})});
  size = static_cast<size_t>(-1);
  EXPECT_FALSE(graph_->CompileToBinary(nullptr, &size));
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(graph_->LastStatus().code(), Code::kUnsupported);
  EXPECT_THAT(graph_->LastStatus().message(), testing::HasSubstr("binary graphs"));
  EXPECT_THAT(graph_->LastStatus().message(), testing::HasSubstr("Compile() and Run()"));
  ExpectSuccess();  // the graph itself runs, before and after
}

}  // namespace
}  // namespace tim::vx::test
