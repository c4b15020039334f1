// Context: the device and what graphs share on it.
#ifndef TIM_VX_CONTEXT_H_
#define TIM_VX_CONTEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "tim/vx/status.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

class Graph;
class CompileOption;
class Backend;
struct BackendInfo;
class Delegate;
class OpRegistry;

/// Which graphs run on a device that runs kernels in the thread that calls Run: no wake-up of other
/// threads, and none of their help. (Addition to the original API.)
enum class InlineDevice {
  kOff,          ///< none
  kSmallGraphs,  ///< those for which it is estimated to be faster
  kAllGraphs     ///< all, whatever their size
};

/// Choices for Context::Create(const ContextOptions&). (Addition to the original API.)
struct ContextOptions {
  /// Index as `timcl devices` lists it, or part of the device's or platform's name. "":
  /// TIMCL_DEVICE if it is set, else the first GPU or accelerator that meets the minimum, else a
  /// CPU device.
  std::string device;
  /// Folder for compiled programs. "": TIMCL_CACHE_DIR, else timcl in the user's cache folder.
  std::string cache_dir;
  /// Whether environment variables may fill in what these options leave open.
  bool use_env = true;
  /// Whether compiled programs are kept on disk and taken from there.
  bool use_disk_cache = true;
  /// No OpenCL at all: every graph runs on the reference backend.
  bool host_only = false;
  /// Beside a CPU device of PoCL: opens PoCL's device that runs kernels in the caller's thread too,
  /// and uses it for these graphs (docs/small_graphs.md). kOff: TIMCL_INLINE decides. It is there
  /// only if nobody asked PoCL for its devices before in this process; for that question
  /// POCL_DEVICES is changed, and changed back.
  InlineDevice inline_device = InlineDevice::kOff;
};

/// What a plugin says of itself (tim/vx/plugin.h).
struct PluginInfo {
  std::string file;
  std::string name, version;
  std::string vendor;               ///< "" if it names none
  std::vector<std::string> ops;     ///< operators, by name
  std::string sdk_version;          ///< of the vendor's tools behind a compiler or dispatcher
  std::vector<std::string> models;  ///< that its compiler compiles for
  bool compiles = false, executes = false;  ///< whether it has a compiler, a dispatcher
};

/// What Context::LoadPlugins looked at.
struct PluginScan {
  struct File {
    std::string path;   ///< a file, or a directory that could not be read
    Status status;      ///< success: it is loaded; else why not
    PluginInfo plugin;  ///< as far as it is known
  };
  std::vector<std::string> directories;  ///< in the order in which they were looked through
  std::vector<File> files;
};

/// Owns the device, the backends and the program cache. Its graphs keep it alive.
/// Threads: all members may be called by several threads at a time.
class TIMCL_API Context {
 public:
  virtual ~Context() {}

  /// A graph with CompileOption::DefaultOptions.
  virtual std::shared_ptr<Graph> CreateGraph() = 0;
  virtual std::shared_ptr<Graph> CreateGraph(const CompileOption& options) = 0;

  /// True: a plain OpenCL device. All documented element types are supported all the same.
  virtual bool isClOnly() = 0;
  /// False: float32 results are those of IEEE arithmetic.
  virtual bool hasSP() = 0;

  /// A new context on the default device. Without any OpenCL device the context is still made; its
  /// graphs fail to compile, and their status tells what was looked for; so does one line of the
  /// log.
  static std::shared_ptr<Context> Create();

  // Additions to the original API.

  static std::shared_ptr<Context> Create(const ContextOptions& options);

  /// Why the device could not be opened; success if all is well.
  virtual const Status& LastStatus() const;
  /// Adds an executor of subgraphs (tim/vx/backend.h) for graphs compiled from now on. Higher
  /// priorities are asked first; OpenCL has -1000, the reference backend -2000. The default body
  /// answers kUnsupported.
  virtual Status AddBackend(std::shared_ptr<Backend> backend, int priority = 0);
  /// Gives subgraphs of graphs compiled from now on to a delegate (tim/vx/delegate.h) instead of
  /// all that were set before; null: to none. Delegates are asked in the order in which they came,
  /// before all backends. Init() runs here, once, and what it answers is returned: a delegate that
  /// answers kUnsupported is passed over, which every report says; with any other failure Compile()
  /// fails. kAlreadyExists: there is a backend of its name; nothing is changed. The default body
  /// answers kUnsupported, that of AddDelegate too.
  virtual Status SetDelegate(std::shared_ptr<Delegate> delegate);
  /// One more, behind those that are there.
  virtual Status AddDelegate(std::shared_ptr<Delegate> delegate);
  /// The operators that its graphs know by name, at first the built-in ones (tim/vx/op_def.h): what
  /// is registered here serves operations made from now on. The default body answers one for all
  /// mocks, which no graph looks at.
  virtual OpRegistry& Ops();
  /// The backends that graphs compiled now ask, in that order: delegates, then the others by
  /// priority. The default body answers none.
  virtual std::vector<BackendInfo> Backends() const;
  /// Loads one plugin (docs/plugins.md), whatever the file is called, and registers all of its
  /// operators in Ops(), or none. A compiler or a dispatcher becomes a backend of priority 0, named
  /// as its vendor; the other half, loaded later, joins it. The library is closed after its last
  /// user: this context, its graphs, and operations that were made by name. `loaded` receives one
  /// entry. kNotFound: no such file; kPlugin: not a plugin, or others may write it;
  /// kVersionMismatch: made for another version; kAlreadyExists: its name, an operator or such a
  /// half is there already, both origins are named. Default bodies here answer kUnsupported.
  virtual Status LoadPlugin(const std::string& file, std::vector<PluginInfo>* loaded = nullptr);
  /// Loads the files libtimcl_*.so of each directory, sorted by name; not those of folders in it.
  /// What comes first wins. A file that does not load stops nothing: it is in `scan`, or else in
  /// the log.
  virtual Status LoadPlugins(const std::vector<std::string>& dirs = DefaultPluginDirs(),
                             PluginScan* scan = nullptr);
  /// The directories of TIMCL_PLUGIN_PATH, which ':' separates; then timcl/plugins beside the
  /// library, unless the variable is set and empty.
  static std::vector<std::string> DefaultPluginDirs();
  /// Name of the chosen device; "" without one.
  virtual std::string DeviceName() const;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_CONTEXT_H_
