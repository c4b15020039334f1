// Join: what may be one kernel, its text and the table of its steps.
#include "backends/opencl/compile/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/run/packing.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

/// Of a device on which all fits.
DeviceCaps Caps() {
  DeviceCaps caps;
  caps.max_allocation = uint64_t{1} << 40;
  return caps;
}

Arg ArgOf(Arg::Kind kind, size_t index = 0, size_t bytes = 0) {
  Arg a;
  a.kind = kind, a.index = index, a.bytes = bytes;
  return a;
}
Arg Number(const char* type, int32_t bits) {
  Arg a = ArgOf(Arg::Kind::kScalar, 0, sizeof bits);
  a.type_name = type;
  std::memcpy(a.value.data(), &bits, sizeof bits);
  return a;
}

/// in -> scratch + 128 by the first function, scratch + 128 -> out by the second one.
Emitted TwoSteps() {
  Emitted e;
  e.variants = {{"KERNEL(one)(IN(X)) {}\n", "one", "one.cl", ""},
                {"KERNEL(two)(IN(X)) {}\n", "two", "two.cl", ""}};
  e.plan.scratch_bytes = 256;
  Constant c;
  c.data = std::make_shared<std::vector<std::byte>>(12);
  e.plan.constants = {c, c};
  Arg between = ArgOf(Arg::Kind::kInternal, 0, 64);
  between.offset = 128;
  Launch one, two;
  one.args = {ArgOf(Arg::Kind::kInput), ArgOf(Arg::Kind::kConstant, 1), between, Number("int", 7)};
  one.global = {5, 1, 1}, one.local = {16, 1, 1};
  two.variant = 1;
  two.args = {between, ArgOf(Arg::Kind::kConstant, 0), ArgOf(Arg::Kind::kOutput),
              Number("float", 9)};
  two.global = {2, 3, 4}, two.local = {1, 1, 1}, two.dims = 2;
  e.plan.launches = {one, two};
  return e;
}

TEST(Join, OneLaunchOverATableOfSteps) {
  const auto plan = Join(TwoSteps(), Caps(), "");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->launches.size(), 1u);
  EXPECT_EQ(plan->scratch_bytes, 256u);
  // In, scratch, out, constants, table, number of steps.
  const std::vector<Arg>& args = plan->launches[0].args;
  ASSERT_EQ(args.size(), 6u);
  EXPECT_EQ(args[0].kind, Arg::Kind::kInput);
  EXPECT_EQ(args[1].kind, Arg::Kind::kInternal);
  EXPECT_EQ(args[1].offset, 0u);
  EXPECT_EQ(args[1].bytes, 256u);
  EXPECT_EQ(args[2].kind, Arg::Kind::kOutput);
  ASSERT_EQ(plan->constants.size(), 2u);
  EXPECT_EQ(plan->constants[0].bytes(), 3 * 128u) << "each from a multiple of 128 bytes on";
  EXPECT_EQ(plan->constants[0].parts, (std::vector<std::pair<size_t, size_t>>{{1, 128}, {0, 256}}));
  std::vector<int32_t> table(plan->constants[1].data->size() / 4);
  std::memcpy(table.data(), plan->constants[1].data->data(), plan->constants[1].data->size());
  EXPECT_EQ(table, (std::vector<int32_t>{0, 16, 1, 1, 1, 0,   0, 128, 2, 128, 7,  //
                                         1, 2,  3, 1, 2, 128, 0, 256, 3, 0,   9}));
  const ProgramText& text = *plan->programs.at(0);
  EXPECT_EQ(text.functions, std::vector<std::string>{"timcl_steps"});
  EXPECT_THAT(text.source, HasSubstr("const int a3 = step[10]"));
  EXPECT_THAT(text.source, HasSubstr("const float a3 = as_float(step[10])"));
  EXPECT_THAT(text.source, HasSubstr("two_v1(x, y, z, n0, n1, n2, a0, a1, a2, a3)"));
}

TEST(Join, ConstantsLieInOneMemory) {
  Emitted e = TwoSteps();
  for (size_t i = 0; i < 2; ++i) {
    Constant& c = e.plan.constants[i];
    const auto byte = static_cast<std::byte>(7 + i);
    if (i == 0) c.data = std::make_shared<const std::vector<std::byte>>(12, byte);
    if (i == 1) c.data = nullptr, c.fill_bytes = 5, c.fill = [=](std::byte* to) { to[4] = byte; };
  }
  auto plan = Join(e, Caps(), "");
  ASSERT_TRUE(plan.ok() && PlaceConstants(&e.plan, &*plan).ok());
  ASSERT_NE(plan->packing, nullptr);
  EXPECT_EQ(plan->packing->bytes(), 17u);
  Packers packers({plan->packing});
  packers.Finish();
  const auto* whole = static_cast<const std::byte*>(plan->constants[0].memory->data());
  const kernel::Memory &first = *e.plan.constants[0].memory, &second = *e.plan.constants[1].memory;
  EXPECT_EQ(first.bytes(), 12u);
  EXPECT_EQ(second.bytes(), 5u);
  EXPECT_EQ(static_cast<const std::byte*>(second.data()) - whole, 128);
  EXPECT_EQ(static_cast<const std::byte*>(first.data()) - whole, 256);
  EXPECT_EQ(static_cast<const std::byte*>(first.data())[11], std::byte{7});
  EXPECT_EQ(static_cast<const std::byte*>(second.data())[4], std::byte{8});
  EXPECT_EQ(static_cast<const std::byte*>(second.data())[3], std::byte{0});
}

TEST(Join, PackedDataOfSeparateLaunchesIsPlacedToo) {
  Emitted e = TwoSteps();
  Constant& c = e.plan.constants[1];
  c.data = nullptr, c.fill_bytes = 4, c.fill = [](std::byte* to) { to[3] = std::byte{9}; };
  ASSERT_TRUE(PlaceConstants(&e.plan).ok());
  ASSERT_NE(e.plan.packing, nullptr);
  Packers({e.plan.packing}).Finish();
  EXPECT_NE(e.plan.constants[0].data, nullptr) << "stays where it is";
  EXPECT_EQ(static_cast<const std::byte*>(e.plan.constants[1].memory->data())[3], std::byte{9});
}

TEST(Join, TheTextKnowsNoSizes) {
  Emitted other = TwoSteps();
  other.plan.launches[0].global = {77, 1, 1};
  other.plan.launches[0].args[3] = Number("int", 8);
  other.plan.launches.push_back(other.plan.launches[0]);
  EXPECT_EQ(Join(other, Caps(), "")->programs[0]->source,
            Join(TwoSteps(), Caps(), "")->programs[0]->source);
}

TEST(Join, RefusesWithTheReason) {
  const auto why = [](const Emitted& e) {
    const Status status = Join(e, Caps(), "").status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    return status.detail();
  };
  Emitted e = TwoSteps();
  e.plan.launches.pop_back();
  EXPECT_EQ(why(e), "there is one launch");
  e = TwoSteps();
  e.variants[1].user = true, e.plan.launches[1].label = "Mine#2";
  EXPECT_EQ(why(e), "Mine#2 is a kernel of the user's");
  e = TwoSteps();
  e.plan.launches[0].args.push_back(ArgOf(Arg::Kind::kLocal));
  EXPECT_THAT(why(e), HasSubstr("has local memory"));
  e = TwoSteps();
  e.plan.launches[0].args.push_back(ArgOf(Arg::Kind::kPersistent));
  EXPECT_THAT(why(e), HasSubstr("works on an image"));
  e = TwoSteps();
  e.variants.resize(33, e.variants[0]);
  EXPECT_EQ(why(e), "33 different kernels, and 32 is the most");
  e = TwoSteps();
  e.plan.constants[0].data = std::make_shared<std::vector<std::byte>>((size_t{8} << 20) + 1);
  EXPECT_EQ(why(e), "more than 8 MiB of constants");
  e = TwoSteps();
  for (size_t i = 0; i < 100; ++i)
    e.plan.launches[0].args.push_back(ArgOf(Arg::Kind::kOutput, i + 1));
  EXPECT_EQ(why(e), "more than 100 inputs and outputs");
  e = TwoSteps();
  e.plan.launches[0].label = "Huge#1";
  for (const size_t side : {size_t{1} << 31, size_t{1} << 16}) {
    e.plan.launches[0].dims = 2;
    e.plan.launches[0].global = {side, side, 1};
    EXPECT_EQ(why(e), "Huge#1 has work-items that 32 bits cannot count");
  }
  e.plan.launches[0].global = {1 << 15, 1 << 15, 1};
  EXPECT_TRUE(Join(e, Caps(), "").ok());
}

// A joined kernel takes all constants as one memory and all values between its steps as another.
TEST(Join, RefusesWhatTheDeviceCannotHaveAsOne) {
  const auto why = [](const Emitted& e, uint64_t most) {
    DeviceCaps caps = Caps();
    caps.max_allocation = most;
    std::vector<std::string> all = {Join(e, caps, "").status().detail(),
                                    CanHaveHelpers(e, caps, 1).detail(),
                                    JoinForWorkers(e, caps, "", 2).status().detail()};
    return all;
  };
  Emitted e = TwoSteps();
  EXPECT_EQ(why(e, 8192), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(why(e, 255)[0],
            "values between its kernels take 256 bytes together, and the device's largest "
            "allocation is 255");
  e.plan.constants[0].data = std::make_shared<std::vector<std::byte>>(8192);
  for (const std::string& each : why(e, 8192))
    EXPECT_EQ(each,
              "constants take 8448 bytes together, and the device's largest allocation is 8192");
}

TEST(Join, RefusesWordsOfALaunch) {
  const auto why = [](const std::string& text) {
    Emitted e = TwoSteps();
    e.plan.launches[1].label = "Two#1";
    e.variants[1].text = text + "KERNEL(two)(IN(X)) {}\n";
    return Join(e, Caps(), "").status().detail();
  };
  for (const std::string word :
       {"get_global_id", "get_local_id", "get_group_id", "get_global_size", "get_local_size",
        "get_num_groups", "get_work_dim", "barrier", "work_group_barrier", "sub_group_reduce_add",
        "async_work_group_copy", "local", "__local", "kernel", "__kernel"}) {
    EXPECT_EQ(why("#define A " + word + "(0)\n"),
              "the kernel of Two#1 has '" + word + "', which needs a launch of its own");
  }
  EXPECT_EQ(why("// kernel\n/* get_global_id */ #line 1 \"local kernel.cl\"\nint my_barrier; "
                "int get_global_id2; float locals, mem_fence;\n"),
            "");
  EXPECT_EQ(why("/* \" */ barrier //\n"),
            "the kernel of Two#1 has 'barrier', which needs a launch of its own");
}

// There are CPUs without the instruction, and systems that do not tell by it.
TEST(Join, HelpersAskForTheirCoreWhereItIsTold) {
  DeviceCaps caps = Caps();
  for (const bool tells : {false, true}) {
    caps.rdtscp_tells_core = tells;
    const auto plan = JoinWithHelpers(TwoSteps(), caps, "", 1);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto& helpers = *plan->helpers;
    for (const std::string& text : {plan->programs[0]->source, helpers.programs[0]->source}) {
      EXPECT_THAT(text, HasSubstr("#ifdef TELLS_CORE"));
      EXPECT_EQ(text.find("#define TELLS_CORE") != std::string::npos, tells);
    }
  }
}

TEST(Join, OneWorkerTakesAStepAsAWhole) {
  const auto plan = JoinForWorkers(TwoSteps(), Caps(), "", 1);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->launches[0].global[0], 1u);
  std::vector<int32_t> table(6);
  std::memcpy(table.data(), plan->constants[1].data->data(), table.size() * 4);
  EXPECT_EQ(table, (std::vector<int32_t>{0, 16, 1, 1, 16, 0}));
}

}  // namespace
}  // namespace tim::vx::opencl
