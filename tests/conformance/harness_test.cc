// The harness itself: kernels with one fault each, made here, must be caught, and the right one
// must pass. Made-up ops, whose kernel source comes from a folder in place of the library's table;
// and the library's own point-wise kernel, broken on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "backends/opencl/backend.h"
#include "kernels/prelude.h"
#include "support/conformance.h"
#include "tim/vx/pointwise.h"

namespace tim::vx {
namespace conformance {
namespace {

using testing::HasSubstr;

Status NothingToVerify(const OpView&) { return Status(); }
Result<Shapes> SameShape(const OpView& op) { return Shapes{op.in(0).shape()}; }

Status TwiceReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  for (int64_t i = 0; i < op.out(0).shape().count(); ++i) outs[0].Set(i, ins[0].Float(i) * 2.0f);
  return Status();
}

Result<Launches> Launch(const OpView& op, const char* source) {
  KernelSpec spec;
  spec.source = source;
  spec.entry = "twice";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"N", op.out(0).shape().count()}};
  spec.global = {static_cast<size_t>(op.out(0).shape().count()), 1, 1};
  spec.local = {64, 1, 1};
  return Launches{spec};
}
Result<Launches> Twice(const OpView& op, const KernelRequest&) { return Launch(op, "twice.cl"); }
Result<Launches> OtherTwice(const OpView& op, const KernelRequest&) {
  return Launch(op, "other_twice.cl");
}
Result<KernelOffer> Refuses(const OpView&, const KernelRequest&) {
  return Status::Error(Code::kUnsupported, "not today");
}

void TwiceCases(CaseMaker& make) {
  for (const TensorType& type :
       {TensorType{DataType::FLOAT32, {33, 7}, Quantization()},
        TensorType{DataType::UINT8, {65}, Quantization(QuantType::ASYMMETRIC, 0.037f, 119)}}) {
    Case c;
    c.attrs = MakeAttrs(NoAttrs{});
    c.inputs = {{type}};
    c.outputs = {
        {type.dtype,
         {},
         type.quantized() ? Quantization(QuantType::ASYMMETRIC, 0.05f, 101) : Quantization()}};
    make.Add(c);
  }
}

OpDef TwiceDef() {
  OpDef def;
  def.name = "Twice";
  def.schema = &kAttrSchema<NoAttrs>;
  def.verify = NothingToVerify;
  def.infer = SameShape;
  def.reference = TwiceReference;
  static constexpr KernelCandidate kPlain[] = {{"plain", nullptr, Twice}};
  def.kernels = kPlain;
  def.cases = TwiceCases;
  return def;
}

std::string Source(const std::string& body) {
  return "#include \"tensor.clh\"\nkernel void twice(IN(X), OUT(Y), SIZE(N)) {\n"
         "  const int i = get_global_id(0);\n" +
         body + "\n}\n";
}
const char kRight[] = "if (i < N) STORE(Y, i, LOAD(X, i) * 2.0f);";

class HarnessTest : public testing::Test {
 protected:
  void SetUp() override {
    // Named by the test: the child of a death test finds the same one.
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "timcl_harness_" + test.name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ + "/" + file) << text;
  }

  std::vector<Outcome> Run(const OpDef& def, const std::string& only = "") {
    opencl::BackendOptions options;
    options.kernel_dir = folder_;
    const auto device = opencl::CreateBackend(options);
    if (!device.ok()) {
      ADD_FAILURE() << device.status().message();
      return {};
    }
    RunOptions run;
    run.device = *device;
    run.registry = &Registry();
    std::vector<NamedCase> cases;
    for (const NamedCase& named : CasesOf(def)) {
      if (only.empty() || Matches(named, only)) cases.push_back(named);
    }
    return RunCases(cases, run);
  }

  /// What the harness says of a kernel with this body: the messages of all failures.
  std::string Complaints(const std::string& body) {
    Write("twice.cl", Source(body));
    return Messages(Run(TwiceDef()));
  }

  static std::string Messages(const std::vector<Outcome>& outcomes) {
    EXPECT_FALSE(outcomes.empty());
    std::string all;
    for (const Outcome& o : outcomes) {
      EXPECT_EQ(o.passed, o.message.empty());
      all += o.message + "\n";
    }
    return all.size() == outcomes.size() ? "" : all;
  }

  std::string folder_;
};

TEST_F(HarnessTest, RightKernelPasses) { EXPECT_EQ(Complaints(kRight), ""); }

TEST_F(HarnessTest, WrongValueIsCaughtAndNamed) {
  const std::string all = Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * 2.0001f);");
  EXPECT_THAT(all, HasSubstr("Twice f32[33,7] -> f32 by plain"));
  EXPECT_THAT(all, HasSubstr("elements of f32[33,7] differ: first ["));
  EXPECT_THAT(all, HasSubstr("worst ["));
  EXPECT_THAT(all, HasSubstr("--case='Twice f32[33,7] -> f32' --seed=42"));
}

TEST_F(HarnessTest, OneWrongElementIsCaught) {
  EXPECT_THAT(
      Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * (i == N - 1 && N == 231 ? 3.0f : 2.0f));"),
      HasSubstr("1 of 231 elements of f32[33,7] differ: first [32,6]"));
}

TEST_F(HarnessTest, OneStepIsCaught) {
  // Rounds down instead of to the nearest.
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * 2.0f - (sizeof(X_t) == 1 ? 0.01f : "
                         "0.0f));"),
              HasSubstr("1 steps, 0 allowed"));
}

TEST_F(HarnessTest, StoreBehindTheEndIsCaught) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * 2.0f);\n"
                         "if (i == N) STORE(Y, i, 1.0f);"),
              HasSubstr("behind the tensor was overwritten"));
}

TEST_F(HarnessTest, StoreBeforeTheStartIsCaught) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * 2.0f);\n"
                         "if (i == 0) STORE(Y, i - 1, 1.0f);"),
              HasSubstr("byte 1 before the tensor was overwritten"));
}

TEST_F(HarnessTest, StoresOffByOneAreCaught) {
  EXPECT_NE(Complaints("if (i < N) STORE(Y, i + 1, LOAD(X, i) * 2.0f);"), "");
  EXPECT_NE(Complaints("if (i < N) STORE(Y, i - 1, LOAD(X, i) * 2.0f);"), "");
}

TEST_F(HarnessTest, UnwrittenElementsAreCaught) {
  const std::string all = Complaints("if (i < N && i != 3) STORE(Y, i, LOAD(X, i) * 2.0f);");
  EXPECT_THAT(all, HasSubstr("1 of 231 elements are not written, first [3,0]"));
  EXPECT_THAT(all, HasSubstr("1 of 65 elements are not written, first [3]"));
}

TEST_F(HarnessTest, NanIsCaught) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, i == 8 ? NAN : LOAD(X, i) * 2.0f);"),
              HasSubstr("1 of 231 elements of f32[33,7] differ: first [8,0]"));
}

// What is not an input's is not there at all: whatever a kernel would make of it, it ends here.
TEST_F(HarnessTest, ReadsOutsideAreCaught) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child made by fork() has no device
  EXPECT_DEATH(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) + 0 * LOAD(X, i == N - 1 ? N : i));"),
               "a read behind an input, in one of these.*\n.*Twice f32\\[33,7\\] -> f32\n");
}

TEST_F(HarnessTest, ResultsThatDependOnOldContentsAreCaught) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * (i == 5 && Y[i] == 0 ? 3 : 2));"),
              HasSubstr("1 of 231 elements differ from run to run, first [5,0]"));
}

TEST_F(HarnessTest, OverwrittenInputIsCaught) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, LOAD(X, i) * 2.0f);\n"
                         "if (i == 0) ((__global uchar*)X)[N / 2] += 1;"),
              HasSubstr("was overwritten"));
}

TEST_F(HarnessTest, KernelThatDoesNotCompileIsReported) {
  EXPECT_THAT(Complaints("if (i < N) STORE(Y, i, no_such_function(LOAD(X, i)));"),
              HasSubstr("no_such_function"));
}

TEST_F(HarnessTest, EveryCandidateIsRun) {
  Write("twice.cl", Source(kRight));
  Write("other_twice.cl", Source("if (i < N) STORE(Y, i, LOAD(X, i) * 1.9f);"));
  OpDef def = TwiceDef();
  static constexpr KernelCandidate kThree[] = {
      {"plain", nullptr, Twice}, {"other", nullptr, OtherTwice}, {"third", Refuses, Twice}};
  def.kernels = kThree;
  const std::vector<Outcome> outcomes = Run(def);
  ASSERT_EQ(outcomes.size(), 4u);
  for (const Outcome& o : outcomes) EXPECT_EQ(o.passed, o.candidate == "plain") << o.message;
}

TEST_F(HarnessTest, CaseThatNoKernelTakesFails) {
  OpDef def = TwiceDef();
  static constexpr KernelCandidate kFirst[] = {{"first", Refuses, Twice}};
  def.kernels = kFirst;
  const std::string all = Messages(Run(def));
  EXPECT_THAT(all, HasSubstr("no kernel takes it: first:"));
  EXPECT_THAT(all, HasSubstr("not today"));
}

TEST_F(HarnessTest, CaseThatTheOpRefusesFails) {
  Write("twice.cl", Source(kRight));
  OpDef def = TwiceDef();
  def.verify = [](const OpView& op) { return op.Error(Code::kInvalidType, "never"); };
  EXPECT_THAT(Messages(Run(def)), HasSubstr("the op refuses its own case"));
}

TEST_F(HarnessTest, WrongExpansionIsCaught) {
  Write("twice.cl", Source(kRight));
  OpDef def = TwiceDef();
  def.expand = [](ExpandBuilder& b) -> Status {
    b.AddTo(0, "Add", {}, {b.in(0), b.in(0)});
    return Status();
  };
  EXPECT_EQ(Messages(Run(def)), "");
  def.expand = [](ExpandBuilder& b) -> Status {
    b.AddTo(0, "Multiply", {}, {b.in(0), b.in(0)});
    return Status();
  };
  const std::vector<Outcome> outcomes = Run(def);
  ASSERT_EQ(outcomes.size(), 4u);
  for (const Outcome& o : outcomes) EXPECT_EQ(o.passed, o.candidate == "plain") << o.message;
}

/// The library's own kernel with one place changed.
TEST_F(HarnessTest, BrokenPointwiseKernelIsCaught) {
  const auto original = kernels::FindSource("pointwise.cl", "");
  ASSERT_TRUE(original.ok());
  const auto add = Registry().Find("Add");
  ASSERT_NE(add, nullptr);
  const std::string shape = "Add f32[19,17,3] f32[1,1,3]";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Write("pointwise.cl", *original);
  EXPECT_EQ(Messages(Run(*add, shape)), "");
  const std::pair<const char*, const char*> changes[] = {
      {"iy += c * Y##k", "iy += c + Y##k"},
      {"i >= N", "i > N"},
      {"i >= N", "i >= N - 1"},
      {"rest - q * (uint)D##k", "rest - q * (uint)D##k + 1"},
      {"LOAD(Y, iy)", "LOAD(Y, ix)"},
      {"acc_t r = EXPR", "acc_t r = -(EXPR)"},
      {"STORE(R, i, r)", "STORE(R, i, i == 7 ? NAN : r)"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = *original;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    Write("pointwise.cl", text);
    // Some of them read behind their inputs.
    EXPECT_DEATH(
        {
          if (!Messages(Run(*add, shape)).empty()) std::abort();
        },
        "")
        << from << " became " << to;
  }
}

TensorType F32(int64_t n) { return {DataType::FLOAT32, {n}, Quantization()}; }
bool Differ(float a, float b, const Tolerance& t) { return Compare(F32(1), &a, &b, t).has_value(); }

TEST(CompareTest, Floats) {
  const float one = 1.0f, next = std::nextafter(1.0f, 2.0f), two_up = std::nextafter(next, 2.0f);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_FALSE(Differ(one, one, Tolerance::Exact()));
  EXPECT_TRUE(Differ(one, next, Tolerance::Exact()));
  EXPECT_FALSE(Differ(one, next, Tolerance::Ulp(1)));
  EXPECT_TRUE(Differ(one, two_up, Tolerance::Ulp(1)));
  EXPECT_FALSE(Differ(0.0f, 1e-7f, Tolerance::Ulp(1, 0, 1e-6)));
  EXPECT_TRUE(Differ(0.0f, 2e-6f, Tolerance::Ulp(1, 0, 1e-6)));
  EXPECT_FALSE(Differ(0.0f, -0.0f, Tolerance::Exact()));
  EXPECT_FALSE(Differ(nan, nan, Tolerance::Exact()));
  EXPECT_TRUE(Differ(nan, one, Tolerance::Ulp(1000)));
  EXPECT_TRUE(Differ(one, nan, Tolerance::Ulp(1000)));
  EXPECT_FALSE(Differ(inf, inf, Tolerance::Exact()));
  EXPECT_TRUE(Differ(inf, -inf, Tolerance::Ulp(1000)));
  EXPECT_TRUE(Differ(inf, one, Tolerance::Ulp(1000)));
  EXPECT_TRUE(Differ(one, inf, Tolerance::Ulp(1000)));
}

TEST(CompareTest, SumsAreMeasuredByTheirMagnitudes) {
  const float expected[] = {0.0f}, got[] = {2e-5f};
  const std::vector<double> large = {100.0}, small = {1.0};
  EXPECT_FALSE(Compare(F32(1), expected, got, Tolerance::Sum(), &large));
  EXPECT_TRUE(Compare(F32(1), expected, got, Tolerance::Sum(), &small));
  // In proportion, where an ulp of 127 is that of 64.
  const float near[] = {6e-5f}, far[] = {6.1e-5f};
  const std::vector<double> odd = {127.0};
  EXPECT_FALSE(Compare(F32(1), expected, near, Tolerance::Sum(), &odd));
  EXPECT_TRUE(Compare(F32(1), expected, far, Tolerance::Sum(), &odd));
}

TEST(CompareTest, Integers) {
  const TensorType u8{DataType::UINT8, {3}, Quantization(QuantType::ASYMMETRIC, 0.1f, 3)};
  const uint8_t a[] = {1, 2, 3}, b[] = {1, 3, 5};
  EXPECT_FALSE(Compare(u8, a, a, Tolerance::Exact()));
  EXPECT_FALSE(Compare(u8, a, b, Tolerance::Ulp(0, 2)));
  const auto wrong = Compare(u8, a, b, Tolerance::Ulp(0, 1));
  ASSERT_TRUE(wrong);
  EXPECT_THAT(*wrong, HasSubstr("1 of 3 elements"));
  EXPECT_THAT(*wrong, HasSubstr("[2] expected 3 (0), got 5 (0.2)"));
}

TEST(InputTest, SameSeedSameValuesWithinTheRange) {
  CaseTensor t;
  t.type = F32(1000);
  t.lo = -2, t.hi = 3;
  std::vector<float> a(1000), b(1000), c(1000);
  FillInput(t, F32(1), 7, a.data());
  FillInput(t, F32(1), 7, b.data());
  FillInput(t, F32(1), 8, c.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  size_t ties = 0, zeros = 0;
  for (float v : a) {
    EXPECT_GE(v, -2);
    EXPECT_LE(v, 3);
    ties += std::fabs(v - std::floor(v)) == 0.5f;
    zeros += v == 0;
  }
  EXPECT_GT(ties, 5u);
  EXPECT_GT(zeros, 2u);
}

TEST(CaseTest, LinesNameTheCase) {
  const OpDef def = TwiceDef();
  const std::vector<NamedCase> cases = CasesOf(def);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].text, "Twice f32[33,7] -> f32");
  EXPECT_TRUE(Matches(cases[0], cases[0].text));
  EXPECT_TRUE(Matches(cases[0], "Twice f32[33,7]"));
  EXPECT_FALSE(Matches(cases[1], "Twice f32[33,7]"));
  EXPECT_FALSE(Matches(cases[0], "Twic f32[33,7]"));
}

}  // namespace
}  // namespace conformance
}  // namespace tim::vx
