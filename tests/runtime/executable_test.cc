// The run loop with made-up kernels: who is waited for, when, and what happens after a failure.
#include "runtime/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/host_backend.h"

namespace tim::vx::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Journal = std::vector<std::string>;

class FakeKernel : public kernel::Kernel {
 public:
  FakeKernel(std::string name, const void* domain, Journal* journal)
      : name_(std::move(name)), domain_(domain), journal_(journal) {}
  ~FakeKernel() override { journal_->push_back("~" + name_); }
  Status Prepare(const kernel::Io& io) override {
    io_ = io;
    return prepare_;
  }
  Status Execute() override {
    journal_->push_back("run " + name_);
    if (throws_) throw std::runtime_error("thrown by " + name_);
    return execute_;
  }
  Status Wait() override {
    journal_->push_back("wait " + name_);
    return wait_;
  }
  const void* SyncDomain() const override { return domain_; }

  std::string name_;
  const void* domain_;
  Journal* journal_;
  kernel::Io io_;
  Status prepare_, execute_, wait_;
  bool throws_ = false;
};

class ExecutableTest : public ::testing::Test {
 protected:
  /// Steps a, b, c, ... of these domains; each reads what the one before wrote.
  void Make(const std::vector<const void*>& domains) {
    for (size_t i = 0; i < domains.size(); ++i) {
      auto kernel = std::make_unique<FakeKernel>(std::string(1, static_cast<char>('a' + i)),
                                                 domains[i], &journal_);
      kernels_.push_back(kernel.get());
      Step step;
      step.kernel = std::move(kernel);
      step.backend = std::make_shared<test::HostBackend>("fake");
      step.label = "step";
      kernel::Buffer b;
      b.type = {DataType::FLOAT32, {100}, Quantization()};
      if (i > 0) {
        step.io.inputs.push_back(b);
        step.input_values.push_back(static_cast<int>(i) - 1);
      }
      step.io.outputs.push_back(b);
      step.output_values.push_back(static_cast<int>(i));
      steps_.push_back(std::move(step));
    }
  }
  Status Create() {
    auto made = Executable::Create(std::move(steps_), {});
    if (!made.ok()) return made.status();
    exe_ = std::move(*made);
    return Status();
  }

  Journal journal_;
  std::vector<FakeKernel*> kernels_;
  std::vector<Step> steps_;
  std::unique_ptr<Executable> exe_;
  int one_ = 0, two_ = 0;
};

TEST_F(ExecutableTest, OneWaitForOneDomain) {
  Make({&one_, &one_, &one_});
  ASSERT_TRUE(Create().ok());
  EXPECT_EQ(exe_->steps(), 3u);
  EXPECT_EQ(exe_->syncs(), 1u);
  ASSERT_TRUE(exe_->Run().ok());
  EXPECT_THAT(journal_, ElementsAre("run a", "run b", "run c", "wait c"));
}

TEST_F(ExecutableTest, WaitsBetweenDomainsAndBeforeTheHost) {
  Make({&one_, &two_, nullptr, &one_, nullptr, nullptr, &one_});
  ASSERT_TRUE(Create().ok());
  ASSERT_TRUE(exe_->Run().ok());
  EXPECT_THAT(journal_, ElementsAre("run a", "wait a", "run b", "wait b", "run c", "run d",
                                    "wait d", "run e", "run f", "run g", "wait g"));
  EXPECT_EQ(exe_->syncs(), 4u);
}

TEST_F(ExecutableTest, HostOnlyNeverWaits) {
  Make({nullptr, nullptr});
  ASSERT_TRUE(Create().ok());
  ASSERT_TRUE(exe_->Run().ok());
  EXPECT_THAT(journal_, ElementsAre("run a", "run b"));
  EXPECT_EQ(exe_->syncs(), 0u);
}

TEST_F(ExecutableTest, AFailureWaitsForWhatIsUnderWay) {
  Make({&one_, &one_, &one_});
  ASSERT_TRUE(Create().ok());
  kernels_[1]->execute_ = Status::Error(Code::kDevice, "broken");
  const Status s = exe_->Run();
  EXPECT_EQ(s.code(), Code::kDevice);
  EXPECT_THAT(s.message(), HasSubstr("broken"));
  EXPECT_THAT(journal_, ElementsAre("run a", "run b", "wait b"));
  // The next run is not spoiled by it.
  journal_.clear();
  kernels_[1]->execute_ = Status();
  EXPECT_TRUE(exe_->Run().ok());
  EXPECT_THAT(journal_, ElementsAre("run a", "run b", "run c", "wait c"));
}

TEST_F(ExecutableTest, AFailureOnTheHostFindsNothingUnderWay) {
  Make({&one_, nullptr});
  ASSERT_TRUE(Create().ok());
  kernels_[1]->execute_ = Code::kInternal;
  EXPECT_EQ(exe_->Run().code(), Code::kInternal);
  EXPECT_THAT(journal_, ElementsAre("run a", "wait a", "run b"));
}

TEST_F(ExecutableTest, AnExceptionWaitsForWhatIsUnderWay) {
  Make({&one_, &one_, &one_});
  ASSERT_TRUE(Create().ok());
  kernels_[1]->throws_ = true;
  EXPECT_THROW((void)exe_->Run(), std::runtime_error);
  EXPECT_THAT(journal_, ElementsAre("run a", "run b", "wait b"));
  journal_.clear();
  kernels_[1]->throws_ = false;
  EXPECT_TRUE(exe_->Run().ok());
  EXPECT_THAT(journal_, ElementsAre("run a", "run b", "run c", "wait c"));
}

TEST_F(ExecutableTest, AnExceptionOnTheHostFindsNothingUnderWay) {
  Make({&one_, nullptr});
  ASSERT_TRUE(Create().ok());
  kernels_[1]->throws_ = true;
  EXPECT_THROW((void)exe_->Run(), std::runtime_error);
  EXPECT_THAT(journal_, ElementsAre("run a", "wait a", "run b"));
}

TEST_F(ExecutableTest, AFailedWaitStopsTheRun) {
  Make({&one_, nullptr});
  ASSERT_TRUE(Create().ok());
  kernels_[0]->wait_ = Code::kDevice;
  EXPECT_EQ(exe_->Run().code(), Code::kDevice);
  EXPECT_THAT(journal_, ElementsAre("run a", "wait a"));
}

TEST_F(ExecutableTest, ArenaPlacesValuesScratchAndState) {
  Make({&one_, &one_, &one_, &one_});
  steps_[1].scratch_bytes = 1000;
  steps_[0].persistent_bytes = 300;
  ASSERT_TRUE(Create().ok());
  for (size_t i = 0; i < 4; ++i) {
    const kernel::Buffer& out = kernels_[i]->io_.outputs[0];
    ASSERT_NE(out.memory, nullptr);
    EXPECT_EQ(out.offset % 128, 0u);
    EXPECT_LE(out.offset + 400, exe_->arena_bytes());
    if (i > 0) {
      EXPECT_EQ(kernels_[i]->io_.inputs[0].offset, kernels_[i - 1]->io_.outputs[0].offset);
      EXPECT_NE(kernels_[i]->io_.inputs[0].offset, out.offset);
    }
  }
  // Values that are dead make room: less than the sum of all.
  EXPECT_LT(exe_->arena_bytes(), 4 * 512u + 1024u + 384u);
  EXPECT_EQ(kernels_[0]->io_.scratch.memory, nullptr);
  const kernel::Buffer &scratch = kernels_[1]->io_.scratch, &kept = kernels_[0]->io_.persistent;
  ASSERT_NE(scratch.memory, nullptr);
  ASSERT_NE(kept.memory, nullptr);
  for (const FakeKernel* k : kernels_) {
    const size_t out = k->io_.outputs[0].offset;
    EXPECT_TRUE(out + 400 <= kept.offset || kept.offset + 300 <= out);
  }
  EXPECT_TRUE(scratch.offset + 1000 <= kept.offset || kept.offset + 300 <= scratch.offset);
  EXPECT_THAT(exe_->PlanText(), HasSubstr("4 steps, 1 syncs per run"));
  EXPECT_THAT(exe_->PlanText(), HasSubstr("scratch    1000 bytes"));
}

TEST_F(ExecutableTest, KernelsGoInReverseOrder) {
  Make({&one_, &one_});
  ASSERT_TRUE(Create().ok());
  exe_.reset();
  EXPECT_THAT(journal_, ElementsAre("~b", "~a"));
}

TEST_F(ExecutableTest, AFailedPrepareIsReturned) {
  Make({&one_, &one_});
  kernels_[1]->prepare_ = Status::Error(Code::kOutOfMemory, "full");
  EXPECT_EQ(Create().code(), Code::kOutOfMemory);
}

TEST_F(ExecutableTest, AValueThatNoStepWrote) {
  Make({&one_, &one_});
  steps_[1].input_values[0] = 77;
  const Status s = Create();
  EXPECT_EQ(s.code(), Code::kInternal);
  EXPECT_THAT(s.message(), HasSubstr("reads value 77"));
}

}  // namespace
}  // namespace tim::vx::runtime
