// CompilePartition: kernel texts, arguments, and the layout of the values that live inside a
// partition.
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>
#include <unordered_map>

#include "backends/opencl/compile/compile.h"
#include "backends/opencl/run/images.h"
#include "base/checked.h"
#include "ir/graph.h"
#include "runtime/arena.h"

namespace tim::vx::opencl {
namespace {

constexpr size_t kHeader = kernel::Memory::kHeaderBytes;

class Emitter {
 public:
  Emitter(const GraphView& part, const std::map<int, Selected>& selected, const DeviceCaps& caps,
          const std::string& kernel_dir)
      : part_(part),
        graph_(*part.graph()),
        selected_(selected),
        caps_(caps),
        kernel_dir_(kernel_dir) {}

  Result<CompiledPartition> Run(bool fuse) {
    for (size_t i = 0; i < part_.Inputs().size(); ++i) input_of_[part_.Inputs()[i].id()] = i;
    for (size_t i = 0; i < part_.Outputs().size(); ++i) output_of_[part_.Outputs()[i].id()] = i;
    if (fuse) chains_ = FindFusions(part_, selected_);
    std::set<int> fused;
    for (const auto& [anchor, chain] : chains_)
      fused.insert(chain.nodes.begin(), chain.nodes.end());
    ShareBytes(fused);
    for (const OpView& op : part_.Ops()) {
      if (fused.count(op.id()) != 0) continue;
      if (no_launch_.count(op.id()) != 0) {
        result_.kernel_of[op.id()] = "no launch: same bytes";
        continue;
      }
      TIMCL_TRY(EmitOp(op));
    }
    TIMCL_TRY(PlaceInternals());
    return std::move(result_);
  }

 private:
  /// Values that come from or go to the outside keep their own memory.
  bool Pinned(int value) const {
    return input_of_.count(value) != 0 || output_of_.count(value) != 0 ||
           graph_.value(value).role == ir::Role::kConstant;
  }
  int Root(int value) const {
    auto it = same_as_.find(value);
    while (it != same_as_.end()) {
      value = it->second;
      it = same_as_.find(value);
    }
    return value;
  }

  /// Reshapes between equal encodings: one memory for both sides, unless both belong to the
  /// outside.
  void ShareBytes(const std::set<int>& fused) {
    for (const OpView& op : part_.Ops()) {
      if (fused.count(op.id()) != 0 || !MovesNothing(op)) continue;
      int in = op.in(0).id();
      // A chain fused behind the producer stores the chain's last value.
      in = Root(in);
      const int out = Root(op.out(0).id());
      if (in == out || (Pinned(in) && Pinned(out))) continue;
      if (Pinned(out)) {
        same_as_[in] = out;
      } else {
        same_as_[out] = in;
      }
      no_launch_.insert(op.id());
    }
  }

  Status EmitOp(const OpView& op) {
    const Selected& selected = selected_.at(op.id());
    const auto chain = chains_.find(op.id());
    const std::vector<kernels::Stage> stages =
        chain == chains_.end() ? std::vector<kernels::Stage>() : chain->second.stages;
    std::string label = op.label();
    int final_value = op.num_outputs() > 0 ? op.out(0).id() : -1;
    TensorType final_type = op.num_outputs() > 0 ? op.out(0).type() : TensorType();
    if (chain != chains_.end()) {
      for (int id : chain->second.nodes) {
        result_.kernel_of[id] = fmt::format("fused into {}", op.label());
        label += " + " + graph_.view(id).label();
      }
      const OpView last = graph_.view(chain->second.nodes.back());
      final_value = last.out(0).id();
      final_type = last.out(0).type();
    }
    result_.kernel_of[op.id()] = selected.kernel;
    if (!selected.refusals.empty()) result_.refused[op.id()] = selected.refusals;
    std::vector<TensorType> ins, outs;
    for (size_t i = 0; i < op.num_inputs(); ++i) ins.push_back(op.in(i).type());
    for (size_t i = 0; i < op.num_outputs(); ++i) outs.push_back(op.out(i).type());
    std::map<size_t, int> scratch_ids;  // the op's scratch pieces -> internal ids
    for (const KernelSpec& spec : selected.launches) {
      Launch launch;
      launch.label = label;
      launch.kernel = selected.kernel;
      launch.dims = spec.dims;
      launch.global = spec.global;
      launch.local = spec.local;
      launch.flops = spec.flops;
      std::vector<std::vector<kernels::ScalarArg>> extra(spec.operands.size());
      Variant variant;
      if (spec.user_source.empty()) {
        auto text = kernels::MakeVariant(spec, ins, outs, stages, final_type, kernel_dir_);
        if (!text.ok()) return text.status().AtOp(op.label());
        variant.text = std::move(text->text);
        variant.entry = std::move(text->entry);
        variant.origin = std::move(text->origin);
        extra = std::move(text->operand_args);
      } else {
        TIMCL_ASSIGN(variant.text, WithImagePrelude(spec.user_source, op.label(), kernel_dir_));
        variant.entry = spec.entry;
        variant.origin = op.label();
        variant.options = spec.build_options;
        variant.user = true;
        variant.images = spec.image_operands;
      }
      launch.variant = AddVariant(std::move(variant));
      const int step = static_cast<int>(result_.plan.launches.size());
      for (size_t k = 0; k < spec.operands.size(); ++k) {
        const Operand& o = spec.operands[k];
        TIMCL_TRY(AddOperand(op, spec, o,
                             o.kind == Operand::Kind::kOutput && o.index == 0 ? final_value : -1,
                             step, &scratch_ids, &launch));
        for (const kernels::ScalarArg& s : extra[k]) {
          if (s.is_float) {
            AddScalar(&launch, s.f);
          } else {
            AddScalar(&launch, s.i);
          }
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
    }
    return Status();
  }

  template <class T>
  static void AddScalar(Launch* launch, T value) {
    Arg arg;
    arg.kind = Arg::Kind::kScalar;
    arg.bytes = sizeof value;
    std::memcpy(arg.value.data(), &value, sizeof value);
    launch->args.push_back(arg);
  }

  size_t AddVariant(Variant v) {
    for (size_t i = 0; i < result_.plan.variants.size(); ++i) {
      const Variant& other = result_.plan.variants[i];
      if (other.text == v.text && other.entry == v.entry && other.options == v.options) return i;
    }
    result_.plan.variants.push_back(std::move(v));
    return result_.plan.variants.size() - 1;
  }

  /// Memory that lives inside the partition; its place is set by PlaceInternals.
  struct Internal {
    size_t bytes;
    int first, last;
    bool persistent;
    std::vector<std::pair<size_t, size_t>> uses;  // launch, argument
  };

  Status AddOperand(const OpView& op, const KernelSpec& spec, const Operand& o, int final_value,
                    int step, std::map<size_t, int>* scratch_ids, Launch* launch) {
    using Kind = Operand::Kind;
    Arg arg;
    switch (o.kind) {
      case Kind::kInput:
      case Kind::kOutput: {
        const TensorView t = o.kind == Kind::kInput ? op.in(o.index) : op.out(o.index);
        if (!t.present())
          return op.Error(
              Code::kInternal,
              fmt::format("its kernel asks for operand {}, which is left out", o.index));
        TensorType type = t.type();
        int value = t.id();
        if (final_value >= 0) value = final_value;
        const int root = Root(value);
        arg.type = type;
        if (const auto in = input_of_.find(root); in != input_of_.end()) {
          arg.kind = Arg::Kind::kInput;
          arg.index = in->second;
        } else if (const auto out = output_of_.find(root); out != output_of_.end()) {
          arg.kind = Arg::Kind::kOutput;
          arg.index = out->second;
        } else if (graph_.value(root).role == ir::Role::kConstant) {
          arg.kind = Arg::Kind::kConstant;
          arg.index = ConstantOf(root);
        } else {
          arg.kind = Arg::Kind::kInternal;
          auto [it, added] = internal_of_.emplace(root, static_cast<int>(internals_.size()));
          if (added) internals_.push_back({graph_.value(root).type.bytes(), step, step, false, {}});
          Internal& internal = internals_[static_cast<size_t>(it->second)];
          internal.last = step;
          internal.persistent = internal.persistent || spec.image_operands;
          internal.uses.emplace_back(static_cast<size_t>(step), launch->args.size());
        }
        break;
      }
      case Kind::kData: {
        arg.kind = Arg::Kind::kConstant;
        arg.index = result_.plan.constants.size();
        Constant c;
        c.data = o.data;
        result_.plan.constants.push_back(std::move(c));
        break;
      }
      case Kind::kScratch: {
        arg.kind = Arg::Kind::kInternal;
        auto [it, added] = scratch_ids->emplace(o.index, static_cast<int>(internals_.size()));
        if (added) internals_.push_back({o.bytes, step, step, false, {}});
        Internal& internal = internals_[static_cast<size_t>(it->second)];
        internal.last = step;
        internal.uses.emplace_back(static_cast<size_t>(step), launch->args.size());
        break;
      }
      case Kind::kLocal:
        arg.kind = Arg::Kind::kLocal;
        arg.bytes = o.bytes;
        break;
      case Kind::kInt:
      case Kind::kUint:
      case Kind::kFloat:
        AddScalar(launch, o.scalar.u);
        return Status();
      case Kind::kByte:
        AddScalar(launch, o.scalar.b);
        return Status();
    }
    launch->args.push_back(arg);
    return Status();
  }

  size_t ConstantOf(int value) {
    if (const auto it = constant_of_.find(value); it != constant_of_.end()) return it->second;
    Constant c;
    c.memory = graph_.value(value).storage;
    c.type = graph_.value(value).type;
    result_.plan.constants.push_back(std::move(c));
    return constant_of_[value] = result_.plan.constants.size() - 1;
  }

  Status PlaceInternals() {
    std::vector<runtime::Slot> slots;
    std::vector<Internal*> in_scratch;
    size_t persistent = 0;
    auto set = [&](const Internal& internal, Arg::Kind kind, size_t offset) {
      for (const auto& [launch, index] : internal.uses) {
        Arg& arg = result_.plan.launches[launch].args[index];
        arg.kind = kind;
        arg.offset = offset;
        arg.bytes = internal.bytes;
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
    for (size_t i = 0; i < slots.size(); ++i)
      set(*in_scratch[i], Arg::Kind::kInternal, slots[i].offset);
    result_.plan.persistent_bytes = persistent;
    return Status();
  }

  const GraphView& part_;
  const ir::Graph& graph_;
  const std::map<int, Selected>& selected_;
  const DeviceCaps& caps_;
  const std::string& kernel_dir_;
  std::map<int, FusedChain> chains_;
  std::set<int> no_launch_;
  std::map<int, int> same_as_;
  std::map<int, size_t> input_of_, output_of_, constant_of_;
  std::map<int, int> internal_of_;
  std::vector<Internal> internals_;
  CompiledPartition result_;
};

}  // namespace

Result<CompiledPartition> CompilePartition(const GraphView& part,
                                           const std::map<int, Selected>& selected,
                                           const DeviceCaps& caps, bool fuse,
                                           const std::string& kernel_dir) {
  return Emitter(part, selected, caps, kernel_dir).Run(fuse);
}

}  // namespace tim::vx::opencl
