// DelegateBackend: asks the delegate to build, checks its edits, and runs its kernels.
#include "backends/delegate/backend.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "backends/delegate/model.h"

namespace tim::vx::delegate {
namespace {

/// Calls what the application wrote: its errors get `who` in front, its exceptions become one.
template <class F>
Status Fence(const std::string& who, const char* callback, F f) {
  try {
    const Status status = f();
    if (status.ok()) return status;
    return Status::Error(status.code(),
                         status.detail().empty()
                             ? fmt::format("{}: {} failed, without a word", who, callback)
                             : fmt::format("{}: {}", who, status.detail()))
        .AtOp(status.op())
        .AtTensor(status.tensor());
  } catch (const std::bad_alloc&) {
    return Status::Error(Code::kOutOfMemory,
                         fmt::format("{}: {} found no memory left", who, callback));
  } catch (const std::exception& e) {
    return Status::Error(Code::kInternal, fmt::format("{}: {} threw: {}", who, callback, e.what()));
  } catch (...) {
    return Status::Error(Code::kInternal, fmt::format("{}: {} threw", who, callback));
  }
}

/// One partition on its way from Build to the executable. The kernel goes first: it may look at all
/// the rest.
struct Taken {
  std::shared_ptr<Delegate> delegate;
  std::shared_ptr<Model> model;
  std::string who;
  std::unique_ptr<kernel::Kernel> kernel;
};

class TakenKernel : public kernel::Kernel {
 public:
  explicit TakenKernel(std::shared_ptr<Taken> taken) : taken_(std::move(taken)) {}

  Status Prepare(const kernel::Io& io) override {
    return Fence(taken_->who, "Prepare", [&]() -> Status {
      TIMCL_TRY(taken_->kernel->Prepare(io));
      domain_ = taken_->kernel->SyncDomain();
      return Status();
    });
  }
  Status Execute() override {
    return Fence(taken_->who, "Execute", [&] { return taken_->kernel->Execute(); });
  }
  Status Wait() override {
    return Fence(taken_->who, "Wait", [&] { return taken_->kernel->Wait(); });
  }
  const void* SyncDomain() const override { return domain_; }
  Status ReSize() override {
    return Fence(taken_->who, "ReSize", [&] { return taken_->kernel->ReSize(); });
  }
  std::vector<std::string> Warnings() const override {
    std::vector<std::string> warnings;
    const Status asked = Fence(taken_->who, "Warnings", [&] {
      warnings = taken_->kernel->Warnings();
      return Status();
    });
    if (!asked.ok()) warnings.push_back(asked.message());
    return warnings;
  }
  Status Profile(std::vector<kernel::Timing>* timings) override {
    return Fence(taken_->who, "Profile", [&] { return taken_->kernel->Profile(timings); });
  }

 private:
  std::shared_ptr<Taken> taken_;
  const void* domain_ = nullptr;
};

class DelegateBackend : public Backend {
 public:
  DelegateBackend(std::shared_ptr<Delegate> delegate, const std::string& name)
      : delegate_(std::move(delegate)), info_{name, "", "", "delegate"} {}

  const BackendInfo& Info() const override { return info_; }

  Status Init() override {
    return Fence(Who(), "Init", [&]() -> Status {
      const Status status = delegate_->Init();
      if (status.code() != Code::kUnsupported) return status;
      return Status::Error(
          status.code(), "not supported: " +
                             (status.detail().empty() ? "Init does not say why" : status.detail()));
    });
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    const auto model = std::make_shared<Model>(graph);
    Status built;
    {
      DelegateModel shown(model);
      built = Fence(Who(), "Build", [&] { return delegate_->Build(&shown); });
    }
    TIMCL_TRY(Fence(Who(), "Replace", [&] { return model->CheckEdits(); }));
    TIMCL_TRY(built);
    std::vector<bool> taken(model->order.size(), false);
    for (size_t s = 0; s < model->slices.size(); ++s) {
      const Model::Run& run = model->slices[s].run;
      for (size_t at = run.begin; at < run.end; ++at) {
        selection->Select(model->order[at], static_cast<int>(s));
        taken[at] = true;
      }
      selection->Whole(static_cast<int>(s));
    }
    for (size_t at = 0; at < taken.size(); ++at) {
      if (!model->offered[at] || taken[at]) continue;
      const std::string& why = model->reasons[at];
      selection->Reject(model->order[at],
                        fmt::format("not replaced by {}{}{}", Who(), why.empty() ? "" : ": ", why));
    }
    selection->Keep(model);
    model_ = model;
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    const auto model = model_.lock();
    if (model == nullptr) return Status::Error(Code::kInternal, Who() + " has no model to compile");
    std::unordered_map<int, size_t> slice_of;  // by its first op
    for (size_t s = 0; s < model->slices.size(); ++s)
      slice_of[model->order[model->slices[s].run.begin].id()] = s;
    for (const GraphView& part : parts) {
      const auto it = slice_of.find(part.Ops().front().id());
      Model::Slice* slice = it == slice_of.end() ? nullptr : &model->slices[it->second];
      if (slice == nullptr || slice->kernel == nullptr ||
          part.Ops().size() != slice->run.end - slice->run.begin) {
        return Status::Error(Code::kInternal,
                             Who() + " is given a partition that is none of its slices");
      }
      const std::string name = slice->kernel->name(), type = slice->kernel->type();
      for (const OpView& op : part.Ops()) units->kernel_of[op.id()] = name.empty() ? type : name;
      const std::string which =
          name.empty() ? model->LabelOf(slice->run) : fmt::format("kernel '{}'", name);
      auto taken = std::make_shared<Taken>(
          Taken{delegate_, model, fmt::format("{}, {}", Who(), which), std::move(slice->kernel)});
      units->calls.push_back({units->modules.size(), "", 0, 0});
      units->modules.push_back({{}, std::move(taken), "delegate"});
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls) {
      units->kernels.push_back(std::make_unique<TakenKernel>(
          std::static_pointer_cast<Taken>(modules[call.module].live)));
    }
    return Status();
  }

 private:
  std::string Who() const { return fmt::format("delegate '{}'", info_.name); }

  std::shared_ptr<Delegate> delegate_;
  BackendInfo info_;
  // What Partition made for the compilation that runs; the compilation owns it.
  std::weak_ptr<Model> model_;
};

}  // namespace

Result<std::shared_ptr<Backend>> CreateBackend(std::shared_ptr<Delegate> delegate) {
  if (delegate == nullptr) return Status::Error(Code::kInvalidArgument, "the delegate is null");
  std::string name;
  TIMCL_TRY(Fence("a delegate", "Name", [&] {
    name = delegate->Name();
    return name.empty() ? Status::Error(Code::kInvalidArgument, "its name is empty") : Status();
  }));
  return std::shared_ptr<Backend>(std::make_shared<DelegateBackend>(std::move(delegate), name));
}

}  // namespace tim::vx::delegate
