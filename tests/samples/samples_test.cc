// Runs every sample as a user does and looks at what it prints, at its report, and at how often it
// waited for the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

struct Ran {
  int status = -1;
  std::string output;  // stdout and stderr
  std::vector<std::string> report;
  int64_t syncs = -1;  // of the whole process
};

class Samples : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("SAMPLES_DIR"), nullptr) << "set by ctest";
    ASSERT_NE(std::getenv("COUNT_LAYER"), nullptr) << "set by ctest";
    folder_ =
        std::filesystem::temp_directory_path() / ("timcl_samples_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  Ran Run(const std::string& name, const std::string& arguments = "") {
    const std::string report = folder_ / "report.json", counts = folder_ / "counts.json";
    std::filesystem::remove(report);
    std::filesystem::remove(counts);
    const std::string command = "OPENCL_LAYERS=" + std::string(std::getenv("COUNT_LAYER")) +
                                " TIMCL_COUNT_FILE=" + counts + " " + std::getenv("SAMPLES_DIR") +
                                "/" + name + "/" + name + " " + arguments + " --report " + report +
                                " 2>&1";
    Ran ran;
    FILE* pipe = popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    if (pipe == nullptr) return ran;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) ran.output.append(buffer, n);
    const int status = pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::ifstream lines(report);
    for (std::string line; std::getline(lines, line);) ran.report.push_back(line);
    std::ifstream counted(counts);
    if (counted) {
      const Json json = Json::parse(counted);
      ran.syncs = 0;
      for (const char* key : {"finish", "wait_for_events", "blocking_read", "blocking_write",
                              "blocking_map", "blocking_svm"}) {
        ran.syncs += json[key].get<int64_t>();
      }
    }
    return ran;
  }

  /// A good run: the exit status, and one line of report whose keys scripts/samples.sh reads.
  static void ExpectGood(const Ran& ran, const std::string& name, double largest_diff) {
    EXPECT_EQ(ran.status, 0) << ran.output;
    ASSERT_EQ(ran.report.size(), 1u) << ran.output;
    const Json report = Json::parse(ran.report[0]);
    std::vector<std::string> keys;
    for (const auto& item : report.items()) keys.push_back(item.key());
    EXPECT_THAT(keys,
                ::testing::ElementsAre("sample", "device", "steps", "syncs", "max_diff", "ok"));
    EXPECT_EQ(report["sample"], name);
    EXPECT_NE(report["device"], "");
    EXPECT_GE(report["steps"].get<int>(), 1);
    EXPECT_EQ(report["syncs"].get<int>(), 1);
    EXPECT_LE(report["max_diff"].get<double>(), largest_diff);
    EXPECT_EQ(report["ok"].get<bool>(), true);
    EXPECT_THAT(ran.output, HasSubstr(report["device"].get<std::string>()));
  }

  std::filesystem::path folder_;
};

std::string Pictures() { return TIMCL_SOURCE_DIR "/samples/lenet/pictures/"; }

TEST_F(Samples, LenetReadsEveryPictureThatShips) {
  int pictures = 0, png = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Pictures())) {
    const std::string file = entry.path().filename();
    SCOPED_TRACE(file);
    const Ran ran = Run("lenet", entry.path().string() + " --runs 3");
    ExpectGood(ran, "lenet", 1e-6);
    // The likeliest digit, alone on the first line below "Top 5", is the one in the name.
    std::smatch match;
    ASSERT_TRUE(
        std::regex_search(ran.output, match, std::regex("Top 5\n +([0-9])  ([01]\\.[0-9]+)")))
        << ran.output;
    EXPECT_EQ(match[1].str(), file.substr(0, 1)) << ran.output;
    EXPECT_GT(std::stod(match[2]), 0.5);
    ++pictures;
    png += entry.path().extension() == ".png";
  }
  EXPECT_GE(pictures, 3);
  EXPECT_GE(png, 1);
}

TEST_F(Samples, LenetTellsTheTimeOfEachStage) {
  const Ran ran = Run("lenet", Pictures() + "5_slanted.png --runs 5");
  for (const char* stage : {"read and preprocess", "load the weights", "build the graph",
                            "compile, nothing in the cache", "compile, all in the cache",
                            "run, the first time", "run, median of 5"}) {
    EXPECT_THAT(ran.output, ContainsRegex(std::string(stage) + "[^\n]* [0-9]+\\.[0-9]+\n"));
  }
  EXPECT_THAT(ran.output, HasSubstr("@@")) << "no picture";
}

TEST_F(Samples, LenetSaysWhatIsWrong) {
  Ran ran = Run("lenet", "/nonexistent.png");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("/nonexistent.png"));
  EXPECT_TRUE(ran.report.empty());
  ran = Run("lenet", Pictures() + "5_slanted.png --weights " + Pictures() + "9_mono.pgm");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("9_mono.pgm"));
  ran = Run("lenet", Pictures() + "5_slanted.png --device no_such_device");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("no_such_device"));
}

// Ten runs more wait ten times more.
TEST_F(Samples, LenetWaitsOncePerRun) {
  const Ran few = Run("lenet", Pictures() + "5_slanted.png --runs 2");
  const Ran many = Run("lenet", Pictures() + "5_slanted.png --runs 12");
  ASSERT_GE(few.syncs, 0) << "the layer has counted nothing";
  EXPECT_EQ(many.syncs - few.syncs, 10);
}

TEST_F(Samples, Hswish) {
  const Ran ran = Run("hswish");
  ExpectGood(ran, "hswish", 1e-5);
  EXPECT_THAT(ran.output, ContainsRegex("\n +-4.00 +-?0.0000 +0.0000 "));
  EXPECT_THAT(ran.output, ContainsRegex("\n +-1.50 +-0.3750 +-0.3750 "));
  EXPECT_THAT(ran.output, ContainsRegex("\n +5.00 +5.0000 +5.0000 "));
  // Two graphs, each run once; what else waits (making the context) is not part of a run.
  EXPECT_GE(ran.syncs, 2);
}

TEST_F(Samples, RnnCellSwingsAndDiesAway) {
  const Ran ran = Run("rnncell");
  ExpectGood(ran, "rnncell", 1e-5);
  EXPECT_THAT(ran.output, HasSubstr("in 32 steps"));
  // Step 0: unit a gets tanh(0.9) = 0.716 of +1, the others stay at 0.
  EXPECT_THAT(ran.output, ContainsRegex("\n  0   1  0  {31}b {20}a\n"));
}

TEST_F(Samples, RnnCellWaitsOncePerStep) {
  const Ran few = Run("rnncell", "--steps 5");
  const Ran many = Run("rnncell", "--steps 15");
  ASSERT_GE(few.syncs, 0) << "the layer has counted nothing";
  EXPECT_EQ(many.syncs - few.syncs, 10);
}

TEST_F(Samples, AttentionLooksAround) {
  const Ran ran = Run("attention");
  ExpectGood(ran, "attention", 1e-5);
  EXPECT_THAT(ran.output, ContainsRegex("\nAttention#1 'around' +\\|.*expanded"));
  // Each part, below the operator that it is a part of.
  for (const char* part : {"Reshape", "Transpose", "Matmul", "Softmax"})
    EXPECT_THAT(ran.output, ContainsRegex("\n  " + std::string(part) + "#1[.][0-9]+ 'around'"));
  EXPECT_THAT(ran.output, ContainsRegex("\n +0.0 +0.0 +180.0\n"));
  EXPECT_THAT(ran.output, ContainsRegex("\n +120.0 +120.0 +300.0\n"));
}

TEST_F(Samples, CustomGemm) {
  const Ran ran = Run("custom_gemm");
  ExpectGood(ran, "custom_gemm", 1e-5);
  for (const char* title :
       {"gemm\\(a, b\\)", "gemm\\(a \\+ a2, b\\)", "gemm\\(gemm\\(a, b\\), c\\)"}) {
    EXPECT_TRUE(std::regex_search(
        ran.output, std::regex(std::string(title) +
                               " +steps: [0-9]+, synchronisations: 1;.*largest difference")))
        << ran.output;
  }
  EXPECT_THAT(ran.output, ::testing::Not(HasSubstr("WRONG")));
}

}  // namespace
