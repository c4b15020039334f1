// Emit: kernel texts, arguments, and the layout of the values that live inside a partition.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/opencl/compile/unit.h"
#include "base/checked.h"
#include "kernels/embedded.h"
#include "runtime/arena.h"

namespace tim::vx::opencl {
namespace {

constexpr size_t kHeader = kernel::Memory::kHeaderBytes;

class Emitter {
 public:
  Emitter(Unit* unit, const DeviceCaps& caps, kernels::Sources* sources, const Wishes& wishes)
      : unit_(*unit), caps_(caps), sources_(sources), wishes_(wishes) {}

  Result<Emitted> Run() {
    for (const TensorView& t : unit_.part.Inputs())
      result_.plan.host_inputs.push_back(t.is_graph_input());
    for (const Group& group : unit_.groups) {
      if (group.gone) continue;
      if (group.no_launch) {
        result_.kernel_of[group.op.id()] = group.op.def().pieces != nullptr
                                               ? "no launch: pieces of one memory"
                                               : "no launch: same bytes";
        continue;
      }
      if (group.converts()) {
        TIMCL_TRY(EmitConversion(group));
        continue;
      }
      if (const Status s = EmitGroup(group); !s.ok()) {
        // What this kernel cannot do after all, or a text that is not there or not right, is no
        // reason for another backend not to try.
        const bool late_refusal = s.code() == Code::kUnsupported ||
                                  s.code() == Code::kKernelBuild || s.code() == Code::kNotFound;
        if (!late_refusal) return s;
        unit_.refusals[group.op.id()] = s;
      }
    }
    TIMCL_TRY(PlaceInternals());
    return std::move(result_);
  }

 private:
  Status EmitGroup(const Group& group) {
    const OpView& op = group.op;
    const auto launches = MakeLaunches(*group.kernel, group.offer, op, caps_, wishes_);
    if (!launches.ok()) return launches.status().AtOp(op.label());
    const auto stores = [](const KernelSpec& spec) {
      return std::any_of(spec.operands.begin(), spec.operands.end(), [](const Operand& o) {
        return o.kind == Operand::Kind::kOutput && o.index == 0;
      });
    };
    const auto storing = std::count_if(launches->begin(), launches->end(), stores);
    if (!group.post_ops.empty() && storing != 1) {
      return op.Error(Code::kInternal,
                      fmt::format("kernel '{}' offers an epilogue, but {} of its launches store "
                                  "the result",
                                  group.kernel->name, storing));
    }
    std::string label;
    for (const OpView& before : group.before) {
      result_.kernel_of[before.id()] = fmt::format("fused into {}", op.label());
      label += before.label() + " + ";
    }
    label += op.label();
    for (const OpView& fused : group.fused) {
      result_.kernel_of[fused.id()] = fmt::format("fused into {}", op.label());
      label += " + " + fused.label();
    }
    result_.kernel_of[op.id()] = group.kernel->name;
    result_.bf16 += group.kernel->bf16;
    if (!group.refusals.empty()) result_.refused[op.id()] = group.refusals;
    std::map<size_t, int> scratch_ids;  // the op's scratch pieces -> internal ids
    for (const KernelSpec& spec : *launches) {
      TIMCL_TRY(CheckOperands(group, spec));
      TIMCL_TRY(EmitLaunch(group, spec, label, &scratch_ids, &spec != &launches->front()));
    }
    return Status();
  }

  Status EmitConversion(const Group& group) {
    const KernelSpec spec = ConversionLaunch(group.converted.type(), group.in, group.out);
    std::map<size_t, int> no_scratch;
    return EmitLaunch(group, spec, group.op.label() + ": layout", &no_scratch, false);
  }

  /// kInternal for a kernel over operands that the op does not have.
  static Status CheckOperands(const Group& group, const KernelSpec& spec) {
    for (const Operand& o : spec.operands) {
      const bool input = o.kind == Operand::Kind::kInput;
      if (!input && o.kind != Operand::Kind::kOutput) continue;
      const TensorView t = input ? group.op.in(o.index) : group.op.out(o.index);
      if (t.present()) continue;
      return group.op.Error(Code::kInternal,
                            fmt::format("kernel '{}' asks for {} {}, which is left out",
                                        group.kernel->name, input ? "input" : "output", o.index));
    }
    return Status();
  }

  /// A user's kernel may divide by elements, which is a trap for integers that are 0.
  static bool ReadsIntegers(const OpView& op) {
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      if (op.in(i).present() && IsInteger(op.in(i).dtype())) return true;
    }
    return false;
  }

  /// `later`: a launch of the op went before.
  Status EmitLaunch(const Group& group, const KernelSpec& spec, const std::string& label,
                    std::map<size_t, int>* scratch_ids, bool later) {
    const OpView& op = group.op;
    Launch launch;
    launch.op = op.id();
    launch.label = label;
    launch.kernel = group.converts() ? spec.entry : group.kernel->name;
    for (const auto& [name, value] : spec.defines)
      launch.tile += (launch.tile.empty() ? "" : " ") + name + "=" + value;
    launch.global = spec.global;
    launch.local = spec.local;
    launch.dims = spec.dims != 0        ? spec.dims
                  : spec.global[2] != 1 ? 3
                  : spec.global[1] != 1 ? 2
                                        : 1;
    launch.flops = spec.flops;
    launch.may_rehearse = spec.user_source.empty() || !ReadsIntegers(op);
    std::vector<std::vector<kernels::ScalarArg>> extra(spec.operands.size());
    TIMCL_ASSIGN(Variant variant, MakeVariant(group, spec, &extra));
    launch.variant = AddVariant(std::move(variant));
    const int step = static_cast<int>(result_.plan.launches.size());
    for (size_t k = 0; k < spec.operands.size(); ++k) {
      const Operand& o = spec.operands[k];
      const size_t first = launch.args.size();
      AddOperand(group, spec, o, step, scratch_ids, &launch);
      if (!spec.user_source.empty()) {
        Describe(op, o, &launch.args.back());
        // What a launch before it wrote is there, also where an image is a copy.
        launch.args.back().reads = launch.args.back().reads || later;
      }
      if (o.kind == Operand::Kind::kInput && o.index == 0) {
        for (const TensorView& other : group.pre_others)
          AddTensor(other, TensorForm::kPlain, true, spec, step, &launch);
      }
      if (o.kind == Operand::Kind::kOutput && o.index == 0) {
        for (const TensorView& other : group.others)
          AddTensor(other, FormOf(other, group.out), true, spec, step, &launch);
      }
      for (const kernels::ScalarArg& s : extra[k]) {
        if (s.is_float) {
          AddScalar(&launch, s.f);
        } else {
          AddScalar(&launch, s.i);
        }
        if (spec.user_source.empty()) continue;
        Arg& arg = launch.args.back();
        arg.what =
            fmt::format("{} of {}", s.is_float ? "scale" : "zero point", launch.args[first].what);
        arg.type_name = s.is_float ? "float" : "int";
      }
    }
    for (const auto& [name, value] : spec.sizes) {
      if (value > std::numeric_limits<int32_t>::max() ||
          value < std::numeric_limits<int32_t>::min()) {
        return op.Error(
            Code::kUnsupported,
            fmt::format("size {} = {} does not fit the kernel's 32-bit argument", name, value));
      }
      AddScalar(&launch, static_cast<int32_t>(value));
    }
    for (const auto& [name, value] : spec.reals) AddScalar(&launch, value);
    result_.plan.launches.push_back(std::move(launch));
    return Status();
  }

  /// The kernel's text; `extra` receives the scalars that follow each operand.
  Result<Variant> MakeVariant(const Group& group, const KernelSpec& spec,
                              std::vector<std::vector<kernels::ScalarArg>>* extra) {
    const OpView& op = group.op;
    Variant variant;
    if (!spec.user_source.empty()) {
      TIMCL_ASSIGN(const std::string macros, MacrosOf(group, spec, extra));
      TIMCL_ASSIGN(variant.text, WithImagePrelude(spec.user_source, std::string(op.kind()),
                                                  sources_->override_dir(), macros));
      variant.entry = spec.entry;
      variant.origin = op.label();
      variant.options = spec.build_options;
      variant.user = true;
      variant.images = spec.image_operands;
      return variant;
    }
    const auto [ins, outs] = TypesOf(group);
    const TensorView last = group.converts()       ? group.converted
                            : op.num_outputs() > 0 ? group.last().out(0)
                                                   : TensorView();
    const TensorType final_type = last.present() ? last.type() : TensorType();
    const KernelSources* const own =
        group.converts() ? nullptr
                         : kernels::SourcesOf(reinterpret_cast<const void*>(group.kernel->make));
    const bool shares = group.offer.stores_once && !group.converts();
    const bool pointwise = !group.converts() && op.def().pointwise != nullptr;
    auto text =
        kernels::MakeVariant(spec, ins, outs, group.post_ops, final_type, sources_, own,
                             {group.out, group.range, shares, shares && pointwise}, group.pre_ops);
    if (!text.ok()) return text.status().AtOp(op.label());
    variant.text = std::move(text->text);
    variant.entry = std::move(text->entry);
    variant.origin = std::move(text->origin);
    *extra = std::move(text->operand_args);
    return variant;
  }

  /// As MakeVariant wants them.
  static std::pair<std::vector<TensorType>, std::vector<TensorType>> TypesOf(const Group& group) {
    const OpView& op = group.op;
    std::vector<TensorType> ins, outs;
    auto read = [&](const TensorView& t) {
      ins.push_back(t.present() ? InForm(t.type(), FormOf(t, group.in)) : t.type());
    };
    if (group.converts()) {
      read(group.converted);
      return {ins, {group.converted.type()}};
    }
    for (size_t i = 0; i < op.num_inputs(); ++i) read(group.input(i));
    for (size_t i = 0; i < op.num_outputs(); ++i) outs.push_back(op.out(i).type());
    return {ins, outs};
  }

  /// The macros that a user's source asks for; `extra` receives the scalars that follow each
  /// tensor.
  Result<std::string> MacrosOf(const Group& group, const KernelSpec& spec,
                               std::vector<std::vector<kernels::ScalarArg>>* extra) {
    if (spec.input_names.empty() && spec.output_names.empty()) return std::string();
    const auto [ins, outs] = TypesOf(group);
    auto macros = kernels::MakeUserMacros(spec, ins, outs, sources_->override_dir());
    if (!macros.ok()) return macros.status().AtOp(group.op.label());
    for (size_t k = 0; k < spec.operands.size(); ++k) {
      const Operand& o = spec.operands[k];
      if (o.kind == Operand::Kind::kInput) (*extra)[k] = macros->input_args.at(o.index);
      if (o.kind == Operand::Kind::kOutput) (*extra)[k] = macros->output_args.at(o.index);
    }
    return std::move(macros->text);
  }

  /// What messages about a user's kernel call the argument.
  static void Describe(const OpView& op, const Operand& o, Arg* arg) {
    switch (o.kind) {
      case Operand::Kind::kInput:
        arg->what = op.in_label(o.index);
        break;
      case Operand::Kind::kOutput:
        arg->what = op.out_label(o.index);
        break;
      case Operand::Kind::kScratch:
        arg->what = fmt::format("scratch {} of {} bytes", o.index, o.bytes);
        break;
      default:
        arg->what = o.name;
        arg->type_name = o.element;
        break;
    }
  }

  template <class T>
  static void AddScalar(Launch* launch, T value) {
    Arg arg;
    arg.kind = Arg::Kind::kScalar;
    arg.bytes = sizeof value;
    arg.type_name = std::is_floating_point_v<T> ? "float" : "int";
    std::memcpy(arg.value.data(), &value, sizeof value);
    launch->args.push_back(arg);
  }

  size_t AddVariant(Variant v) {
    for (size_t i = 0; i < result_.variants.size(); ++i) {
      if (result_.variants[i].code() == v.code()) return i;
    }
    result_.variants.push_back(std::move(v));
    return result_.variants.size() - 1;
  }

  /// Memory that lives inside the partition; its place is set by PlaceInternals.
  struct Internal {
    size_t bytes;
    int first, last;
    bool persistent;
    struct Use {
      size_t launch, argument;
      size_t offset = 0, bytes = 0;  // the part that it sees; 0: all
      bool whole = true;
    };
    std::vector<Use> uses;
  };

  void AddOperand(const Group& group, const KernelSpec& spec, const Operand& o, int step,
                  std::map<size_t, int>* scratch_ids, Launch* launch) {
    using Kind = Operand::Kind;
    const OpView& op = group.op;
    Arg arg;
    switch (o.kind) {
      case Kind::kInput:
      case Kind::kOutput: {
        const bool input = o.kind == Kind::kInput;
        const TensorView t = group.converts() ? group.converted
                             : input          ? group.input(o.index)
                             : o.index == 0   ? group.last().out(0)
                                              : op.out(o.index);
        AddTensor(t, FormOf(t, input ? group.in : group.out), input, spec, step, launch);
        return;
      }
      case Kind::kData: {
        arg.kind = Arg::Kind::kConstant;
        arg.index = result_.plan.constants.size();
        Constant c;
        c.data = o.data;
        if (o.fill) c.fill = o.fill, c.fill_bytes = o.bytes;
        result_.plan.constants.push_back(std::move(c));
        break;
      }
      case Kind::kScratch: {
        arg.kind = Arg::Kind::kInternal;
        auto [it, added] = scratch_ids->emplace(o.index, static_cast<int>(internals_.size()));
        if (added) internals_.push_back({o.bytes, step, step, false, {}});
        Internal& internal = internals_[static_cast<size_t>(it->second)];
        internal.last = step;
        internal.bytes = std::max(internal.bytes, o.bytes);
        internal.uses.push_back({static_cast<size_t>(step), launch->args.size()});
        break;
      }
      case Kind::kLocal:
        arg.kind = Arg::Kind::kLocal;
        arg.bytes = o.bytes;
        break;
      case Kind::kValue:
        arg.kind = Arg::Kind::kScalar;
        arg.bytes = std::min(o.data->size(), arg.value.size());
        std::memcpy(arg.value.data(), o.data->data(), arg.bytes);
        break;
    }
    launch->args.push_back(arg);
  }

  void AddTensor(const TensorView& t, TensorForm form, bool input, const KernelSpec& spec, int step,
                 Launch* launch) {
    Arg arg;
    arg.reads = input;
    arg.writes = !input;
    const bool plain = form == TensorForm::kPlain;
    const int value = plain ? unit_.root(t.id()) : t.id();
    const Place& place = unit_.places.at(value);
    arg.type = InForm(t.type(), form);
    arg.index = place.index;
    switch (plain ? place.kind : Place::Kind::kInternal) {
      case Place::Kind::kInput:
        arg.kind = Arg::Kind::kInput;
        break;
      case Place::Kind::kOutput:
        arg.kind = Arg::Kind::kOutput;
        break;
      case Place::Kind::kConstant:
        arg.kind = Arg::Kind::kConstant;
        arg.index = ConstantOf(place.tensor);
        break;
      case Place::Kind::kInternal:
        arg.kind = Arg::Kind::kInternal;
        const Unit::Memory memory = unit_.MemoryOf(value, form);
        auto [it, added] = internal_of_.emplace(memory.key(), static_cast<int>(internals_.size()));
        if (added) internals_.push_back({0, step, step, false, {}});
        Internal& internal = internals_[static_cast<size_t>(it->second)];
        internal.bytes = std::max(internal.bytes, memory.offset + arg.type.bytes());
        internal.last = step;
        internal.persistent = internal.persistent || spec.image_operands;
        internal.uses.push_back({static_cast<size_t>(step), launch->args.size(), memory.offset,
                                 arg.type.bytes(), memory.value == value});
        break;
    }
    launch->args.push_back(arg);
  }

  size_t ConstantOf(const TensorView& t) {
    const auto [it, added] = constant_of_.emplace(t.id(), result_.plan.constants.size());
    if (added) {
      Constant c;
      c.memory = t.memory();
      c.type = t.type();
      result_.plan.constants.push_back(std::move(c));
    }
    return it->second;
  }

  Status PlaceInternals() {
    std::vector<runtime::Slot> slots;
    std::vector<Internal*> in_scratch;
    size_t persistent = 0;
    auto set = [&](const Internal& internal, Arg::Kind kind, size_t offset) {
      for (const Internal::Use& use : internal.uses) {
        Arg& arg = result_.plan.launches[use.launch].args[use.argument];
        arg.kind = kind;
        arg.offset = offset + use.offset;
        arg.bytes = use.bytes > 0 ? use.bytes : internal.bytes;
        arg.has_header_room = use.whole;
      }
    };
    for (Internal& internal : internals_) {
      if (internal.persistent) {
        // The header of an emulated image stays valid from Run to Run, so its memory is not shared
        // with other values.
        set(internal, Arg::Kind::kPersistent, persistent + kHeader);
        size_t end = 0;
        if (!base::Add(persistent, base::AlignUp(internal.bytes, caps_.buffer_alignment) + kHeader,
                       &end)) {
          return Status::Error(Code::kOutOfMemory,
                               "the images of custom ops are larger than the address space");
        }
        persistent = base::AlignUp(end, caps_.buffer_alignment);
      } else {
        slots.push_back({internal.bytes, internal.first, internal.last, 0});
        in_scratch.push_back(&internal);
      }
    }
    TIMCL_ASSIGN(result_.plan.scratch_bytes, runtime::Pack(slots, caps_.buffer_alignment));
    result_.plan.live_bytes = runtime::LiveBytes(slots);
    for (size_t i = 0; i < slots.size(); ++i)
      set(*in_scratch[i], Arg::Kind::kInternal, slots[i].offset);
    result_.plan.persistent_bytes = persistent;
    return Status();
  }

  Unit& unit_;
  const DeviceCaps& caps_;
  kernels::Sources* sources_;
  const Wishes& wishes_;
  std::map<int, size_t> constant_of_;
  std::map<std::pair<int, TensorForm>, int> internal_of_;
  std::vector<Internal> internals_;
  Emitted result_;
};

}  // namespace

Result<Emitted> Emit(Unit* unit, const DeviceCaps& caps, kernels::Sources* sources,
                     const Wishes& wishes) {
  return Emitter(unit, caps, sources, wishes).Run();
}

}  // namespace tim::vx::opencl
