// An operator of which a test says everything.
#ifndef TIMCL_TESTS_CUSTOM_USER_OP_H_
#define TIMCL_TESTS_CUSTOM_USER_OP_H_

#include <array>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "fixture.h"
#include "tim/vx/status.h"

namespace custom_test {

using vx::Code;

/// Everything that a test wants to choose about a user's operator.
struct Plan {
  const char* source = nullptr;
  const char* function = nullptr;
  std::string options;
  uint32_t inputs = 1;
  std::vector<vx::ShapeType> outputs;  // empty: one, of the first input's shape
  std::array<size_t, 3> global = {64, 16, 4};
  std::array<size_t, 3> local = {0, 0, 0};
  uint32_t dim = 3;
  int* calls = nullptr;  // counts the Setup functions
};

class UserOp : public vx::ops::CustomOpBase {
 public:
  template <class... T>
  UserOp(vx::Graph* graph, Plan plan, std::tuple<T...> scalars)
      : CustomOpBase(graph, plan.inputs,
                     plan.outputs.empty() ? 1 : static_cast<uint32_t>(plan.outputs.size()), -1,
                     "tests.user_op"),
        plan_(plan) {
    vx::ops::param_transform(scalars, param_list_);
    kernel_resource_ = plan_.source;
  }
  std::shared_ptr<vx::Operation> Clone(std::shared_ptr<vx::Graph>& graph) const override {
    return graph->CreateOperation<UserOp>(plan_, std::tuple<>());
  }

 protected:
  void SetupShapeInfor() override {
    Count();
    if (plan_.outputs.empty()) {
      for (const uint32_t extent : inputs_size_[0]) outputs_size_[0].push_back(extent);
    } else {
      for (size_t i = 0; i < plan_.outputs.size(); ++i) outputs_size_[i] = plan_.outputs[i];
    }
  }
  void SetupParams(std::vector<DataType>, std::string& build_option) override {
    Count();
    func_name_ = plan_.function;
    build_option = plan_.options;
  }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override {
    Count();
    dim = plan_.dim;
    for (uint32_t i = 0; i < dim; ++i) {
      global_size[i] = plan_.global[i];
      local_size[i] = plan_.local[i];
    }
  }
  const Plan& plan() const { return plan_; }

 private:
  void Count() {
    if (plan_.calls != nullptr) ++*plan_.calls;
  }
  Plan plan_;
};

/// The same with a function for SetupEnqueue, and one for the constructor.
class FreeOp : public UserOp {
 public:
  using Enqueue =
      std::function<void(FreeOp&, uint32_t&, std::vector<size_t>&, std::vector<size_t>&)>;
  FreeOp(vx::Graph* graph, Plan plan, Enqueue enqueue,
         std::function<void(FreeOp&)> construct = nullptr)
      : UserOp(graph, plan, std::tuple<>()), enqueue_(enqueue) {
    if (construct) construct(*this);
  }
  using CustomOpBase::AddLaunch;
  using CustomOpBase::Device;
  using CustomOpBase::RoundUp;
  using CustomOpBase::SetReference;
  using CustomOpBase::SetWorkItems;
  using CustomOpBase::UseTensorMacros;

 protected:
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global,
                    std::vector<size_t>& local) override {
    enqueue_(*this, dim, global, local);
  }

 private:
  Enqueue enqueue_;
};

class UserKernel : public CustomOp {
 protected:
  template <class... T>
  std::shared_ptr<UserOp> Op(const Plan& plan, T... scalars) {
    return graph_->CreateOperation<UserOp>(plan, std::tuple<T...>(scalars...));
  }
  Code CompileFails() {
    EXPECT_FALSE(graph_->Compile());
    return graph_->LastStatus().code();
  }
  const std::string& Message() { return graph_->LastStatus().message(); }
};

}  // namespace custom_test

#endif  // TIMCL_TESTS_CUSTOM_USER_OP_H_
