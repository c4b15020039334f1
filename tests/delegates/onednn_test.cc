// The oneDNN delegate as applications use it: networks whole and in pieces, reports, memory that is
// swapped, threads.
#include "tim/vx/delegates/onednn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "delegates/support.h"
#include "samples/lenet/digits.h"
#include "tim/vx/ops.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

std::shared_ptr<Context> WithOneDnn(std::shared_ptr<Context> context,
                                    const OneDnnOptions& options = {}) {
  EXPECT_TRUE(context->SetDelegate(CreateOneDnnDelegate(options)).ok());
  return context;
}

/// The same numbers each time, between -1 and 1.
std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  for (float& f : numbers) {
    seed = seed * 1664525 + 1013904223;
    f = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return numbers;
}

/// How many ops each backend runs.
std::map<std::string, size_t> Counts(const GraphPtr& graph) {
  std::map<std::string, size_t> counts;
  for (const OpPlacement& p : graph->Report().ops) ++counts[p.backend];
  return counts;
}

/// Two convolutions with their activations, pooling, a residual sum, and a classifier.
struct ConvNet {
  explicit ConvNet(const std::shared_ptr<Context>& context, bool softplus = false)
      : graph(context->CreateGraph()), x(Input(graph, {16, 12, 3, 2})) {
    auto weights = [&](const ShapeType& shape, uint32_t seed) {
      size_t count = 1;
      for (const uint32_t d : shape) count *= d;
      return Constant(graph, shape, Numbers(count, seed));
    };
    const std::array<uint32_t, 2> one = {1, 1}, two = {2, 2};
    const auto a = Between(graph), b = Between(graph), c = Between(graph), d = Between(graph),
               e = Between(graph), f = Between(graph), g = Between(graph);
    Bind<ops::Conv2d>(graph, {x, weights({3, 3, 3, 16}, 1), weights({16}, 2)}, {a}, PadType::SAME,
                      one, one);
    Bind<ops::Relu>(graph, {a}, {b});
    Bind<ops::Pool2d>(graph, {b}, {c}, PoolType::MAX, PadType::NONE, two, two);
    Bind<ops::Conv2d>(graph, {c, weights({3, 3, 16, 16}, 3), weights({16}, 4)}, {d}, PadType::SAME,
                      one, one);
    if (softplus) {
      Bind<ops::SoftRelu>(graph, {d}, {e});
    } else {
      Bind<ops::Tanh>(graph, {d}, {e});
    }
    Bind<ops::Add>(graph, {e, c}, {f});
    Bind<ops::Pool2d>(graph, {f}, {g}, PoolType::AVG, PadType::VALID, two, two);
    y = Output(graph, {});
    Bind<ops::FullyConnected>(graph, {g, weights({4 * 3 * 16, 10}, 5)}, {y}, 2u);
    EXPECT_TRUE(Write<float>(x, Numbers(16 * 12 * 3 * 2, 6)));
  }
  std::vector<float> Run() const {
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(y, 20);
  }
  GraphPtr graph;
  TensorPtr x, y;
};

void ExpectNear(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-4) << i;
}

TEST(OneDnn, ANetworkWhole) {
  const ConvNet reference(NewHostContext()), ours(WithOneDnn(NewHostContext()));
  const std::vector<float> wanted = reference.Run(), got = ours.Run();
  ExpectNear(got, wanted);
  EXPECT_THAT(Counts(ours.graph), ElementsAre(std::pair("onednn", 8)));
  EXPECT_EQ(ours.graph->Report().partitions, 1u);
  EXPECT_EQ(ours.Run(), got);
  if (!HasOpenCl()) GTEST_SKIP() << "without OpenCL only the reference was compared with";
  const ConvNet device(Context::Create());
  ExpectNear(got, device.Run());
}

TEST(OneDnn, ANetworkInPieces) {
  const std::vector<float> wanted = ConvNet(NewHostContext(), true).Run();
  for (const auto& context : {NewHostContext(), Context::Create()}) {
    const ConvNet split(WithOneDnn(context), true);
    ExpectNear(split.Run(), wanted);
    EXPECT_EQ(Counts(split.graph)["onednn"], 7u);
    EXPECT_EQ(split.graph->Report().partitions, 3u);
    for (const OpPlacement& p : split.graph->Report().ops) {
      if (p.kind != "SoftRelu") continue;
      EXPECT_NE(p.backend, "onednn");
      EXPECT_THAT(p.refusals, Contains("onednn: not replaced by delegate 'onednn': it is of no "
                                       "kind that oneDNN is asked for"));
    }
  }
  // One kind alone: pieces by choice.
  OneDnnOptions convolutions;
  convolutions.kinds = {"Conv2d"};
  convolutions.threads = 1;
  const ConvNet some(WithOneDnn(NewHostContext(), convolutions));
  ExpectNear(some.Run(), ConvNet(NewHostContext()).Run());
  EXPECT_THAT(Counts(some.graph), ElementsAre(std::pair("onednn", 2), std::pair("reference", 6)));
  EXPECT_THAT(
      some.graph->Report().ToText(),
      HasSubstr("not replaced by delegate 'onednn': its kind is not among those asked for"));
}

// Integers: equal to the last bit, whoever runs them.
TEST(OneDnn, TheDigitReader) {
  const auto model = digits::Model::Load(DIGITS_DIR "/digits.weights");
  const auto set = digits::LoadTestSet(DIGITS_DIR "/digits.testset");
  ASSERT_TRUE(model.ok() && set.ok());
  constexpr uint32_t kBatch = 16;
  auto logits = [&](const std::shared_ptr<Context>& context, size_t on_onednn) {
    const GraphPtr graph = context->CreateGraph();
    const digits::Network net = digits::Build(*graph, *model, kBatch, true);
    EXPECT_TRUE(net.input->CopyDataToTensor(set->inputs.data(), kBatch * digits::kPixels));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_EQ(Counts(graph)["onednn"], on_onednn) << graph->Report().ToText();
    return Read<uint8_t>(net.logits, kBatch * digits::kClasses);
  };
  const std::vector<uint8_t> wanted = logits(Context::Create(), 0);
  EXPECT_EQ(logits(WithOneDnn(Context::Create()), 7), wanted);
  OneDnnOptions split;
  split.kinds = {"Conv2d", "FullyConnected"};
  EXPECT_EQ(logits(WithOneDnn(NewHostContext(), split), 4), wanted);
}

/// One convolution on bytes, weights per channel.
struct ByteConvolution {
  ByteConvolution(const std::shared_ptr<Context>& context, DataType x_type, uint32_t channels,
                  int8_t weight = 0)
      : graph(context->CreateGraph()) {
    const Quantization qx(QuantType::ASYMMETRIC, 0.03f, x_type == DataType::UINT8 ? 117 : -11);
    const Quantization qw(QuantType::SYMMETRIC_PER_CHANNEL, 3, {0.01f, 0.02f, 0.013f, 0.007f},
                          {0, 0, 0, 0});
    const Quantization qy(QuantType::ASYMMETRIC, 0.4f, x_type == DataType::UINT8 ? 130 : 3);
    x = Input(graph, {9, 7, channels, 1}, x_type, qx);
    y = Output(graph, {9, 7, 4, 1}, x_type, qy);
    std::vector<int8_t> w(9 * channels * 4);
    std::vector<uint8_t> in(9 * 7 * channels);
    uint32_t seed = 7;
    auto byte = [&] { return static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24); };
    for (int8_t& v : w) v = weight != 0 ? weight : static_cast<int8_t>(byte());
    for (uint8_t& v : in) v = byte();
    const std::vector<int32_t> b = {1000, -77, 0, 30000};
    const auto kernel =
        Make(graph, TensorAttribute::CONSTANT, {3, 3, channels, 4}, DataType::INT8, qw, w.data());
    const auto bias =
        Make(graph, TensorAttribute::CONSTANT, {4}, DataType::INT32, Quantization(), b.data());
    Bind<ops::Conv2d>(graph, {x, kernel, bias}, {y}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                      std::array<uint32_t, 2>{1, 1});
    EXPECT_TRUE(Write(x, in));
  }
  std::vector<uint8_t> Run() const {
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read<uint8_t>(y, 9 * 7 * 4);
  }
  GraphPtr graph;
  TensorPtr x, y;
};

TEST(OneDnn, ConvolutionsOfBytesAreExact) {
  for (const DataType type : {DataType::UINT8, DataType::INT8}) {
    for (const uint32_t channels : {1u, 3u, 16u, 33u, 64u}) {
      const ByteConvolution ours(WithOneDnn(NewHostContext()), type, channels);
      EXPECT_EQ(ours.Run(), ByteConvolution(NewHostContext(), type, channels).Run()) << channels;
      EXPECT_EQ(Counts(ours.graph)["onednn"], 1u) << ours.graph->Report().ToText();
    }
  }
  // 9 * 127 terms of 127 and of up to 138: 20,030,472 is beyond 2^24, where float32 has gaps.
  const ByteConvolution large(WithOneDnn(NewHostContext()), DataType::UINT8, 127, 127);
  EXPECT_EQ(large.Run(), ByteConvolution(NewHostContext(), DataType::UINT8, 127, 127).Run());
  ASSERT_EQ(Counts(large.graph)["onednn"], 0u);
  EXPECT_THAT(large.graph->Report().ops[0].refusals,
              Contains(HasSubstr("its integer sums may reach 138 * 145161, beyond the 2^24")));
}

TEST(OneDnn, SaysWhyNot) {
  const auto context = WithOneDnn(NewHostContext());
  auto reason = [&](const std::function<void(const GraphPtr&)>& build) {
    const GraphPtr graph = context->CreateGraph();
    build(graph);
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
    const OpPlacement& op = graph->Report().ops[0];
    EXPECT_EQ(op.backend, "reference");
    return op.refusals.empty() ? "" : op.refusals[0];
  };
  const std::string start = "onednn: not replaced by delegate 'onednn': ";
  EXPECT_EQ(reason([](const GraphPtr& g) {
              Bind<ops::Relu>(g, {Input(g, {4}, DataType::FLOAT16)},
                              {Output(g, {4}, DataType::FLOAT16)});
            }),
            start + "only f32, i8 and u8, not f16[4]");
  EXPECT_EQ(reason([](const GraphPtr& g) {
              Bind<ops::Pool2d>(g, {Input(g, {4, 4, 1, 1})}, {Output(g, {})}, PoolType::L2,
                                PadType::VALID, std::array<uint32_t, 2>{2, 2},
                                std::array<uint32_t, 2>{2, 2});
            }),
            start + "oneDNN has no L2 pooling");
  EXPECT_EQ(reason([](const GraphPtr& g) {
              Bind<ops::Matmul>(g, {Input(g, {4, 4}), Input(g, {4, 4})},
                                {Output(g, {4, 4}, DataType::UINT8,
                                        Quantization(QuantType::ASYMMETRIC, 0.1f, 3))});
            }),
            start + "a float sum is rounded: its order would show");
}

TEST(OneDnn, MemoryThatIsSwapped) {
  const auto context = WithOneDnn(NewHostContext());
  const GraphPtr graph = context->CreateGraph();
  const TensorSpec in(DataType::FLOAT32, {4, 3, 8, 1}, TensorAttribute::INPUT);
  const TensorSpec out(DataType::FLOAT32, {4, 3, 8, 1}, TensorAttribute::OUTPUT);
  constexpr size_t kCount = 4 * 3 * 8;
  struct alignas(64) Block {
    float values[kCount];
  };
  std::vector<Block> memory(4);
  for (Block& b : memory) std::fill(std::begin(b.values), std::end(b.values), -1.0f);
  const auto x = graph->CreateIOTensor(in, memory[0].values);
  const auto y = graph->CreateIOTensor(out, memory[1].values);
  const auto w = Constant(graph, {1, 1, 8, 8}, Numbers(64, 3));
  const auto t = Between(graph);
  Bind<ops::Conv2d>(graph, {x, w}, {t}, PadType::VALID, std::array<uint32_t, 2>{1, 1},
                    std::array<uint32_t, 2>{1, 1});
  Bind<ops::Relu>(graph, {t}, {y});
  auto run = [&](float* from, float* to, uint32_t seed) {
    const std::vector<float> values = Numbers(kCount, seed);
    std::copy(values.begin(), values.end(), from);
    EXPECT_TRUE(x->FlushCacheForHandle());
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_TRUE(y->InvalidateCacheForHandle());
    for (size_t i = 0; i < kCount; ++i) {
      double sum = 0;
      for (size_t c = 0; c < 8; ++c)
        sum += static_cast<double>(values[c * 12 + i % 12]) * Numbers(64, 3)[i / 12 * 8 + c];
      EXPECT_NEAR(to[i], std::max(sum, 0.0), 1e-5) << i;
    }
  };
  run(memory[0].values, memory[1].values, 1);
  EXPECT_EQ(Counts(graph)["onednn"], 2u);
  void* old = nullptr;
  ASSERT_TRUE(x->SwapHandle(memory[2].values, false, &old));
  ASSERT_TRUE(y->SwapHandle(memory[3].values, false, &old));
  const std::vector<float> before(memory[1].values, memory[1].values + kCount);
  run(memory[2].values, memory[3].values, 2);
  EXPECT_EQ(std::vector<float>(memory[1].values, memory[1].values + kCount), before);
}

// Kernels follow other shapes; the partition is not compiled anew.
TEST(OneDnn, OtherShapes) {
  const std::shared_ptr<Delegate> inner = CreateOneDnnDelegate();
  size_t builds = 0;
  const auto counted = [&](DelegateModel* model) {
    ++builds;
    return inner->Build(model);
  };
  const auto host = NewHostContext();
  ASSERT_TRUE(host->SetDelegate(std::make_shared<MadeDelegate>(inner->Name(), counted,
                                                               [&] { return inner->Init(); }))
                  .ok());
  const ConvNet net(host), reference(NewHostContext());
  ExpectNear(net.Run(), reference.Run());
  for (const uint32_t batch : {5u, 1u, 2u}) {
    for (const ConvNet* n : {&net, &reference}) {
      ASSERT_TRUE(n->graph->Resize({{16, 12, 3, batch}})) << n->graph->LastStatus().message();
      EXPECT_TRUE(Write<float>(n->x, Numbers(16 * 12 * 3 * batch, batch)));
      ASSERT_TRUE(n->graph->Run()) << n->graph->LastStatus().message();
    }
    ExpectNear(Read(net.y, 10 * batch), Read(reference.y, 10 * batch));
    EXPECT_THAT(Counts(net.graph), ElementsAre(std::pair("onednn", 8)));
  }
  EXPECT_EQ(builds, 1u);
  // A shape for which oneDNN does otherwise: the op moves on.
  const auto context = WithOneDnn(NewHostContext());
  const GraphPtr graph = context->CreateGraph();
  const auto x = Input(graph, {3, 3, 1, 1}), y = Output(graph, {});
  Bind<ops::Pool2d>(graph, {x}, {y}, PoolType::AVG, std::array<uint32_t, 4>{1, 1, 1, 1},
                    std::array<uint32_t, 2>{2, 2}, std::array<uint32_t, 2>{3, 3},
                    RoundType::CEILING);
  ASSERT_TRUE(graph->Compile());
  EXPECT_EQ(Counts(graph)["onednn"], 1u) << graph->Report().ToText();
  ASSERT_TRUE(graph->Resize({{5, 5, 1, 1}})) << graph->LastStatus().message();
  Write<float>(x, std::vector<float>(25, 4));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Counts(graph)["onednn"], 0u) << graph->Report().ToText();
  EXPECT_THAT(Read(y, 9), ElementsAre(1, 2, 0, 2, 4, 0, 0, 0, 0));
}

TEST(OneDnn, TwoGraphsOnTwoThreads) {
  const auto context = WithOneDnn(NewHostContext());
  const ConvNet first(context), second(context);
  const std::vector<float> wanted = ConvNet(NewHostContext()).Run();
  std::vector<float> from_here = first.Run();  // compiled here, run on another thread too
  auto repeat = [&](const ConvNet& net) {
    for (int run = 0; run < 20; ++run) ExpectNear(net.Run(), wanted);
  };
  std::thread one(repeat, std::cref(first)), two(repeat, std::cref(second));
  one.join();
  two.join();
  ExpectNear(from_here, wanted);
}

// The Relu runs inside of the convolution, but not where others want to see what goes into it.
TEST(OneDnn, ProfilesAndFusedRelus) {
  const ConvNet net(WithOneDnn(NewHostContext()));
  ASSERT_TRUE(net.graph->Compile());
  const GraphProfile profile = net.graph->Profile(2);
  std::string kernels;
  for (const OpTime& op : profile.ops) kernels += op.op + "=" + op.kernel + "\n";
  EXPECT_THAT(kernels, HasSubstr("Conv2d#1="));
  EXPECT_THAT(kernels, HasSubstr("Tanh#5="));
  EXPECT_EQ(kernels.find("Relu#2="), std::string::npos) << kernels;

  const auto context = WithOneDnn(NewHostContext());
  const GraphPtr graph = context->CreateGraph();
  const auto x = Input(graph, {2, 1}), t = Output(graph, {}), y = Output(graph, {});
  Bind<ops::FullyConnected>(graph, {x, Constant(graph, {2, 2}, {1, 1, -1, -1})}, {t}, 0u);
  Bind<ops::Relu>(graph, {t}, {y});
  Write<float>(x, {1, 2});
  ASSERT_TRUE(graph->Run());
  EXPECT_EQ(Counts(graph)["onednn"], 2u);
  EXPECT_THAT(Read(t, 2), ElementsAre(3, -3));
  EXPECT_THAT(Read(y, 2), ElementsAre(3, 0));
}

}  // namespace
}  // namespace tim::vx::test
