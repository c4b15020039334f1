// The timcl command: a look at devices, operators, plugins and compiled programs. One file per
// subcommand.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "tools/tools.h"

int main(int argc, char** argv) {
  using tim::vx::tools::Command;
  try {
    CLI::App app("TIM-CL " TIMCL_VERSION ": neural-network graphs on OpenCL devices", "timcl");
    app.set_version_flag("--version", TIMCL_VERSION);
    app.require_subcommand(1);
    const std::vector<Command> commands = {
        tim::vx::tools::AddDevices(app),   tim::vx::tools::AddOps(app),
        tim::vx::tools::AddCache(app),     tim::vx::tools::AddInfo(app),
        tim::vx::tools::AddPartition(app), tim::vx::tools::AddProfile(app),
        tim::vx::tools::AddTune(app)};
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      return app.exit(e) == 0 ? 0 : tim::vx::tools::kUsage;
    }
    const std::vector<CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
    for (size_t i = 0; i < commands.size(); ++i) {
      if (all[i]->parsed()) return commands[i]();
    }
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "timcl: %s\n", e.what());
    return 1;
  }
}
