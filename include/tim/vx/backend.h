// Backend: what any executor of subgraphs implements. OpenCL, the reference interpreter, delegates
// (tim/vx/delegate.h) and later plugins all stand behind it; the compiler knows none of them by
// name.
#ifndef TIM_VX_BACKEND_H_
#define TIM_VX_BACKEND_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/asset.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/op_def.h"

namespace tim::vx {

class Context;

struct BackendInfo {
  std::string name, vendor, version;
  std::string device;                    // the device it runs on, "host" for plain C++
  std::string sdk_version = {};          // of the vendor's tools behind it
  std::vector<std::string> models = {};  // what it compiles for; empty: there is no choice
  /// A vendor may ship one half alone: a compiler for workstations, a dispatcher for devices.
  bool compiles = true, executes = true;
  std::string note = {};  // what else is to be known, such as a second device
};

/// A read-only piece of a graph: all of it while partitioning, one partition while compiling.
/// A copy shares ownership of all that its views point to, so a kernel that keeps one may read
/// types, attributes and constants as long as it lives.
class TIMCL_API GraphView {
 public:
  GraphView() = default;
  /// `ops`: node ids in topological order. Inputs and outputs are derived: values that cross the
  /// border, constants left out, each once, in the order of first use.
  GraphView(std::shared_ptr<const ir::Graph> graph, const std::vector<int>& ops);
  /// The same for many pieces that have no op in common, in one walk through the graph.
  static std::vector<GraphView> Divide(const std::shared_ptr<const ir::Graph>& graph,
                                       const std::vector<std::vector<int>>& pieces);
  const std::vector<OpView>& Ops() const { return ops_; }
  const std::vector<TensorView>& Inputs() const { return inputs_; }
  const std::vector<TensorView>& Outputs() const { return outputs_; }
  /// All ops of the graph that this is a piece of, its own among them, in topological order: any
  /// contiguous slice of it can run as one, and so can any number of slices that share no op.
  std::vector<OpView> AllOps() const;
  /// Ops of this view that read the tensor, in order, each once.
  std::vector<OpView> consumers(const TensorView& tensor) const;
  /// The op of this view that writes the tensor; null: it comes from outside.
  const OpView* producer(const TensorView& tensor) const;
  /// Whether the tensor is among Outputs(): somebody outside of the view looks at it.
  bool leaves(const TensorView& tensor) const;

 private:
  /// `read_outside[value]`: an op reads it that is not in the piece of the one that writes it.
  GraphView(std::shared_ptr<const ir::Graph> graph, const std::vector<int>& ops,
            const std::vector<bool>& read_outside);

  std::shared_ptr<const ir::Graph> graph_;
  std::vector<OpView> ops_;
  std::vector<TensorView> inputs_, outputs_;
  std::map<int, std::vector<size_t>> readers_;  // tensor id -> indices into ops_
  std::map<int, size_t> writer_;
  std::set<int> leaving_;  // ids of outputs_
};

/// A backend's answer to Partition: what it takes, and why not the rest.
class TIMCL_API Selection {
 public:
  /// Takes the op. Ops with different partition indices are never put into the same partition. The
  /// last answer for an op counts; one for an op that was not offered fails the compilation.
  void Select(const OpView& op, int partition_index = 0);
  void Reject(const OpView& op, std::string why);
  /// The ops selected with this index run as one: no partition holds a part of them, or more. Where
  /// another op must run between them, all of them go to the next backend, with that op as the
  /// reason.
  void Whole(int partition_index);
  /// Lives as long as the compilation for which the selection was made: what Compile will need.
  void Keep(std::shared_ptr<void> live);
  /// Not as a whole; its expansion would be welcome.
  void OnlyExpanded(const OpView& op, std::string why);

  struct Answer {
    bool selected = false, expand = false;
    int partition_index = 0;
    std::string why;
  };
  const std::map<int, Answer>& answers() const { return answers_; }
  const std::set<int>& wholes() const { return wholes_; }
  const std::vector<std::shared_ptr<void>>& kept() const { return kept_; }

 private:
  std::map<int, Answer> answers_;
  std::set<int> wholes_;
  std::vector<std::shared_ptr<void>> kept_;
};

/// Compiled code. `live` passes in-process objects straight through; `bytes` is the serialized form
/// where there is one.
struct CodeModule {
  std::vector<std::byte> bytes;
  std::shared_ptr<void> live;
  std::string format;
  /// Who made it, with what, and for which model: whoever loads it compares.
  struct Stamp {
    std::string vendor, version, sdk_version, model;
  } stamp = {};
};
/// A tensor at the border of a partition, without its memory.
struct Port {
  std::string name;
  TensorType type;
};
struct Call {
  size_t module = 0;
  std::string entry;
  /// Memory that the call needs while it runs, from the graph's arena (64-byte aligned; origin a
  /// multiple of 128).
  size_t scratch_bytes = 0;
  /// Memory that it needs from Prepare to the end of the last Run (headers of emulated images,
  /// say).
  size_t persistent_bytes = 0;
  /// What the report says of the partition, such as "compiled before: from the cache".
  std::string note = {};
  /// Filled in by the library before Load: GraphView::Inputs and Outputs of the partition.
  std::vector<Port> inputs = {}, outputs = {};
};
/// calls[i] belongs to partition i.
struct CompiledUnits {
  std::vector<CodeModule> modules;
  std::vector<Call> calls;
  /// Ops, by id, that the backend selected but cannot compile after all; each goes to the next
  /// backend, and the rest is compiled anew. Calls are not looked at when there is one.
  std::map<int, Status> refusals;
  /// Node id -> kernel that serves it, "fused into ..." and the like; the refusals of other
  /// candidates.
  std::map<int, std::string> kernel_of;
  std::map<int, std::vector<std::string>> refused_kernels;
  size_t launches = 0;
  uint64_t constant_bytes = 0;
  std::vector<std::string> warnings;
};

/// What an op does, by names: for code that knows no attribute struct.
struct Primitive {
  std::string kind;  // name of its OpDef; "subgraph" for what somebody else runs
  AttrMap attrs;
};

namespace kernel {

/// Memory of one tensor, or of a piece of scratch. `storage` outlives the kernel; its address may
/// change between Runs (a user swaps the handle), so kernels read `Data()` in Execute, not before.
class TIMCL_API Memory {
 public:
  virtual ~Memory();
  virtual void* data() const = 0;  // host address, 64-byte aligned
  virtual size_t bytes() const = 0;
  /// Grows when the host wrote to it by other means than a kernel's Execute.
  virtual uint64_t host_version() const = 0;
  /// True when `header` bytes in front of data() belong to it as well (memory that the library
  /// allocated).
  virtual bool has_header() const = 0;
  static constexpr size_t kHeaderBytes = 128;
};
struct Buffer {
  TensorType type;
  std::string name;
  Memory* memory = nullptr;
  size_t offset = 0;  // bytes into memory
  bool constant = false;
  void* Data() const { return static_cast<std::byte*>(memory->data()) + offset; }
};
struct Io {
  std::vector<Buffer> inputs, outputs;  // as GraphView::Inputs/Outputs
  Buffer scratch, persistent;           // type is meaningless; memory null when not asked for
};

/// One piece of work, timed.
struct Timing {
  int op = -1;         // OpView::id() of the op whose work it is; -1: of no single op
  std::string label;   // "" = the op's own; with those that run fused into it, where there are some
  std::string kernel;  // kernel function, or what else was done
  double seconds = 0;
  double flops = 0;          // arithmetic; 0 = unknown
  uint64_t bytes = 0;        // of the operands; 0 = unknown
  std::string tile = {};     // what the kernel's text was made for ("MX=6 NV=2"); "" = nothing
  double start = -1;         // seconds after the first work of this Profile; < 0: after the former
  double least_seconds = 0;  // by the limits of the device (Backend::Limits); 0 = unknown
};

/// The unit that runs: one partition. Prepare once, Execute per Run.
class TIMCL_API Kernel {
 public:
  Kernel() = default;
  /// One that says what it reads and writes. `primitive` is what it does, where that is one op.
  Kernel(std::vector<TensorView> inputs, std::vector<TensorView> outputs,
         const Primitive* primitive = nullptr, const Context* context = nullptr);
  virtual ~Kernel();

  /// With every tensor in its place; after a ReSize again, as places have changed. `io` is as
  /// GraphView::Inputs and Outputs. Kernels that ask TensorViews for their memory override the
  /// second form, which the first one calls, once.
  virtual Status Prepare(const Io& io);
  virtual Status Prepare() { return Status(); }
  /// May return before the work is done; then Wait() is called before any other backend or the host
  /// looks at the outputs.
  virtual Status Execute() = 0;
  /// Blocks until everything that Execute started is done and visible to the host.
  virtual Status Wait() { return Status(); }
  /// Kernels with the same domain run in order without a Wait between them; null: Execute is
  /// synchronous.
  virtual const void* SyncDomain() const { return nullptr; }
  /// Execute and Wait in one, with the time of each piece of work appended; every call appends the
  /// same pieces. The default measures the whole as one.
  virtual Status Profile(std::vector<Timing>* timings);
  /// For other shapes (Graph::Resize): what the tensors tell of themselves is new already, in views
  /// and in the `io` of Prepare; their memory is planned afterwards. kUnsupported, the default: the
  /// partition is compiled anew.
  virtual Status ReSize();
  /// What the last Prepare found that the user should hear of, in words that name the op: goes into
  /// the report and the log.
  virtual std::vector<std::string> Warnings() const { return {}; }

  const std::vector<TensorView>& inputs() const { return inputs_; }
  const std::vector<TensorView>& outputs() const { return outputs_; }
  const Primitive* primitive() const { return primitive_; }
  const Context* context() const { return context_; }
  std::string name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// The kind of its primitive; "subgraph" without one.
  std::string type() const;

 private:
  std::vector<TensorView> inputs_, outputs_;
  const Primitive* primitive_ = nullptr;
  const Context* context_ = nullptr;
  std::string name_;
  bool prepared_ = false;
};

}  // namespace kernel

/// What Load made: one kernel per call, in order, or refusals as in CompiledUnits (ids of ops,
/// where the modules know them).
struct LoadedUnits {
  std::vector<std::unique_ptr<kernel::Kernel>> kernels;
  std::map<int, Status> refusals;
  /// The same by index of the call: none of the ops of its partition can run here.
  std::map<size_t, Status> refused_calls;
  size_t programs_built = 0, programs_from_cache = 0;
  /// By index of the call: what takes the place of Call::note, where code was loaded otherwise than
  /// it was meant; and how many launches there are then beside CompiledUnits::launches.
  std::map<size_t, std::string> notes = {};
  size_t more_launches = 0;
};

/// What a backend may know of a compilation.
struct CompileEnv {
  /// Whether ops may run as part of another op's kernel.
  bool fuse = true;
  /// Whether ops that move no bytes may share memory instead.
  bool alias = true;
  std::string dump_dir;  // "" = off
  /// For whom compilers compile: CompileOption::SetTarget.
  Target target = {};
  std::shared_ptr<const AssetTable> assets = {};  // null: none
  /// CompileOption::SetOption, those for this backend.
  std::map<std::string, std::string> options = {};
  /// Folder for what a backend wants to find again in another process; "" = off.
  std::string cache_dir = {};
  /// What is put here lives as long as the compilation.
  std::shared_ptr<std::vector<std::shared_ptr<void>>> keep =
      std::make_shared<std::vector<std::shared_ptr<void>>>();
  bool relaxed = false;  // CompileOption::setRelaxMode
  /// To be called before each piece of work that takes long, such as building a program: what it
  /// is, how many are done, of how many. Null: nobody wants to know.
  std::function<void(const std::string& what, size_t done, size_t total)> progress = {};
  /// Whether what is compiled runs in this process. If not, one that only compiles is enough.
  bool executes = true;
};

/// A key of CompileOption::SetOption that a backend knows.
struct KnownOption {
  std::string key;
  std::vector<std::string> values = {};  // none: any
  /// A list of names of KernelCandidates, separated by commas.
  bool names_kernels = false;
};

/// Implementations need not be safe for concurrent use: a Context serialises calls.
class TIMCL_API Backend {
 public:
  virtual ~Backend();
  virtual const BackendInfo& Info() const = 0;
  /// Called once, when the backend is added. kUnsupported: skip me, with the reason.
  virtual Status Init() { return Status(); }
  /// Before the first Partition of each compilation: what it may know of it, which stays as it is
  /// until the next one. kUnsupported: it takes nothing of this graph, for the reason given; other
  /// errors end the compilation.
  virtual Status Begin(const CompileEnv&) { return Status(); }
  /// Answers for each op of the view. An op not answered counts as rejected. Asked again, from the
  /// start, when composed ops were expanded or an op was refused after all; what was answered
  /// before counts for nothing then. kUnsupported is an error, as every other code is, unless the
  /// caller allows fallbacks (Fallback::kAllow): the backend then takes nothing.
  virtual Status Partition(const GraphView& graph, Selection* selection) = 0;
  virtual Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                         CompiledUnits* units) = 0;
  /// Makes the kernels of all calls of one compiled graph at once, so that what they share (a
  /// queue, the programs that are still to be built) is shared. Needs nothing that Compile kept: a
  /// binary graph calls only this.
  virtual Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
                      const CompileEnv& env, LoadedUnits* units) = 0;
  /// What its device can do at most, in words, as measured for Timing::least_seconds; "" = nobody
  /// knows.
  virtual std::string Limits() { return std::string(); }
  /// All options that it knows: others, but for those that are said to all backends, are
  /// kInvalidArgument before it is asked for anything. Null: any are let through.
  virtual const std::vector<KnownOption>* KnownOptions() const { return nullptr; }
};

}  // namespace tim::vx
#endif  // TIM_VX_BACKEND_H_
