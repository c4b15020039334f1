// What the tests of the run half share: an opened device, plans of one launch, files that go away.
#ifndef TIMCL_TESTS_OPENCL_RUN_FIXTURE_H_
#define TIMCL_TESTS_OPENCL_RUN_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/opencl/compile/unit.h"
#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"
#include "base/storage.h"

namespace tim::vx::opencl {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() /
            ("timcl_test_" + std::to_string(getpid()) + "_" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      files.push_back(entry.path());
    return files;
  }

 private:
  std::filesystem::path path_;
};

/// The chosen device; `copies`: as if it had memory of its own.
inline std::shared_ptr<Device> OpenDevice(bool copies = false) {
  auto choice = ChooseDevice("", "");
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  if (!choice.ok()) return nullptr;
  DeviceEntry entry = choice->chosen();
  if (copies) entry.caps.shared_memory = false;
  auto device = Device::Open(entry);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? *device : nullptr;
}

/// A session on a device that shares the host's memory, or as if it had its own (true).
class OnBothMemories : public testing::TestWithParam<bool> {
 public:
  static std::string Name(const testing::TestParamInfo<bool>& copies) {
    return copies.param ? "Copies" : "Shared";
  }

 protected:
  static void SetUpTestSuite() {
    shared_ = OpenDevice();
    copying_ = OpenDevice(true);
  }
  static void TearDownTestSuite() {
    shared_.reset();
    copying_.reset();
  }
  void SetUp() override {
    device_ = GetParam() ? copying_ : shared_;
    ASSERT_NE(device_, nullptr);
    auto session = Session::Create(device_);
    ASSERT_TRUE(session.ok()) << session.status().message();
    session_ = *session;
  }
  std::shared_ptr<Device> device_;
  std::shared_ptr<Session> session_;

 private:
  inline static std::shared_ptr<Device> shared_, copying_;
};

inline TensorType F32(Shape shape) { return {DataType::FLOAT32, std::move(shape), Quantization()}; }

inline kernel::Buffer BufferOf(const TensorType& type, kernel::Memory* memory,
                               const std::string& name, size_t offset = 0) {
  kernel::Buffer b;
  b.type = type, b.memory = memory, b.name = name, b.offset = offset;
  return b;
}

inline std::shared_ptr<base::Storage> FloatStorage(const std::vector<float>& values) {
  auto s = base::Storage::Allocate(values.size() * sizeof(float));
  std::memcpy(s->data(), values.data(), values.size() * sizeof(float));
  return s;
}
inline std::vector<float> Floats(const kernel::Memory& m, size_t offset = 0) {
  std::vector<float> values((m.bytes() - offset) / sizeof(float));
  std::memcpy(values.data(), static_cast<const std::byte*>(m.data()) + offset,
              values.size() * sizeof(float));
  return values;
}

inline Arg ArgOf(Arg::Kind kind, size_t index) {
  Arg a;
  a.kind = kind, a.index = index;
  a.reads = kind != Arg::Kind::kOutput, a.writes = kind == Arg::Kind::kOutput;
  return a;
}
inline Arg InternalArg(size_t offset, size_t bytes) {
  Arg a;
  a.kind = Arg::Kind::kInternal, a.offset = offset, a.bytes = bytes;
  return a;
}
template <class T>
Arg ScalarArg(T value) {
  Arg a;
  a.kind = Arg::Kind::kScalar, a.bytes = sizeof value;
  std::memcpy(a.value.data(), &value, sizeof value);
  return a;
}

/// A program of one kernel function; `images`: with the prelude that emulates them.
inline std::shared_ptr<const ProgramText> UserText(const std::string& source,
                                                   const std::string& function,
                                                   bool images = false) {
  ProgramText text{source, "", "test.cl", {function}, true, images};
  if (images) {
    auto with_prelude = WithImagePrelude(source, "test.cl");
    EXPECT_TRUE(with_prelude.ok()) << with_prelude.status().message();
    if (with_prelude.ok()) text.source = *with_prelude;
  }
  return std::make_shared<ProgramText>(std::move(text));
}
inline std::shared_ptr<const ProgramText> BuiltInText(const std::string& source,
                                                      const std::string& function) {
  return std::make_shared<ProgramText>(ProgramText{source, "", function + ".cl", {function}});
}
/// The plan's kernels: one per program.
inline void SetPrograms(PartitionPlan* plan,
                        std::vector<std::shared_ptr<const ProgramText>> programs) {
  plan->programs = std::move(programs);
  plan->kernels.clear();
  for (size_t i = 0; i < plan->programs.size(); ++i)
    plan->kernels.push_back({i, plan->programs[i]->functions[0]});
}
inline BuiltPrograms Build(const std::shared_ptr<Device>& device, const PartitionPlan& plan) {
  BuiltPrograms programs;
  BuildStats stats;
  const Status s = ProgramCache(device, {}).Build(plan.programs, "", &programs, &stats);
  EXPECT_TRUE(s.ok()) << s.message();
  return programs;
}

inline Launch LaunchOf(size_t variant, std::vector<Arg> args, std::vector<size_t> global) {
  Launch l;
  l.variant = variant, l.args = std::move(args), l.label = "Test#" + std::to_string(variant);
  l.dims = static_cast<uint32_t>(global.size());
  for (size_t d = 0; d < global.size(); ++d) l.global[d] = global[d];
  return l;
}

}  // namespace tim::vx::opencl
#endif  // TIMCL_TESTS_OPENCL_RUN_FIXTURE_H_
