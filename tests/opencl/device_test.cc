// The choice of a device, on made-up lists and on the real one.
#include <gmock/gmock.h>

#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

DeviceEntry Made(const std::string& platform, const std::string& name, DeviceType type) {
  DeviceEntry e;
  e.caps.platform = platform;
  e.caps.name = name;
  e.type = type;
  e.pocl = platform == "Portable Computing Language";
  e.software_rasterizer = name.find("llvmpipe") != std::string::npos;
  e.usable = true;
  return e;
}
DeviceEntry Pocl() { return Made("Portable Computing Language", "cpu-znver4", DeviceType::kCpu); }
DeviceEntry OtherCpu() { return Made("Some CPU Runtime", "Intel(R) Xeon(R)", DeviceType::kCpu); }
DeviceEntry Rasterizer() { return Made("rusticl", "llvmpipe (LLVM 15)", DeviceType::kGpu); }
DeviceEntry Gpu() { return Made("NVIDIA CUDA", "NVIDIA H200", DeviceType::kGpu); }
DeviceEntry OldGpu() {
  DeviceEntry e = Made("Old", "Ancient GPU", DeviceType::kGpu);
  e.usable = false;
  e.why_not = "it has 'OpenCL 1.1', and 1.2 is the minimum";
  return e;
}

size_t Choice(std::vector<DeviceEntry> entries, const std::string& request = "") {
  const auto chosen = ChooseAmong(&entries, request);
  EXPECT_TRUE(chosen.ok()) << chosen.status().message();
  return chosen.ok() ? *chosen : 99;
}

TEST(Choice, OrderOfKinds) {
  EXPECT_EQ(Choice({Rasterizer(), OtherCpu(), Pocl(), Gpu()}), 3u);
  EXPECT_EQ(Choice({Rasterizer(), OtherCpu(), Pocl()}), 2u);
  EXPECT_EQ(Choice({Rasterizer(), OtherCpu()}), 1u);
  EXPECT_EQ(Choice({Rasterizer()}), 0u);
  EXPECT_EQ(Choice({Pocl(), Made("npu", "NPU", DeviceType::kAccelerator), Gpu()}), 1u);
  EXPECT_EQ(Choice({OldGpu(), OtherCpu()}), 1u);
  EXPECT_EQ(Choice({Made("x", "dsp", DeviceType::kOther), OtherCpu()}), 1u);
}

TEST(Choice, Request) {
  EXPECT_EQ(Choice({Gpu(), Pocl()}, "1"), 1u);
  EXPECT_EQ(Choice({Gpu(), Pocl()}, "PORTABLE"), 1u);
  EXPECT_EQ(Choice({Pocl(), Gpu()}, "h200"), 1u);
  EXPECT_EQ(Choice({Pocl(), Gpu()}, "200"), 1u) << "a number beyond the list is part of a name";
  DeviceEntry named = Gpu();
  named.caps.name = "Newer GPU";
  EXPECT_EQ(Choice({OldGpu(), named}, "gpu"), 1u) << "of two that match the usable one is meant";
}

TEST(Choice, Verdicts) {
  std::vector<DeviceEntry> entries = {OldGpu(), Rasterizer(), Pocl(), Pocl()};
  ASSERT_TRUE(ChooseAmong(&entries, "").ok());
  EXPECT_EQ(entries[0].verdict, "not usable: it has 'OpenCL 1.1', and 1.2 is the minimum");
  EXPECT_EQ(entries[1].verdict, "not chosen: a software rasterizer comes after a PoCL CPU device");
  EXPECT_EQ(entries[2].verdict, "chosen: the first PoCL CPU device");
  EXPECT_EQ(entries[3].verdict, "not chosen: device 2 of the same kind comes first");
  ASSERT_TRUE(ChooseAmong(&entries, "llvmpipe").ok());
  EXPECT_EQ(entries[1].verdict, "chosen: 'llvmpipe' was requested");
  EXPECT_EQ(entries[2].verdict, "not chosen: 'llvmpipe' means device 1");
}

TEST(Choice, Errors) {
  std::vector<DeviceEntry> entries = {OldGpu(), Pocl()};
  const Status none = ChooseAmong(&entries, "mali").status();
  EXPECT_EQ(none.code(), Code::kDevice);
  EXPECT_THAT(none.message(), HasSubstr("'mali'"));
  EXPECT_THAT(none.message(), HasSubstr("1: 'cpu-znver4' (Portable Computing Language)"));
  const Status old = ChooseAmong(&entries, "0").status();
  EXPECT_EQ(old.code(), Code::kDevice);
  EXPECT_THAT(old.message(), HasSubstr("'Ancient GPU' cannot be used: it has 'OpenCL 1.1'"));
  entries = {OldGpu()};
  EXPECT_THAT(ChooseAmong(&entries, "").status().message(), HasSubstr("meets the minimum"));
}

TEST(Device, TheRealOne) {
  const auto choice = ChooseDevice("", "");
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  const DeviceCaps& caps = choice->chosen().caps;
  EXPECT_GE(caps.opencl_version, 120);
  EXPECT_GE(caps.buffer_alignment, 128u);
  EXPECT_EQ(caps.buffer_alignment & (caps.buffer_alignment - 1), 0u);
  EXPECT_GT(caps.max_allocation, 0u);
  EXPECT_THAT(choice->chosen().verdict, HasSubstr("chosen: "));
  if (choice->chosen().pocl && caps.is_cpu) {
    EXPECT_TRUE(caps.shared_memory);
  }
}

}  // namespace
}  // namespace tim::vx::opencl
