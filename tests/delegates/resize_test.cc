// Graph::Resize over delegates: kernels that follow, kernels that do not, and what goes wrong.
#include <cmath>
#include <stdexcept>

#include "delegates/support.h"

namespace tim::vx::test {
namespace {

/// Counts what happens to the kernels of one delegate, and says what their ReSize answers.
struct Log {
  std::vector<std::string> calls;  // "build Relu", "prepare Relu", "resize Relu [3]", ...
  std::function<Status(const std::string& kind)> resize = [](const std::string&) {
    return Status();
  };
  size_t Count(const std::string& call) const {
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
  }
};

/// Abs, Neg and Relu of float32, one op each.
class UnaryKernel : public kernel::Kernel {
 public:
  UnaryKernel(const kernel::Kernel& op, const Primitive& primitive, std::shared_ptr<Log> log)
      : Kernel(op.inputs(), op.outputs(), &primitive), log_(std::move(log)) {
    set_name(op.name());
  }
  Status Prepare() override {
    log_->calls.push_back("prepare " + type());
    return RET_OK;
  }
  Status Execute() override {
    const auto in = inputs()[0].Data();
    auto* out = static_cast<float*>(outputs()[0].MutableData());
    for (int64_t i = 0; i < inputs()[0].ElementNum(); ++i) {
      const float v = static_cast<const float*>(in.get())[i];
      out[i] = type() == "Neg" ? -v : type() == "Abs" ? std::abs(v) : std::max(v, 0.0f);
    }
    return RET_OK;
  }
  Status ReSize() override {
    log_->calls.push_back("resize " + type() + " " + inputs()[0].shape().ToString());
    return log_->resize(type());
  }

 private:
  std::shared_ptr<Log> log_;
};

std::shared_ptr<Delegate> TakesUnary(const std::shared_ptr<Log>& log,
                                     const std::set<std::string>& kinds) {
  return Made([log, kinds](DelegateModel* model) -> Status {
    for (KernelIter at = model->BeginKernelIterator(); at != model->EndKernelIterator(); ++at) {
      const Primitive* p = model->GetPrimitive(*at);
      if (kinds.count(p->kind) == 0) continue;
      log->calls.push_back("build " + p->kind);
      (void)model->Replace(at, at + 1, new UnaryKernel(**at, *p, log));
    }
    return RET_OK;
  });
}

class DelegateResize : public ::testing::Test {
 protected:
  DelegateResize() : context(NewHostContext()), log(std::make_shared<Log>()) {
    EXPECT_TRUE(context->SetDelegate(TakesUnary(log, {"Neg", "Relu"})).ok());
    net = std::make_unique<Net>(context);
    y = net->Chain({"Neg", "Abs", "Relu"});
    EXPECT_TRUE(net->Compile().ok()) << net->Compile().message();
    EXPECT_THAT(log->calls, ElementsAre("build Neg", "build Relu", "prepare Neg", "prepare Relu"));
    log->calls.clear();
  }
  /// Runs with three elements.
  void ExpectThree() {
    Write<float>(net->x, {-3, 0, 5});
    ASSERT_TRUE(net->graph->Run()) << net->graph->LastStatus().message();
    EXPECT_THAT(Read(y, 3), ElementsAre(3, 0, 5));
  }
  void ExpectFour() {
    Write<float>(net->x, {-3, 0, 5, -1});
    ASSERT_TRUE(net->graph->Run()) << net->graph->LastStatus().message();
    EXPECT_THAT(Read(y, 4), ElementsAre(3, 0, 5, 1));
  }

  std::shared_ptr<Context> context;
  std::shared_ptr<Log> log;
  std::unique_ptr<Net> net;
  TensorPtr y;
};

TEST_F(DelegateResize, KernelsAreResizedNotBuilt) {
  ASSERT_TRUE(net->graph->Resize({{3}})) << net->graph->LastStatus().message();
  EXPECT_THAT(log->calls, ElementsAre("resize Neg [3]", "resize Relu [3]"));
  ExpectThree();
  ASSERT_TRUE(net->graph->Resize({{4}}));
  ExpectFour();
  EXPECT_EQ(log->Count("prepare Neg"), 0u) << "Prepare is called once in a kernel's life";
}

TEST_F(DelegateResize, OneThatCannotIsCompiledAnewAlone) {
  log->resize = [](const std::string& kind) {
    return kind == "Relu" ? Status(RET_NOT_SUPPORT) : Status();
  };
  ASSERT_TRUE(net->graph->Resize({{3}})) << net->graph->LastStatus().message();
  EXPECT_THAT(log->calls,
              ElementsAre("resize Neg [3]", "resize Relu [3]", "build Relu", "prepare Relu"));
  ExpectThree();
  EXPECT_EQ(net->Placement("Relu#3").backend, "made");
}

TEST_F(DelegateResize, WhatIsNotTakenAgainMovesOn) {
  log->resize = [](const std::string&) { return Status(RET_NOT_SUPPORT); };
  // Build of the second time takes nothing.
  context->SetDelegate(nullptr);
  auto once = std::make_shared<int>(0);
  ASSERT_TRUE(context
                  ->SetDelegate(Made([this, once](DelegateModel* model) -> Status {
                    if (++*once > 1) return RET_OK;
                    KernelIter at = model->BeginKernelIterator();
                    (void)model->Replace(at, at + 1,
                                         new UnaryKernel(**at, *model->GetPrimitive(*at), log));
                    return RET_OK;
                  }))
                  .ok());
  Net other(context);
  y = other.Chain({"Neg", "Abs", "Relu"});
  ASSERT_TRUE(other.Compile().ok());
  EXPECT_EQ(other.Placement("Neg#1").backend, "made");
  ASSERT_TRUE(other.graph->Resize({{3}})) << other.graph->LastStatus().message();
  EXPECT_EQ(other.Placement("Neg#1").backend, "reference");
  Write<float>(other.x, {-3, 0, 5});
  ASSERT_TRUE(other.graph->Run());
  EXPECT_THAT(Read(y, 3), ElementsAre(3, 0, 5));
}

TEST_F(DelegateResize, AnErrorIsToldAndTheOldShapeStays) {
  log->resize = [](const std::string& kind) -> Status {
    if (kind == "Relu") return Status::Error(Code::kOutOfMemory, "no room for that");
    return RET_OK;
  };
  EXPECT_FALSE(net->graph->Resize({{3}}));
  EXPECT_EQ(net->graph->LastStatus().message(),
            "kOutOfMemory: delegate 'made', kernel 'Relu#3': no room for that");
  EXPECT_EQ(net->x->GetShape(), ShapeType{4});
  ExpectFour();
  log->resize = [](const std::string&) -> Status { throw std::runtime_error("boom"); };
  EXPECT_FALSE(net->graph->Resize({{3}}));
  EXPECT_EQ(net->graph->LastStatus().message(),
            "kInternal: delegate 'made', kernel 'Neg#1': ReSize threw: boom");
  ExpectFour();
}

TEST_F(DelegateResize, ABuildThatFailsIsToldAndTheOldShapeStays) {
  context->SetDelegate(nullptr);
  ASSERT_TRUE(context
                  ->SetDelegate(Made([this](DelegateModel* model) -> Status {
                    KernelIter at = model->BeginKernelIterator();
                    if ((*at)->inputs()[0].shape() == Shape{3})
                      return Status::Error(Code::kOutOfMemory, "no room at all");
                    (void)model->Replace(at, at + 1,
                                         new UnaryKernel(**at, *model->GetPrimitive(*at), log));
                    return RET_OK;
                  }))
                  .ok());
  log->resize = [](const std::string&) { return Status(RET_NOT_SUPPORT); };
  Net other(context);
  y = other.Chain({"Neg", "Abs"});
  ASSERT_TRUE(other.Compile().ok());
  EXPECT_FALSE(other.graph->Resize({{3}}));
  EXPECT_THAT(other.graph->LastStatus().message(), HasSubstr("no room at all"));
  EXPECT_EQ(other.x->GetShape(), ShapeType{4});
  Write<float>(other.x, {-3, 0, 5, -1});
  ASSERT_TRUE(other.graph->Run()) << other.graph->LastStatus().message();
  EXPECT_THAT(Read(y, 4), ElementsAre(3, 0, 5, 1));
}

TEST_F(DelegateResize, OpenClPartitionsFollow) {
  if (!HasOpenCl()) GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  const auto device = Context::Create();
  ASSERT_TRUE(device->SetDelegate(TakesUnary(log, {"Neg"})).ok());
  Net mixed(device);
  y = mixed.Chain({"Abs", "Neg", "Relu", "Neg"});
  ASSERT_TRUE(mixed.Compile().ok()) << mixed.Compile().message();
  for (const uint32_t count : {3u, 1000u, 4u}) {
    ASSERT_TRUE(mixed.graph->Resize({{count}})) << mixed.graph->LastStatus().message();
    EXPECT_EQ(mixed.Placement("Abs#1").backend, "opencl");
    EXPECT_EQ(mixed.Placement("Neg#2").backend, "made");
    Write<float>(mixed.x, std::vector<float>(count, 2));
    ASSERT_TRUE(mixed.graph->Run());
    EXPECT_THAT(Read(y, count), ::testing::Each(0));
  }
  EXPECT_EQ(log->Count("build Neg"), 2u);
}

}  // namespace
}  // namespace tim::vx::test
