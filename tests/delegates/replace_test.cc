// What may not be done to the list: each mistake changes nothing, and is what Compile() says.
#include "delegates/support.h"

namespace tim::vx::test {
namespace {

using BuildFunction = MadeDelegate::BuildFunction;

/// x -> Relu#1 a -> Neg#2 b -> Add#3(b, a) c -> Abs#4 y; b is an output as well.
Status CompileWith(BuildFunction build,
                   const std::shared_ptr<Context>& context = NewHostContext()) {
  EXPECT_TRUE(context->SetDelegate(Made(std::move(build))).ok());
  Net net(context);
  const auto a = net.Op("Relu", {net.x}, "a");
  const auto b = net.Op("Neg", {a}, "b", true);
  net.Op("Abs", {net.Op("Add", {b, a}, "c")}, "y", true);
  return net.Compile();
}

kernel::Kernel* Make(DelegateModel* model, KernelIter from, KernelIter end) {
  return TakesKinds("", {}).Make(from, end, model);
}

/// Compiles with an edit that must fail with these words, whatever Build answers.
void ExpectWrong(const std::function<void(DelegateModel*, KernelIter)>& edit,
                 const std::string& words) {
  for (const Status& answer : {Status(RET_OK), Status(RET_NOT_SUPPORT), Status(RET_ERROR)}) {
    const Status status = CompileWith([&](DelegateModel* model) {
      edit(model, model->BeginKernelIterator());
      return answer;
    });
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("delegate 'made': " + words));
  }
}

/// The edit fails, leaves the list alone, and lets the loop go on at `next`.
void ExpectRefused(DelegateModel* model, KernelIter from, KernelIter end, kernel::Kernel* kernel,
                   KernelIter next) {
  const std::vector<kernel::Kernel*> before = *model->nodes();
  EXPECT_EQ(model->Replace(from, end, kernel) - model->BeginKernelIterator(),
            next - model->BeginKernelIterator());
  EXPECT_EQ(*model->nodes(), before);
}

TEST(Replace, EndBeforeBegin) {
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(Make(model, at, at + 2));
        ExpectRefused(model, at + 2, at + 1, ours.get(), at + 2);
      },
      "[2, 1) holds no kernel: its end must lie behind its begin");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(Make(model, at, at + 2));
        ExpectRefused(model, at + 2, at + 2, ours.get(), at + 2);
      },
      "[2, 2) holds no kernel: its end must lie behind its begin");
}

TEST(Replace, PastTheEnd) {
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(Make(model, at, at + 2));
        ExpectRefused(model, at + 2, model->EndKernelIterator() + 1, ours.get(),
                      model->EndKernelIterator());
      },
      "[2, 5) reaches past the end of the list, which has 4 kernels");
}

TEST(Replace, ANullKernel) {
  ExpectWrong([](DelegateModel* model,
                 KernelIter at) { ExpectRefused(model, at, at + 2, nullptr, at + 2); },
              "the kernel for Relu#1 to Neg#2 is null");
}

TEST(Replace, AKernelTwice) {
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        kernel::Kernel* kernel = Make(model, at, at + 2);
        EXPECT_EQ(model->Replace(at, at + 2, kernel), at + 1);
        ExpectRefused(model, at + 1, at + 2, kernel, at + 2);
      },
      "kernel 'XXXGraph' for Add#3 is in the list already");
  // An op of the list is nobody's to give.
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) { ExpectRefused(model, at, at + 1, at[1], at + 1); },
      "kernel 'Neg#2' for Relu#1 is in the list already");
}

TEST(Replace, WhatWasReplacedBefore) {
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        model->Replace(at, at + 2, Make(model, at, at + 2));
        std::unique_ptr<kernel::Kernel> ours(Make(model, at + 1, at + 2));
        ExpectRefused(model, at, at + 2, ours.get(), at + 2);
      },
      "the slice Relu#1 to Add#3 holds Relu#1 to Neg#2, which was replaced before");
}

TEST(Replace, WhatOthersRun) {
  const auto context = NewHostContext();
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("first", std::set<std::string>{"Neg"}))
          .ok());
  ASSERT_TRUE(context
                  ->AddDelegate(Made([](DelegateModel* model) {
                    const KernelIter at = model->BeginKernelIterator();
                    std::unique_ptr<kernel::Kernel> ours(Make(model, at, at + 1));
                    model->Replace(at, at + 2, ours.get());
                    return RET_OK;
                  }))
                  .ok());
  Net net(context);
  net.Chain({"Relu", "Neg"});
  EXPECT_THAT(
      net.Compile().message(),
      HasSubstr("delegate 'made': the slice Relu#1 to Neg#2 holds Neg#2, which others run"));
}

/// A kernel that names what the test wants.
kernel::Kernel* Naming(std::vector<TensorView> inputs, std::vector<TensorView> outputs) {
  auto* kernel = new xxx::XXXGraph(inputs, outputs);
  kernel->set_name("k");
  return kernel;
}

TEST(Replace, AKernelThatOmitsANeededOutput) {
  // a is read by Add, b is an output of the graph.
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(
            Naming(model->SubgraphInputs(at, at + 2), {at[1]->outputs()[0]}));
        ExpectRefused(model, at, at + 2, ours.get(), at + 2);
      },
      "kernel 'k' for Relu#1 to Neg#2 does not write 'a' f32[4] of Relu#1, which Add#3 reads");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(
            Naming(model->SubgraphInputs(at, at + 3), {at[2]->outputs()[0]}));
        ExpectRefused(model, at, at + 3, ours.get(), at + 3);
      },
      "kernel 'k' for Relu#1 to Add#3 does not write 'b' f32[4] of Neg#2, which is an output of "
      "the "
      "graph");
}

TEST(Replace, AKernelThatNamesAForeignTensor) {
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(
            Naming(at[1]->inputs(), {at[1]->outputs()[0], at[2]->outputs()[0]}));
        ExpectRefused(model, at + 1, at + 2, ours.get(), at + 2);
      },
      "kernel 'k' for Neg#2: its output 1, 'c' f32[4], is not written by its ops: Add#3 does");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(Naming({at[2]->outputs()[0]}, {at[1]->outputs()[0]}));
        ExpectRefused(model, at + 1, at + 2, ours.get(), at + 2);
      },
      "kernel 'k' for Neg#2: its input 0, 'c' f32[4], is not read by its ops: Abs#4 reads it");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(
            Naming({at[0]->outputs()[0]}, model->SubgraphOutputs(at, at + 2)));
        ExpectRefused(model, at, at + 2, ours.get(), at + 2);
      },
      "kernel 'k' for Relu#1 to Neg#2: its input 0, 'a' f32[4], is written by an op of its own, "
      "Relu#1");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(
            Naming(model->SubgraphInputs(at, at + 2), {TensorView()}));
        ExpectRefused(model, at, at + 2, ours.get(), at + 2);
      },
      "kernel 'k' for Relu#1 to Neg#2: its output 0 is no tensor");
}

TEST(Replace, ATensorOfAnotherGraph) {
  // Views that a delegate kept from the graph before, with the same numbers.
  std::vector<TensorView> in, out;
  const auto keep = [&](DelegateModel* model) {
    const KernelIter at = model->BeginKernelIterator();
    in = model->SubgraphInputs(at, at + 1), out = model->SubgraphOutputs(at, at + 1);
    return RET_OK;
  };
  const auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(Made(keep)).ok());
  Net old(context);
  old.Chain({"Relu"});
  ASSERT_TRUE(old.Compile().ok());
  const Status status = CompileWith(
      [&](DelegateModel* model) {
        const KernelIter at = model->BeginKernelIterator();
        std::unique_ptr<kernel::Kernel> ours(Naming(in, out));
        model->Replace(at, at + 1, ours.get());
        return RET_OK;
      },
      context);
  EXPECT_THAT(status.message(),
              HasSubstr("kernel 'k' for Relu#1: its input 0 is a tensor of another graph"));
}

TEST(Replace, TheListChangedBehindItsBack) {
  ExpectWrong([](DelegateModel* model, KernelIter) { model->nodes()->pop_back(); },
              "the list of nodes() was changed by other means than Replace");
  ExpectWrong([](DelegateModel*, KernelIter at) { std::swap(at[0], at[1]); },
              "the list of nodes() was changed by other means than Replace");
  ExpectWrong(
      [](DelegateModel* model, KernelIter at) {
        std::unique_ptr<kernel::Kernel> ours(Make(model, at, at + 1));
        model->nodes()->pop_back();
        model->Replace(at, at + 1, ours.get());
      },
      "the list of nodes() was changed by other means than Replace");
}

// The loop of the guide goes on behind a Replace that fails, and the first mistake is told.
TEST(Replace, TheGuidesLoopSurvivesANullKernel) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context
                  ->SetDelegate(Made([](DelegateModel* model) {
                    KernelIter from = model->BeginKernelIterator();
                    KernelIter end = model->BeginKernelIterator();
                    size_t steps = 0;
                    for (KernelIter iter = model->BeginKernelIterator();
                         iter != model->EndKernelIterator() && steps < 100; iter++, steps++) {
                      if (model->GetPrimitive(*iter)->kind != "Abs") {
                        end = iter;
                      } else {
                        if (from != end) iter = model->Replace(from, end + 1, nullptr);
                        from = iter + 1;
                        end = iter + 1;
                      }
                    }
                    EXPECT_EQ(steps, 7u);
                    return RET_OK;
                  }))
                  .ok());
  Net net(context);
  net.Chain({"Relu", "Neg", "Abs", "Neg", "Neg", "Abs", "Neg"});
  EXPECT_THAT(net.Compile().message(), HasSubstr("the kernel for Relu#1 to Neg#2 is null"));
}

}  // namespace
}  // namespace tim::vx::test
