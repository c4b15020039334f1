// Context: the device and what graphs share on it.
#ifndef TIM_VX_CONTEXT_H_
#define TIM_VX_CONTEXT_H_

#include <memory>
#include <string>

#include "tim/vx/status.h"
#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

class Graph;
class CompileOption;
class Backend;
class OpRegistry;

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
  /// The operators that its graphs know by name, at first the built-in ones (tim/vx/op_def.h): what
  /// is registered here serves operations made from now on. The default body answers one for all
  /// mocks, which no graph looks at.
  virtual OpRegistry& Ops();
  /// Name of the chosen device; "" without one.
  virtual std::string DeviceName() const;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_CONTEXT_H_
