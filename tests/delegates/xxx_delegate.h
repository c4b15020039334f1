// A delegate in the form of MindSpore Lite's guide, as its author would port it: "XXX" is a made-up
// framework that knows a few operators over float32 tensors of equal shape.
#ifndef TIMCL_TESTS_DELEGATES_XXX_DELEGATE_H_
#define TIMCL_TESTS_DELEGATES_XXX_DELEGATE_H_

#include <functional>
#include <string>
#include <vector>

#include "tim/vx/delegate.h"

namespace xxx {

using namespace tim::vx;

class XXXDelegate : public Delegate {
 public:
  Status Init() override;
  Status Build(DelegateModel* model) override;
  std::string Name() const override { return "XXX"; }

 protected:
  bool IsSupport(kernel::Kernel* kernel, const Primitive* primitive) const;
  kernel::Kernel* CreateXXXGraph(KernelIter from, KernelIter end, DelegateModel* model) const;
};

/// One operator of the framework.
struct XXXOp {
  std::function<float(float, float)> f;
  std::vector<TensorView> inputs;
  TensorView output;
};

class XXXGraph : public kernel::Kernel {
 public:
  XXXGraph(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs)
      : kernel::Kernel(inputs, outputs, nullptr, nullptr) {}

  Status AddOp(const Primitive* primitive, const kernel::Kernel* kernel);
  Status Prepare() override;
  Status Execute() override;
  Status ReSize() override { return RET_NOT_SUPPORT; }

 private:
  std::vector<XXXOp> ops_;
};

}  // namespace xxx
#endif  // TIMCL_TESTS_DELEGATES_XXX_DELEGATE_H_
