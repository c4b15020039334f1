// A child made by fork() has none of the driver's threads: Run there waited for ever. It is an
// error with words, and so are Compile and a new Context.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"

namespace {

using tim::vx::Context;
using tim::vx::Graph;

std::shared_ptr<Graph> ReluGraph(const std::shared_ptr<Context>& context) {
  auto graph = context->CreateGraph();
  const std::vector<float> data(5, -1.0f);
  tim::vx::TensorSpec in(tim::vx::DataType::FLOAT32, {5}, tim::vx::TensorAttribute::INPUT);
  tim::vx::TensorSpec out(tim::vx::DataType::FLOAT32, {5}, tim::vx::TensorAttribute::OUTPUT);
  auto x = graph->CreateTensor(in, data.data()), y = graph->CreateTensor(out);
  (*graph->CreateOperation<tim::vx::ops::Relu>()).BindInput(x).BindOutput(y);
  return graph;
}

/// The message that `work` returns in a forked child, which then leaves by exit() or at once.
std::string InChild(const std::function<std::string()>& work, bool by_exit) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs is killed, and has said nothing
    const std::string text = work();
    if (write(ends[1], text.data(), text.size()) < 0) _exit(2);
    if (by_exit) exit(0);  // the destructors of static objects may not hang either
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) text += " [ended by signal " + std::to_string(WTERMSIG(status)) + "]";
  return text;
}

std::string Expected(const std::string& text) {
  if (text.find("kDevice") == std::string::npos) return "no kDevice in: " + text;
  if (text.find("fork") == std::string::npos) return "no word of fork in: " + text;
  if (text.find("signal") != std::string::npos) return text;
  return "";
}

TEST(Regress, RunInAForkedChild) {
  auto context = Context::Create();
  if (context->DeviceName() == "reference") GTEST_SKIP() << "the reference runs in a child too";
  auto graph = ReluGraph(context);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  for (const bool by_exit : {false, true}) {
    EXPECT_EQ(Expected(InChild(
                  [&]() -> std::string {
                    const bool ran = graph->Run();
                    std::string text = ran ? "it ran" : graph->LastStatus().message();
                    graph.reset();
                    context.reset();
                    return text;
                  },
                  by_exit)),
              "");
  }
  EXPECT_EQ(Expected(InChild(
                [&]() -> std::string {
                  auto mine = ReluGraph(context);
                  return mine->Compile() ? "it compiled" : mine->LastStatus().message();
                },
                true)),
            "");
  EXPECT_EQ(Expected(InChild(
                [&]() -> std::string {
                  auto mine = Context::Create();
                  return mine->LastStatus().ok() ? "it was opened" : mine->LastStatus().message();
                },
                true)),
            "");
  // Host code needs no driver.
  EXPECT_EQ(InChild(
                [&]() -> std::string {
                  tim::vx::ContextOptions options;
                  options.host_only = true;
                  auto mine = ReluGraph(Context::Create(options));
                  return mine->Run() ? "it ran" : mine->LastStatus().message();
                },
                true),
            "it ran");
  EXPECT_TRUE(graph->Run()) << "the parent goes on: " << graph->LastStatus().message();
}

}  // namespace
