// Without any OpenCL driver: a Status that says where drivers were looked for and what helps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/opencl/run/device.h"
#include "base/env.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

TEST(NoDevice, SaysWhatToInstall) {
  const std::string vendors = base::Environment::Process().Get(base::Env::kIcdVendors);
  ASSERT_EQ(vendors, "/nonexistent") << "wants OCL_ICD_VENDORS set, as ctest does";
  EXPECT_TRUE(ListDevices().empty());
  for (const char* request : {"", "0", "pocl"}) {
    const Status s = ChooseDevice(request, vendors).status();
    EXPECT_EQ(s.code(), Code::kDevice);
    for (const char* part :
         {"there is no OpenCL device", "OCL_ICD_VENDORS=/nonexistent (does not exist)",
          "pocl-opencl-icd", "reference backend"})
      EXPECT_THAT(s.message(), HasSubstr(part));
  }
  EXPECT_THAT(ChooseDevice("", "").status().message(), HasSubstr("/etc/OpenCL/vendors"));
}

}  // namespace
}  // namespace tim::vx::opencl
