// Tensors that no machine or not this device can hold: refused by arithmetic, not by using memory.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "api/context.h"
#include "base/storage.h"
#include "errors/error_fixture.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"

namespace tim::vx::test {
namespace {

size_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    size_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

TEST_F(ErrorTest, MoreElementsThan64BitsCount) {
  const uint32_t k = 0xffffffffu;
  auto x = Input(graph_, {k, k, k});
  EXPECT_EQ(x->GetId(), static_cast<uint32_t>(-1));
  ExpectFailure(Code::kInvalidShape,
                {"f32[4294967295,4294967295,4294967295]", "more elements than 64 bits can count"});
}

TEST_F(ErrorTest, MoreBytesThan64BitsCount) {
  auto x = Input(graph_, {1u << 31, 1u << 31});
  EXPECT_EQ(x->GetId(), static_cast<uint32_t>(-1));
  ExpectFailure(Code::kInvalidShape,
                {"f32[2147483648,2147483648]", "more bytes than 64 bits can count"});
}

TEST_F(ErrorTest, BroadcastResultOverflows) {
  auto t = Between(graph_);
  auto wide = Output(graph_, {});
  wide->SetName("wide");
  const uint32_t k = 1u << 22;
  Bind<ops::Add>(graph_, {Input(graph_, {k, 1, 1}), Input(graph_, {1, k, 1})}, {t});
  Bind<ops::Add>(graph_, {t, Input(graph_, {1, 1, k})}, {wide})->SetName("last");
  ExpectFailure(Code::kInvalidShape,
                {"Add#2 'last'", "output 0 'wide'", "[4194304,4194304,4194304]",
                 "more elements than 64 bits can count"});
}

/// The message names both sides.
void ExpectTooLarge(const GraphPtr& graph, uint64_t bytes, const std::vector<std::string>& words) {
  EXPECT_FALSE(graph->Compile());
  const Status status = graph->LastStatus();
  EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
  EXPECT_THAT(status.message(), testing::HasSubstr("takes " + std::to_string(bytes) + " bytes"));
  EXPECT_THAT(status.message(), testing::HasSubstr("largest allocation"));
  for (const std::string& word : words) EXPECT_THAT(status.message(), testing::HasSubstr(word));
}

TEST_F(ErrorTest, LargerThanTheDevicesLargestAllocation) {
  ASSERT_TRUE([&] {  // opens the device and builds nothing large
    Bind<ops::Relu>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})});
    return graph_->Run();
  }());
  // How much that is differs from machine to machine.
  const uint64_t limit = static_cast<const ContextImpl&>(*SharedContext()).max_allocation();
  if (limit == 0) GTEST_SKIP() << "the reference backend has no limit";
  const uint64_t gib = uint64_t{1} << 30, gibs = limit / gib + 1;
  const auto side = static_cast<uint32_t>(std::sqrt(static_cast<double>(limit / 4))) + 1;
  const uint64_t square = uint64_t{4} * side * side;
  ASSERT_GT(square, limit);
  if (base::Storage::Allocate(3 * std::max(gibs * gib, square)) == nullptr)
    GTEST_SKIP() << "this host does not even give addresses for so much";
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 128);
  const std::string sides = "[" + std::to_string(side) + "," + std::to_string(side);
  const size_t before = ResidentBytes();
  {
    auto graph = SharedContext()->CreateGraph();
    const ShapeType shape = {1u << 20, 1024, static_cast<uint32_t>(gibs)};
    auto x = Input(graph, shape, DataType::UINT8, q);
    x->SetName("huge");
    Bind<ops::Relu>(graph, {x}, {Output(graph, shape, DataType::UINT8, q)});
    ExpectTooLarge(graph, gibs * gib,
                   {"Relu#1", "input 0 'huge' u8(0.5,128)[1048576,1024," + std::to_string(gibs)});
  }
  {  // the result alone
    auto graph = SharedContext()->CreateGraph();
    auto y = Output(graph, {});
    y->SetName("huge");
    Bind<ops::Add>(graph, {Input(graph, {side, 1}), Input(graph, {1, side, 1})}, {y});
    ExpectTooLarge(graph, square, {"Add#1", "output 0 'huge' f32" + sides + ",1]"});
  }
  {  // a value that only exists between two ops
    auto graph = SharedContext()->CreateGraph();
    auto t = Between(graph);
    t->SetName("middle");
    Bind<ops::Add>(graph, {Input(graph, {side, 1}), Input(graph, {1, side})}, {t});
    Bind<ops::Relu>(graph, {t}, {Output(graph, {})});
    ExpectTooLarge(graph, square, {"'middle' f32" + sides + "]"});
  }
  EXPECT_LT(ResidentBytes(), before + (size_t{64} << 20)) << "no page is touched";
}

TEST_F(ErrorTest, LargerThanTheHost) {
  auto x = Input(graph_, {1u << 29, 1u << 28});  // 512 PiB
  EXPECT_EQ(x->GetId(), static_cast<uint32_t>(-1));
  ExpectFailure(Code::kOutOfMemory, {"f32[536870912,268435456]", "576460752303423488 bytes",
                                     HasOpenCl() ? "largest allocation" : "the host has no"});
}

}  // namespace
}  // namespace tim::vx::test
