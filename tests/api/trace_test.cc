// TIMCL_TRACE: a timeline of compilations and runs; and the progress that Compile() tells.
#include "base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/progress.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

/// A file that goes away with it.
struct File {
  explicit File(const char* name) : path(::testing::TempDir() + name) {}
  const std::string path;
  ~File() { std::filesystem::remove(path); }
  std::string Text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST(Trace, IsWholeAfterEachAdd) {
  const File file("timcl_trace_add.json");
  const auto trace = base::Trace::To(file.path);
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(base::Trace::To(file.path), trace);  // one per path
  EXPECT_EQ(Json::parse(file.Text()).size(), 0u);
  const double now = base::Trace::Now();
  trace->Add({{"a \"quoted\"", "test", now, 5, "one", {{"key", "value"}}}});
  EXPECT_EQ(Json::parse(file.Text()).size(), 2u);  // the line's name, and the event
  std::thread([&] { trace->Add({{"b", "test", now + 5, 1}, {"c\xff", "test", now, 1}}); }).join();
  const Json all = Json::parse(file.Text());
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0]["args"]["name"], "one");
  EXPECT_EQ(all[1]["name"], "a \"quoted\"");
  EXPECT_EQ(all[1]["ph"], "X");
  EXPECT_EQ(all[1]["dur"], 5);
  EXPECT_EQ(all[1]["args"]["key"], "value");
  EXPECT_EQ(all[1]["tid"], all[0]["tid"]);
  EXPECT_NE(all[3]["tid"], all[1]["tid"]);  // the thread's own line
  EXPECT_NEAR(all[3]["ts"].get<double>() - all[1]["ts"].get<double>(), 5, 1e-3);
}

TEST(Trace, AFileThatCannotBeWritten) {
  EXPECT_EQ(base::Trace::To(""), nullptr);
  EXPECT_EQ(base::Trace::To("/nonexistent/trace.json"), nullptr);
}

/// y = tanh(relu(x))
GraphPtr Chain(const std::shared_ptr<Context>& context, const CompileOption& options = {}) {
  const GraphPtr graph = context->CreateGraph(options);
  const TensorPtr x = Input(graph, {40}), h = Between(graph, {40}), y = Output(graph, {40});
  graph->CreateOperation<ops::Relu>()->BindInput(x).BindOutput(h);
  graph->CreateOperation<ops::Tanh>()->BindInput(h).BindOutput(y);
  return graph;
}

/// The environment is read once: a process of its own asks for a timeline.
TEST(Trace, OfAProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program anew
  const File file("timcl_trace_program.json");
  ASSERT_EXIT(
      {
        setenv("TIMCL_TRACE", file.path.c_str(), 1);
        ContextOptions options;
        options.host_only = true;
        const auto context = Context::Create(options);
        const GraphPtr graph = Chain(context);
        const bool ran = graph->Run() && graph->Run();
        const auto& warnings = graph->Report().warnings;
        const bool told = !warnings.empty() && warnings[0].find(file.path) != std::string::npos;
        std::exit(ran && told ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  std::vector<std::string> names;
  for (const Json& event : Json::parse(file.Text())) {
    names.push_back(event["name"]);
    if (event["ph"] == "X") {
      EXPECT_GE(event["dur"], 0);
    }
  }
  for (const char* stage : {"infer types", "prepare", "compile: reference", "Run"})
    EXPECT_THAT(names, Contains(stage));
  EXPECT_EQ(std::count(names.begin(), names.end(), "Relu#1"), 2);  // once per run
  EXPECT_EQ(std::count(names.begin(), names.end(), "Tanh#2"), 2);
}

/// On a device: an event per launch and run, within its run; what the device does at most is
/// measured before the first one.
TEST(Trace, OfLaunches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const File file("timcl_trace_launches.json");
  ASSERT_EXIT(
      {
        setenv("TIMCL_TRACE", file.path.c_str(), 1);
        CompileOption options;
        options.SetFusion(false);
        const auto context = Context::Create();
        const GraphPtr graph = Chain(context, options);
        std::exit(graph->Run() && graph->Run() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
  std::vector<Json> runs, launches, measured;
  for (const Json& event : Json::parse(file.Text())) {
    if (event["ph"] != "X") continue;
    if (event["name"] == "Run") runs.push_back(event);
    if (event["name"] == "measure the devices' limits") measured.push_back(event);
    if (event["cat"] == "opencl") launches.push_back(event);
  }
  const auto begin = [](const Json& event) { return event["ts"].get<double>(); };
  const auto end = [&](const Json& event) { return begin(event) + event["dur"].get<double>(); };
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_LE(end(measured[0]), begin(runs[0]));
  ASSERT_EQ(launches.size(), 4u);
  for (size_t i = 0; i < launches.size(); ++i) {
    const Json &launch = launches[i], &run = runs[i / 2];
    EXPECT_EQ(launch["name"], i % 2 == 0 ? "Relu#1" : "Tanh#2");
    EXPECT_NE(launch["args"]["kernel"], "");
    EXPECT_NE(launch["args"]["GB/s"], "");
    EXPECT_GE(begin(launch), begin(run));
    EXPECT_LE(end(launch), end(run));
  }
}

TEST(Progress, IsToldStageByStage) {
  std::vector<std::string> stages;
  std::vector<std::thread::id> threads;
  CompileOption options;
  options.SetProgress([&](const CompileProgress& p) {
    if (stages.empty() || stages.back() != p.stage) stages.push_back(p.stage);
    threads.push_back(std::this_thread::get_id());
    if (p.total > 0) {
      EXPECT_LT(p.done, p.total);
    }
  });
  const GraphPtr graph = Chain(HostContext(), options);
  ASSERT_TRUE(graph->Compile());
  EXPECT_THAT(stages, ElementsAre("infer types", "fold", "merge", "partition", "compile: reference",
                                  "load: reference", "prepare"));
  EXPECT_THAT(threads, Each(std::this_thread::get_id()));
  // Nothing more is told once it is compiled.
  const size_t told = threads.size();
  EXPECT_TRUE(graph->Compile() && graph->Run());
  EXPECT_EQ(threads.size(), told);
}

TEST(Progress, OfKernels) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
  std::vector<std::string> stages;
  CompileOption options;
  options.SetProgress([&](const CompileProgress& p) { stages.push_back(p.stage); });
  const GraphPtr graph = Chain(SharedContext(), options);
  ASSERT_TRUE(graph->Compile());
  EXPECT_THAT(stages, Contains("opencl: building programs"));
}

TEST(Progress, AnExceptionEndsTheCompilation) {
  CompileOption options;
  options.SetProgress([](const CompileProgress& p) {
    if (p.stage == "fold") throw std::runtime_error("enough");
  });
  const GraphPtr graph = Chain(HostContext(), options);
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kInternal);
  EXPECT_THAT(graph->LastStatus().message(), HasSubstr("enough"));
}

TEST(Progress, TheLineAppearsLateAndIsWipedOff) {
  std::FILE* const out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  const auto text = [&] {
    std::rewind(out);
    std::string all(1000, '\0');
    all.resize(std::fread(all.data(), 1, all.size(), out));
    return all;
  };
  {
    ProgressLine line(out, std::chrono::hours(1));
    line.Show({"fold"});
  }
  EXPECT_EQ(text(), "");
  {
    ProgressLine line(out, std::chrono::milliseconds(0));
    line.Show({"fold"});
    line.Show({"building", 2, 5});
    EXPECT_THAT(text(), HasSubstr("compiling: fold"));
    EXPECT_THAT(text(), HasSubstr("compiling: building 3/5"));
  }
  EXPECT_EQ(text().substr(text().size() - 4), "\r\x1b[K");
  std::fclose(out);
  EXPECT_EQ(ProgressLine::Terminal("dumb"), nullptr);
  EXPECT_EQ(ProgressLine::Terminal(""), nullptr);
}

}  // namespace
}  // namespace tim::vx::test
