// What the samples share: two options, the line that each appends to --report, and how a failure is
// told.
#ifndef SAMPLES_REPORT_H_
#define SAMPLES_REPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"

namespace samples {

/// What a sample measured.
struct Report {
  std::string sample;
  std::string device;
  size_t steps = 0;     ///< entries of the plan that Run() walks; of several graphs, the longest
  size_t syncs = 0;     ///< host-device synchronisations per Run(); of several graphs, the most
  double max_diff = 0;  ///< largest difference to what the results are compared with
  bool ok = false;
};

inline std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return json + '"';
}

/// What every sample takes from its command line.
struct Options {
  std::string report_file, device;

  explicit Options(CLI::App& app) {
    app.add_option("--report", report_file, "append one line of JSON to this file");
    app.add_option("--device", device, "index or part of a name, see `timcl devices`");
  }
  std::shared_ptr<tim::vx::Context> CreateContext() const {
    tim::vx::ContextOptions options;
    options.device = device;
    return tim::vx::Context::Create(options);
  }
};

/// Takes over what the graph's report says of its plan.
inline void AddPlan(tim::vx::Graph& graph, Report* report) {
  report->steps = std::max(report->steps, graph.Report().steps);
  report->syncs = std::max(report->syncs, graph.Report().syncs);
}

/// Appends the report as one line of JSON, if a file is named; false if it cannot be written.
inline bool Append(const std::string& file, const Report& report) {
  if (file.empty()) return true;
  std::ofstream out(file, std::ios::app);
  out << "{\"sample\":" << JsonString(report.sample) << ",\"device\":" << JsonString(report.device)
      << ",\"steps\":" << report.steps << ",\"syncs\":" << report.syncs
      << ",\"max_diff\":" << std::setprecision(3) << report.max_diff
      << ",\"ok\":" << (report.ok ? "true" : "false") << "}\n";
  out.close();
  if (!out) std::fprintf(stderr, "cannot write to %s\n", file.c_str());
  return static_cast<bool>(out);
}

/// For `return Fail(...)` in main.
inline int Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace samples

#endif  // SAMPLES_REPORT_H_
