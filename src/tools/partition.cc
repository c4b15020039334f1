// timcl partition: divides a graph among the backends as Compile() would, compiles nothing, and
// tells who is to run what and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/table.h"
#include "compiler/pipeline.h"
#include "tools/graph_file.h"

namespace tim::vx::tools {
namespace {

struct Arguments {
  GraphArguments graph;
  std::string output = "-", format = "text";
  std::string vendor, model, strategy = "convex", fallback = "warn";
  std::vector<std::string> pins, excludes;
  size_t max_partitions = 0, min_ops = 1;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

int Fail(int exit, const std::string& text) { return tools::Fail("partition", exit, text); }

/// Names of ops may contain '=', those of backends do not.
Status Split(const char* option, const std::vector<std::string>& given, Pairs* pairs) {
  for (const std::string& one : given) {
    const size_t at = one.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == one.size()) {
      return Status::Error(Code::kInvalidArgument,
                           fmt::format("{} '{}' is not of the form OP=BACKEND", option, one));
    }
    pairs->emplace_back(one.substr(0, at), one.substr(at + 1));
  }
  return Status();
}

/// Each partition with its ops, why they are there, and what crosses its border.
std::string ToText(const CompileReport& report) {
  std::string text;
  for (size_t p = 0; p < report.parts.size(); ++p) {
    const PartitionReport& part = report.parts[p];
    text += fmt::format("partition {}: {}, {}\n", p, part.backend, Count(part.ops.size(), "op"));
    text += fmt::format("  in:  {}, {} bytes\n", fmt::join(part.inputs, ", "), part.input_bytes);
    for (const size_t at : part.ops) {
      const OpPlacement& op = report.ops[at];
      text += fmt::format("    {}: {}\n", op.op, op.reason);
      // The first refusal is the reason.
      for (const std::string& refusal : op.refusals) {
        if (refusal != op.reason) text += fmt::format("      refused: {}\n", refusal);
      }
    }
    text += fmt::format("  out: {}, {} bytes\n", fmt::join(part.outputs, ", "), part.output_bytes);
  }
  for (const std::string& warning : report.warnings) text += "warning: " + warning + "\n";
  for (const BackendReport& b : report.backends) {
    text += b.passed_over.empty() ? fmt::format("{}: {} in {}\n", b.name, Count(b.ops, "op"),
                                                Count(b.partitions, "partition"))
                                  : fmt::format("{}: not asked, {}\n", b.name, b.passed_over);
  }
  return text;
}

int Run(const Arguments& arguments) {
  Pairs pins, excludes;
  for (const Status& split :
       {Split("--pin", arguments.pins, &pins), Split("--exclude", arguments.excludes, &excludes)}) {
    if (!split.ok()) return Fail(kUsage, split.detail());
  }
  GraphFile file;
  if (const int exit = Open("partition", arguments.graph, &file); exit != kDone) return exit;
  compiler::Options options = file.Options();
  options.pins = std::move(pins);
  options.excludes = std::move(excludes);
  options.strategy = arguments.strategy == "order" ? PartitionStrategy::kExecutionOrder
                     : arguments.strategy == "op"  ? PartitionStrategy::kPerOp
                                                   : PartitionStrategy::kConvex;
  options.fallback = arguments.fallback == "allow"    ? Fallback::kAllow
                     : arguments.fallback == "forbid" ? Fallback::kForbid
                                                      : Fallback::kWarn;
  options.executes = false;  // a vendor's compiler is enough, as on the workstation of its user
  options.max_partitions = arguments.max_partitions;
  options.min_ops = arguments.min_ops;
  options.target = {arguments.vendor, arguments.model};
  CompileReport& report = file.report;
  const auto& graph = file.graph;
  for (const auto check : {+[](ir::Graph& g) { return compiler::InferTypes(g); },
                           +[](ir::Graph& g) { return compiler::FoldConstants(g); }}) {
    if (const Status checked = check(*graph); !checked.ok())
      return Fail(kBadModel, checked.message());
  }
  std::string drawing;
  const Status divided =
      compiler::Preview(graph, file.context->Ops(), file.backends, options, &report, &drawing);
  if (!divided.ok()) {
    const bool missing = divided.code() == Code::kNotFound || divided.code() == Code::kPlugin ||
                         divided.code() == Code::kVersionMismatch;
    return Fail(missing ? kPlugins : kCannotCompile, divided.message());
  }
  for (size_t b = 0; b < report.backends.size(); ++b) {
    if (file.backends[b].backend->Info().executes || report.backends[b].ops == 0) continue;
    fmt::print(stderr, "note: '{}' has no dispatcher here: its partitions run where there is one\n",
               report.backends[b].name);
  }
  const Status written = WriteFile(arguments.output, arguments.format == "dot"    ? drawing
                                                     : arguments.format == "json" ? report.ToJson()
                                                                                  : ToText(report));
  return written.ok() ? kDone : Fail(kIo, written.message());
}

}  // namespace

Command AddPartition(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand(
      "partition",
      "Divides a graph among the backends as Compile() would, and tells who is to run what, why, "
      "and what crosses the borders. Exit status: 1 the command line, 2 the graph, 3 plugins or "
      "backends that are not there, 4 nobody runs an operation, 6 files.");
  AddGraphArguments(sub, &a->graph);
  sub->add_option("--vendor,--soc_manufacturer", a->vendor, "The target's vendor");
  sub->add_option("--model,--soc_model", a->model, "The target's model");
  sub->add_option("--strategy", a->strategy, "convex, order or op")
      ->check(CLI::IsMember({"convex", "order", "op"}));
  sub->add_option("--max-partitions", a->max_partitions,
                  "For each backend but the library's own; 0: any number");
  sub->add_option("--min-ops", a->min_ops, "Smaller partitions go to the next backend");
  AddMany(sub, "--pin", &a->pins, "OP=BACKEND: an operation, by name or kind, runs there; several");
  AddMany(sub, "--exclude", &a->excludes, "OP=BACKEND: it never runs there; several are allowed");
  sub->add_option("--fallback", a->fallback, "allow, warn or forbid")
      ->check(CLI::IsMember({"allow", "warn", "forbid"}));
  sub->add_option("--format", a->format, "text, dot or json")
      ->check(CLI::IsMember({"text", "dot", "json"}));
  sub->add_option("-o,--output", a->output, "A file instead of stdout");
  return [a] { return Run(*a); };
}

}  // namespace tim::vx::tools
