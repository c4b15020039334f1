// One kernel for all launches of a partition: see join.h.
#include "backends/opencl/compile/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "backends/opencl/compile/place.h"
#include "base/checked.h"

namespace tim::vx::opencl {
namespace {

/// The driver compiles all functions as one, and one that is too large takes its optimizer long.
constexpr size_t kMaxFunctions = 32;
/// Pointers to inputs and outputs; OpenCL promises 1024 bytes of arguments.
constexpr size_t kMaxMemories = 100;
/// Constants are copied to lie side by side. What reads more than this is no small graph.
constexpr size_t kMaxConstantBytes = size_t{8} << 20;
/// Of a plan for several workers, whose weights may be large: offsets have 31 bits.
constexpr size_t kMaxSharedConstantBytes = size_t{1} << 30;
/// Kernels that are no tiles count on the driver to put work-items side by side into vectors, which
/// nobody does here.
constexpr size_t kMaxScalarItems = size_t{1} << 14;
/// Microseconds of one core that a worker takes at a time at least.
constexpr double kLeastShare = 0.5;
/// The counters of a step, of claimed and of done work-items, are apart, so that two workers do not
/// fight for one line of the cache.
constexpr size_t kCounterBytes = 256;
constexpr size_t kAlignment = 128;

class Joiner {
 public:
  Joiner(const Emitted& emitted, size_t workers)
      : from_(emitted.plan), variants_(emitted.variants), workers_(workers) {}

  Result<PartitionPlan> Run(const std::string& kernel_dir) {
    TIMCL_TRY(Check());
    size_t constant_bytes = 0;
    for (const Constant& c : from_.constants)
      constant_bytes += kAlignment + (c.memory ? c.memory->bytes() : c.data->size());
    if (constant_bytes <= kMaxSharedConstantBytes) constants_.reserve(constant_bytes);
    launch_.label = fmt::format("{} steps in one kernel", from_.launches.size());
    launch_.kernel = "steps";
    launch_.local = {1, 1, 1};
    for (const Launch& launch : from_.launches) TIMCL_TRY(AddStep(launch));
    launch_.args.push_back(DataArg(std::move(constants_)));
    launch_.args.push_back(
        DataArg({reinterpret_cast<const std::byte*>(table_.data()),
                 reinterpret_cast<const std::byte*>(table_.data() + table_.size())}));
    const auto steps = static_cast<int32_t>(from_.launches.size());
    Arg count;
    count.bytes = sizeof steps;
    std::memcpy(count.value.data(), &steps, sizeof steps);
    launch_.args.push_back(count);
    if (workers_ > 1) {
      launch_.global = {workers_, 1, 1};
      Arg counters;
      counters.kind = Arg::Kind::kPersistent;
      counters.bytes = kCounterBytes * (from_.launches.size() + 1);
      launch_.args.push_back(counters);
      plan_.persistent_bytes = counters.bytes;
      plan_.zero_persistent = true;
    }

    auto program = std::make_shared<ProgramText>();
    std::set<std::string> origins;
    for (const Variant& v : variants_) origins.insert(v.origin);
    program->source = TextOf(kernel_dir);
    program->origin = fmt::format("{}", fmt::join(origins, ", "));
    program->functions = {kEntry};
    plan_.programs.push_back(std::move(program));
    plan_.kernels = {{0, kEntry}};
    plan_.launches.push_back(std::move(launch_));
    plan_.scratch_bytes = from_.scratch_bytes;
    plan_.live_bytes = from_.live_bytes;
    plan_.host_inputs = from_.host_inputs;
    return std::move(plan_);
  }

 private:
  static constexpr const char* kEntry = "timcl_steps";
  static constexpr const char* kLoop =
      "  for (int z = 0; z < n2; ++z)\n"
      "    for (int y = 0; y < n1; ++y)\n"
      "      for (int x = 0; x < n0; ++x)\n"
      "        {function}(x, y, z, n0, n1, n2{arguments});\n";
  /// Work-items are claimed a share at a time, in order, so that neighbours find their data near; a
  /// third of a worker's part of what is left, so that all workers end at about the same time.
  static constexpr const char* kSharedLoop =
      "  const int all = n0 * n1 * n2, least = step[4], parts = 3 * (int)get_num_groups(0);\n"
      "  for (int i = counters[0]; i < all; i = counters[0]) {{\n"
      "    const int end = i + min(max((all - i) / parts, least), all - i);\n"
      "    if (atomic_cmpxchg(counters, i, end) != i) continue;\n"
      "    int x = i % n0, y = i / n0 % n1, z = i / n0 / n1;\n"
      "    for (int k = i; k < end; ++k) {{\n"
      "      {function}(x, y, z, n0, n1, n2{arguments});\n"
      "      if (++x == n0) {{\n"
      "        x = 0;\n"
      "        if (++y == n1) y = 0, ++z;\n"
      "      }}\n"
      "    }}\n"
      "    timcl_fence();\n"
      "    atomic_add(counters + COUNTERS / 2, end - i);\n"
      "  }}\n"
      "  while (counters[COUNTERS / 2] < all) RELAX;\n"
      "  timcl_fence();\n";
  static constexpr const char* kShared = R"(
#define COUNTERS 64
#ifdef __x86_64__
#define RELAX __asm__ volatile("pause")
#else
#define RELAX
#endif
// What was written before it is there before what is written after it, for the compiler too.
static void timcl_fence(void) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
#ifdef __x86_64__
  __asm__ volatile("" ::: "memory");
#endif
}
// The last one to leave the plan makes all counters 0 again, for the next Run.
static void timcl_end(volatile global int* counters, int steps) {
  if (atomic_inc(counters) + 1 < (int)get_num_groups(0)) return;
  for (int s = 0; s <= steps; ++s, counters -= COUNTERS) counters[0] = counters[COUNTERS / 2] = 0;
}
)";

  static Status No(std::string why) { return Status::Error(Code::kUnsupported, std::move(why)); }

  Status Check() const {
    if (from_.launches.size() < 2) return No("there is one launch");
    if (variants_.size() > kMaxFunctions) {
      return No(
          fmt::format("{} different kernels, and {} is the most", variants_.size(), kMaxFunctions));
    }
    for (const Launch& launch : from_.launches) {
      const size_t group = launch.local[0] * launch.local[1] * launch.local[2];
      if (workers_ > 1 && group != 1 && ItemsOf(launch) > kMaxScalarItems)
        return No(launch.label + " has many small work-items");
      if (variants_[launch.variant].user) return No(launch.label + " is a kernel of the user's");
      for (const Arg& arg : launch.args) {
        if (arg.kind == Arg::Kind::kLocal) return No(launch.label + " has local memory");
        if (arg.kind == Arg::Kind::kPersistent) return No(launch.label + " works on an image");
      }
    }
    return Status();
  }

  /// A row of the table: function, work-items by dimension, arguments. A pointer is two numbers,
  /// the memory and the bytes into it.
  Status AddStep(const Launch& launch) {
    table_.push_back(static_cast<int32_t>(launch.variant));
    for (uint32_t d = 0; d < 3; ++d) {
      const bool used = d < launch.dims;
      TIMCL_TRY(
          Put(used ? base::AlignUp(launch.global[d], std::max<size_t>(launch.local[d], 1)) : 1));
    }
    if (workers_ > 1) TIMCL_TRY(Put(LeastShareOf(launch)));
    for (const Arg& arg : launch.args) {
      if (arg.kind == Arg::Kind::kScalar) {
        int32_t bits = 0;
        std::memcpy(&bits, arg.value.data(), sizeof bits);
        table_.push_back(bits);
        continue;
      }
      TIMCL_ASSIGN(const Pointer pointer, PointerTo(arg));
      TIMCL_TRY(Put(pointer.memory));
      TIMCL_TRY(Put(pointer.offset));
    }
    launch_.flops += launch.flops;
    return Status();
  }

  static size_t ItemsOf(const Launch& launch) {
    size_t items = 1;
    for (uint32_t d = 0; d < launch.dims; ++d)
      items *= base::AlignUp(launch.global[d], std::max<size_t>(launch.local[d], 1));
    return items;
  }

  /// Work-items that a worker takes at a time at least.
  size_t LeastShareOf(const Launch& launch) const {
    const double shares = std::max(WorkOf(launch, from_) / kLeastShare, 1.0);
    return static_cast<size_t>(std::ceil(static_cast<double>(ItemsOf(launch)) / shares));
  }

  Status Put(size_t number) {
    if (number > size_t{std::numeric_limits<int32_t>::max()})
      return No("a step needs numbers of more than 32 bits");
    table_.push_back(static_cast<int32_t>(number));
    return Status();
  }

  /// Constants are all in memory 0.
  struct Pointer {
    size_t memory = 0, offset = 0;
  };
  Result<Pointer> PointerTo(const Arg& arg) {
    if (arg.kind == Arg::Kind::kConstant) {
      const auto [it, added] = offset_of_.emplace(arg.index, constants_.size());
      if (added) {
        const Constant& c = from_.constants[arg.index];
        const auto* data =
            c.memory ? static_cast<const std::byte*>(c.memory->data()) : c.data->data();
        const size_t bytes = c.memory ? c.memory->bytes() : c.data->size();
        const size_t most = workers_ > 1 ? kMaxSharedConstantBytes : kMaxConstantBytes;
        if (bytes > most || constants_.size() + bytes > most)
          return No(fmt::format("more than {} MiB of constants", most >> 20));
        constants_.insert(constants_.end(), data, data + bytes);
        constants_.resize(base::AlignUp(constants_.size(), kAlignment));
      }
      return Pointer{0, it->second};
    }
    const bool internal = arg.kind == Arg::Kind::kInternal;
    const auto [it, added] =
        memory_of_.emplace(std::pair(arg.kind, internal ? 0 : arg.index), memory_of_.size() + 1);
    if (added) {
      if (memory_of_.size() > kMaxMemories) {
        return No(fmt::format("more than {} inputs and outputs", kMaxMemories));
      }
      Arg whole = arg;
      whole.reads = whole.writes = internal;
      whole.offset = 0;
      if (internal) {
        whole.type = TensorType();
        whole.bytes = from_.scratch_bytes;
      }
      launch_.args.push_back(std::move(whole));
    }
    Arg& whole = launch_.args[it->second - 1];
    whole.reads = whole.reads || arg.reads;
    whole.writes = whole.writes || arg.writes;
    return Pointer{it->second, internal ? arg.offset : 0};
  }

  Arg DataArg(std::vector<std::byte> bytes) {
    Arg arg;
    arg.kind = Arg::Kind::kConstant;
    arg.index = plan_.constants.size();
    arg.writes = false;
    Constant c;
    c.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    plan_.constants.push_back(std::move(c));
    return arg;
  }

  /// The functions as they are in other programs, but that the work-item comes as parameters.
  std::string TextOf(const std::string& kernel_dir) const {
    std::vector<kernels::VariantText> texts;
    for (const Variant& v : variants_) texts.push_back({v.text, v.entry, v.origin, {}});
    std::vector<const kernels::VariantText*> pointers;
    for (const kernels::VariantText& t : texts) pointers.push_back(&t);
    std::string text = kernels::AssembleProgram(pointers, kernel_dir, R"(
#undef KERNEL
#undef TILE_KERNEL
#undef WORK_ITEM
#undef WORK_ITEMS
#define TIMCL_PARAMETERS(...) \
  (const int timcl_i0, const int timcl_i1, const int timcl_i2, const int timcl_n0, const int timcl_n1, \
   const int timcl_n2, __VA_ARGS__)
#define KERNEL(name) static void name TIMCL_PARAMETERS
#define TILE_KERNEL(name) KERNEL(name)
#define WORK_ITEM(d) timcl_i##d
#define WORK_ITEMS(d) timcl_n##d
)");
    std::string memories;
    for (size_t m = 1; m <= memory_of_.size(); ++m)
      memories += fmt::format("global char* m{}, ", m);
    text += "\n#line 1 \"all steps\"\n";
    if (workers_ > 1) text += kShared;
    const char* const parameter = workers_ > 1 ? ", volatile global int* counters" : "";
    const char* const argument = workers_ > 1 ? ", counters" : "";
    for (size_t v = 0; v < variants_.size(); ++v) text += StepOf(v, texts[v]);
    text += fmt::format(
        "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
        "void {}({}global char* m0, global const int* step, int steps{}) {{\n"
        "  global char* memory[] = {{",
        kEntry, memories, parameter);
    for (size_t m = 0; m <= memory_of_.size(); ++m) text += fmt::format("{}m{}", m ? ", " : "", m);
    text +=
        "};\n"
        "  for (int s = 0; s < steps; ++s) {\n"
        "    switch (step[0]) {\n";
    for (size_t v = 0; v < variants_.size(); ++v)
      text += fmt::format("      case {0}: step = timcl_step{0}(memory, step{1}); break;\n", v,
                          argument);
    text += "    }\n";
    if (workers_ > 1) text += "    counters += COUNTERS;\n";
    text += "  }\n";
    if (workers_ > 1) text += "  timcl_end(counters, steps);\n";
    return text + "}\n";
  }

  /// A function that does one step of a variant and returns where the next one stands. Not inlined:
  /// PoCL compiles a kernel several times, a function once.
  std::string StepOf(size_t variant, const kernels::VariantText& text) const {
    const Launch* launch = nullptr;  // all of one function have the same parameters
    for (const Launch& l : from_.launches) {
      if (l.variant == variant) launch = &l;
    }
    std::string body, call;
    size_t at = workers_ > 1 ? 5 : 4;
    for (size_t k = 0; launch != nullptr && k < launch->args.size(); ++k) {
      const Arg& arg = launch->args[k];
      if (arg.kind != Arg::Kind::kScalar) {
        body +=
            fmt::format("  global void* const a{} = memory[step[{}]] + step[{}];\n", k, at, at + 1);
        at += 2;
      } else {
        const bool real = arg.type_name == "float";
        body += fmt::format("  const {0} a{1} = {2}step[{3}]{4};\n", real ? "float" : "int", k,
                            real ? "as_float(" : "", at, real ? ")" : "");
        ++at;
      }
      call += fmt::format(", a{}", k);
    }
    return fmt::format(
        "static __attribute__((noinline)) global const int* timcl_step{}(global char** memory,\n"
        "    global const int* step{}) {{\n"
        "  const int n0 = step[1], n1 = step[2], n2 = step[3];\n"
        "{}{}"
        "  return step + {};\n"
        "}}\n",
        variant, workers_ > 1 ? ", volatile global int* counters" : "", body,
        fmt::format(fmt::runtime(workers_ > 1 ? kSharedLoop : kLoop),
                    fmt::arg("function", kernels::EntryName(text, variant)),
                    fmt::arg("arguments", call)),
        at);
  }

  const PartitionPlan& from_;
  const std::vector<Variant>& variants_;
  const size_t workers_;
  PartitionPlan plan_;
  Launch launch_;
  std::vector<int32_t> table_;
  std::vector<std::byte> constants_;
  std::map<size_t, size_t> offset_of_;                        // constant -> bytes into constants_
  std::map<std::pair<Arg::Kind, size_t>, size_t> memory_of_;  // counted from 1
};

}  // namespace

Result<PartitionPlan> Join(const Emitted& emitted, const std::string& kernel_dir, size_t workers) {
  return Joiner(emitted, workers).Run(kernel_dir);
}

}  // namespace tim::vx::opencl
