// lenet: reads the digit in a picture with a quantized LeNet, and tells how long each stage took.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "digits.h"
#include "report.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"

namespace {

namespace vx = tim::vx;
using Probabilities = std::array<float, digits::kClasses>;

/// Milliseconds since it was made, or since it was last read.
class Watch {
 public:
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// A folder of our own for compiled programs, so that the first compilation finds it empty.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string name =
        (std::filesystem::temp_directory_path(error) / "timcl_lenet_XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One compiled network; the context goes last.
struct Reader {
  std::shared_ptr<vx::Context> context;
  std::shared_ptr<vx::Graph> graph;
  digits::Network net;
  double build_ms = 0, compile_ms = 0;
};

/// A reader whose graph is null did not compile; the message is printed.
Reader MakeReader(const vx::ContextOptions& options, const digits::Model& model) {
  Reader reader;
  reader.context = vx::Context::Create(options);
  Watch watch;
  reader.graph = reader.context->CreateGraph();
  reader.net = digits::Build(*reader.graph, model);
  reader.build_ms = watch.Lap();
  const bool compiled = reader.graph->Compile();
  reader.compile_ms = watch.Lap();
  if (!compiled) {
    std::fprintf(stderr, "%s\n", reader.graph->LastStatus().message().c_str());
    reader.graph.reset();
  }
  return reader;
}

bool Read(Reader& reader, const digits::Input& input, Probabilities* result) {
  const bool ok = reader.net.input->CopyDataToTensor(input.data()) && reader.graph->Run() &&
                  reader.net.probability->CopyDataFromTensor(result->data());
  if (!ok) std::fprintf(stderr, "%s\n", reader.graph->LastStatus().message().c_str());
  return ok;
}

void PrintPicture(const digits::Input& input) {
  const char shades[] = " .:-=+*#%@";
  // Half as many lines as columns: characters are about twice as high as wide.
  for (int y = 0; y < digits::kSide; y += 2) {
    std::string line;
    for (int x = 0; x < digits::kSide; ++x) {
      const int sum = input[y * digits::kSide + x] + input[(y + 1) * digits::kSide + x];
      line += shades[sum * 9 / 510];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("    %s\n", line.c_str());
  }
}

void PrintTop5(const Probabilities& probability) {
  std::array<int, digits::kClasses> order;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return probability[a] > probability[b]; });
  for (int i = 0; i < 5; ++i) {
    const float p = probability[order[i]];
    std::printf("    %d  %.6f  %s\n", order[i], p,
                std::string(std::clamp(std::lround(p * 40), 0L, 40L), '#').c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads the digit in a picture with a quantized LeNet.");
  const samples::Options common(app);
  std::string picture_file, weights = DIGITS_DIR "/digits.weights";
  int runs = 50;
  app.add_option("picture", picture_file, "a PNG or PGM with one digit")->required();
  app.add_option("--weights", weights, "the model")->capture_default_str();
  app.add_option("--runs", runs, "runs of which the median is told")->check(CLI::Range(1, 100000));
  CLI11_PARSE(app, argc, argv);

  Watch watch;
  const auto picture = digits::ReadPicture(picture_file);
  if (!picture.ok()) return samples::Fail(picture.status().message());
  const digits::Input input = digits::Preprocess(*picture);
  const double read_ms = watch.Lap();
  const auto model = digits::Model::Load(weights);
  if (!model.ok()) return samples::Fail(model.status().message());
  const double load_ms = watch.Lap();

  const TemporaryFolder cache;
  vx::ContextOptions options;
  options.device = common.device;
  options.cache_dir = cache.path();
  options.use_disk_cache = !cache.path().empty();
  Probabilities first, probability;
  samples::Report report;
  report.sample = "lenet";
  double build_ms = 0, cold_ms = 0, first_ms = 0;
  {
    Reader reader = MakeReader(options, *model);
    if (!reader.graph) return 1;
    build_ms = reader.build_ms;
    cold_ms = reader.compile_ms;
    watch.Lap();
    if (!Read(reader, input, &first)) return 1;
    first_ms = watch.Lap();
  }  // the program is on disk now

  Reader reader = MakeReader(options, *model);
  if (!reader.graph) return 1;
  report.device = reader.context->DeviceName();
  samples::AddPlan(*reader.graph, &report);
  std::vector<double> run_ms(runs);
  if (!Read(reader, input, &probability)) return 1;
  for (double& ms : run_ms) {
    watch.Lap();
    if (!Read(reader, input, &probability)) return 1;
    ms = watch.Lap();
  }
  std::nth_element(run_ms.begin(), run_ms.begin() + runs / 2, run_ms.end());

  vx::ContextOptions host;
  host.host_only = true;
  Reader oracle = MakeReader(host, *model);
  Probabilities reference;
  if (!oracle.graph || !Read(oracle, input, &reference)) return 1;
  for (size_t i = 0; i < digits::kClasses; ++i) {
    report.max_diff = std::max(report.max_diff, std::abs(double{probability[i]} - reference[i]));
  }
  report.ok = report.max_diff < 1e-6 && first == probability;

  std::printf("%s, %d x %d, as the network sees it:\n\n", picture_file.c_str(), picture->width,
              picture->height);
  PrintPicture(input);
  std::printf("\nTop 5\n");
  PrintTop5(probability);
  std::printf("\nDevice: %s\n", report.device.c_str());
  std::printf("\nStage                                 ms\n");
  const auto stage = [](const std::string& name, double ms) {
    std::printf("  %-32s %9.3f\n", name.c_str(), ms);
  };
  stage("read and preprocess the picture", read_ms);
  stage("load the weights", load_ms);
  stage("build the graph", build_ms);
  stage("compile, nothing in the cache", cold_ms);
  stage("compile, all in the cache", reader.compile_ms);
  stage("run, the first time", first_ms);
  stage("run, median of " + std::to_string(runs), run_ms[runs / 2]);
  std::printf("\nsteps: %zu, kernel launches: %zu, synchronisations per run: %zu\n", report.steps,
              reader.graph->Report().launches, report.syncs);
  std::printf("largest difference to the reference backend: %.3g%s\n", report.max_diff,
              report.ok ? "" : "  TOO MUCH");
  if (!samples::Append(common.report_file, report)) return 1;
  return report.ok ? 0 : 1;
}
