// Composed operators that are right: numbers, names, classes, layouts, backends, and how they are
// shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "composed/ops.h"
#include "support/cwhn_convolutions.h"
#include "support/host_backend.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/rnn_cell.h"

namespace tim::vx::test {
namespace {

using samples::Attention;
using samples::AttentionAttrs;
using samples::SimpleRnn;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Where every graph of this program writes what it becomes; read before the library is.
const std::string& DumpFolder() {
  static const std::string folder = [] {
    auto f =
        std::filesystem::temp_directory_path() / ("timcl_composed_" + std::to_string(getpid()));
    return f.string();
  }();
  return folder;
}
const bool kDumps = setenv("TIMCL_DUMP", DumpFolder().c_str(), 1) == 0;

class Folder : public ::testing::Environment {
 public:
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(DumpFolder(), ignored);
  }
};
const auto* const kFolder = ::testing::AddGlobalTestEnvironment(new Folder);

std::string Dumped(const std::string& file) {
  std::ifstream in(DumpFolder() + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return values;
}

/// Both contexts: the device, and the references.
class Composed : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    context_ = GetParam() ? SharedContext() : HostContext();
    graph_ = context_->CreateGraph();
  }
  TensorPtr Given(const ShapeType& shape, uint32_t seed) {
    auto t = Input(graph_, shape);
    size_t count = 1;
    for (const uint32_t extent : shape) count *= extent;
    EXPECT_TRUE(Write(t, Numbers(count, seed)));
    return t;
  }
  void Run() { ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message(); }
  std::vector<std::string> Ops() const {
    std::vector<std::string> ops;
    for (const OpPlacement& p : graph_->Report().ops)
      ops.push_back(p.op + (p.part_of.empty() ? "" : " of " + p.part_of));
    return ops;
  }

  std::shared_ptr<Context> context_;
  GraphPtr graph_;
};
INSTANTIATE_TEST_SUITE_P(On, Composed, ::testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "OpenCl" : "Reference");
});

TEST_P(Composed, AttentionIsWhatItsPartsAreByHand) {
  const uint32_t width = 12, heads = 3, depth = 4, queries = 5, keys = 7;
  auto q = Given({width, queries}, 1), k = Given({width, keys}, 2), v = Given({width, keys}, 3);
  auto composed = Output(graph_, {width, queries}), by_hand = Output(graph_, {width, queries});
  Bind<Attention>(graph_, {q, k, v}, {composed}, AttentionAttrs{heads});
  const auto split = [&](const TensorPtr& x, uint32_t n) {
    auto parts = Between(graph_), turned = Between(graph_);
    Bind<ops::Reshape>(graph_, {x}, {parts}, std::vector<uint32_t>{depth, heads, n});
    Bind<ops::Transpose>(graph_, {parts}, {turned}, std::vector<uint32_t>{0, 2, 1});
    return turned;
  };
  auto fit = Between(graph_), weight = Between(graph_), taken = Between(graph_);
  auto joined = Between(graph_);
  Bind<ops::Matmul>(graph_, {split(q, queries), split(k, keys)}, {fit}, false, true);
  Bind<ops::Softmax>(graph_, {fit}, {weight}, 1 / std::sqrt(4.0f), 0);
  Bind<ops::Matmul>(graph_, {weight, split(v, keys)}, {taken});
  Bind<ops::Transpose>(graph_, {taken}, {joined}, std::vector<uint32_t>{0, 2, 1});
  Bind<ops::Reshape>(graph_, {joined}, {by_hand}, std::vector<uint32_t>{width, queries});
  Run();
  const auto got = Read(composed, width * queries);
  EXPECT_EQ(got, Read(by_hand, width * queries));

  const auto qs = Numbers(width * queries, 1), ks = Numbers(width * keys, 2);
  const auto vs = Numbers(width * keys, 3);
  for (size_t i = 0; i < queries; ++i) {
    for (size_t at = 0; at < width; ++at) {
      double sum = 0, result = 0;
      for (size_t j = 0; j < keys; ++j) {
        double dot = 0;
        for (size_t d = at / depth * depth; d < (at / depth + 1) * depth; ++d)
          dot += double{qs[i * width + d]} * ks[j * width + d];
        sum += std::exp(dot / 2);
        result += std::exp(dot / 2) * vs[j * width + at];
      }
      EXPECT_NEAR(got[i * width + at], result / sum, 1e-5) << i << " " << at;
    }
  }
}

TEST_P(Composed, SeveralResultsAndAnOperandLeftOut) {
  for (const bool bias : {true, false}) {
    graph_ = context_->CreateGraph();
    auto x = Given({3, 2}, 1), w = Given({3, 4}, 2), s = Given({4, 2}, 3), r = Given({4, 4}, 4);
    auto b = bias ? Given({4}, 5) : graph_->CreateTensorPlaceHolder();
    std::array<TensorPtr, 2> composed, built_in;
    for (auto* results : {&composed, &built_in})
      for (auto& t : *results) t = Output(graph_, {4, 2});
    Bind<SimpleRnn>(graph_, {x, w, b, s, r}, {composed[0], composed[1]});
    Bind<ops::RNNCell>(graph_, {x, w, b, s, r}, {built_in[0], built_in[1]}, ops::RNNCell::kTANH);
    Run();
    const auto got = Read(composed[0], 8), expected = Read(built_in[0], 8);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
    EXPECT_EQ(Read(composed[1], 8), got);
    EXPECT_GT(std::abs(got[0]), 1e-3);
  }
}

TEST_P(Composed, IntegersPassThroughTheTypesInBetween) {
  const Quantization qx(QuantType::ASYMMETRIC, 0.02f, 120), qy(QuantType::ASYMMETRIC, 0.05f, 101);
  auto x = Input(graph_, {5}, DataType::UINT8, qx), y = Input(graph_, {5}, DataType::UINT8, qx);
  auto z = Output(graph_, {5}, DataType::UINT8, qy);
  auto hand = Output(graph_, {5}, DataType::UINT8, qy);
  auto ax = Make(graph_, TensorAttribute::TRANSIENT, {}, DataType::UINT8, qx);
  Bind<Axpy>(graph_, {x, y}, {z}, AxpyAttrs{2.5f});
  Bind<ops::Multiply>(graph_, {x, Constant(graph_, {1}, {2.5f})}, {ax}, 1.0f);
  Bind<ops::Add>(graph_, {ax, y}, {hand});
  ASSERT_TRUE(Write<uint8_t>(x, {0, 100, 120, 140, 255}) && Write<uint8_t>(y, {7, 90, 1, 2, 255}));
  Run();
  const auto got = Read<uint8_t>(z, 5);
  EXPECT_EQ(got, Read<uint8_t>(hand, 5));
  // -2.4 * 2.5 saturates in between, at -120 * 0.02; then -2.4 - 2.26 = -93.2 * 0.05.
  EXPECT_EQ(got[0], 101 - 93);
}

TEST_P(Composed, ShapesAreThoseOfTheParts) {
  // A row and a column give a table: no function of Axpy says so.
  auto row = Given({3}, 1), column = Given({1, 2}, 2), z = Output(graph_, {3, 2});
  auto table = Between(graph_);
  Bind<Axpy2>(graph_, {row, column}, {table}, AxpyAttrs{3});
  Bind<ops::Relu>(graph_, {table}, {z});
  Run();
  const auto xs = Numbers(3, 1), ys = Numbers(2, 2);
  const auto got = Read(z, 6);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(got[i], std::max(0.0f, 3 * (3 * xs[i % 3] + ys[i / 3]) + ys[i / 3])) << i;
}

/// Says itself what shape it has.
class WithItsOwnShape : public ComposedOp<WithItsOwnShape> {
 public:
  using ComposedOp::ComposedOp;
  static inline int asked = 0;
  static void Define(OpDef& def) {
    def.name = "WithItsOwnShape";
    def.infer = [](const OpView& op) -> Result<Shapes> {
      ++asked;
      return Shapes{{op.in(0).shape().count()}};
    };
  }
  static Status Expand(ExpandBuilder& b) {
    b.AddTo<ops::Reshape>(0, {b.in(0)}, b.op().out(0).shape().ToShapeType());
    return Status();
  }
};

TEST_P(Composed, AHandWrittenShapeStaysPossible) {
  auto x = Given({3, 2}, 1), flat = Between(graph_), y = Output(graph_, {6});
  Bind<WithItsOwnShape>(graph_, {x}, {flat});
  Bind<ops::Relu>(graph_, {flat}, {y});
  WithItsOwnShape::asked = 0;
  Run();
  EXPECT_GT(WithItsOwnShape::asked, 0);
}

TEST_P(Composed, ByNameAndByClassAlike) {
  auto context = GetParam() ? Context::Create() : NewHostContext();
  ASSERT_TRUE(Axpy::Register(context->Ops()).ok());
  EXPECT_EQ(Axpy::Register(context->Ops()).code(), Code::kAlreadyExists);
  graph_ = context->CreateGraph();
  auto x = Given({4}, 1), y = Given({4}, 2);
  std::vector<TensorPtr> z;
  for (int i = 0; i < 4; ++i) z.push_back(Output(graph_, {4}));
  Bind<Axpy>(graph_, {x, y}, {z[0]}, AxpyAttrs{0.5f});
  graph_->CreateOperation("Axpy", {{"a", 0.5}})->BindInputs({x, y}).BindOutput(z[1]);
  Bind<Axpy2>(graph_, {x, y}, {z[2]}, AxpyAttrs{0.5f});
  Bind<Axpy2ByName>(graph_, {x, y}, {z[3]}, AxpyAttrs{0.5f});
  Run();
  const auto once = Read(z[0], 4), twice = Read(z[2], 4);
  EXPECT_FLOAT_EQ(once[1], 0.5f * Numbers(4, 1)[1] + Numbers(4, 2)[1]);
  EXPECT_EQ(Read(z[1], 4), once);
  EXPECT_FLOAT_EQ(twice[1], 0.5f * once[1] + Numbers(4, 2)[1]);
  EXPECT_EQ(Read(z[3], 4), twice);
}

TEST_P(Composed, OverridesReachThePartsOfAComposedOp) {
  auto context = GetParam() ? Context::Create() : NewHostContext();
  // From now on Relu is |x|, wherever its name stands.
  class UsesRelu : public ComposedOp<UsesRelu> {
   public:
    using ComposedOp::ComposedOp;
    static void Define(OpDef& def) { def.name = "UsesRelu"; }
    static Status Expand(ExpandBuilder& b) {
      b.AddTo<ops::Relu>(0, {b.in(0)});
      return Status();
    }
  };
  ASSERT_TRUE(CalledRelu::Register(context->Ops(), OpRegistry::OnDuplicate::kOverride).ok());
  graph_ = context->CreateGraph();
  auto x = Input(graph_, {2});
  std::vector<TensorPtr> y;
  for (int i = 0; i < 3; ++i) y.push_back(Output(graph_, {2}));
  Bind<ops::Relu>(graph_, {x}, {y[0]});
  Bind<CalledRelu>(graph_, {x}, {y[1]});
  Bind<UsesRelu>(graph_, {x}, {y[2]});
  ASSERT_TRUE(Write<float>(x, {-3, 2}));
  Run();
  for (const auto& t : y) EXPECT_THAT(Read(t, 2), ElementsAre(3, 2));
}

TEST_P(Composed, OfConstantsAlone) {
  // Folded into a constant; a part without a reference is left to the device.
  auto sum = Between(graph_), z = Output(graph_, {2});
  const auto one = Constant(graph_, {2}, {1, 2}), two = Constant(graph_, {2}, {3, 4});
  Bind<Axpy2>(graph_, {one, two}, {sum}, AxpyAttrs{10});
  Bind<ops::Neg>(graph_, {sum}, {z});
  Run();
  EXPECT_THAT(Read(z, 2), ElementsAre(-(10 * (10 + 3) + 3), -(10 * (20 + 4) + 4)));
  EXPECT_THAT(Ops(), ElementsAre("Neg#2"));
}

double SwishBothWaysOf(double x) {
  const auto swish = [](double v) { return v * std::fmin(std::fmax(v + 3, 0.0), 6.0) / 6; };
  return swish(x) + swish(-x);
}

TEST(ComposedOfCustom, KernelsOfTheUsersOwn) {
  if (!HasOpenCl()) GTEST_SKIP() << "skipped: no OpenCL device, custom kernels have no reference";
  for (const bool constant : {false, true}) {
    const std::vector<float> xs = {-5, -2, -0.5f, 0, 1, 2.5f};
    auto graph = SharedContext()->CreateGraph();
    auto x = constant ? Constant(graph, {3, 2}, xs) : Input(graph, {3, 2});
    auto between = Between(graph), y = Output(graph, {3, 2});
    Bind<SwishBothWays>(graph, {x}, {between});
    Bind<SwishBothWays>(graph, {between}, {y});
    ASSERT_TRUE(constant || Write(x, xs));
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    const auto got = Read(y, 6);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(got[i], SwishBothWaysOf(SwishBothWaysOf(xs[i])), 1e-5) << i;
    ASSERT_EQ(graph->Report().ops.size(), 8u);
  }
}

TEST(ComposedOfCustom, WithoutADeviceThePartIsNamed) {
  auto graph = HostContext()->CreateGraph();
  Bind<SwishBothWays>(graph, {Input(graph, {2})}, {Output(graph, {2})});
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kUnsupported);
  EXPECT_THAT(graph->LastStatus().message(),
              AllOf(HasSubstr("hswish"), HasSubstr("the op has no reference function")));
}

TEST(ComposedClone, KeepsClassAndAttributes) {
  auto from = HostContext()->CreateGraph(), to = HostContext()->CreateGraph();
  const auto check = [&](const std::shared_ptr<Operation>& op) {
    op->BindInput(Input(from, {4}));
    const auto clone = op->Clone(to);
    EXPECT_EQ(to->OpVector().back(), clone);
    EXPECT_EQ(typeid(*clone), typeid(*op));
    EXPECT_STREQ(clone->Kind(), op->Kind());
    EXPECT_EQ(clone->Attributes(), op->Attributes());
    EXPECT_TRUE(InputsOf(*clone).empty());
  };
  check(from->CreateOperation<Attention>(AttentionAttrs{3}));
  check(from->CreateOperation<SimpleRnn>());
  check(from->CreateOperation<Axpy>());
  check(from->CreateOperation<FloatAxpy>(2.5f));
  EXPECT_EQ(to->OpVector()[0]->Attributes().ToText(), "heads=3");
  EXPECT_EQ(to->OpVector()[3]->Attributes().ToText(), "a=2.5");
}

// ------------------------------------------------------------------------------------- layouts

/// Between two CWHN convolutions, all in one graph of CWHN data.
template <class Op>
void ExpectBetweenConvolutions(size_t transposes) {
  for (std::shared_ptr<Context> context : {SharedContext(), HostContext()}) {
    const GraphPtr graph = context->CreateGraph();
    const auto [x, y] = BetweenCwhnConvolutions(
        graph, [&graph](const TensorPtr& given, const TensorPtr& a, const TensorPtr& b) {
          Bind<Op>(graph, {a, given}, {b}, 3.0f)->SetName("mine");
        });
    const auto [inferred, map] = transform::LayoutInference(graph, context);
    ASSERT_TRUE(inferred->Compile()) << inferred->LastStatus().message();
    const auto data = Numbers(60, 9);
    ASSERT_TRUE(Write(map.at(x), data) && inferred->Run());
    const auto got = Read(map.at(y), 60);
    for (size_t i = 0; i < 60; ++i) EXPECT_NEAR(got[i], 2 * (3 * 2 * data[i] + data[i]), 1e-4) << i;
    size_t count = 0, mine = 0;
    for (const auto& op : inferred->OpVector()) {
      count += op->Kind() == std::string("Transpose");
      if (dynamic_cast<const Op*>(op.get()) == nullptr) continue;
      ++mine;
      EXPECT_EQ(op->Name(), "mine");
      EXPECT_EQ(op->Attributes().ToText(), "a=3.0");
    }
    EXPECT_EQ(count, transposes);
    EXPECT_EQ(mine, 1u) << "one node, as the user made it";
  }
}

/// Axpy without a rule, and a constructor like that of FloatAxpy.
class CanonicalAxpy : public ComposedOp<CanonicalAxpy, AxpyAttrs> {
 public:
  CanonicalAxpy(Graph* graph, float a) : ComposedOp(graph, AxpyAttrs{a}) {}
  static void Define(OpDef& def) {
    def.name = "CanonicalAxpy";
    def.inputs = "x y";
  }
  static Status Expand(ExpandBuilder& b) { return Axpy::Expand(b); }
};

TEST(ComposedLayout, WithoutARuleTheOperandsComeAsTheUserThinksOfThem) {
  ExpectBetweenConvolutions<CanonicalAxpy>(4);
}
TEST(ComposedLayout, WithARuleItGoesAlong) { ExpectBetweenConvolutions<FloatAxpy>(2); }

struct BlockAttrs {
  DataLayout layout = DataLayout::WHCN;
  TIMCL_FIELDS(layout)
};
/// relu(conv(x, kernel)), whose data come in the order that an attribute names.
class Block : public ComposedOp<Block, BlockAttrs> {
 public:
  using ComposedOp::ComposedOp;
  static inline bool hand_on = false;  // a mistake: the parts take native data
  static void Define(OpDef& def) {
    def.name = "Block";
    def.inputs = "input kernel";
    def.layout = LayoutRule::Fixed("layout");
  }
  static Status Expand(ExpandBuilder& b) {
    const std::array<uint32_t, 2> one = {1, 1};
    const DataLayout layout = hand_on ? DataLayout::CWHN : DataLayout::WHCN;
    const auto y =
        b.Add<ops::Conv2d>({b.in(0), b.in(1)}, kF32, PadType::VALID, one, one, 0, layout);
    b.AddTo<ops::Relu>(0, {y});
    return Status();
  }
};

TEST(ComposedLayout, AnAttributeMayNameTheOrder) {
  auto context = HostContext();
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2, 3, 1, 1}), y = Output(graph, {1, 3, 1, 1});  // CWHN
  const auto kernel = Constant(graph, {1, 1, 2, 1}, {1, 10});            // WHIcOc
  Bind<Block>(graph, {x, kernel}, {y}, BlockAttrs{DataLayout::CWHN});
  const auto [inferred, map] = transform::LayoutInference(graph, context);
  ASSERT_TRUE(Write<float>(map.at(x), {1, 2, 3, 4, -5, -6}));
  ASSERT_TRUE(inferred->Run()) << inferred->LastStatus().message();
  EXPECT_THAT(Read(map.at(y), 3), ElementsAre(21, 43, 0));
  EXPECT_THAT(inferred->Report().warnings, ::testing::IsEmpty());
}

TEST(ComposedLayout, LayoutArgumentsOfPartsAreAWarning) {
  auto graph = HostContext()->CreateGraph();
  const auto kernel = Constant(graph, {1, 1, 2, 1}, {1, 10});
  Bind<Block>(graph, {Input(graph, {3, 1, 2, 1}), kernel}, {Output(graph, {3, 1, 1, 1})});
  Block::hand_on = true;
  EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
  Block::hand_on = false;
  EXPECT_THAT(graph->Report().warnings,
              ElementsAre(AllOf(HasSubstr("Conv2d#1.1 (input_layout=\"CWHN\")"),
                                HasSubstr("have no effect in the parts of a composed operator"))));
}

// ------------------------------------------------------------------------------ a backend takes it

TEST(ComposedBackend, MayTakeItWhole) {
  for (const bool takes : {true, false}) {
    auto context = NewHostContext();
    const auto backend = std::make_shared<HostBackend>("mine", [takes](const OpView& op) {
      return takes && op.kind() == "Attention" ? "" : "not my kind";
    });
    ASSERT_TRUE(context->AddBackend(backend, 5).ok());
    auto graph = context->CreateGraph();
    auto x = Input(graph, {4, 3}), y = Between(graph), z = Output(graph, {4, 3});
    Bind<Attention>(graph, {x, x, x}, {y}, AttentionAttrs{2});
    Bind<ops::Neg>(graph, {y}, {z});
    ASSERT_TRUE(Write(x, Numbers(12, 5)));
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    auto alone = HostContext()->CreateGraph();
    auto xa = Input(alone, {4, 3}), ya = Output(alone, {4, 3});
    Bind<Attention>(alone, {xa, xa, xa}, {ya}, AttentionAttrs{2});
    ASSERT_TRUE(Write(xa, Numbers(12, 5)) && alone->Run());
    auto expected = Read(ya, 12);
    for (float& v : expected) v = -v;
    EXPECT_EQ(Read(z, 12), expected);
    const auto& ops = graph->Report().ops;
    if (takes) {
      ASSERT_EQ(ops.size(), 2u) << graph->Report().ToText();
      EXPECT_EQ(ops[0].op + " " + ops[0].backend, "Attention#1 mine");
      EXPECT_EQ(ops[0].part_of, "");
    } else {
      EXPECT_EQ(ops.size(), 12u);
      for (const OpPlacement& p : ops) EXPECT_EQ(p.backend, "reference");
    }
  }
}

/// Wants each op expanded, and then none of the parts.
class Expander : public HostBackend {
 public:
  Expander() : HostBackend("expander") {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) selection->OnlyExpanded(op, "in parts, please");
    return Status();
  }
};

TEST(ComposedBackend, MayWantItExpanded) {
  auto context = NewHostContext();
  ASSERT_TRUE(context->AddBackend(std::make_shared<Expander>(), 5).ok());
  ASSERT_TRUE(context->AddBackend(std::make_shared<HostBackend>("all"), 4).ok());
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  Bind<Axpy2>(graph, {x, x}, {y}, AxpyAttrs{2});
  ASSERT_TRUE(Write<float>(x, {1, -1}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(7, -7));
  for (const OpPlacement& p : graph->Report().ops) {
    EXPECT_EQ(p.backend, "all");
    EXPECT_EQ(p.part_of.substr(0, 17), "Axpy2#1 / Axpy#1.");
  }
}

// --------------------------------------------------------------------------------- how it is shown

TEST_P(Composed, OneNodeWithItsPartsUnderneath) {
  auto x = Given({2}, 1), y = Given({2}, 2), z = Output(graph_, {2}), w = Output(graph_, {2});
  Bind<Axpy>(graph_, {x, y}, {z}, AxpyAttrs{2})->SetName("first");
  Bind<Axpy>(graph_, {y, x}, {w}, AxpyAttrs{3})->SetName("second");
  // Built: two nodes.
  const std::string built = graph_->ToText();
  EXPECT_THAT(built, AllOf(HasSubstr("Axpy#1 \"first\"(%0, %1) {a=2.0}"),
                           HasSubstr("Axpy#2 \"second\"(%1, %0) {a=3.0}"), Not(HasSubstr("Add"))));
  Run();
  // Report: each one once, with its parts below it.
  EXPECT_THAT(Ops(), ::testing::UnorderedElementsAre("Multiply#1.1 'first' of Axpy#1 'first'",
                                                     "Add#1.2 'first' of Axpy#1 'first'",
                                                     "Multiply#2.1 'second' of Axpy#2 'second'",
                                                     "Add#2.2 'second' of Axpy#2 'second'"));
  const std::string report = graph_->Report().ToText();
  std::vector<std::string> lines;
  std::istringstream in(report);
  for (std::string line; std::getline(in, line);) {
    if (line.find("refused") == std::string::npos) lines.push_back(line.substr(0, line.find(" |")));
  }
  ASSERT_GE(lines.size(), 7u) << report;
  lines.resize(7);
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  EXPECT_THAT(lines,
              ElementsAre("op", "Axpy#1 'first'", "  Multiply#1.1 'first'", "  Add#1.2 'first'",
                          "Axpy#2 'second'", "  Multiply#2.1 'second'", "  Add#2.2 'second'"))
      << report;
  // Text after the passes, and the drawing.
  const std::string text = Dumped("07_partition.txt");
  EXPECT_THAT(text, AllOf(HasSubstr("  // part of Axpy#1 'first'\n"),
                          HasSubstr("  // part of Axpy#2 'second'\n")));
  EXPECT_THAT(Dumped("01_infer_types.txt"),
              HasSubstr("Axpy#2 \"second\"(%1, %0) {a=3.0} : output"));
  const std::string dot = Dumped("graph.dot");
  for (const char* whole : {"Axpy#1 'first'", "Axpy#2 'second'"}) {
    const size_t box = dot.find("label=\"" + std::string(whole) + "\"; style=dashed");
    ASSERT_NE(box, std::string::npos) << dot;
    const std::string inside = dot.substr(box, dot.find("\n  }\n", box) - box);
    EXPECT_THAT(inside, AllOf(HasSubstr("Multiply#"), HasSubstr("Add#"))) << dot;
  }
}

}  // namespace
}  // namespace tim::vx::test
