// Tensors that no machine or not this device can hold: refused by arithmetic, not by using memory.
#include <chrono>
#include <fstream>

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

/// 4 to 5 GiB and the like: the message names both sides, quickly, and no page is touched.
void ExpectTooLarge(const GraphPtr& graph, const std::vector<std::string>& words) {
  EXPECT_FALSE(graph->Compile());
  const Status status = graph->LastStatus();
  EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
  EXPECT_THAT(status.message(), testing::HasSubstr("largest allocation"));
  for (const std::string& word : words) EXPECT_THAT(status.message(), testing::HasSubstr(word));
}

TEST_F(ErrorTest, LargerThanTheDevicesLargestAllocation) {
  // Twice the usual limits; a device that can hold this much passes the test by another way.
  const uint32_t gib = 1u << 30;
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 128);
  ASSERT_TRUE([&] {  // opens the device and builds nothing large
    Bind<ops::Relu>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})});
    return graph_->Run();
  }());
  const size_t before = ResidentBytes();
  const auto start = std::chrono::steady_clock::now();
  {
    auto graph = SharedContext()->CreateGraph();
    auto x = Input(graph, {gib / 1024, 1024, 5}, DataType::UINT8, q);
    x->SetName("huge");
    Bind<ops::Relu>(graph, {x}, {Output(graph, {gib / 1024, 1024, 5}, DataType::UINT8, q)});
    ExpectTooLarge(
        graph, {"Relu#1", "input 0 'huge' u8(0.5,128)[1048576,1024,5]", "takes 5368709120 bytes"});
  }
  {  // fewer than 2^31 elements
    auto graph = SharedContext()->CreateGraph();
    auto y = Output(graph, {});
    y->SetName("huge");
    Bind<ops::Add>(graph, {Input(graph, {1u << 15, 1}), Input(graph, {1, 1u << 15, 1})}, {y});
    ExpectTooLarge(graph,
                   {"Add#1", "output 0 'huge' f32[32768,32768,1]", "takes 4294967296 bytes"});
  }
  {  // a value that only exists between two ops
    auto graph = SharedContext()->CreateGraph();
    auto t = Between(graph);
    t->SetName("middle");
    Bind<ops::Add>(graph, {Input(graph, {1u << 15, 1}), Input(graph, {1, 1u << 15})}, {t});
    Bind<ops::Relu>(graph, {t}, {Output(graph, {})});
    ExpectTooLarge(graph, {"'middle' f32[32768,32768]", "takes 4294967296 bytes"});
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(ResidentBytes(), before + (size_t{64} << 20));
  EXPECT_LT(took.count(), 30.0);
}

TEST_F(ErrorTest, LargerThanTheHost) {
  auto x = Input(graph_, {1u << 29, 1u << 28});  // 512 PiB
  EXPECT_EQ(x->GetId(), static_cast<uint32_t>(-1));
  ExpectFailure(Code::kOutOfMemory,
                {"f32[536870912,268435456]", "576460752303423488 bytes", "largest allocation"});
}

}  // namespace
}  // namespace tim::vx::test
