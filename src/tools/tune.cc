// timcl tune: measures which kernels of a graph's operations are the fastest on this device, and
// keeps that for later compilations.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/profile.h"
#include "api/progress.h"
#include "api/table.h"
#include "backends/opencl/compile/tuning.h"
#include "base/env.h"
#include "tools/graph_file.h"

namespace tim::vx::tools {
namespace {

using opencl::Tuning;

struct Arguments {
  GraphArguments graph;
  std::string output;
  int runs = 5;
};

int Fail(int exit, const std::string& text) { return tools::Fail("tune", exit, text); }

/// A file beside the last one that goes away at the end.
struct TrialFile {
  explicit TrialFile(const std::string& beside) : path(fmt::format("{}.{}", beside, getpid())) {}
  ~TrialFile() {
    std::error_code error;
    std::filesystem::remove(path, error);
  }
  const std::string path;
};

/// The tuner of one graph: compiles it again and again, each time with other kernels asked first,
/// and notes how long those take that are chosen then. What runs before and after a kernel is what
/// will.
class Tuner {
 public:
  Tuner(const Arguments& arguments, Tuning* tuning, const std::string& trial)
      : arguments_(arguments), tuning_(*tuning), trial_(trial) {}

  int Run() {
    size_t rounds = 1;
    ProgressLine line(ProgressLine::Terminal(base::Environment::Process().Get(base::Env::kTerm)),
                      std::chrono::milliseconds(0));
    for (size_t round = 0; round < rounds; ++round) {
      line.Show({"round", round, rounds});
      GraphFile file;
      if (const int exit = Open("tune", arguments_.graph, &file, true); exit != kDone) return exit;
      if (const Status filled = FillInputs(file.graph.get()); !filled.ok())
        return Fail(kBadModel, filled.message());
      const Status written = WriteFile(trial_, Trial(round).ToJson());
      if (!written.ok()) return Fail(kIo, written.message());
      if (const Status measured = Measure(&file); !measured.ok())
        return Fail(kCannotCompile, measured.message());
      for (const auto& [signature, kernels] : kernels_of_)
        rounds = std::max(rounds, kernels.size());
    }
    return kDone;
  }

  /// Of operations with several kernels: the fastest, and the others.
  std::string ToText() const {
    Table table({"operation", "fastest", "ms", "others"}, {2});
    for (const auto& [signature, times] : measured_) {
      if (times.size() < 2) continue;
      const auto best =
          std::min_element(times.begin(), times.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      std::string others;
      for (const auto& [kernel, ms] : times) {
        if (kernel == best->first) continue;
        others += fmt::format("{}{} {:.4f}", others.empty() ? "" : ", ", kernel, ms);
      }
      table.Add({signature, best->first, fmt::format("{:.4f}", best->second), others});
    }
    return table.ToText();
  }
  const auto& measured() const { return measured_; }

 private:
  /// Every operation that an earlier round met asks another kernel first: the one that stands
  /// `round` places behind.
  Tuning Trial(size_t round) const {
    Tuning trial = tuning_;
    trial.kernels.clear();
    for (const auto& [signature, kernels] : kernels_of_) {
      const size_t n = kernels.size();
      for (size_t k = 0; k < n; ++k)
        trial.kernels[signature][kernels[k]] = static_cast<double>((k + n - round % n) % n);
    }
    return trial;
  }

  Status Measure(GraphFile* file) {
    compiler::Options options = file->Options();
    options.options_for = [values = file->choices, this](const std::string& name) {
      auto asked = values.OptionsFor(name);
      if (name == "opencl") asked.emplace_back("tuning", trial_);
      return asked;
    };
    std::map<std::string, std::string> signatures;  // by label
    TIMCL_ASSIGN(auto executable, compiler::Compile(file->graph, file->context->Ops(),
                                                    file->backends, options, &file->report));
    for (const OpPlacement& op : file->report.ops) {
      if (op.backend != "opencl") continue;
      const OpView view = file->graph->view(op.id);
      std::vector<std::string>& kernels =
          kernels_of_[signatures[op.op] = opencl::SignatureOf(view)];
      if (!kernels.empty()) continue;
      for (const KernelCandidate& candidate : view.def().kernels) kernels.push_back(candidate.name);
    }
    GraphProfile profile;
    TIMCL_TRY(ProfileRuns(executable.get(), file->report, RunOf(executable.get()), arguments_.runs,
                          &profile));
    std::map<std::string, std::string> kernels;  // by label
    for (const OpPlacement& op : file->report.ops) kernels[op.op] = op.kernel;
    for (const OpTime& op : profile.ops) {
      // With what was fused into it, which is the same in every round.
      const std::string label = op.op.substr(0, op.op.find(" + "));
      const auto signature = signatures.find(label);
      if (signature == signatures.end() || op.launches == 0) continue;
      const auto [it, first] = measured_[signature->second].try_emplace(kernels[label], op.min_ms);
      if (!first) it->second = std::min(it->second, op.min_ms);
    }
    return Status();
  }

  const Arguments& arguments_;
  const Tuning& tuning_;
  const std::string trial_;
  std::map<std::string, std::vector<std::string>> kernels_of_;  // by signature, once compiled
  std::map<std::string, std::map<std::string, double>> measured_;
};

int Run(const Arguments& arguments) {
  GraphFile file;
  if (const int exit = Open("tune", arguments.graph, &file); exit != kDone) return exit;
  const auto opencl = std::find_if(file.backends.begin(), file.backends.end(), [](const auto& b) {
    return b.backend->Info().name == "opencl";
  });
  if (opencl == file.backends.end())
    return Fail(kCannotCompile, "there is no OpenCL device to tune for");
  const BackendInfo& info = opencl->backend->Info();
  Tuning tuning;
  tuning.library = TIMCL_VERSION, tuning.device = info.device, tuning.driver = info.version;
  std::string output = arguments.output;
  const auto& env = base::Environment::Process();
  if (output.empty()) output = env.Get(base::Env::kTuning);
  if (output.empty()) output = Tuning::FileFor(env.CacheDir(), tuning.device, tuning.driver);
  if (output.empty()) return Fail(kIo, "no cache folder: name a file with -o");
  std::error_code error;
  const auto folder = std::filesystem::path(output).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  // What is known of other graphs stays.
  if (auto known = Tuning::Read(output, tuning.device, tuning.driver); known.ok())
    tuning.kernels = std::move(known->kernels);
  const TrialFile trial(output);
  Tuner tuner(arguments, &tuning, trial.path);
  if (const int exit = tuner.Run(); exit != kDone) return exit;
  for (const auto& [signature, times] : tuner.measured()) tuning.kernels[signature] = times;
  // Whole or not at all, also for a process that reads it just now.
  const Status written = WriteFile(trial.path, tuning.ToJson());
  if (!written.ok()) return Fail(kIo, written.message());
  std::filesystem::rename(trial.path, output, error);
  if (error) return Fail(kIo, fmt::format("'{}' cannot be written: {}", output, error.message()));
  fmt::print("{}{} kept in {}\n", tuner.ToText(), Count(tuner.measured().size(), "operation"),
             output);
  return kDone;
}

}  // namespace

Command AddTune(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand(
      "tune",
      "Measures every kernel that an operation of the graph could take on this device, and keeps "
      "the "
      "times in a file that later compilations read: the fastest is asked first. Nothing is tuned "
      "but by this command. Exit status: 1 the command line, 2 the graph, 3 plugins, 4 it does not "
      "compile or run, 6 files.");
  AddGraphArguments(sub, &a->graph);
  sub->add_option("--runs", a->runs, "Of each kernel; the shortest counts")
      ->check(CLI::Range(1, 1000));
  sub->add_option("-o,--output", a->output,
                  "Instead of TIMCL_TUNING, or the device's own file in the cache folder");
  return [a] { return Run(*a); };
}

}  // namespace tim::vx::tools
