// The program asked OpenCL for its devices before us: PoCL's inline device is not there, and the
// report says why. ctest sets TIMCL_INLINE, which asks for it.
#include <CL/cl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <vector>

#include "support/api_support.h"
#include "tim/vx/backend.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

using ::testing::HasSubstr;

TEST(InlineLate, TheReasonIsSaid) {
  ASSERT_STREQ(getenv("TIMCL_INLINE"), "1") << "wants it set, as ctest does";
  cl_uint platforms = 0;
  ASSERT_EQ(clGetPlatformIDs(0, nullptr, &platforms), CL_SUCCESS);
  std::vector<cl_platform_id> ids(platforms);
  clGetPlatformIDs(platforms, ids.data(), nullptr);
  for (cl_platform_id id : ids) {
    cl_uint devices = 0;
    clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
  }

  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  Bind<ops::Relu>(graph, {x}, {y});
  Write<float>(x, {-1, 1});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{0, 1}));
  EXPECT_THAT(graph->Report().device, HasSubstr("no inline device: "));
  EXPECT_THAT(SharedContext()->Backends().at(0).note, HasSubstr("no inline device: "));
  if (SharedContext()->DeviceName().find("pthread") == std::string::npos) return;
  EXPECT_THAT(graph->Report().device, HasSubstr("set POCL_DEVICES=\"pthread basic\""));
}

}  // namespace
}  // namespace tim::vx::test
