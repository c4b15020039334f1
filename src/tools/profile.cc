// timcl profile: compiles a graph, runs it, and tells where the time goes.
#include "api/profile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/env.h"
#include "tools/graph_file.h"

namespace tim::vx::tools {
namespace {

struct Arguments {
  GraphArguments graph;
  std::string output = "-", format = "text", trace;
  int runs = 10;
};

int Fail(int exit, const std::string& text) { return tools::Fail("profile", exit, text); }

int Run(const Arguments& arguments) {
  GraphFile file;
  if (const int exit = Open("profile", arguments.graph, &file); exit != kDone) return exit;
  if (const Status filled = FillInputs(file.graph.get()); !filled.ok())
    return Fail(kBadModel, filled.message());
  const std::string trace_file = arguments.trace.empty()
                                     ? base::Environment::Process().Get(base::Env::kTrace)
                                     : arguments.trace;
  compiler::Options options = file.Options();
  options.dump_dir = base::Environment::Process().Get(base::Env::kDump);
  options.watch.trace = base::Trace::To(trace_file);
  if (!trace_file.empty() && options.watch.trace == nullptr)
    return Fail(kIo, fmt::format("'{}' cannot be written", trace_file));
  auto compiled =
      compiler::Compile(file.graph, file.context->Ops(), file.backends, options, &file.report);
  if (!compiled.ok()) return Fail(kCannotCompile, compiled.status().message());
  runtime::Executable& executable = **compiled;
  GraphProfile profile;
  const Status measured =
      ProfileRuns(&executable, file.report, RunOf(&executable), arguments.runs, &profile);
  if (!measured.ok()) return Fail(kCannotCompile, measured.message());
  if (options.watch.trace != nullptr) {
    const Status traced = TraceRun(&executable, file.report, options.watch.trace.get());
    if (!traced.ok()) return Fail(kCannotCompile, traced.message());
  }
  const Status written =
      WriteFile(arguments.output, arguments.format == "json" ? profile.ToJson() : profile.ToText());
  return written.ok() ? kDone : Fail(kIo, written.message());
}

}  // namespace

Command AddProfile(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand(
      "profile",
      "Compiles a graph, runs it on zeros, and prints a table of its operations: kernel, tile, "
      "time, "
      "GFLOP/s, GB/s, and the share of the time that the device's own limits explain. Exit status: "
      "1 the command line, 2 the graph, 3 plugins, 4 it does not compile or run, 6 files.");
  AddGraphArguments(sub, &a->graph);
  sub->add_option("--runs", a->runs, "So many of each kind, of which medians are told")
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--trace", a->trace,
                  "Also writes a timeline for chrome://tracing or Perfetto to this file");
  sub->add_option("--format", a->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  sub->add_option("-o,--output", a->output, "A file instead of stdout");
  return [a] { return Run(*a); };
}

}  // namespace tim::vx::tools
