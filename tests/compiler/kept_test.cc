// What slow compilers made is found again: backends/kept over a backend that counts its work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/kept/backend.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"

namespace tim::vx::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Takes Add and Relu of f32; a module is the text "Add" or "Relu" per op, and what runs reads it.
class TextBackend : public Backend {
 public:
  struct Work {
    int partitions = 0, compiles = 0;
  };
  explicit TextBackend(std::shared_ptr<Work> work, bool live = false)
      : work_(std::move(work)), live_(live) {}
  const BackendInfo& Info() const override {
    static const BackendInfo info{"text", "Text Ltd", "1.0", "host"};
    return info;
  }
  Status Partition(const GraphView& graph, Selection* selection) override {
    ++work_->partitions;
    for (const OpView& op : graph.Ops()) {
      if (op.kind() == "Relu" || op.kind() == "Add") {
        selection->Select(op, static_cast<int>(op.id()));
        selection->Whole(static_cast<int>(op.id()));
      } else {
        selection->Reject(op, "no word for it");
      }
    }
    return Status();
  }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    ++work_->compiles;
    for (const GraphView& part : parts) {
      const OpView& op = part.Ops().front();
      CodeModule m;
      std::string text(op.kind());
      const auto it = env.options.find("suffix");
      if (it != env.options.end()) text += it->second;
      for (const char c : text) m.bytes.push_back(static_cast<std::byte>(c));
      if (live_) m.live = work_;
      m.format = "text";
      units->kernel_of[op.id()] = text;
      units->calls.push_back({units->modules.size(), "entry"});
      units->modules.push_back(std::move(m));
    }
    return Status();
  }
  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv&, LoadedUnits* units) override {
    for (const Call& call : calls) {
      const auto& bytes = modules[call.module].bytes;
      EXPECT_EQ(call.entry, "entry");
      EXPECT_EQ(modules[call.module].format, "text");
      units->kernels.push_back(std::make_unique<Kernel>(
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
    }
    return Status();
  }

 private:
  class Kernel : public kernel::Kernel {
   public:
    explicit Kernel(std::string text) : text_(std::move(text)) {}
    Status Prepare(const kernel::Io& io) override {
      io_ = io;
      return Status();
    }
    Status Execute() override {
      auto at = [](const kernel::Buffer& b) { return static_cast<float*>(b.Data()); };
      const float* x = at(io_.inputs[0]);
      const float* y = at(io_.inputs.back());
      float* out = at(io_.outputs[0]);
      for (int64_t i = 0; i < io_.outputs[0].type.count(); ++i)
        out[i] = text_.rfind("Add", 0) == 0 ? x[i] + y[i] : std::max(x[i], 0.0f);
      return Status();
    }

   private:
    std::string text_;
    kernel::Io io_;
  };
  std::shared_ptr<Work> work_;
  bool live_;
};

struct Choices {
  std::string identity = "file 1", suffix = {};
  float constant = 10;
  uint32_t size = 2;
  bool live = false;
  std::string name = {};
};

class Kept : public ::testing::Test {
 protected:
  Kept() {
    std::string path = (fs::temp_directory_path() / "timcl_kept_XXXXXX").string();
    folder_ = mkdtemp(path.data());
    fs::permissions(folder_, fs::perms::owner_all);
  }
  ~Kept() override { fs::remove_all(folder_); }

  /// A context as of a new process; x + constant, its Relu and Neg.
  CompileReport Run(const Choices& c = {}) {
    ContextOptions options;
    options.host_only = true;
    options.cache_dir = folder_;
    const auto context = Context::Create(options);
    EXPECT_TRUE(context
                    ->AddBackend(kept::KeepUnits(std::make_shared<TextBackend>(work_, c.live),
                                                 [&] { return c.identity; }))
                    .ok());
    CompileOption choice;
    if (!c.suffix.empty()) choice.SetOption("text", "suffix", c.suffix);
    auto graph = context->CreateGraph(choice);
    auto x = Input(graph, {c.size}), k = Constant(graph, {1}, {c.constant});
    auto a = Between(graph), r = Between(graph), y = Output(graph, {});
    if (!c.name.empty()) a->SetName(c.name);
    auto wide = Input(graph, {c.size});
    Bind<ops::Add>(graph, {x, wide}, {a});
    Bind<ops::Relu>(graph, {a}, {r});
    Bind<ops::Sub>(graph, {r, k}, {y});
    Write<float>(x, std::vector<float>(c.size, 5));
    Write<float>(wide, std::vector<float>(c.size, -7));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_THAT(Read(y, c.size), ::testing::Each(-c.constant));
    return graph->Report();
  }
  /// Partitions and compiles since the last call.
  std::pair<int, int> Work() {
    const std::pair<int, int> done(work_->partitions, work_->compiles);
    *work_ = {};
    return done;
  }

  std::string folder_;
  std::shared_ptr<TextBackend::Work> work_ = std::make_shared<TextBackend::Work>();
};
using Times = std::pair<int, int>;

TEST_F(Kept, AHitAsksTheCompilerNothing) {
  const CompileReport first = Run();
  EXPECT_EQ(Work(), Times(1, 1));
  const CompileReport second = Run();
  EXPECT_EQ(Work(), Times(0, 0));
  ASSERT_EQ(first.ops.size(), second.ops.size());
  for (size_t i = 0; i < first.ops.size(); ++i) {
    EXPECT_EQ(first.ops[i].backend, second.ops[i].backend);
    EXPECT_EQ(first.ops[i].kernel, second.ops[i].kernel);
    EXPECT_EQ(first.ops[i].refusals, second.ops[i].refusals);
  }
  EXPECT_EQ(first.partitions, second.partitions);
}

TEST_F(Kept, WhateverTheCompilerSeesCounts) {
  Run();
  (void)Work();
  Choices c;
  c.identity = "file 2";
  Run(c);
  EXPECT_EQ(Work(), Times(1, 1)) << "another file of the compiler";
  c = {};
  c.suffix = "!";
  Run(c);
  EXPECT_EQ(Work(), Times(1, 1)) << "an option";
  c = {};
  c.size = 3;
  Run(c);
  EXPECT_EQ(Work(), Times(1, 1)) << "a shape";
  c = {};
  c.constant = 11;
  Run(c);
  EXPECT_EQ(Work(), Times(1, 0)) << "a constant of an op that it may select, and does not compile";
  c = {};
  c.name = "a name";
  Run(c);
  EXPECT_EQ(Work(), Times(1, 1)) << "a name, which the code may hold";
  Run();
  EXPECT_EQ(Work(), Times(0, 0)) << "and what was there before is still there";
}

TEST_F(Kept, LiveObjectsAreNotKept) {
  Choices c;
  c.live = true;
  Run(c);
  EXPECT_EQ(Work(), Times(1, 1));
  Run(c);
  EXPECT_EQ(Work(), Times(0, 1));
}

TEST_F(Kept, ADamagedFileIsCompiledAnew) {
  Run();
  (void)Work();
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(entry.path()) / 2));
    file.put('\xFF');
    ++files;
  }
  EXPECT_EQ(files, 2u);
  Run();
  EXPECT_EQ(Work(), Times(1, 1));
}

TEST_F(Kept, WithoutAFolderNothingIsKept) {
  ContextOptions options;
  options.host_only = true;
  options.cache_dir = folder_;
  options.use_disk_cache = false;
  for (int i = 1; i < 3; ++i) {
    const auto context = Context::Create(options);
    ASSERT_TRUE(context
                    ->AddBackend(kept::KeepUnits(std::make_shared<TextBackend>(work_),
                                                 [] { return std::string(); }))
                    .ok());
    auto graph = context->CreateGraph();
    auto x = Input(graph, {2}), y = Output(graph, {2});
    Bind<ops::Relu>(graph, {x}, {y});
    ASSERT_TRUE(graph->Compile());
    EXPECT_EQ(work_->compiles, i);
  }
}

}  // namespace
}  // namespace tim::vx::test
