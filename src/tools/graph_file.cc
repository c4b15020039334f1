// Reading a graph and opening its context: see graph_file.h.
#include "tools/graph_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include "api/table.h"
#include "base/storage.h"

namespace tim::vx::tools {
namespace {

struct Choice {
  std::string backend, key, value;
};

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

Result<std::string> ReadFile(const std::string& file) {
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

/// Loads plugins; an explicit directory that cannot be read is an error, a file that does not load
/// is told of.
Status LoadPlugins(const std::vector<std::string>& own, Context* context) {
  std::vector<std::string> dirs = own;
  for (std::string& dir : Context::DefaultPluginDirs()) dirs.push_back(std::move(dir));
  PluginScan scan;
  TIMCL_TRY(context->LoadPlugins(dirs, &scan));
  for (const PluginScan::File& f : scan.files) {
    if (f.status.ok()) continue;
    if (std::find(own.begin(), own.end(), f.path) != own.end()) return f.status;
    fmt::print(stderr, "note: {} is not used: {}\n", f.path, f.status.detail());
  }
  return Status();
}

}  // namespace

int Fail(const char* command, int exit, const std::string& text) {
  fmt::print(stderr, "timcl {}: {}\n", command, text);
  return exit;
}

Status WriteFile(const std::string& file, const std::string& text) {
  if (file == "-") {
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? Status() : Status::Error(Code::kIo, "the output cannot be written");
  }
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  return out ? Status() : Status::Error(Code::kIo, fmt::format("'{}' cannot be written", file));
}

Status FillInputs(ir::Graph* graph) {
  for (ir::Value& v : graph->values()) {
    if (v.role != ir::Role::kInput || v.storage != nullptr) continue;
    TIMCL_ASSIGN(const size_t bytes, v.type.CheckedBytes());
    v.storage = base::Storage::Allocate(bytes);
    if (v.storage == nullptr) {
      return Status::Error(Code::kOutOfMemory, fmt::format("{} bytes", bytes)).AtTensor(v.name);
    }
  }
  return Status();
}

void AddMany(CLI::App* sub, const char* names, std::vector<std::string>* to, const char* help) {
  sub->add_option(names, *to, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddGraphArguments(CLI::App* sub, GraphArguments* arguments) {
  sub->add_option("file", arguments->file,
                  "The graph in the text form of Graph::ToText, such as 00_built.txt of "
                  "TIMCL_DUMP; -: from stdin")
      ->required();
  AddMany(sub, "--plugins,--libs", &arguments->plugins,
          "A directory of plugins, beside those of TIMCL_PLUGIN_PATH; several are allowed");
  sub->add_option("--device", arguments->device,
                  "What ContextOptions::device would say: an index, part of a name, or reference");
  AddMany(sub, "--option", &arguments->choices,
          "BACKEND.KEY=VALUE: what only that backend understands; several");
}

compiler::Options GraphFile::Options() const {
  compiler::Options options;
  options.options_for = [values = choices](const std::string& name) {
    return values.OptionsFor(name);
  };
  return options;
}

int Open(const char* command, const GraphArguments& arguments, GraphFile* file, bool silent) {
  const auto fail = [&](int exit, const Status& why) { return Fail(command, exit, why.message()); };
  std::vector<Choice> choices;
  if (const Status split = Split(arguments.choices, &choices); !split.ok())
    return Fail(command, kUsage, split.detail());
  for (const Choice& c : choices) file->choices.SetOption(c.backend, c.key, c.value);
  const auto text = ReadFile(arguments.file);
  if (!text.ok()) return fail(kIo, text.status());
  ContextOptions options;
  options.device = arguments.device;
  file->context = Context::Create(options);
  Context& context = *file->context;
  if (!context.LastStatus().ok()) return fail(kUsage, context.LastStatus());
  if (const Status loaded = LoadPlugins(arguments.plugins, &context); !loaded.ok())
    return fail(kPlugins, loaded);
  file->report.device = context.DeviceName();
  auto backends = static_cast<ContextImpl&>(context).backends(&file->report.warnings);
  if (!backends.ok()) return fail(kPlugins, backends.status());
  file->backends = std::move(*backends);
  std::vector<std::string> names = {"*"};
  for (const auto& b : file->backends) names.push_back(b.backend->Info().name);
  for (const Choice& c : choices) {
    if (std::find(names.begin(), names.end(), c.backend) != names.end()) continue;
    return Fail(
        command, kUsage,
        fmt::format("--option for backend '{}'; there are: {}", c.backend, fmt::join(names, ", ")));
  }
  size_t elided = 0;
  auto parsed = ir::Parse(*text, context.Ops(), &elided);
  if (!parsed.ok()) return fail(kBadModel, parsed.status());
  file->graph = std::move(*parsed);
  if (file->graph->LiveNodes() == 0) return Fail(command, kBadModel, "the graph has no operations");
  if (elided != 0 && !silent) {
    fmt::print(stderr, "note: the data of {} was elided in the text: zeros stand for it\n",
               Count(elided, "constant"));
  }
  if (const Status sound = ir::CheckInvariants(*file->graph, false); !sound.ok())
    return fail(kBadModel, sound);
  return kDone;
}

}  // namespace tim::vx::tools
