// A backend for tests, written against the public interface alone: it runs ops by their references.
// Tests override what it is to do differently.
#ifndef TIMCL_TESTS_SUPPORT_HOST_BACKEND_H_
#define TIMCL_TESTS_SUPPORT_HOST_BACKEND_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/backend.h"

namespace tim::vx::test {

class HostBackend : public Backend {
 public:
  /// Why the backend does not take an op; "": it takes it.
  using Refuses = std::function<std::string(const OpView&)>;
  explicit HostBackend(std::string name, Refuses refuses = nullptr)
      : info_{std::move(name), "tests", "1", "host"}, refuses_(std::move(refuses)) {}

  const BackendInfo& Info() const override { return info_; }
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      const std::string why = refuses_ ? refuses_(op) : "";
      if (why.empty()) {
        selection->Select(op);
      } else {
        selection->Reject(op, why);
      }
    }
    return Status();
  }
  /// The modules are the partitions.
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    for (const GraphView& part : parts) {
      units->calls.push_back({units->modules.size(), "", 0, 0});
      units->modules.push_back({{}, std::make_shared<GraphView>(part), "test"});
    }
    return Status();
  }
  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls)
      units->kernels.push_back(std::make_unique<Kernel>(PartOf(modules, call)));
    return Status();
  }

 protected:
  static const GraphView& PartOf(const std::vector<CodeModule>& modules, const Call& call) {
    return *static_cast<const GraphView*>(modules.at(call.module).live.get());
  }

  class Kernel : public kernel::Kernel {
   public:
    explicit Kernel(GraphView part) : part_(std::move(part)) {}
    Status Prepare(const kernel::Io& io) override {
      io_ = io;
      return Status();
    }
    Status Execute() override {
      std::map<int, void*> memory;
      std::map<int, std::vector<std::byte>> own;
      for (size_t i = 0; i < part_.Inputs().size(); ++i)
        memory[part_.Inputs()[i].id()] = io_.inputs[i].Data();
      for (size_t i = 0; i < part_.Outputs().size(); ++i)
        memory[part_.Outputs()[i].id()] = io_.outputs[i].Data();
      for (const OpView& op : part_.Ops()) {
        ref::Inputs ins;
        ref::Outputs outs;
        for (size_t i = 0; i < op.num_inputs(); ++i) {
          const TensorView t = op.in(i);
          ins.push_back(t.present()
                            ? ref::Input(t.is_const() ? t.data() : memory.at(t.id()), t.type())
                            : ref::Input());
        }
        for (size_t i = 0; i < op.num_outputs(); ++i) {
          const TensorView t = op.out(i);
          if (memory.count(t.id()) == 0) {
            own[t.id()].resize(t.type().bytes());
            memory[t.id()] = own[t.id()].data();
          }
          outs.emplace_back(memory.at(t.id()), t.type());
        }
        TIMCL_TRY(op.def().reference(op, ins, outs));
      }
      return Status();
    }

   protected:
    GraphView part_;
    kernel::Io io_;
  };

 private:
  BackendInfo info_;
  Refuses refuses_;
};

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_SUPPORT_HOST_BACKEND_H_
