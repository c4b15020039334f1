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
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/operands.h"
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

/// "axis" -> "axis is", "front_size back_size" -> "front_size, back_size are".
std::string Listed(std::string names, const char* one, const char* several) {
  const bool many = names.find(' ') != std::string::npos;
  for (size_t at = 0; (at = names.find(' ', at)) != std::string::npos; at += 2) {
    names.replace(at, 1, ", ");
  }
  return names + (many ? several : one);
}

std::string LayoutWords(const LayoutRule& rule) {
  std::string attributes;
  for (const char* names : {rule.axes, rule.per_dimension, rule.masks, rule.dropped_mask}) {
    if (*names != 0) attributes += (attributes.empty() ? "" : " ") + std::string(names);
  }
  switch (rule.kind) {
    case LayoutRule::Kind::kCanonical:
      return "its own order";
    case LayoutRule::Kind::kFollows:
      return attributes.empty() ? "any, the same for all operands"
                                : "any; " + Listed(attributes, " is rewritten", " are rewritten");
    case LayoutRule::Kind::kFixed:
      return "as named by " + Listed(rule.layouts, "", "");
    case LayoutRule::Kind::kPermutes:
      return "any; permutes by " + attributes;
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

Json HeaderOf(const OpDef& def) {
  for (const OpHeader* h = kOpHeaders; h->op != nullptr; ++h) {
    if (def.name == h->op) return h->header;
  }
  return nullptr;
}

/// The element types of all operands, in the order in which the definition names them.
Json ElementTypes(const OpDef& def) {
  Json names = Json::array();
  if (def.types == nullptr) return names;
  for (const TypeRow& row :
       ListTypes(def, ir::OperandNames(def.inputs).size(), ir::OperandNames(def.outputs).size())) {
    for (const TypeRow::Operand& operand : row.operands) {
      for (const TensorType& type : operand.types) {
        const std::string name = NameOf(type.dtype);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

/// What the tests noted of one operator: each case, and whether every way of running it passed.
struct Coverage {
  std::map<std::string, std::map<std::string, bool>> cases;  // by kind of test
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> ran_and_passed;  // by, types
};
/// By operator. `kinds`: those of which there is a file.
struct Coverages {
  std::set<std::string> kinds;
  std::map<std::string, Coverage> ops;
};

/// Cases that passed; null where no test of that kind left a note, since the table itself does not
/// know.
Json CasesPassed(const Coverages& all, const std::string& kind, const std::string& op) {
  if (all.kinds.count(kind) == 0) return nullptr;
  int64_t passed = 0;
  if (const auto of_op = all.ops.find(op); of_op != all.ops.end()) {
    if (const auto of_kind = of_op->second.cases.find(kind); of_kind != of_op->second.cases.end()) {
      for (const auto& [name, good] : of_kind->second) passed += good;
    }
  }
  return passed;
}

Json ToJson(const OpDef& def, const Coverages& coverages) {
  const std::string name(def.name);
  Json kernels = Json::array(), forms = Json::array();
  for (const KernelCandidate& k : def.kernels) kernels.push_back(k.name);
  if (!def.kernels.empty()) forms.push_back("kernel");
  if (def.expand != nullptr) forms.push_back("expanded");
  if (def.reference != nullptr) forms.push_back("reference");
  Json rows = Json::array();
  if (const auto it = coverages.ops.find(name); it != coverages.ops.end()) {
    for (const auto& [key, counts] : it->second.ran_and_passed) {
      rows.push_back({{"by", key.first},
                      {"types", key.second},
                      {"ran", counts.first},
                      {"passed", counts.second}});
    }
  }
  return {{"name", name},
          {"header", HeaderOf(def)},
          {"dtypes", ElementTypes(def)},
          {"forms", forms},
          {"layouts", LayoutWords(def.layout)},
          {"conformance_cases", CasesPassed(coverages, "conformance", name)},
          {"golden_cases", CasesPassed(coverages, "golden", name)},
          {"waits_for", def.waits_for ? Json(def.waits_for) : Json(nullptr)},
          {"alias_of", nullptr},
          {"version", def.version},
          {"origin", def.origin},
          {"inputs", def.inputs},
          {"outputs", def.outputs},
          {"types", def.types ? Json(def.types) : Json(nullptr)},
          {"attributes", Attributes(def)},
          {"kernels", kernels},
          {"pointwise", def.pointwise ? Json(def.pointwise->expression) : Json(nullptr)},
          {"moves_nothing", def.moves_nothing},
          {"declared_shape", DeclaredName(def.declared)},
          {"tolerance",
           {{"ulp", def.tolerance.ulp},
            {"absolute", def.tolerance.absolute},
            {"steps", def.tolerance.steps},
            {"sum", def.tolerance.sum},
            {"text", ToText(def.tolerance)}}},
          {"coverage", coverages.kinds.empty() ? Json(nullptr) : rows}};
}

/// Operators that users write: none is in the table, but their class is one of it.
Json UserRow(const Coverages& coverages) {
  Json row = ToJson({.name = "CustomOpBase",
                     .inputs = "input*",
                     .outputs = "output*",
                     .types = "f32|f16|i32|u32|i64|bool|i8|u8|i16|u16* -> "
                              "f32|f16|i32|u32|i64|bool|i8|u8|i16|u16"},
                    coverages);
  row["forms"] = {"kernel"};
  row["kernels"] = {"user"};
  return row;
}

bool AddRuns(const Json& file, Coverages* all) {
  if (!file.is_object() || !file.contains("kind") || !file["kind"].is_string() ||
      !file.contains("runs") || !file["runs"].is_array()) {
    return false;
  }
  const auto kind = file["kind"].get<std::string>();
  for (const Json& run : file["runs"]) {
    for (const char* key : {"op", "case", "by", "types"}) {
      if (!run.is_object() || !run.contains(key) || !run[key].is_string()) return false;
    }
    if (!run.contains("passed") || !run["passed"].is_boolean()) return false;
    Coverage& op = all->ops[run["op"].get<std::string>()];
    const bool passed = run["passed"];
    // Several tests run the same case: it is one, and passed if it did wherever it ran.
    bool& all_passed = op.cases[kind].emplace(run["case"].get<std::string>(), true).first->second;
    all_passed = all_passed && passed;
    auto& [rows_ran, rows_passed] = op.ran_and_passed[{run["by"], run["types"]}];
    ++rows_ran;
    rows_passed += passed;
  }
  all->kinds.insert(kind);
  return true;
}

/// Adds up the files <kind>.<test>.json that tests left in `folder`. False, with the reason on
/// stderr, when one does not parse, or there is none although the caller named the folder.
bool ReadCoverage(const std::string& folder, bool named, Coverages* all) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.ends_with(".json") &&
        (name.starts_with("conformance.") || name.starts_with("golden.")))
      files.push_back(it->path());
  }
  if (error || files.empty()) {
    if (!named) return true;
    std::fprintf(stderr,
                 "timcl: no coverage files (conformance.*.json, golden.*.json) in '%s'%s; "
                 "conformance_test and golden_test write them\n",
                 folder.c_str(), error ? (": " + error.message()).c_str() : "");
    return false;
  }
  for (const fs::path& file : files) {
    std::ifstream in(file);
    if (AddRuns(Json::parse(in, nullptr, /*allow_exceptions=*/false), all)) continue;
    std::fprintf(stderr, "timcl: '%s' is not a coverage file\n", file.c_str());
    return false;
  }
  return true;
}

/// The folder `coverage` of the build tree that the command lies in.
std::string DefaultCoverage() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path().parent_path() / "coverage").string();
}

std::string ToText(const Json& op) {
  if (op["alias_of"].is_string()) {
    return fmt::format("{}: another name of {}\n", op["name"].get<std::string>(),
                       op["alias_of"].get<std::string>());
  }
  std::string text = fmt::format("{}: {} -> {}\n", op["name"].get<std::string>(),
                                 op["inputs"].get<std::string>(), op["outputs"].get<std::string>());
  auto row = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += fmt::format("   {:<11} {}\n", what, value);
  };
  if (op["header"].is_string()) row("header", op["header"].get<std::string>());
  if (op["types"].is_string()) row("types", op["types"].get<std::string>());
  row("attributes", op["attributes"].get<std::string>());
  std::vector<std::string> runs;
  for (const Json& k : op["kernels"]) runs.push_back(k.get<std::string>());
  const auto has = [&op](const char* form) {
    return std::find(op["forms"].begin(), op["forms"].end(), form) != op["forms"].end();
  };
  if (has("expanded")) runs.push_back("expands into other ops");
  if (op["moves_nothing"].get<bool>()) runs.push_back("no launch where encodings agree");
  if (!has("reference")) runs.push_back("no reference of its own");
  if (op["waits_for"].is_string()) row("waits for", op["waits_for"].get<std::string>());
  row("runs as", fmt::format("{}", fmt::join(runs, ", ")));
  if (op["pointwise"].is_string()) row("pointwise", op["pointwise"].get<std::string>());
  row("layouts", op["layouts"].get<std::string>());
  row("tolerance", op["tolerance"]["text"].get<std::string>());
  if (op["coverage"].is_array()) {
    std::vector<std::string> proofs;
    for (const char* kind : {"conformance", "golden"}) {
      const Json& cases = op[std::string(kind) + "_cases"];
      if (cases.is_number()) proofs.push_back(fmt::format("{} {} cases", cases.dump(), kind));
    }
    row("passed", fmt::format("{}", fmt::join(proofs, ", ")));
  }
  return text;
}

int Run(const Options& options) {
  OpRegistry registry;
  ops::RegisterBuiltinOps(registry);
  const bool named = !options.coverage.empty();
  Coverages coverages;
  if (!ReadCoverage(named ? options.coverage : DefaultCoverage(), named, &coverages)) return 1;
  Json table = Json::array();
  for (const auto& def : registry.All()) table.push_back(ToJson(*def, coverages));
  const size_t operators = table.size();
  table.push_back(UserRow(coverages));
  for (const OpAlias* a = kOpAliases; a->alias != nullptr; ++a) {
    const auto of = std::find_if(table.begin(), table.end(),
                                 [a](const Json& row) { return row["name"] == a->op; });
    if (of == table.end()) continue;
    Json row = *of;
    row["name"] = a->alias;
    row["alias_of"] = a->op;
    table.push_back(std::move(row));
  }
  std::sort(table.begin(), table.end(), [](const Json& a, const Json& b) {
    return a["name"].get_ref<const std::string&>() < b["name"].get_ref<const std::string&>();
  });
  if (options.format == "json") {
    std::puts(table.dump(2).c_str());
    return 0;
  }
  for (const Json& op : table) std::fputs(ToText(op).c_str(), stdout);
  fmt::print("{} operators\n", operators);
  return 0;
}

}  // namespace

Command AddOps(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "ops", "Prints the operator table: operands, attributes with defaults, kernels, tolerance.");
  sub->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  sub->add_option(
      "--coverage", options->coverage,
      "Folder of what conformance_test and golden_test noted, to be added up; without it, "
      "'coverage' of the build tree that this command lies in");
  return [options] { return Run(*options); };
}

}  // namespace tim::vx::tools
