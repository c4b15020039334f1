// What delegates and their kernels answer, what they throw, how long they live, and threads.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "delegates/support.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

using Kinds = std::set<std::string>;

std::shared_ptr<Delegate> WithInit(std::function<Status()> init, const std::string& name = "made") {
  return std::make_shared<MadeDelegate>(name, nullptr, std::move(init));
}

TEST(Init, NotSupportedIsPassedOverAndSaid) {
  const auto context = NewHostContext();
  size_t inits = 0;
  const auto refuses = [&] {
    ++inits;
    return Status::Error(RET_NOT_SUPPORT, "no NPU in this machine");
  };
  EXPECT_EQ(context->SetDelegate(WithInit(refuses)).code(), Code::kUnsupported);
  EXPECT_EQ(context->AddDelegate(WithInit([] { return RET_NOT_SUPPORT; }, "mute")).code(),
            Code::kUnsupported);
  ASSERT_TRUE(context->AddDelegate(std::make_shared<TakesKinds>("takes", Kinds{"Relu"})).ok());
  for (int graph = 0; graph < 2; ++graph) {
    Net net(context);
    EXPECT_THAT(net.Run(net.Chain({"Relu", "Abs"})), ElementsAre(0, 0, 0, 1));
    EXPECT_THAT(net.graph->Report().warnings,
                AllOf(Contains("delegate 'made': not supported: no NPU in this machine"),
                      Contains("delegate 'mute': not supported: Init does not say why")));
    EXPECT_EQ(net.Placement("Relu#1").backend, "takes");
    EXPECT_THAT(net.Placement("Abs#2").refusals,
                ElementsAre("takes: not replaced by delegate 'takes'"));
  }
  EXPECT_EQ(inits, 1u);
}

TEST(Init, AnyOtherErrorFailsCompile) {
  const auto context = NewHostContext();
  const Status status =
      context->SetDelegate(WithInit([] { return Status::Error(Code::kDevice, "the NPU is hot"); }));
  EXPECT_EQ(status.code(), Code::kDevice);
  Net net(context);
  net.Chain({"Relu"});
  EXPECT_EQ(net.Compile().code(), Code::kDevice);
  EXPECT_THAT(net.Compile().message(), HasSubstr("delegate 'made': the NPU is hot"));
  // Another in its place.
  ASSERT_TRUE(context->SetDelegate(nullptr).ok());
  Net again(context);
  EXPECT_THAT(again.Run(again.Chain({"Relu"})), ElementsAre(0, 0, 0, 1));
}

TEST(Init, NamesAreUnique) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(WithInit(nullptr, "one")).ok());
  EXPECT_THAT(context->AddDelegate(WithInit(nullptr, "one")).message(),
              HasSubstr("kAlreadyExists: there is a backend named 'one' already"));
  EXPECT_EQ(context->SetDelegate(WithInit(nullptr, "reference")).code(), Code::kAlreadyExists);
  EXPECT_THAT(context->AddDelegate(WithInit(nullptr, "")).message(),
              HasSubstr("kInvalidArgument: a delegate: its name is empty"));
  EXPECT_THAT(context->AddDelegate(nullptr).message(), HasSubstr("the delegate is null"));
  // In the place of itself, though.
  EXPECT_TRUE(context->SetDelegate(WithInit(nullptr, "one")).ok());
}

Status CompileWith(MadeDelegate::BuildFunction build, Fallback fallback = Fallback::kWarn,
                   CompileReport* report = nullptr) {
  const auto context = NewHostContext();
  EXPECT_TRUE(context->SetDelegate(Made(std::move(build))).ok());
  Net net(context, CompileOption().SetFallback(fallback));
  net.Chain({"Relu", "Neg"});
  const Status status = net.Compile();
  if (report != nullptr) *report = net.graph->Report();
  return status;
}

TEST(Build, AnErrorFailsCompile) {
  const Status status = CompileWith([](DelegateModel*) {
    return Status::Error(Code::kKernelBuild, "line 3: unknown instruction").AtOp("Relu#1");
  });
  EXPECT_EQ(status.code(), Code::kKernelBuild);
  EXPECT_EQ(status.op(), "Relu#1");
  EXPECT_THAT(status.message(), HasSubstr("delegate 'made': line 3: unknown instruction"));
  EXPECT_THAT(CompileWith([](DelegateModel*) { return RET_ERROR; }).message(),
              HasSubstr("delegate 'made': Build failed, without a word"));
}

TEST(Build, NotSupportedUndoesTheEditsWhereFallbacksAreAllowed) {
  Journal journal;
  const auto build = [&](DelegateModel* model) {
    (void)TakesKinds("", {"Relu"}, &journal).Build(model);
    EXPECT_EQ(journal.alive, 1u);
    return Status::Error(RET_NOT_SUPPORT, "too small for me");
  };
  for (const Fallback f : {Fallback::kWarn, Fallback::kForbid}) {
    EXPECT_EQ(CompileWith(build, f).code(), Code::kUnsupported);
    EXPECT_EQ(journal.alive, 0u);
  }
  CompileReport report;
  ASSERT_TRUE(CompileWith(build, Fallback::kAllow, &report).ok());
  EXPECT_EQ(journal.alive, 0u);
  EXPECT_EQ(journal.prepared, 0u);
  for (const OpPlacement& p : report.ops) {
    EXPECT_EQ(p.backend, "reference");
    EXPECT_EQ(p.reason, "made: delegate 'made': too small for me");
  }
  // Other errors fail it all the same.
  EXPECT_EQ(CompileWith([](DelegateModel*) { return RET_ERROR; }, Fallback::kAllow).code(),
            Code::kInternal);
}

/// Fails or throws where it is told to.
class Fails : public xxx::XXXGraph {
 public:
  using XXXGraph::XXXGraph;
  std::string where;
  bool throws = false;
  Status At(const std::string& place) const {
    if (place != where) return RET_OK;
    if (throws) throw std::runtime_error("lost in " + place);
    return Status::Error(Code::kDevice, place + " went wrong");
  }
  Status Prepare() override {
    TIMCL_TRY(At("Prepare"));
    return XXXGraph::Prepare();
  }
  Status Execute() override {
    TIMCL_TRY(At("Execute"));
    return XXXGraph::Execute();
  }
  Status Wait() override { return At("Wait"); }
  const void* SyncDomain() const override {
    if (where == "SyncDomain") throw std::runtime_error("lost in SyncDomain");
    return where == "Wait" ? this : nullptr;
  }
  Status Profile(std::vector<kernel::Timing>* timings) override {
    TIMCL_TRY(At("Profile"));
    return XXXGraph::Profile(timings);
  }
};
std::shared_ptr<Delegate> Failing(const std::string& where, bool throws) {
  return Made([=](DelegateModel* model) -> Status {
    const KernelIter from = model->BeginKernelIterator(), end = from + 2;
    auto* fails = new Fails(model->SubgraphInputs(from, end), model->SubgraphOutputs(from, end));
    fails->where = where, fails->throws = throws;
    fails->set_name("k");
    for (KernelIter i = from; i != end; ++i) TIMCL_TRY(fails->AddOp(model->GetPrimitive(*i), *i));
    model->Replace(from, end, fails);
    return RET_OK;
  });
}

TEST(Kernels, ErrorsAndExceptionsOfTheirFunctionsNameThem) {
  for (const std::string where : {"Prepare", "Execute", "Wait", "Profile", "SyncDomain"}) {
    for (const bool throws : {false, true}) {
      if (where == "SyncDomain" && !throws) continue;
      const auto context = NewHostContext();
      ASSERT_TRUE(context->SetDelegate(Failing(where, throws)).ok());
      Net net(context);
      net.Chain({"Relu", "Neg"});
      if (where == "Profile") {
        EXPECT_THAT(net.graph->Profile(2).ops, IsEmpty());
      } else {
        EXPECT_FALSE(net.graph->Run()) << where;
      }
      const Status status = net.graph->LastStatus();
      EXPECT_EQ(status.code(), throws ? Code::kInternal : Code::kDevice) << where;
      const std::string place = where == "SyncDomain" ? "Prepare" : where;
      EXPECT_THAT(status.message(),
                  HasSubstr("delegate 'made', kernel 'k': " +
                            (throws ? place + " threw: lost in " + where : where + " went wrong")));
    }
  }
}

TEST(Kernels, ProfileShowsThem) {
  const auto context = NewHostContext();
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("made", Kinds{"Relu", "Neg"})).ok());
  Net net(context);
  net.Chain({"Relu", "Neg", "Abs"});
  const GraphProfile profile = net.graph->Profile(3);
  ASSERT_EQ(profile.ops.size(), 2u) << profile.ToText();
  EXPECT_EQ(profile.ops[0].backend, "made");
  EXPECT_EQ(profile.ops[1].backend, "reference");
}

TEST(Exceptions, OfADelegatesFunctions) {
  class NamelessByThrowing : public MadeDelegate {
   public:
    using MadeDelegate::MadeDelegate;
    std::string Name() const override { throw std::runtime_error("who am I"); }
  };
  const auto context = NewHostContext();
  EXPECT_THAT(context->SetDelegate(std::make_shared<NamelessByThrowing>("")).message(),
              HasSubstr("a delegate: Name threw: who am I"));
  EXPECT_THAT(
      context->SetDelegate(WithInit([]() -> Status { throw std::runtime_error("not today"); }))
          .message(),
      HasSubstr("kInternal: delegate 'made': Init threw: not today"));
  Net net(context);
  net.Chain({"Relu"});
  EXPECT_THAT(net.Compile().message(), HasSubstr("Init threw: not today"));
  EXPECT_THAT(
      CompileWith([](DelegateModel*) -> Status { throw std::runtime_error("oh"); }).message(),
      HasSubstr("kInternal: delegate 'made': Build threw: oh"));
  EXPECT_THAT(CompileWith([](DelegateModel*) -> Status { throw 7; }).message(),
              HasSubstr("kInternal: delegate 'made': Build threw"));
  EXPECT_THAT(CompileWith([](DelegateModel*) -> Status { throw std::bad_alloc(); }).message(),
              HasSubstr("kOutOfMemory: delegate 'made': Build found no memory left"));
}

TEST(Lifetime, PreparedOnceExecutedPerRunAndGoneWithTheGraph) {
  const auto context = NewHostContext();
  Journal journal;
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("made", Kinds{"Relu", "Neg"}, &journal))
          .ok());
  {
    Net net(context);
    const auto y = net.Chain({"Relu", "Neg"});
    for (int run = 0; run < 3; ++run) EXPECT_THAT(net.Run(y), ElementsAre(0, 0, 0, -1));
    EXPECT_EQ(journal.builds, 1u);
    EXPECT_EQ(journal.prepared, 1u);
    EXPECT_EQ(journal.executed, 3u);
    EXPECT_EQ(journal.alive, 1u);
  }
  EXPECT_EQ(journal.alive, 0u);
}

TEST(Lifetime, OfAFailedCompilationNothingIsKept) {
  const auto context = NewHostContext();
  Journal journal;
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("made", Kinds{"Relu"}, &journal)).ok());
  Net net(context, CompileOption().Pin("Abs", "made"));
  net.Chain({"Relu", "Abs"});
  EXPECT_EQ(net.Compile().code(), Code::kUnsupported);
  EXPECT_EQ(journal.builds, 1u);
  EXPECT_EQ(journal.alive, 0u);
}

TEST(Lifetime, ADelegateGoesAfterItsContextAndItsKernels) {
  std::vector<std::string> gone;
  class Tells : public TakesKinds {
   public:
    Tells(Journal* journal, std::vector<std::string>* gone)
        : TakesKinds("tells", {"Relu"}, journal), journal_(journal), gone_(gone) {}
    ~Tells() override { gone_->push_back("delegate, kernels " + std::to_string(journal_->alive)); }

   private:
    Journal* journal_;
    std::vector<std::string>* gone_;
  };
  Journal journal;
  auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(std::make_shared<Tells>(&journal, &gone)).ok());
  {
    Net net(context);
    const auto y = net.Chain({"Relu", "Abs"});
    ASSERT_TRUE(net.Compile().ok());
    ASSERT_TRUE(context->SetDelegate(nullptr).ok());
    context.reset();
    EXPECT_THAT(gone, IsEmpty());
    EXPECT_THAT(net.Run(y), ElementsAre(0, 0, 0, 1));
    EXPECT_EQ(journal.executed, 1u);
  }
  EXPECT_THAT(gone, ElementsAre("delegate, kernels 0"));
}

TEST(SetDelegate, CountsForWhatIsCompiledFromThenOn) {
  const auto context = NewHostContext();
  Net before(context), after(context), cleared(context);
  const auto y = before.Chain({"Relu"});
  after.Chain({"Relu"});
  cleared.Chain({"Relu"});
  ASSERT_TRUE(before.Compile().ok());
  Journal first, second;
  ASSERT_TRUE(context->AddDelegate(std::make_shared<TakesKinds>("a", Kinds{"Relu"}, &first)).ok());
  ASSERT_TRUE(context->SetDelegate(std::make_shared<TakesKinds>("b", Kinds{"Relu"}, &second)).ok());
  ASSERT_TRUE(before.Compile().ok());
  EXPECT_THAT(before.Run(y), ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(before.Placement("Relu#1").backend, "reference");
  ASSERT_TRUE(after.Compile().ok());
  EXPECT_EQ(after.Placement("Relu#1").backend, "b") << "set in the place of 'a'";
  EXPECT_EQ(first.builds, 0u);
  ASSERT_TRUE(context->SetDelegate(nullptr).ok());
  ASSERT_TRUE(cleared.Compile().ok());
  EXPECT_EQ(cleared.Placement("Relu#1").backend, "reference");
  EXPECT_THAT(cleared.Placement("Relu#1").refusals, IsEmpty());
}

TEST(Threads, TwoGraphsOfOneContext) {
  const auto context = NewHostContext();
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("made", Kinds{"Relu", "Neg", "Sub"})).ok());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        Net net(context);
        const auto a = net.Op("Neg", {net.Op("Relu", {net.x}, "a")}, "b");
        const auto y = net.Op("Abs", {net.Op("Sub", {a, net.x}, "c")}, "y", true);
        const auto f = static_cast<float>(t);
        for (int run = 0; run < 3; ++run) {
          Write<float>(net.x, {-f, 0, f, 2 * f});
          if (net.graph->Run() && Read(y, 4) == std::vector<float>{f, 0, 2 * f, 4 * f}) ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 20 * 3);
}

TEST(Threads, DelegatesComeAndGoWhileGraphsCompile) {
  const auto context = NewHostContext();
  std::thread sets([&] {
    for (int i = 0; i < 100; ++i) {
      (void)context->SetDelegate(
          i % 3 == 0 ? nullptr
                     : std::make_shared<TakesKinds>("d" + std::to_string(i), Kinds{"Relu"}));
      (void)context->AddDelegate(std::make_shared<TakesKinds>("more", Kinds{"Neg"}));
    }
  });
  for (int round = 0; round < 50; ++round) {
    Net net(context);
    EXPECT_THAT(net.Run(net.Chain({"Relu", "Neg", "Abs"})), ElementsAre(0, 0, 0, 1));
  }
  sets.join();
}

}  // namespace
}  // namespace tim::vx::test
