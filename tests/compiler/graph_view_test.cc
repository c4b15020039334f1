// GraphView: who reads and writes what inside a piece of a graph, and that a kernel which keeps
// nothing else has all that it needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using tim::vx::testing::Builtin;

/// %0 -> Relu -> %1 -> {Neg -> %2, Add(%1, %1) -> %4}; Sub(%2, %4) -> %5 -> Abs -> %6.
constexpr const char* kGraph =
    "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Neg(%1) : f32[4]\n"
    "%4 = Add(%1, %1) : output f32[4]\n%3 = constant f32[4] {1,2,3,4}\n"
    "%5 = Sub(%2, %3) : f32[4]\n%6 = Abs(%5) : output f32[4]\n";

std::vector<std::string> Labels(const std::vector<OpView>& ops) {
  std::vector<std::string> labels;
  for (const OpView& op : ops) labels.push_back(op.label());
  return labels;
}

TEST(GraphViewTest, ConsumersProducerLeaves) {
  const std::shared_ptr<ir::Graph> graph = tim::vx::testing::ReadGraph(kGraph, Builtin());
  ASSERT_TRUE(InferTypes(*graph).ok());
  const GraphView all(graph, *graph->TopologicalOrder());
  auto tensor = [&](int id) { return TensorView(graph.get(), id); };
  EXPECT_THAT(Labels(all.consumers(tensor(0))), ElementsAre("Relu#0"));
  EXPECT_THAT(Labels(all.consumers(tensor(1))), ElementsAre("Neg#1", "Add#2")) << "each once";
  EXPECT_THAT(Labels(all.consumers(tensor(3))), ElementsAre("Sub#3")) << "constants too";
  EXPECT_THAT(all.consumers(tensor(6)), IsEmpty());
  EXPECT_EQ(all.producer(tensor(0)), nullptr);
  EXPECT_EQ(all.producer(tensor(3)), nullptr);
  ASSERT_NE(all.producer(tensor(5)), nullptr);
  EXPECT_EQ(all.producer(tensor(5))->label(), "Sub#3");
  EXPECT_EQ(all.producer(TensorView()), nullptr) << "of an operand that is left out";
  EXPECT_FALSE(all.leaves(tensor(1)));
  EXPECT_TRUE(all.leaves(tensor(4)));
  EXPECT_TRUE(all.leaves(tensor(6)));

  // A piece: Neg and Sub.
  const GraphView piece(graph, {1, 3});
  EXPECT_THAT(Labels(piece.consumers(tensor(1))), ElementsAre("Neg#1"));
  EXPECT_EQ(piece.producer(tensor(1)), nullptr) << "it comes from outside";
  EXPECT_FALSE(piece.leaves(tensor(2)));
  EXPECT_TRUE(piece.leaves(tensor(5))) << "Abs, outside, reads it";
  ASSERT_EQ(piece.Inputs().size(), 1u);
  EXPECT_EQ(piece.Inputs()[0].id(), 1);
}

/// Keeps the view of its partition and nothing else.
class Keeper : public test::HostBackend {
 public:
  Keeper() : HostBackend("keeper") {}
  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls)
      units->kernels.push_back(std::make_unique<Backwards>(PartOf(modules, call)));
    return Status();
  }

 private:
  /// Finds its way backwards from its results, each time it runs.
  class Backwards : public Kernel {
   public:
    using Kernel::Kernel;
    Status Execute() override {
      for (size_t i = 0; i < part_.Outputs().size(); ++i) {
        std::vector<std::byte> bytes;
        TIMCL_TRY(Value(part_.Outputs()[i], &bytes));
        std::memcpy(io_.outputs[i].Data(), bytes.data(), bytes.size());
      }
      return Status();
    }

   private:
    Status Value(const TensorView& t, std::vector<std::byte>* bytes) {
      bytes->resize(t.type().bytes());
      for (size_t i = 0; i < part_.Inputs().size(); ++i) {
        if (part_.Inputs()[i].id() != t.id()) continue;
        std::memcpy(bytes->data(), io_.inputs[i].Data(), bytes->size());
        return Status();
      }
      if (t.is_const()) {
        std::memcpy(bytes->data(), t.data(), bytes->size());
        return Status();
      }
      const OpView& op = *part_.producer(t);
      std::vector<std::vector<std::byte>> data(op.num_inputs());
      ref::Inputs ins;
      for (size_t i = 0; i < op.num_inputs(); ++i) {
        TIMCL_TRY(Value(op.in(i), &data[i]));
        ins.emplace_back(data[i].data(), op.in(i).type());
      }
      ref::Outputs outs;
      outs.emplace_back(bytes->data(), op.out(0).type());
      return op.def().reference(op, ins, outs);  // reads its attributes
    }
  };
};

TEST(GraphViewTest, IsAllThatAKernelNeeds) {
  // The definitions and the graph itself are gone when it runs.
  auto registry = std::make_unique<OpRegistry>(Builtin());
  auto graph = tim::vx::testing::ReadGraph(
      "%0 = input f32[4]\n%1 = constant f32[4] {1,2,3,4}\n%2 = Sub(%0, %1) : f32[4]\n"
      "%3 = LeakyRelu(%2) {alpha=0.5} : output f32[4]\n",
      *registry);
  const std::shared_ptr<base::Storage> result = graph->value(3).storage =
      base::Storage::Allocate(16);
  const std::weak_ptr<ir::Graph> watch = graph;
  CompileReport report;
  auto executable = Compile(graph, *registry, {{std::make_shared<Keeper>()}}, {}, &report);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  graph.reset();
  registry.reset();
  ASSERT_FALSE(watch.expired()) << "the kernel's view owns what it shows";
  for (int run = 0; run < 2; ++run) {
    std::memset(result->data(), 0xFF, 16);
    ASSERT_TRUE((*executable)->Run().ok());
    const auto* y = static_cast<const float*>(result->data());
    EXPECT_THAT(std::vector<float>(y, y + 4), ElementsAre(-1.5f, -1.5f, -1.5f, -1.5f));
  }
  executable->reset();
  EXPECT_TRUE(watch.expired()) << "and lets go of it";
}

}  // namespace
}  // namespace tim::vx::compiler
