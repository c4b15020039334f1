// timcl info: loads plugins as a program's Context does, and tells what came of it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/op_def.h"
#include "tools/tools.h"

namespace tim::vx::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> directories;
  std::string format = "text";
};

/// Attributes with their defaults, "" without any.
std::string AttributesOf(const OpDef& def) {
  return def.schema ? def.schema->to_map(def.schema->make_default().get()).ToText() : "";
}

Json PluginJson(const PluginInfo& p, const OpRegistry& registry) {
  Json ops = Json::array();
  for (const std::string& name : p.ops) {
    const auto def = registry.Find(name);
    ops.push_back({{"name", name},
                   {"version", def->version},
                   {"attributes", AttributesOf(*def)},
                   {"types", def->types ? def->types : ""}});
  }
  return {{"name", p.name},
          {"version", p.version},
          {"vendor", p.vendor},
          {"file", p.file},
          {"operators", ops}};
}

std::string ToText(const Json& info) {
  std::string text;
  const auto word = [](const Json& j) { return j.get<std::string>(); };
  for (const Json& p : info["plugins"]) {
    const std::string vendor = word(p["vendor"]);
    text += fmt::format("{} {}{}\n   {}\n", word(p["name"]), word(p["version"]),
                        vendor.empty() ? "" : " by " + vendor, word(p["file"]));
    for (const Json& op : p["operators"]) {
      text += fmt::format("   {}({})\n", word(op["name"]), word(op["attributes"]));
    }
  }
  for (const Json& r : info["rejected"]) {
    text += fmt::format("rejected: {}\n   {}\n", word(r["path"]), word(r["reason"]));
  }
  std::vector<std::string> directories = info["directories"];
  text += fmt::format(
      "{} plugins, {} rejected; looked in: {}\n", info["plugins"].size(), info["rejected"].size(),
      directories.empty() ? "no directory" : fmt::format("{}", fmt::join(directories, ", ")));
  return text;
}

int Run(const Options& options) {
  ContextOptions host;  // plugins of operators need no device
  host.host_only = true;
  const auto context = Context::Create(host);
  std::vector<std::string> dirs = options.directories;
  for (std::string& dir : Context::DefaultPluginDirs()) dirs.push_back(std::move(dir));
  PluginScan scan;
  const Status status = context->LoadPlugins(dirs, &scan);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  Json info = {
      {"plugins", Json::array()}, {"rejected", Json::array()}, {"directories", scan.directories}};
  for (const PluginScan::File& f : scan.files) {
    if (f.status.ok()) {
      info["plugins"].push_back(PluginJson(f.plugin, context->Ops()));
    } else {
      info["rejected"].push_back({{"path", f.path},
                                  {"name", f.plugin.name},
                                  {"code", CodeName(f.status.code())},
                                  {"reason", f.status.detail()}});
    }
  }
  std::fputs((options.format == "json" ? info.dump(2) + "\n" : ToText(info)).c_str(), stdout);
  return 0;
}

}  // namespace

Command AddInfo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "info",
      "Lists plugins and their operators, and every file that was rejected, with the reason. Looks "
      "into the directories given, those of TIMCL_PLUGIN_PATH, and timcl/plugins beside the "
      "library.");
  sub->add_option("--plugins", options->directories, "A directory of plugins; several are allowed")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  return [options] { return Run(*options); };
}

}  // namespace tim::vx::tools
