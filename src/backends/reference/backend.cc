// The reference backend: a partition is a list of reference functions over buffers in the arena.
#include "backends/reference/backend.h"

#include <chrono>
#include <map>

#include "runtime/arena.h"

namespace tim::vx::reference {
namespace {

/// One op: which buffer each operand is. Negative: left out.
struct Step {
  OpView op;
  std::vector<int> inputs, outputs;
};

/// A partition, ready to run.
struct Plan {
  GraphView part;  // keeps alive what the steps point to
  std::vector<Step> steps;
  enum class Place { kInput, kOutput, kScratch, kConstant };
  struct Slot {
    Place place;
    size_t index = 0;  // of the partition's input or output, or the byte offset into the scratch
    std::shared_ptr<const kernel::Memory> constant = nullptr;
  };
  std::vector<Slot> slots;
};

class ReferenceKernel : public kernel::Kernel {
 public:
  explicit ReferenceKernel(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  Status Prepare(const kernel::Io& io) override {
    io_ = io;
    return Status();
  }

  Status Execute() override {
    for (const Step& s : plan_->steps) TIMCL_TRY(Execute(s));
    return Status();
  }

  Status Profile(std::vector<kernel::Timing>* timings) override {
    using Clock = std::chrono::steady_clock;
    for (const Step& s : plan_->steps) {
      const auto start = Clock::now();
      TIMCL_TRY(Execute(s));
      kernel::Timing timing;
      timing.op = s.op.id();
      timing.kernel = "reference";
      timing.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      for (size_t i = 0; i < s.op.num_inputs(); ++i)
        if (s.op.in(i).present()) timing.bytes += s.op.in(i).type().bytes();
      for (size_t i = 0; i < s.op.num_outputs(); ++i) timing.bytes += s.op.out(i).type().bytes();
      timings->push_back(std::move(timing));
    }
    return Status();
  }

 private:
  Status Execute(const Step& s) const {
    ref::Inputs ins;
    ref::Outputs outs;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (s.inputs[i] < 0) {
        ins.emplace_back();
      } else {
        ins.emplace_back(Address(s.inputs[i]), s.op.in(i).type());
      }
    }
    for (size_t i = 0; i < s.outputs.size(); ++i)
      outs.emplace_back(Address(s.outputs[i]), s.op.out(i).type());
    return s.op.def().reference(s.op, ins, outs);
  }

  void* Address(int slot) const {
    const Plan::Slot& s = plan_->slots[static_cast<size_t>(slot)];
    switch (s.place) {
      case Plan::Place::kInput:
        return io_.inputs[s.index].Data();
      case Plan::Place::kOutput:
        return io_.outputs[s.index].Data();
      case Plan::Place::kScratch:
        return static_cast<std::byte*>(io_.scratch.Data()) + s.index;
      case Plan::Place::kConstant:
        break;
    }
    return s.constant->data();
  }

  std::shared_ptr<const Plan> plan_;
  kernel::Io io_;
};

class ReferenceBackend : public Backend {
 public:
  const BackendInfo& Info() const override {
    static const BackendInfo kInfo{"reference", "TIM-CL", TIMCL_VERSION, "host"};
    return kInfo;
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      if (op.def().reference == ReferenceByExpansion) {
        selection->OnlyExpanded(op, "its parts have references");
      } else if (op.def().reference != nullptr) {
        selection->Select(op);
      } else {
        selection->Reject(op, "the op has no reference function");
      }
    }
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    for (const GraphView& part : parts) {
      auto plan = std::make_shared<Plan>();
      plan->part = part;
      size_t scratch = 0;
      TIMCL_TRY(MakePlan(part, plan.get(), &scratch));
      units->calls.push_back({units->modules.size(), "", scratch, 0});
      units->modules.push_back({{}, std::move(plan), "reference"});
      for (const OpView& op : part.Ops()) units->kernel_of[op.id()] = "reference";
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls) {
      units->kernels.push_back(std::make_unique<ReferenceKernel>(
          std::static_pointer_cast<const Plan>(modules[call.module].live)));
    }
    return Status();
  }

 private:
  static Status MakePlan(const GraphView& part, Plan* plan, size_t* scratch) {
    std::map<int, int> slot_of;  // value -> slot
    auto add = [&](int value, Plan::Place place, size_t index) {
      slot_of[value] = static_cast<int>(plan->slots.size());
      plan->slots.push_back({place, index});
    };
    for (size_t i = 0; i < part.Inputs().size(); ++i)
      add(part.Inputs()[i].id(), Plan::Place::kInput, i);
    for (size_t i = 0; i < part.Outputs().size(); ++i)
      add(part.Outputs()[i].id(), Plan::Place::kOutput, i);
    std::vector<runtime::Slot> lifetimes;
    std::map<int, size_t> lifetime_of;
    const int count = static_cast<int>(part.Ops().size());
    for (int s = 0; s < count; ++s) {
      const OpView& op = part.Ops()[static_cast<size_t>(s)];
      for (size_t i = 0; i < op.num_outputs(); ++i) {
        const int v = op.out(i).id();
        if (slot_of.count(v) != 0) continue;
        lifetime_of[v] = lifetimes.size();
        lifetimes.push_back({op.out(i).type().bytes(), s, s, 0});
      }
      for (size_t i = 0; i < op.num_inputs(); ++i) {
        if (const auto it = lifetime_of.find(op.in(i).id()); it != lifetime_of.end())
          lifetimes[it->second].last = s;
      }
    }
    TIMCL_ASSIGN(*scratch, runtime::Pack(lifetimes, 64));
    for (const auto& [v, index] : lifetime_of)
      add(v, Plan::Place::kScratch, lifetimes[index].offset);
    for (const OpView& op : part.Ops()) {
      Step s{op, {}, {}};
      for (size_t i = 0; i < op.num_inputs(); ++i) {
        const TensorView t = op.in(i);
        if (t.present() && slot_of.count(t.id()) == 0) {
          add(t.id(), Plan::Place::kConstant, 0);
          plan->slots.back().constant = t.memory();
        }
        s.inputs.push_back(t.present() ? slot_of.at(t.id()) : -1);
      }
      for (size_t i = 0; i < op.num_outputs(); ++i) s.outputs.push_back(slot_of.at(op.out(i).id()));
      plan->steps.push_back(std::move(s));
    }
    return Status();
  }
};

}  // namespace

std::shared_ptr<Backend> CreateBackend() { return std::make_shared<ReferenceBackend>(); }

}  // namespace tim::vx::reference
