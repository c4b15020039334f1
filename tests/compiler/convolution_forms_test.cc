// Convolutions over blocks of channels in a network: which kernels are chosen, that they can be
// left out, and that all choices agree with the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>

#include "backends/opencl/compile/unit.h"
#include "backends/reference/backend.h"
#include "opencl/run_fixture.h"
#include "support/pipeline.h"

namespace tim::vx::opencl {
namespace {

using tim::vx::testing::Builtin;
using tim::vx::testing::ReadGraph;

/// A constant of random numbers in the text form.
std::string Constant(int id, const std::string& shape, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "%" + std::to_string(id) + " = constant f32" + shape + " {";
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ",") + std::to_string(static_cast<int>(random() % 41) - 20) + "e-3";
  return text + "}\n";
}

/// A stem, a depthwise and a 1x1 convolution, pooling, 3x3 with a sum and an activation behind it,
/// a global average.
const std::string& Network() {
  static const std::string text =
      "%0 = input f32[27,23,3,2]\n" + Constant(1, "[3,3,3,20]", 540, 1) +
      Constant(2, "[3,3,20,1]", 180, 2) + Constant(3, "[1,1,20,40]", 800, 3) +
      Constant(4, "[3,3,40,40]", 14400, 4) + Constant(5, "[40]", 40, 5) +
      "%6 = Conv2d(%0, %1) {padding=\"SAME\", stride=[2,2]} : f32[14,12,20,2]\n"
      "%7 = Relu(%6) : f32[14,12,20,2]\n"
      "%8 = Conv2d(%7, %2) {padding=\"SAME\", multiplier=1} : f32[14,12,20,2]\n"
      "%9 = Conv2d(%8, %3) : f32[14,12,40,2]\n"
      "%10 = Conv2d(%9, %4, %5) {padding=\"SAME\"} : f32[14,12,40,2]\n"
      "%11 = Add(%9, %10) : f32[14,12,40,2]\n"
      "%12 = Relu(%11) : f32[14,12,40,2]\n"
      "%13 = Pool2d(%12) {ksize=[2,2], stride=[2,2], padding=\"VALID\"} : f32[7,6,40,2]\n"
      "%14 = Conv2d(%13, %4) {padding=\"SAME\", stride=[2,2]} : output f32[4,3,40,2]\n"
      "%15 = Pool2d(%13) {type=\"AVG\", ksize=[7,6], stride=[1,1], padding=\"VALID\"} : output "
      "f32[1,1,40,2]\n";
  return text;
}

DeviceCaps Cpu() {
  DeviceCaps caps;
  caps.is_cpu = caps.register_tiles_pay = true;
  return caps;
}

std::string Chosen(const Wishes& wishes, const DeviceCaps& caps = Cpu(),
                   const std::string& network = Network()) {
  const auto graph = ReadGraph(network, Builtin());
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const Status s = ir::VerifyNode(*graph, static_cast<int>(id));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  Unit unit;
  Status s = Select(GraphView(graph, *graph->TopologicalOrder()), caps, &unit, wishes);
  if (s.ok()) s = ChooseForms(caps, &unit, wishes);
  EXPECT_TRUE(s.ok()) << s.message();
  Fuse(&unit);
  Convert(&unit);
  return Print(unit);
}

TEST(ConvolutionForms, AChainStaysInBlocks) {
  EXPECT_EQ(Chosen({}),
            "#0 Conv2d 'stem' (plain to blocked) (%0, %1) -> %7 + Relu\n"
            "#2 Conv2d 'depthwise' (blocked) (%7, %2) -> %8\n"
            "#3 Conv2d 'blocks' (blocked) (%8, %3) -> %9\n"
            "#4 Conv2d 'winograd' (blocked) (%9, %4, %5) -> %12 + Add, Relu\n"
            "#7 Pool2d 'blocks' (blocked) (%12) -> %13\n"
            "#8 Conv2d 'blocks' (blocked) (%13, %4) -> %14\n"
            "blocked -> plain %14\n"
            "#9 Pool2d 'blocks to plain' (blocked to plain) (%13) -> %15\n");
}
TEST(ConvolutionForms, KernelsCanBeLeftOut) {
  Wishes wishes;
  wishes.without = {"winograd", "stem"};
  const std::string text = Chosen(wishes);
  EXPECT_THAT(text, ::testing::HasSubstr("#4 Conv2d 'blocks'"));
  EXPECT_THAT(text, ::testing::HasSubstr("#0 Conv2d 'window' (%0, %1) -> %7 + Relu\nplain -> "
                                         "blocked %7\n"));
}

TEST(ConvolutionForms, KernelsCanBeForced) {
  Wishes wishes;
  wishes.first = {"blocks"};
  std::string text = Chosen(wishes);
  for (const char* op : {"#0", "#3", "#4", "#8"})
    EXPECT_THAT(text, ::testing::HasSubstr(std::string(op) + " Conv2d 'blocks'"));
  wishes.first = {"general"};
  text = Chosen(wishes);
  for (const char* op : {"#0", "#2", "#3", "#4", "#8"})
    EXPECT_THAT(text, ::testing::HasSubstr(std::string(op) + " Conv2d 'general'"));
}

TEST(ConvolutionForms, BlocksThatTheDeviceHasNoRoomFor) {
  DeviceCaps caps = Cpu();
  caps.max_allocation = 60000;  // %8 to %11 take 53760 bytes, and 64512 in blocks
  const std::string text = Chosen({}, caps);
  EXPECT_THAT(text, ::testing::HasSubstr("#4 Conv2d 'window' (%9"));
  EXPECT_THAT(text, ::testing::HasSubstr("#8 Conv2d 'blocks' (blocked) (%13, %4)"));
}

TEST(ConvolutionForms, ScratchThatTheDeviceHasNoRoomFor) {
  const std::string text = "%0 = input f32[20,20,144,1]\n" + Constant(1, "[3,3,144,32]", 41472, 1) +
                           "%2 = Conv2d(%0, %1) {padding=\"SAME\"} : output f32[20,20,32,1]\n";
  DeviceCaps caps = Cpu();
  EXPECT_THAT(Chosen({}, caps, text), ::testing::HasSubstr("'winograd'"));
  caps.max_allocation = 4 * 36 * 144 * 8 * 4;  // 25 tiles of 6x6 are four rows of 8
  EXPECT_THAT(Chosen({}, caps, text), ::testing::HasSubstr("'winograd'"));
  --caps.max_allocation;
  EXPECT_THAT(Chosen({}, caps, text), ::testing::HasSubstr("'blocks'"));
}

TEST(ConvolutionForms, FewChannelsOfBytesStayPlain) {
  for (const int channels : {1, 4, 8}) {
    const std::string n = std::to_string(channels);
    std::string text = Constant(1, "[3,3," + n + "," + n + "]", size_t(9 * channels * channels), 1);
    text.replace(text.find("f32"), 3, "i8(0.02,0)");
    while (text.find("e-3") != std::string::npos) text.erase(text.find("e-3"), 3);
    text = "%0 = input u8(0.5,30)[40,40," + n + ",1]\n" + text +
           "%2 = Conv2d(%0, %1) {padding=\"SAME\"} : output u8(0.5,30)[40,40," + n + ",1]\n";
    EXPECT_THAT(Chosen({}, Cpu(), text),
                ::testing::HasSubstr(channels < 8 ? "'window bytes'" : "'blocks bytes'"));
  }
}

TEST(ConvolutionForms, AllChoicesAgree) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  auto run = [](const compiler::RankedBackend& backend,
                const std::vector<std::pair<std::string, std::string>>& choices,
                std::multiset<std::string>* kernels) {
    const auto graph = ReadGraph(Network(), Builtin());
    auto* x = static_cast<float*>(graph->values()[0].storage->data());
    for (int64_t i = 0; i < graph->values()[0].type.count(); ++i)
      x[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
    compiler::Options options;
    options.options_for = [&](const std::string&) { return choices; };
    CompileReport report;
    const Status s = tim::vx::testing::RunGraph(graph, Builtin(), {backend}, options, &report);
    EXPECT_TRUE(s.ok()) << s.message();
    for (const OpPlacement& p : report.ops) kernels->insert(p.kernel);
    return tim::vx::testing::OutputsOf(*graph);
  };
  std::multiset<std::string> kernels;
  const auto expected = run({reference::CreateBackend()}, {}, &kernels);
  ASSERT_EQ(expected.size(), 2u);
  auto compare = [&](const tim::vx::testing::Floats& got) {
    for (const auto& [id, values] : expected) {
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(got.at(id)[i], values[i], 2e-6) << "%" << id << ", element " << i;
    }
  };
  for (const std::string without : {"", "winograd", "winograd,stem,depthwise", "blocks"}) {
    kernels.clear();
    compare(run({device}, {{"without_kernels", without}}, &kernels));
    EXPECT_EQ(kernels.count("winograd"), without.empty() || without == "blocks" ? 1u : 0u);
    EXPECT_EQ(kernels.count("stem"), without.find("stem") == std::string::npos ? 1u : 0u);
  }
  for (const std::string first : {"general", "window", "blocks"}) {
    kernels.clear();
    compare(run({device}, {{"first_kernels", first}}, &kernels));
    EXPECT_GE(kernels.count(first), 1u) << first;
  }
  kernels.clear();
  compare(run({device}, {{"private_layouts", "off"}}, &kernels));
  EXPECT_EQ(kernels.count("blocks"), 0u);
}

}  // namespace
}  // namespace tim::vx::opencl
