// A graph in its text form, with the context that is to run it: what several subcommands begin
// with.
#ifndef TIMCL_TOOLS_GRAPH_FILE_H_
#define TIMCL_TOOLS_GRAPH_FILE_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/context.h"
#include "compiler/pipeline.h"
#include "ir/graph.h"
#include "tools/tools.h"

namespace tim::vx::tools {

struct GraphArguments {
  std::string file, device;
  std::vector<std::string> plugins, choices;
};
void AddGraphArguments(CLI::App* sub, GraphArguments* arguments);
/// An option that may come several times, each with one value.
void AddMany(CLI::App* sub, const char* names, std::vector<std::string>* to, const char* help);

struct GraphFile {
  std::shared_ptr<Context> context;
  std::vector<compiler::RankedBackend> backends;
  std::shared_ptr<ir::Graph> graph;  // whole, its types not inferred yet
  CompileOption choices;             // those of --option
  CompileReport report;              // the device, and warnings so far

  /// With the choices in it.
  compiler::Options Options() const;
};
/// kDone, or the exit status after the reason went to stderr. `silent`: without notes.
int Open(const char* command, const GraphArguments& arguments, GraphFile* file,
         bool silent = false);
/// Inputs of the graph get memory, all zeros: which numbers there are changes no time that counts,
/// and every operator takes zeros (indices among them).
Status FillInputs(ir::Graph* graph);

/// Prints "timcl <command>: <text>" to stderr and returns `exit`.
int Fail(const char* command, int exit, const std::string& text);
/// "-": to stdout.
Status WriteFile(const std::string& file, const std::string& text);

}  // namespace tim::vx::tools
#endif  // TIMCL_TOOLS_GRAPH_FILE_H_
