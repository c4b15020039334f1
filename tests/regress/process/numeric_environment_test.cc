// The caller's rounding mode changed results, and the locale changed decimals in saved texts and in
// the report. A process of its own: the driver's threads are to start under a mode that is not the
// usual one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <string>

#include "support/api_support.h"
#include "tim/vx/ops/clip.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

const int kModes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
constexpr size_t kCount = 257;

/// One mode of the caller while it lives, and the check that nobody changed it.
class Mode {
 public:
  explicit Mode(int mode) : mode_(mode) { std::fesetround(mode); }
  ~Mode() {
    EXPECT_EQ(std::fegetround(), mode_) << "given back";
    std::fesetround(FE_TONEAREST);
  }

 private:
  int mode_;
};

/// volatile: rounded to float where it is written, by the mode of that moment.
std::vector<float> Numbers() {
  std::vector<float> x;
  for (size_t i = 0; i < kCount; ++i) {
    volatile float v = (static_cast<float>(i) - 100) * 0.37f;
    x.push_back(float{v});
  }
  return x;
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Results {
  std::vector<float> scaled, sums, floats;
  std::vector<uint8_t> bytes;
  std::string text;
};

Results RunIn(int mode, bool host_only, const std::vector<float>& x) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("timcl_rounding_" + std::to_string(getpid())))
          .string();
  Results r;
  const Mode now(mode);
  ContextOptions options;
  options.host_only = host_only;
  auto graph = Context::Create(options)->CreateGraph();
  auto in = Input(graph, {kCount});
  auto scaled = Output(graph, {kCount}), sums = Output(graph, {kCount});
  auto bytes =
      Output(graph, {kCount}, DataType::UINT8, Quantization(QuantType::ASYMMETRIC, 0.1f, 3));
  Bind<ops::Multiply>(graph, {in, Constant(graph, {1}, {0.1f})}, {scaled});
  Bind<ops::Add>(graph, {scaled, Constant(graph, {1}, {1e5f})}, {sums});
  Bind<ops::DataConvert>(graph, {scaled}, {bytes});
  Write(in, x);
  if (!graph->Run()) {
    ADD_FAILURE() << graph->LastStatus().message();
    return r;
  }
  r.scaled = Read(scaled, kCount);
  r.sums = Read(sums, kCount);
  r.bytes = Read<uint8_t>(bytes, kCount);
  float* floats = bytes->ConvertTensorToFloat32Data();
  r.floats.assign(floats, floats + kCount);
  std::free(floats);
  EXPECT_TRUE(scaled->SaveTensorToTextByFp32(path));
  r.text = FileText(path);
  std::filesystem::remove(path);
  return r;
}

TEST(NumericEnvironment, RoundingModesOfTheCallerChangeNothing) {
  const std::vector<float> x = Numbers();
  std::vector<float> scaled, sums;
  std::vector<uint8_t> bytes;
  for (const float v : x) {  // each step is one operation of IEEE arithmetic
    volatile float product = v * 0.1f;
    volatile float sum = product + 1e5f;
    scaled.push_back(float{product});
    sums.push_back(float{sum});
    volatile float steps = product * static_cast<float>(1.0 / double{0.1f});
    volatile float q = steps + 3;
    bytes.push_back(static_cast<uint8_t>(std::fmin(std::fmax(std::nearbyint(q), 0.0f), 255.0f)));
  }
  for (const bool host_only : {false, true}) {
    Results nearest;
    for (const int mode : kModes) {
      SCOPED_TRACE(testing::Message() << "host_only " << host_only << " mode " << mode);
      const Results r = RunIn(mode, host_only, x);
      EXPECT_EQ(r.scaled, scaled);
      EXPECT_EQ(r.sums, sums);
      EXPECT_EQ(r.bytes, bytes);
      for (size_t i = 0; i < r.floats.size(); ++i) {
        volatile float real = static_cast<float>(bytes[i] - 3) * 0.1f;
        ASSERT_EQ(r.floats[i], real) << i;
      }
      if (mode == kModes[0]) nearest.text = r.text;
      EXPECT_EQ(r.text, nearest.text);
    }
    char first[64];
    std::snprintf(first, sizeof first, "%.16f\n", static_cast<double>(scaled[0]));
    EXPECT_EQ(nearest.text.substr(0, std::strlen(first)), first);
  }
}

TEST(NumericEnvironment, HelpersOfTheHostToo) {
  auto graph = SharedContext()->CreateGraph();
  auto half = Input(graph, {1}, DataType::FLOAT16);
  auto byte = Input(graph, {1}, DataType::UINT8, Quantization(QuantType::ASYMMETRIC, 0.1f, 3));
  uint8_t expected_byte = 0, stored = 7;
  float expected_real = 0;
  ASSERT_TRUE(utils::Float32ToDtype(byte, {1.26f}, &expected_byte));
  ASSERT_TRUE(utils::DtypeToFloat32(byte, &stored, &expected_real));
  for (const int mode : kModes) {
    const Mode now(mode);
    uint8_t q = 0;
    float real = 0;
    EXPECT_TRUE(utils::Float32ToDtype(byte, {1.26f}, &q));
    EXPECT_TRUE(utils::DtypeToFloat32(byte, &stored, &real));
    EXPECT_EQ(q, expected_byte);
    EXPECT_EQ(real, expected_real);
    uint8_t bits[2] = {};
    EXPECT_TRUE(utils::Float32ToDtype(half, {0.1f}, bits));
    EXPECT_EQ(bits[0] | bits[1] << 8, 0x2e66) << "float16 truncates, as in the original";
  }
}

/// A locale with a comma, without asking the machine for one: glibc reads this file from $LOCPATH.
bool InstallCommaLocale() {
  const auto folder =
      std::filesystem::temp_directory_path() / ("timcl_locale_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "timcl_comma");
  // Decimal point, separator, grouping, the first two as wide characters, code set.
  const uint32_t header[] = {0x20031115 ^ LC_NUMERIC, 6, 32, 34, 36, 40, 44, 48};
  std::string bytes(reinterpret_cast<const char*>(header), sizeof header);
  bytes += std::string(",\0.\0\3\3\0\0", 8);
  const uint32_t wide[] = {',', '.'};
  bytes += std::string(reinterpret_cast<const char*>(wide), sizeof wide);
  bytes += std::string("UTF-8\0", 6);
  std::ofstream(folder / "timcl_comma" / "LC_NUMERIC", std::ios::binary) << bytes;
  setenv("LOCPATH", folder.c_str(), 1);
  const bool there = std::setlocale(LC_NUMERIC, "timcl_comma") != nullptr;
  unsetenv("LOCPATH");
  std::filesystem::remove_all(folder);
  return there;
}

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(NumericEnvironment, LocalesOfTheCallerChangeNothing) {
  const Results before = RunIn(FE_TONEAREST, true, Numbers());
  std::locale::global(std::locale(std::locale(), new Comma));
  if (InstallCommaLocale()) {
    char comma[16];
    std::snprintf(comma, sizeof comma, "%.1f", 0.5);
    ASSERT_STREQ(comma, "0,5") << "the test itself";
  }
  for (const bool host_only : {true, false}) {
    EXPECT_EQ(RunIn(FE_TONEAREST, host_only, Numbers()).text, before.text);
  }
  ContextOptions host;
  host.host_only = true;
  const auto graph = Context::Create(host)->CreateGraph();
  Bind<ops::Clip>(graph, {Input(graph, {2})}, {Output(graph, {2})}, 2.5f, 0.5f);
  EXPECT_FALSE(graph->Compile());
  const std::string message = graph->LastStatus().message();
  CompileReport report;
  report.compile_ms = 1234.5;
  report.arena_bytes = 1234567;
  const std::string text = report.ToText();
  std::setlocale(LC_NUMERIC, "C");
  std::locale::global(std::locale::classic());
  EXPECT_THAT(message, testing::HasSubstr("min=2.5, max=0.5"));
  EXPECT_THAT(text, testing::HasSubstr("compiled in 1234.5 ms"));
  EXPECT_THAT(text, testing::HasSubstr("arena 1234567 bytes"));
}

}  // namespace
}  // namespace tim::vx::test
