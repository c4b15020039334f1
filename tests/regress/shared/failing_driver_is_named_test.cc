// A driver that is there but fails was reported as "no OpenCL device, install one": the loader's
// and the driver's own codes are told, and what helps. Each case is a process of its own, which has
// not asked for devices yet.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tim/vx/context.h"

namespace {

[[noreturn]] void TellStatus() {
  const auto context = tim::vx::Context::Create();
  std::fprintf(
      stderr, "[%s]\n",
      context->LastStatus().ok() ? "a device was found" : context->LastStatus().message().c_str());
  std::_Exit(0);
}

class RegressDriverDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RegressDriverDeathTest, PoclWithoutAWritableFolder) {
  const auto unwritable_home = [] {
    setenv("HOME", "/dev/null/home", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("POCL_CACHE_DIR");
    unsetenv("TIMCL_DEVICE");
    TellStatus();
  };
  // Another driver of the machine may well work.
  EXPECT_EXIT(unwritable_home(), testing::ExitedWithCode(0),
              "a device was found|clGetDeviceIDs of platform 'Portable Computing Language' answers "
              "CL_DEVICE_NOT_FOUND.*/dev/null/home/.cache/pocl/kcache: set POCL_CACHE_DIR");
}

TEST_F(RegressDriverDeathTest, DriverFileThatNamesAMissingLibrary) {
  const auto missing_library = [] {
    char folder[] = "/tmp/timcl_icd_XXXXXX";
    if (mkdtemp(folder) == nullptr) std::_Exit(1);
    std::ofstream(std::string(folder) + "/gone.icd") << "/nonexistent/libgone.so\n";
    setenv("OCL_ICD_VENDORS", folder, 1);
    unsetenv("TIMCL_DEVICE");
    const auto context = tim::vx::Context::Create();
    std::fprintf(stderr, "[%s]\n", context->LastStatus().message().c_str());
    std::filesystem::remove_all(folder);
    std::_Exit(0);
  };
  EXPECT_EXIT(missing_library(), testing::ExitedWithCode(0),
              "clGetPlatformIDs answers CL_PLATFORM_NOT_FOUND_KHR.*gone.icd: its library cannot be "
              "loaded: /nonexistent/libgone.so.*Install the library that the driver file names");
}

}  // namespace
