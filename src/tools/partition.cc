// timcl partition: divides a graph among the backends as Compile() would, compiles nothing, and
// tells who is to run what and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "api/context.h"
#include "api/table.h"
#include "compiler/pipeline.h"
#include "ir/graph.h"
#include "tools/tools.h"

namespace tim::vx::tools {
namespace {

struct Arguments {
  std::string file, output = "-", format = "text";
  std::string vendor, model, device, strategy = "convex", fallback = "warn";
  std::vector<std::string> plugins, pins, excludes, choices;
  size_t max_partitions = 0, min_ops = 1;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;
struct Choice {
  std::string backend, key, value;
};

int Fail(int exit, const std::string& text) {
  fmt::print(stderr, "timcl partition: {}\n", text);
  return exit;
}

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

/// Values may contain anything, keys no '.'.
Status Split(const std::vector<std::string>& given, std::vector<Choice>* choices) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    const size_t dot = equals == std::string::npos ? equals : one.rfind('.', equals);
    if (dot == std::string::npos || dot == 0 || dot + 1 == equals) {
      return Status::Error(Code::kInvalidArgument,
                           fmt::format("--option '{}' is not of the form BACKEND.KEY=VALUE", one));
    }
    choices->push_back(
        {one.substr(0, dot), one.substr(dot + 1, equals - dot - 1), one.substr(equals + 1)});
  }
  return Status();
}

Result<std::string> Read(const std::string& file) {
  const auto close = [](std::FILE* f) {
    if (f != stdin) std::fclose(f);
  };
  const std::unique_ptr<std::FILE, decltype(close)> in(
      file == "-" ? stdin : std::fopen(file.c_str(), "rb"), close);
  std::string text;
  char piece[65536];
  while (in != nullptr) {
    const size_t read = std::fread(piece, 1, sizeof piece, in.get());
    text.append(piece, read);
    if (read < sizeof piece) break;
  }
  if (in != nullptr && std::ferror(in.get()) == 0) return text;
  return Status::Error(Code::kIo,
                       fmt::format("'{}' cannot be read: {}", file,
                                   std::error_code(errno, std::generic_category()).message()));
}

Status Write(const std::string& file, const std::string& text) {
  if (file == "-") {
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? Status() : Status::Error(Code::kIo, "the output cannot be written");
  }
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  return out ? Status() : Status::Error(Code::kIo, fmt::format("'{}' cannot be written", file));
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

/// Loads plugins; an explicit directory that cannot be read is an error, a file that does not load
/// is told of.
Status LoadPlugins(const Arguments& arguments, Context* context) {
  std::vector<std::string> dirs = arguments.plugins;
  for (std::string& dir : Context::DefaultPluginDirs()) dirs.push_back(std::move(dir));
  PluginScan scan;
  TIMCL_TRY(context->LoadPlugins(dirs, &scan));
  for (const PluginScan::File& f : scan.files) {
    if (f.status.ok()) continue;
    const auto& own = arguments.plugins;
    if (std::find(own.begin(), own.end(), f.path) != own.end()) return f.status;
    fmt::print(stderr, "note: {} is not used: {}\n", f.path, f.status.detail());
  }
  return Status();
}

int Run(const Arguments& arguments) {
  compiler::Options options;
  std::vector<Choice> choices;
  for (const Status& split : {Split("--pin", arguments.pins, &options.pins),
                              Split("--exclude", arguments.excludes, &options.excludes),
                              Split(arguments.choices, &choices)}) {
    if (!split.ok()) return Fail(kUsage, split.detail());
  }
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
  CompileOption values;
  for (const Choice& c : choices) values.SetOption(c.backend, c.key, c.value);
  options.options_for = [values](const std::string& name) { return values.OptionsFor(name); };

  const auto text = Read(arguments.file);
  if (!text.ok()) return Fail(kIo, text.status().message());
  ContextOptions context_options;
  context_options.device = arguments.device;
  const auto context = Context::Create(context_options);
  if (!context->LastStatus().ok()) return Fail(kUsage, context->LastStatus().message());
  if (const Status loaded = LoadPlugins(arguments, context.get()); !loaded.ok())
    return Fail(kPlugins, loaded.message());
  CompileReport report;
  report.device = context->DeviceName();
  const auto backends = static_cast<ContextImpl&>(*context).backends(&report.warnings);
  if (!backends.ok()) return Fail(kPlugins, backends.status().message());
  for (const Choice& c : choices) {
    std::vector<std::string> names = {"*"};
    for (const auto& b : *backends) names.push_back(b.backend->Info().name);
    if (std::find(names.begin(), names.end(), c.backend) == names.end()) {
      return Fail(kUsage, fmt::format("--option for backend '{}'; there are: {}", c.backend,
                                      fmt::join(names, ", ")));
    }
  }

  size_t elided = 0;
  auto parsed = ir::Parse(*text, context->Ops(), &elided);
  if (!parsed.ok()) return Fail(kBadModel, parsed.status().message());
  const std::shared_ptr<ir::Graph> graph = std::move(*parsed);
  if (graph->LiveNodes() == 0) return Fail(kBadModel, "the graph has no operations");
  if (elided != 0) {
    fmt::print(stderr, "note: the data of {} was elided in the text: zeros stand for it\n",
               Count(elided, "constant"));
  }
  for (const auto check : {+[](ir::Graph& g) { return ir::CheckInvariants(g, false); },
                           +[](ir::Graph& g) { return compiler::InferTypes(g); },
                           +[](ir::Graph& g) { return compiler::FoldConstants(g); }}) {
    if (const Status checked = check(*graph); !checked.ok())
      return Fail(kBadModel, checked.message());
  }
  std::string drawing;
  const Status divided =
      compiler::Preview(graph, context->Ops(), *backends, options, &report, &drawing);
  if (!divided.ok()) {
    const bool missing = divided.code() == Code::kNotFound || divided.code() == Code::kPlugin ||
                         divided.code() == Code::kVersionMismatch;
    return Fail(missing ? kPlugins : kCannotCompile, divided.message());
  }
  for (size_t b = 0; b < report.backends.size(); ++b) {
    if ((*backends)[b].backend->Info().executes || report.backends[b].ops == 0) continue;
    fmt::print(stderr, "note: '{}' has no dispatcher here: its partitions run where there is one\n",
               report.backends[b].name);
  }
  const Status written = Write(arguments.output, arguments.format == "dot"    ? drawing
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
  sub->add_option("file", a->file,
                  "The graph in the text form of Graph::ToText, such as 00_built.txt of "
                  "TIMCL_DUMP; -: from stdin")
      ->required();
  const auto many = [&](const char* names, std::vector<std::string>* to, const char* help) {
    sub->add_option(names, *to, help)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  many("--plugins,--libs", &a->plugins,
       "A directory of plugins, beside those of TIMCL_PLUGIN_PATH; several are allowed");
  sub->add_option("--vendor,--soc_manufacturer", a->vendor, "The target's vendor");
  sub->add_option("--model,--soc_model", a->model, "The target's model");
  sub->add_option("--device", a->device,
                  "What ContextOptions::device would say: an index, part of a name, or reference");
  sub->add_option("--strategy", a->strategy, "convex, order or op")
      ->check(CLI::IsMember({"convex", "order", "op"}));
  sub->add_option("--max-partitions", a->max_partitions,
                  "For each backend but the library's own; 0: any number");
  sub->add_option("--min-ops", a->min_ops, "Smaller partitions go to the next backend");
  many("--pin", &a->pins, "OP=BACKEND: an operation, by name or kind, runs there; several");
  many("--exclude", &a->excludes, "OP=BACKEND: it never runs there; several are allowed");
  many("--option", &a->choices, "BACKEND.KEY=VALUE: what only that backend understands; several");
  sub->add_option("--fallback", a->fallback, "allow, warn or forbid")
      ->check(CLI::IsMember({"allow", "warn", "forbid"}));
  sub->add_option("--format", a->format, "text, dot or json")
      ->check(CLI::IsMember({"text", "dot", "json"}));
  sub->add_option("-o,--output", a->output, "A file instead of stdout");
  return [a] { return Run(*a); };
}

}  // namespace tim::vx::tools
