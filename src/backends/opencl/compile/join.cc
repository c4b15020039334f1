// One kernel for all launches of a partition: see join.h.
#include "backends/opencl/compile/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"

namespace tim::vx::opencl {
namespace {

/// The driver compiles all functions as one, and one that is too large takes its optimizer long.
constexpr size_t kMaxFunctions = 32;
/// Pointers to inputs and outputs; OpenCL promises 1024 bytes of arguments.
constexpr size_t kMaxMemories = 100;
/// Constants are copied to lie side by side. What reads more than this is no small graph.
constexpr size_t kMaxConstantBytes = size_t{8} << 20;
constexpr size_t kAlignment = 128;

class Joiner {
 public:
  explicit Joiner(const Emitted& emitted) : from_(emitted.plan), variants_(emitted.variants) {}

  Result<PartitionPlan> Run(const std::string& kernel_dir) {
    TIMCL_TRY(Check());
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
    plan_.host_inputs = from_.host_inputs;
    return std::move(plan_);
  }

 private:
  static constexpr const char* kEntry = "timcl_steps";

  static Status No(std::string why) { return Status::Error(Code::kUnsupported, std::move(why)); }

  Status Check() const {
    if (from_.launches.size() < 2) return No("there is one launch");
    if (variants_.size() > kMaxFunctions) {
      return No(
          fmt::format("{} different kernels, and {} is the most", variants_.size(), kMaxFunctions));
    }
    for (const Launch& launch : from_.launches) {
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
        if (bytes > kMaxConstantBytes || constants_.size() + bytes > kMaxConstantBytes) {
          return No(fmt::format("more than {} MiB of constants", kMaxConstantBytes >> 20));
        }
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
    for (size_t v = 0; v < variants_.size(); ++v) text += StepOf(v, texts[v]);
    text += fmt::format(
        "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
        "void {}({}global char* m0, global const int* step, int steps) {{\n"
        "  global char* memory[] = {{",
        kEntry, memories);
    for (size_t m = 0; m <= memory_of_.size(); ++m) text += fmt::format("{}m{}", m ? ", " : "", m);
    text +=
        "};\n"
        "  for (int s = 0; s < steps; ++s) {\n"
        "    switch (step[0]) {\n";
    for (size_t v = 0; v < variants_.size(); ++v)
      text += fmt::format("      case {0}: step = timcl_step{0}(memory, step); break;\n", v);
    return text + "    }\n  }\n}\n";
  }

  /// A function that does one step of a variant and returns where the next one stands. Not inlined:
  /// PoCL compiles a kernel several times, a function once.
  std::string StepOf(size_t variant, const kernels::VariantText& text) const {
    const Launch* launch = nullptr;  // all of one function have the same parameters
    for (const Launch& l : from_.launches) {
      if (l.variant == variant) launch = &l;
    }
    std::string body, call;
    size_t at = 4;
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
        "                                                    global const int* step) {{\n"
        "  const int n0 = step[1], n1 = step[2], n2 = step[3];\n"
        "{}"
        "  for (int z = 0; z < n2; ++z)\n"
        "    for (int y = 0; y < n1; ++y)\n"
        "      for (int x = 0; x < n0; ++x)\n"
        "        {}(x, y, z, n0, n1, n2{});\n"
        "  return step + {};\n"
        "}}\n",
        variant, body, kernels::EntryName(text, variant), call, at);
  }

  const PartitionPlan& from_;
  const std::vector<Variant>& variants_;
  PartitionPlan plan_;
  Launch launch_;
  std::vector<int32_t> table_;
  std::vector<std::byte> constants_;
  std::map<size_t, size_t> offset_of_;                        // constant -> bytes into constants_
  std::map<std::pair<Arg::Kind, size_t>, size_t> memory_of_;  // counted from 1
};

}  // namespace

Result<PartitionPlan> Join(const Emitted& emitted, const std::string& kernel_dir) {
  return Joiner(emitted).Run(kernel_dir);
}

}  // namespace tim::vx::opencl
