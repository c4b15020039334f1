// timcl info: opens a device and loads plugins as a program's Context does, and tells what came of
// it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tim/vx/backend.h"
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
  return {{"name", p.name},         {"version", p.version},         {"vendor", p.vendor},
          {"file", p.file},         {"sdk_version", p.sdk_version}, {"models", p.models},
          {"compiles", p.compiles}, {"executes", p.executes},       {"operators", ops}};
}

Json BackendJson(const BackendInfo& b) {
  return {{"name", b.name},         {"vendor", b.vendor},
          {"version", b.version},   {"sdk_version", b.sdk_version},
          {"device", b.device},     {"models", b.models},
          {"compiles", b.compiles}, {"executes", b.executes},
          {"note", b.note}};
}

/// What plugins and backends have in common: "; SDK 2.1; for a1, a2; compiles".
std::string Halves(const Json& j) {
  std::string text;
  if (!j["sdk_version"].empty() && j["sdk_version"] != "")
    text += "; SDK " + j["sdk_version"].get<std::string>();
  const std::vector<std::string> models = j["models"];
  if (!models.empty()) text += fmt::format("; for {}", fmt::join(models, ", "));
  const bool compiles = j["compiles"], executes = j["executes"];
  if (compiles || executes) {
    text += fmt::format("; {}", compiles && executes ? "compiles and executes"
                                : compiles           ? "compiles, does not execute"
                                                     : "executes, does not compile");
  }
  return text;
}

std::string ToText(const Json& info) {
  std::string text;
  const auto word = [](const Json& j) { return j.get<std::string>(); };
  const auto by = [&](const Json& j) {
    const std::string vendor = word(j["vendor"]);
    return vendor.empty() ? "" : " by " + vendor;
  };
  if (info["device_error"] != "") text += "no device: " + word(info["device_error"]) + "\n";
  text += "backends, in the order in which they are asked:\n";
  for (const Json& b : info["backends"]) {
    const std::string device = word(b["device"]);
    text += fmt::format("   {} {}{}{}{}\n", word(b["name"]), word(b["version"]), by(b),
                        device.empty() ? "" : " on " + device, Halves(b));
    if (b["note"] != "") text += "      " + word(b["note"]) + "\n";
  }
  for (const Json& p : info["plugins"]) {
    text += fmt::format("{} {}{}{}\n   {}\n", word(p["name"]), word(p["version"]), by(p), Halves(p),
                        word(p["file"]));
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
  ContextOptions with_inline;
  with_inline.inline_device = InlineDevice::kSmallGraphs;  // to tell whether it is there
  const auto context = Context::Create(with_inline);
  std::vector<std::string> dirs = options.directories;
  for (std::string& dir : Context::DefaultPluginDirs()) dirs.push_back(std::move(dir));
  PluginScan scan;
  const Status status = context->LoadPlugins(dirs, &scan);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    return kPlugins;
  }
  Json info = {{"device_error", context->LastStatus().message()},
               {"backends", Json::array()},
               {"plugins", Json::array()},
               {"rejected", Json::array()},
               {"directories", scan.directories}};
  for (const BackendInfo& b : context->Backends()) info["backends"].push_back(BackendJson(b));
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
  std::fputs(
      (options.format == "json" ? info.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                : ToText(info))
          .c_str(),
      stdout);
  return kDone;
}

}  // namespace

Command AddInfo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "info",
      "Lists backends, plugins and their operators, and every file that was rejected, with the "
      "reason. Looks into the directories given, those of TIMCL_PLUGIN_PATH, and timcl/plugins "
      "beside the "
      "library.");
  sub->add_option("--plugins", options->directories, "A directory of plugins; several are allowed")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  return [options] { return Run(*options); };
}

}  // namespace tim::vx::tools
