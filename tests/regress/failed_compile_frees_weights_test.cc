// A failed compile kept packed weights alive until the next one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::testing {
namespace {

std::vector<std::weak_ptr<const std::vector<std::byte>>>& Packed() {
  static std::vector<std::weak_ptr<const std::vector<std::byte>>> packed;
  return packed;
}

Result<Shapes> SameShape(const OpView& op) { return Shapes{op.in(0).shape()}; }
Result<Launches> Packs(const OpView& op, const KernelRequest&) {
  KernelSpec k;
  k.source = "packs", k.entry = "packs";
  k.source_text =
      "#include \"tensor.clh\"\nKERNEL(packs)(IN(X), OUT(Y), DATA(W), SIZE(N)) {\n"
      "  const int i = WORK_ITEM(0);\n  if (i < N) STORE(Y, i, LOAD(X, i) * W[i]);\n}\n";
  const int64_t n = op.out(0).type().count();
  k.operands = {In(0, "X"), Out(0, "Y"),
                Data(std::vector<float>(static_cast<size_t>(n), 2.0f), "W", "float")};
  k.sizes = {{"N", n}};
  k.global = Grid(n);
  Packed().push_back(k.operands[2].data);
  return Launches{k};
}
constexpr KernelCandidate kPacks[] = {{"packs", nullptr, Packs}};

/// Takes Neg and fails, after OpenCL has compiled its part.
class Fails : public test::HostBackend {
 public:
  Fails()
      : HostBackend("fails",
                    [](const OpView& op) { return op.kind() == "Neg" ? "" : "Neg only"; }) {}
  Status Compile(const std::vector<GraphView>&, const CompileEnv&, CompiledUnits*) override {
    return Status::Error(Code::kInternal, "as the test wants it");
  }
};

TEST(Regress, AFailedCompileFreesPackedWeights) {
  const auto device = OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  OpRegistry registry(Builtin());
  OpDef def;
  def.name = "Packs", def.infer = SameShape, def.kernels = kPacks;
  ASSERT_TRUE(registry.Register(def).ok());
  const std::string text =
      "%0 = input f32[4]\n%1 = Packs(%0) : f32[4]\n%2 = Neg(%1) : output f32[4]\n";
  for (const bool fails : {true, false}) {
    Packed().clear();
    const auto graph = ReadGraph(text, registry);
    CompileReport report;
    std::vector<compiler::RankedBackend> backends = {{device, 2}};
    if (fails) backends.push_back({std::make_shared<Fails>(), 1});
    compiler::Options options;
    if (fails) options.pins = {{"Neg", "fails"}};
    auto executable = compiler::Compile(graph, registry, backends, options, &report);
    ASSERT_EQ(executable.ok(), !fails) << executable.status().message();
    ASSERT_EQ(Packed().size(), 1u) << "packed once";
    // Placed in the plan's own memory, or given up: the graph and the backend still live.
    EXPECT_TRUE(Packed()[0].expired());
    if (fails) continue;
    ASSERT_TRUE((*executable)->Run().ok());
    EXPECT_EQ(OutputsOf(*graph).at(2), (std::vector<float>{4, 2, 0, -2}));
    executable->reset();
    EXPECT_TRUE(Packed()[0].expired());
  }
}

}  // namespace
}  // namespace tim::vx::testing
