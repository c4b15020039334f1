// A child made by fork() while another thread compiled waited for ever for a mutex that nobody
// there could give back.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

#include "support/api_support.h"
#include "support/host_backend.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

/// Takes nothing, and in the process that made it waits when it is asked.
class Waits : public HostBackend {
 public:
  Waits() : HostBackend("waits") {}
  Status Partition(const GraphView&, Selection*) override {
    if (getpid() != process_) return Status();
    asked.set_value();
    go_on.get_future().wait();
    return Status();
  }
  std::promise<void> asked, go_on;

 private:
  pid_t process_ = getpid();
};

TEST(Regress, ForkWhileAnotherThreadCompiles) {
  ContextOptions options;
  options.host_only = true;
  auto context = Context::Create(options);
  auto waits = std::make_shared<Waits>();
  ASSERT_TRUE(context->AddBackend(waits, 1).ok());
  auto graph = [&] {
    auto g = context->CreateGraph();
    Bind<ops::Relu>(g, {Input(g, {4})}, {Output(g, {4})});
    return g;
  };
  auto in_thread = graph(), in_child = graph();
  std::thread compiles([&] { EXPECT_TRUE(in_thread->Compile()); });
  waits->asked.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs is killed
    _exit(in_child->Run() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  waits->go_on.set_value();
  compiles.join();
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tim::vx::test
