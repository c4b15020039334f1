// The oneDNN delegate: which ops it takes, and the kernel that runs a slice of them.
#include <omp.h>

#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "ops.h"
#include "tim/vx/delegates/onednn.h"
#include "tim/vx/op_plugin.h"

namespace tim::vx {
namespace onednn {
namespace {

/// OpenMP's number of threads, for as long as it lives.
class Threads {
 public:
  explicit Threads(int wanted) : before_(omp_get_max_threads()) {
    if (wanted > 0) omp_set_num_threads(wanted);
  }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

class OneDnnKernel : public kernel::Kernel {
 public:
  OneDnnKernel(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
               std::vector<Op> ops, const dnnl::engine& engine, int threads)
      : kernel::Kernel(inputs, outputs), ops_(std::move(ops)), engine_(engine), threads_(threads) {
    set_name("oneDNN");
  }

  Status Prepare() override {
    const Threads threads(threads_);
    auto plan = std::make_unique<Plan>(engine_, inputs(), outputs());
    std::set<size_t> done;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (done.count(i) != 0) continue;
      Op op = ops_[i];
      if (const size_t relu = ReluBehind(i); relu != 0) {
        op.relu = true;
        op.out = ops_[relu].out;
        done.insert(relu);
      }
      TIMCL_TRY(AddOp(op, plan.get()));
    }
    plan->Finish();
    plan_ = std::move(plan);
    return Status();
  }
  Status Execute() override { return Run(nullptr); }
  Status Profile(std::vector<kernel::Timing>* timings) override { return Run(timings); }
  /// The tensors have their new types; memory is looked up by each Run.
  Status ReSize() override {
    for (const Op& op : ops_) {
      Plan trial(engine_);
      TIMCL_TRY(AddOp(op, &trial));
    }
    return Prepare();
  }

 private:
  /// The Relu that alone reads what op `at` writes, which it can then do itself; 0: there is none.
  size_t ReluBehind(size_t at) const {
    if (!TakesRelu(ops_[at])) return 0;
    const TensorView y = ops_[at].out;
    for (const TensorView& t : outputs()) {
      if (t == y) return 0;
    }
    size_t readers = 0, reader = 0;
    for (size_t i = at + 1; i < ops_.size(); ++i) {
      for (const TensorView& t : ops_[i].in) {
        if (t == y) ++readers, reader = i;
      }
    }
    const bool relu = readers == 1 && ops_[reader].primitive->kind == "Relu" &&
                      ops_[reader].out.type() == y.type();
    return relu ? reader : 0;
  }

  Status Run(std::vector<kernel::Timing>* timings) {
    const Threads threads(threads_);
    try {
      return plan_->Execute(timings);
    } catch (const dnnl::error& e) {
      return Status::Error(Code::kDevice, std::string("oneDNN: ") + e.what());
    }
  }

  std::vector<Op> ops_;
  dnnl::engine engine_;
  int threads_;
  std::unique_ptr<Plan> plan_;
};

class OneDnnDelegate : public Delegate {
 public:
  explicit OneDnnDelegate(OneDnnOptions options) : options_(std::move(options)) {}

  std::string Name() const override { return "onednn"; }

  Status Init() override {
    try {
      engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
      return Status();
    } catch (const dnnl::error& e) {
      return Status::Error(Code::kUnsupported, std::string("oneDNN has no CPU: ") + e.what());
    }
  }

  Status Build(DelegateModel* model) override {
    KernelIter from = model->BeginKernelIterator();
    while (from != model->EndKernelIterator()) {
      KernelIter end = from;
      std::vector<Op> ops;
      while (end != model->EndKernelIterator() && Takes(*end, model, &ops)) ++end;
      if (end == from) {
        ++from;
        continue;
      }
      from = model->Replace(
          from, end,
          new OneDnnKernel(model->SubgraphInputs(from, end), model->SubgraphOutputs(from, end),
                           std::move(ops), engine_, options_.threads));
    }
    return Status();
  }

 private:
  bool Takes(const kernel::Kernel* kernel, DelegateModel* model, std::vector<Op>* ops) const {
    const Primitive* primitive = model->GetPrimitive(kernel);
    if (primitive == nullptr || primitive->kind == "subgraph") return false;
    if (!options_.kinds.empty() && options_.kinds.count(primitive->kind) == 0) {
      model->Reject(kernel, "its kind is not among those asked for");
      return false;
    }
    Op op{kernel->name(), primitive, kernel->inputs(), kernel->outputs()[0]};
    Plan trial(engine_);
    if (const Status can = AddOp(op, &trial); !can.ok()) {
      model->Reject(kernel, can.detail());
      return false;
    }
    ops->push_back(std::move(op));
    return true;
  }

  OneDnnOptions options_;
  dnnl::engine engine_;
};

}  // namespace
}  // namespace onednn

std::shared_ptr<Delegate> CreateOneDnnDelegate(const OneDnnOptions& options) {
  return std::make_shared<onednn::OneDnnDelegate>(options);
}

}  // namespace tim::vx

extern "C" TIMCL_API const char* timcl_create_delegate(
    const char* tag, std::shared_ptr<tim::vx::Delegate>* delegate) {
  if (std::strcmp(tag, TIMCL_CXX_TAG) != 0) return "it was built for '" TIMCL_CXX_TAG "'";
  try {
    *delegate = tim::vx::CreateOneDnnDelegate();
    return nullptr;
  } catch (...) {
    return "it found no memory";
  }
}
