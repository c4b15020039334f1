// The subcommands of the timcl command. Each adds itself to the command line and returns what main
// runs when it was chosen.
#ifndef TIMCL_TOOLS_TOOLS_H_
#define TIMCL_TOOLS_TOOLS_H_

#include <functional>

namespace CLI {
class App;
}

namespace tim::vx::tools {

/// The header of an operator's class, below include/. A generated table, ended by nulls.
struct OpHeader {
  const char* op;
  const char* header;
};
extern const OpHeader kOpHeaders[];
/// Another name of an operator's class. A generated table, ended by nulls.
struct OpAlias {
  const char* alias;
  const char* op;
};
extern const OpAlias kOpAliases[];

/// Exit statuses. Any but the first comes with a text on stderr.
enum Exit {
  kDone = 0,
  kUsage = 1,  ///< the command line; also what fits none of the others
  kBadModel = 2,
  kPlugins = 3,
  kCannotCompile = 4,
  kMismatch = 5,
  kIo = 6,
};
using Command = std::function<int()>;

/// `timcl devices`: every OpenCL device, which one is chosen, and why not the others.
Command AddDevices(CLI::App& app);
/// `timcl cache`: files of compiled programs, ours and PoCL's.
Command AddCache(CLI::App& app);
/// `timcl info`: plugins, and the files that are none.
Command AddInfo(CLI::App& app);
/// `timcl partition`: who would run what of a graph, and why.
Command AddPartition(CLI::App& app);
/// `timcl profile`: where the time of a graph goes.
Command AddProfile(CLI::App& app);
/// `timcl tune`: which kernels are fast on this device.
Command AddTune(CLI::App& app);
/// `timcl ops`: the operator table.
Command AddOps(CLI::App& app);

}  // namespace tim::vx::tools
#endif  // TIMCL_TOOLS_TOOLS_H_
