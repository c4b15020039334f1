// timcl ops: the operator table, straight from the registry that every Context starts with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tim/vx/op_def.h"
#include "tools/tools.h"

namespace tim::vx::ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace tim::vx::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string format = "text", coverage;
};

std::string DeclaredName(Declared declared) {
  switch (declared) {
    case Declared::kTrusted:
      return "trusted";
    case Declared::kMustMatch:
      return "must match";
    case Declared::kExtentWins:
      return "extents win";
    case Declared::kOverwritten:
      return "overwritten";
  }
  return "unknown";
}

std::string LayoutName(const LayoutRule& rule) {
  std::string attributes;
  for (const char* names : {rule.axes, rule.per_dimension, rule.masks, rule.dropped_mask}) {
    if (*names != 0) attributes += (attributes.empty() ? "" : " ") + std::string(names);
  }
  switch (rule.kind) {
    case LayoutRule::Kind::kCanonical:
      return "canonical";
    case LayoutRule::Kind::kFollows:
      return attributes.empty() ? "any, the same for all" : "any; rewrites " + attributes;
    case LayoutRule::Kind::kFixed:
      return fmt::format("named by {}", rule.layouts);
    case LayoutRule::Kind::kPermutes:
      return "permutes by " + attributes;
  }
  return "unknown";
}

std::string ToText(const Tolerance& t) {
  std::vector<std::string> parts;
  if (t.ulp != 0) parts.push_back(fmt::format("{} ulp{}", t.ulp, t.sum ? " of the sum" : ""));
  if (t.absolute != 0) parts.push_back(fmt::format("{:g} absolute", t.absolute));
  if (t.steps != 0) parts.push_back(fmt::format("{} steps", t.steps));
  return parts.empty() ? "exact" : fmt::format("{}", fmt::join(parts, ", "));
}

/// Attributes with their default values; "" when the op has none.
std::string Attributes(const OpDef& def) {
  return def.schema ? def.schema->to_map(def.schema->make_default().get()).ToText() : "";
}

Json ToJson(const OpDef& def) {
  Json kernels = Json::array();
  for (const KernelCandidate& k : def.kernels) kernels.push_back(k.name);
  return {{"name", std::string(def.name)},
          {"version", def.version},
          {"origin", def.origin},
          {"inputs", def.inputs},
          {"outputs", def.outputs},
          {"types", def.types ? Json(def.types) : Json(nullptr)},
          {"attributes", Attributes(def)},
          {"kernels", kernels},
          {"pointwise", def.pointwise ? Json(def.pointwise->expression) : Json(nullptr)},
          {"expands", def.expand != nullptr},
          {"reference", def.reference != nullptr},
          {"moves_nothing", def.moves_nothing},
          {"layout", LayoutName(def.layout)},
          {"declared_shape", DeclaredName(def.declared)},
          {"tolerance",
           {{"ulp", def.tolerance.ulp},
            {"absolute", def.tolerance.absolute},
            {"steps", def.tolerance.steps},
            {"sum", def.tolerance.sum},
            {"text", ToText(def.tolerance)}}}};
}

/// Rows {op, candidate, in, out, cases, passed} of every file that the conformance test left in
/// `folder`, by op. False, with the reason on stderr, when there is none or one does not parse.
bool ReadCoverage(const std::string& folder, std::map<std::string, Json>* rows) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".json") files.push_back(it->path());
  }
  if (error || files.empty()) {
    std::fprintf(stderr,
                 "timcl: no coverage files (*.json) in '%s'%s; the conformance test writes them\n",
                 folder.c_str(), error ? (": " + error.message()).c_str() : "");
    return false;
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
    bool good = json.is_array();
    for (size_t i = 0; good && i < json.size(); ++i) {
      const Json& row = json[i];
      good = row.is_object() && row.contains("op") && row["op"].is_string() &&
             row.contains("cases") && row["cases"].is_number_integer() && row.contains("passed") &&
             row["passed"].is_number_integer();
      if (good) (*rows)[row["op"].get<std::string>()].push_back(row);
    }
    if (!good) {
      std::fprintf(stderr, "timcl: '%s' is not a coverage file\n", file.c_str());
      return false;
    }
  }
  return true;
}

std::string CoverageText(const Json& rows) {
  int64_t cases = 0, passed = 0;
  for (const Json& row : rows) {
    cases += row["cases"].get<int64_t>();
    passed += row["passed"].get<int64_t>();
  }
  return fmt::format("{} of {} cases in {} rows", passed, cases, rows.size());
}

std::string ToText(const Json& op) {
  std::string text = fmt::format("{}: {} -> {}\n", op["name"].get<std::string>(),
                                 op["inputs"].get<std::string>(), op["outputs"].get<std::string>());
  auto row = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("   {:<11} {}\n", what, value);
  };
  if (op["types"].is_string()) row("types", op["types"].get<std::string>());
  row("attributes", op["attributes"].get<std::string>());
  std::vector<std::string> runs;
  for (const Json& k : op["kernels"]) runs.push_back(k.get<std::string>());
  if (op["expands"].get<bool>()) runs.push_back("expands into other ops");
  if (op["moves_nothing"].get<bool>()) runs.push_back("no launch where encodings agree");
  if (!op["reference"].get<bool>()) runs.push_back("no reference of its own");
  row("runs as", fmt::format("{}", fmt::join(runs, ", ")));
  if (op["pointwise"].is_string()) row("pointwise", op["pointwise"].get<std::string>());
  row("layout", op["layout"].get<std::string>());
  row("tolerance", op["tolerance"]["text"].get<std::string>());
  if (op.contains("coverage")) row("coverage", CoverageText(op["coverage"]));
  return text;
}

int Run(const Options& options) {
  OpRegistry registry;
  ops::RegisterBuiltinOps(registry);
  std::map<std::string, Json> coverage;
  if (!options.coverage.empty() && !ReadCoverage(options.coverage, &coverage)) return 1;
  Json table = Json::array();
  for (const auto& def : registry.All()) {
    Json op = ToJson(*def);
    // An op that no case ran shows as such.
    if (!options.coverage.empty()) {
      const auto it = coverage.find(std::string(def->name));
      op["coverage"] = it == coverage.end() ? Json::array() : it->second;
    }
    table.push_back(std::move(op));
  }
  if (options.format == "json") {
    std::puts(table.dump(2).c_str());
    return 0;
  }
  for (const Json& op : table) std::fputs(ToText(op).c_str(), stdout);
  fmt::print("{} operators\n", table.size());
  return 0;
}

}  // namespace

Command AddOps(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "ops", "Prints the operator table: operands, attributes with defaults, kernels, tolerance.");
  sub->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  sub->add_option("--coverage", options->coverage,
                  "Folder of coverage/*.json files of the conformance test, to be merged");
  return [options] { return Run(*options); };
}

}  // namespace tim::vx::tools
