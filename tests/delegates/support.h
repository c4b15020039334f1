// What tests of delegates share: graphs from a list of ops, the ported delegate with a loop without
// traps, and a delegate whose callbacks are the test's.
#ifndef TIMCL_TESTS_DELEGATES_SUPPORT_H_
#define TIMCL_TESTS_DELEGATES_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "delegates/xxx_delegate.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A graph over float32 tensors of four elements, built op by op. Input x holds -2, -1, 0, 1.
struct Net {
  explicit Net(const std::shared_ptr<Context>& context, const CompileOption& options = {})
      : graph(context->CreateGraph(options)), x(test::Input(graph, {4})) {
    x->SetName("x");
    Write<float>(x, {-2, -1, 0, 1});
  }
  TensorPtr Tensor(const std::string& name, bool output) {
    auto tensor = output ? Output(graph, {4}) : Between(graph);
    tensor->SetName(name);
    return tensor;
  }
  /// One op by its kind over `inputs`; its result is called `name`.
  TensorPtr Op(const std::string& kind, const std::vector<TensorPtr>& inputs,
               const std::string& name, bool output = false, const AttrMap& attrs = {}) {
    auto result = Tensor(name, output);
    (*graph->CreateOperation(kind, attrs)).BindInputs(inputs).BindOutput(result);
    return result;
  }
  /// A chain of ops of one input from x on; results are called a, b, c, ..., the last is the
  /// output.
  TensorPtr Chain(const std::vector<std::string>& kinds) {
    TensorPtr at = x;
    for (size_t i = 0; i < kinds.size(); ++i)
      at = Op(kinds[i], {at}, std::string(1, static_cast<char>('a' + i)), i + 1 == kinds.size());
    return at;
  }
  Status Compile() const {
    (void)graph->Compile();
    return graph->LastStatus();
  }
  std::vector<float> Run(const TensorPtr& tensor) const {
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(tensor, 4);
  }
  /// Who runs each op, in the order of the ops' labels.
  std::map<std::string, std::string> Backends() const {
    std::map<std::string, std::string> backends;
    for (const OpPlacement& p : graph->Report().ops) backends[p.op] = p.backend;
    return backends;
  }
  const OpPlacement& Placement(const std::string& op) const {
    for (const OpPlacement& p : graph->Report().ops) {
      if (p.op == op) return p;
    }
    static const OpPlacement none;
    ADD_FAILURE() << op << " is not in the report";
    return none;
  }

  GraphPtr graph;
  TensorPtr x;
};

/// Its callbacks are functions.
class MadeDelegate : public Delegate {
 public:
  using BuildFunction = std::function<Status(DelegateModel*)>;
  explicit MadeDelegate(std::string name, BuildFunction build = nullptr,
                        std::function<Status()> init = nullptr)
      : name_(std::move(name)), build_(std::move(build)), init_(std::move(init)) {}
  Status Init() override { return init_ ? init_() : RET_OK; }
  Status Build(DelegateModel* model) override { return build_ ? build_(model) : RET_OK; }
  std::string Name() const override { return name_; }

 private:
  std::string name_;
  BuildFunction build_;
  std::function<Status()> init_;
};
inline std::shared_ptr<Delegate> Made(MadeDelegate::BuildFunction build) {
  return std::make_shared<MadeDelegate>("made", std::move(build));
}

/// What a kernel does besides computing.
struct Journal {
  size_t builds = 0, prepared = 0, executed = 0, alive = 0;
};

/// Takes the ops of some kinds in slices as long as they come.
class TakesKinds : public xxx::XXXDelegate {
 public:
  TakesKinds(std::string name, std::set<std::string> kinds, Journal* journal = nullptr)
      : name_(std::move(name)), kinds_(std::move(kinds)), journal_(journal) {}
  std::string Name() const override { return name_; }
  Status Build(DelegateModel* model) override {
    if (journal_ != nullptr) ++journal_->builds;
    KernelIter from = model->BeginKernelIterator();
    while (from != model->EndKernelIterator()) {
      KernelIter end = from;
      while (end != model->EndKernelIterator() && Takes(model->GetPrimitive(*end))) ++end;
      from = end == from ? end + 1 : model->Replace(from, end, Make(from, end, model));
    }
    return RET_OK;
  }
  /// The kernel for a slice; a journal counts its calls.
  kernel::Kernel* Make(KernelIter from, KernelIter end, DelegateModel* model) const {
    if (journal_ == nullptr) return CreateXXXGraph(from, end - 1, model);
    auto* counted =
        new Counted(model->SubgraphInputs(from, end), model->SubgraphOutputs(from, end), journal_);
    for (KernelIter i = from; i != end; ++i) (void)counted->AddOp(model->GetPrimitive(*i), *i);
    counted->set_name("counted");
    return counted;
  }

 private:
  class Counted : public xxx::XXXGraph {
   public:
    Counted(const std::vector<TensorView>& in, const std::vector<TensorView>& out, Journal* journal)
        : XXXGraph(in, out), journal_(journal) {
      ++journal_->alive;
    }
    ~Counted() override { --journal_->alive; }
    Status Prepare() override {
      ++journal_->prepared;
      return XXXGraph::Prepare();
    }
    Status Execute() override {
      ++journal_->executed;
      return XXXGraph::Execute();
    }

   private:
    Journal* journal_;
  };
  bool Takes(const Primitive* primitive) const { return kinds_.count(primitive->kind) != 0; }

  std::string name_;
  std::set<std::string> kinds_;
  Journal* journal_;
};

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_DELEGATES_SUPPORT_H_
