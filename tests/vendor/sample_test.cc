// samples/vendor as a user runs it: in one library, in two, with one half alone; and its device
// with bytecode that nobody should trust.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "device.h"
#include "nlohmann/json.hpp"

struct timcl_tensor {
  size_t count;
};

namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
namespace vendor = tim::vx::vendor;

/// A new folder of its own.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "timcl_vendor_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Ran {
  int status = -1;
  std::string output;
};

/// With plugins by their paths below the sample's folder. Nothing was compiled before, unless a
/// cache folder is told.
Ran RunSample(const std::string& arguments, const std::vector<std::string>& plugins = {},
              std::string environment = "") {
  const Folder empty;
  if (environment.find("TIMCL_CACHE_DIR") == std::string::npos) {
    environment += " TIMCL_CACHE_DIR=" + empty.path() + " ";
  }
  std::string command = environment + SAMPLE " " + arguments;
  const std::string folder = std::filesystem::path(SAMPLE).parent_path();
  for (const std::string& plugin : plugins) command += " " + folder + "/" + plugin;
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) ran.output.append(buffer, n);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

/// A row of the report.
std::string Row(const std::string& op, const std::string& backend) {
  return "\n" + op + "[^\n]*\\| " + backend + " +\\|";
}

void ExpectOnAcme(const Ran& ran) {
  EXPECT_EQ(ran.status, 0) << ran.output;
  for (const char* op : {"FullyConnected#1 'dense'", "Relu#2", "Multiply#3", "Add#5", "Clip#6"}) {
    EXPECT_THAT(ran.output, ContainsRegex(Row(op, "Acme")));
  }
  EXPECT_THAT(ran.output, ContainsRegex(Row("Tanh#4", "opencl")));
  EXPECT_THAT(ran.output, HasSubstr("Acme: it has no instruction for Tanh"));
  EXPECT_THAT(ran.output, HasSubstr("1.25983, expected   1.25983"));
}

TEST(VendorSample, OneLibrary) {
  const Ran ran = RunSample("");
  ExpectOnAcme(ran);
  EXPECT_THAT(ran.output, HasSubstr("libtimcl_acme.so: acme 1.0.0 of Acme, compiles executes\n"));
}

TEST(VendorSample, AppendsALineOfReport) {
  const Folder folder;
  const std::string file = folder.path() + "/report.json";
  ASSERT_EQ(RunSample("--report " + file).status, 0);
  std::ifstream lines(file);
  std::string line, more;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_FALSE(std::getline(lines, more));
  const auto report = nlohmann::json::parse(line);  // what scripts/samples.sh reads
  EXPECT_EQ(report.at("sample"), "vendor");
  EXPECT_NE(report.at("device"), "");
  EXPECT_EQ(report.at("steps"), 3);
  EXPECT_EQ(report.at("syncs"), 1);
  EXPECT_LT(report.at("max_diff"), 1e-5);
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(RunSample("--report " + folder.path()).status, 1) << "a folder cannot be written to";
}

TEST(VendorSample, TwoLibraries) {
  const Ran ran = RunSample("", {"halves"});
  ExpectOnAcme(ran);
  EXPECT_THAT(ran.output, HasSubstr("acme.compiler 1.0.0 of Acme, compiles\n"));
  EXPECT_THAT(ran.output, HasSubstr("acme.dispatcher 1.0.0 of Acme, executes\n"));
}

TEST(VendorSample, ADispatcherAloneTakesNothing) {
  const Ran ran = RunSample("", {"halves/libtimcl_acme_dispatcher.so"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, Not(ContainsRegex(Row("", "Acme"))));
  EXPECT_THAT(ran.output, ContainsRegex(Row("FullyConnected#1 'dense'", "opencl")));
  EXPECT_THAT(ran.output, ContainsRegex("Acme: it has a dispatcher and no compiler"));
}

TEST(VendorSample, ACompilerAloneTakesNothing) {
  const Ran ran = RunSample("", {"halves/libtimcl_acme_compiler.so"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, Not(ContainsRegex(Row("", "Acme"))));
  EXPECT_THAT(ran.output, ContainsRegex("Acme: it has a compiler and no dispatcher"));
}

TEST(VendorSample, Models) {
  ExpectOnAcme(RunSample("--model A100"));
  Ran ran = RunSample("--model A50");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex(Row("FullyConnected#1 'dense'", "opencl")));
  EXPECT_THAT(ran.output, HasSubstr("Acme: its model A50 has no matrix unit"));
  EXPECT_THAT(ran.output, ContainsRegex(Row("Relu#2", "Acme")));
  ran = RunSample("--model A7");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, AllOf(HasSubstr("A7"), HasSubstr("A100, A50")));
}

/// Those of README's listing behind this command, but for the summaries, which tell of times and
/// last digits.
std::vector<std::string> ListedBehind(const std::string& command) {
  std::ifstream readme(TIMCL_SOURCE_DIR "/samples/vendor/README.md");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.rfind("    ", 0) != 0) inside = inside && line.empty();
    if (inside && line.find(" launch") == std::string::npos &&
        line.find("largest") == std::string::npos) {
      lines.push_back(line.empty() ? "" : line.substr(4));
    }
    inside = inside || line == "    $ " + command;
  }
  return lines;
}

TEST(VendorSample, ReadmeShowsWhatItPrints) {
  const auto listed = ListedBehind("build/release/samples/vendor/vendor");
  ASSERT_GT(listed.size(), 12u);
  const std::string printed = RunSample("").output;
  for (const std::string& line : listed) EXPECT_THAT(printed, HasSubstr(line));

  const auto code = ListedBehind("TIMCL_LOG=plugin=debug build/release/samples/vendor/vendor");
  ASSERT_GT(code.size(), 12u);
  const std::string logged = RunSample("", {}, "TIMCL_LOG=plugin=debug ").output;
  for (const std::string& line : code) EXPECT_THAT(logged, HasSubstr(line + "\n"));
}

TEST(VendorSample, ASecondProcessCompilesNothing) {
  const Folder cache;
  const std::string environment = "TIMCL_LOG=plugin=debug TIMCL_CACHE_DIR=" + cache.path() + " ";
  for (const std::vector<std::string>& plugins : {std::vector<std::string>{"whole"}, {"halves"}}) {
    const Ran first = RunSample("", plugins, environment);
    ExpectOnAcme(first);
    EXPECT_THAT(first.output, HasSubstr("plugin: entry part0"));
    const Ran second = RunSample("", plugins, environment);
    ExpectOnAcme(second);
    EXPECT_THAT(second.output, Not(HasSubstr("plugin: entry part0")));
  }
  // For another model it is asked.
  EXPECT_THAT(RunSample("--model A50", {"whole"}, environment).output,
              HasSubstr("plugin: acme 1 for A50"));
}

TEST(VendorSample, SaysWhatIsWrong) {
  Ran ran = RunSample("--nonsense");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("usage: vendor"));
  ran = RunSample("", {"halves", "whole/libtimcl_absent.so"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("libtimcl_absent.so"));
}

// Bytecode from elsewhere.

class AcmeDevice : public ::testing::Test {
 protected:
  AcmeDevice() {
    host_.h = TIMCL_HEADER(timcl_host_api);
    host_.tensor_bytes = [](const timcl_tensor* tensor) { return tensor->count * sizeof(float); };
  }
  /// What Load says of the lines between "input v0 4" and "output v9".
  std::string Words(const std::string& lines, timcl_status status) {
    return Load("acme 1 for A100\nentry main\ninput v0 4\n" + lines + "output v9\nend\n", status);
  }
  std::string Load(const std::string& text, timcl_status status) {
    const timcl_tensor four = {4};
    acme::Device device(vendor::Setup{&host_, {}, {}});
    vendor::Program program;
    program.code = {text.data(), text.size()};
    program.entry = "main";
    program.inputs = program.outputs = {{&host_, &four}};
    try {
      device.Load(program);
    } catch (const vendor::Error& e) {
      EXPECT_EQ(e.status(), status);
      return e.what();
    }
    return "good";
  }

  timcl_host_api host_ = {};
};

TEST_F(AcmeDevice, TakesWhatFits) {
  EXPECT_EQ(Words("const v1 1 2.5 -inf 1e-3\nadd v2 v0 v1\nclip v9 v2 -1 inf\n", TIMCL_OK), "good");
  EXPECT_EQ(Words("const v1 1 2 3 4\nconst v2 1 2\nfc v9 v0 v1 v2\n", TIMCL_OK), "good");
}

TEST_F(AcmeDevice, RefusesWhatDoesNot) {
  const struct {
    const char *lines, *words;
  } kBad[] = {
      {"add v9 v0 v1\n", "bytecode 'add v9 v0 v1': nothing before it makes 'v1'"},
      {"relu v9 v9\n", "nothing before it makes 'v9'"},
      {"relu v0 v0\n", "'v0' is there already"},
      {"sqrt v9 v0\n", "there is no such instruction"},
      {"relu v9 v0 v0\n", "3 words are wanted"},
      {"relu\n", "it has too few words"},
      {"\n", "it has too few words"},
      {"const v1 1 2\nadd v9 v0 v1\n", "its operands differ in size"},
      {"const v1 1 2 3\nconst v2 1\nfc v9 v0 v1 v2\n", "its operands do not fit together"},
      {"const v1\nconst v2\nfc v9 v0 v1 v2\n", "its operands do not fit together"},
      {"const v1 1 2 3\nconst v2 1 2\nfc v9 v0 v1 v2\n", "its operands do not fit together"},
      {"clip v9 v0 0 much\n", "'much' is no number that fits"},
      {"const v9 1e99\n", "'1e99' is no number that fits"},
      {"input v9 -1\n", "'-1' is no number that fits"},
      {"const v9 1 2\n", "the bytecode was made for other tensors"},
      {"input v9 4\n", "the bytecode was made for other tensors"},
  };
  for (const auto& bad : kBad) {
    SCOPED_TRACE(bad.lines);
    EXPECT_THAT(Words(bad.lines, TIMCL_BAD_BINARY), HasSubstr(bad.words));
  }
  EXPECT_THAT(Words("input v9 99999999999\n", TIMCL_UNSUPPORTED),
              HasSubstr("more than the 64 MiB"));
  EXPECT_THAT(Load("", TIMCL_BAD_BINARY), HasSubstr("no bytecode of Acme's version 1"));
  EXPECT_THAT(Load("acme 2 for A100\n", TIMCL_BAD_BINARY),
              HasSubstr("no bytecode of Acme's version 1"));
  EXPECT_THAT(Load("acme 1 for A100\nentry other\nend\n", TIMCL_NOT_FOUND),
              HasSubstr("no entry 'main'"));
  EXPECT_THAT(Load("acme 1 for A100\nentry main\n", TIMCL_BAD_BINARY), HasSubstr("does not end"));
}

// Whatever is in the file: an error, or a program that stays within its memory.
TEST_F(AcmeDevice, TakesAnyBytes) {
  const std::string good =
      "acme 1 for A100\nentry main\ninput v0 4\nconst v1 1 2 3 4\nconst v2 1 2\n"
      "fc v3 v0 v1 v2\nrelu v4 v3\nadd v5 v4 v0\nclip v6 v5 0 1\noutput v6\nend\n";
  const std::string letters = "0123456789 \n-.ev" + std::string(1, '\0');
  const timcl_tensor four = {4};
  std::mt19937 random(7);
  int loaded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (size_t changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, letters[random() % letters.size()]);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), 12));
          break;
        default:
          text[at] = letters[random() % letters.size()];
      }
    }
    acme::Device device(vendor::Setup{&host_, {}, {}});
    vendor::Program program;
    program.code = {text.data(), text.size()};
    program.entry = "main";
    program.inputs = program.outputs = {{&host_, &four}};
    try {
      const auto context = device.Load(program);
      float in[4] = {1, 2, 3, 4}, out[4] = {};
      timcl_buffer buffer = {TIMCL_HEADER(timcl_buffer), TIMCL_BUFFER_HOST, in, sizeof(in)};
      context->Bind(false, 0, buffer);
      buffer.data = out;
      context->Bind(true, 0, buffer);
      context->Invoke();
      ++loaded;
    } catch (const vendor::Error& e) {
      EXPECT_NE(e.what(), std::string());
    }
  }
  EXPECT_GT(loaded, 100);
}

TEST_F(AcmeDevice, RunsWhatItsSdksCompiled) {
  acme::Device device(vendor::Setup{&host_, {}, {}});
  EXPECT_NO_THROW(device.CheckRuntime("2026.7", "A50"));
  EXPECT_THROW(device.CheckRuntime("2027.1", "A50"), vendor::Error);
}

}  // namespace
