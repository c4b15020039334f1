// Signatures of users' kernels: what the driver tells and what the text says are the same; every
// kind of misfit is named.
#include "backends/opencl/run/signature.h"

#include <gmock/gmock.h>

#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

const char kAll[] = R"CL(
// void f(int not_this_one)
/* __kernel void f(int nor_this) */
#define CALL(f) f(1)
void helper(__global float* y) { y[0] = 1; }
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void other(int a) {}
__kernel void f(__global const float* restrict x, __constant uchar *table,
                __read_only image2d_t in, write_only image2d_array_t out, // a comment, with a comma
                __local float4* tile, const unsigned int n, float3 v, signed char c,
                unsigned long l, unsigned u, int16 w) {
  helper(tile == 0 ? 0 : (__global float*)0);
}
__kernel void none(void) {}
)CL";

TEST(Signature, DriverAndTextSayTheSame) {
  auto device = OpenDevice();
  ASSERT_NE(device, nullptr);
  ProgramCache cache(device, {});
  for (const char* function : {"f", "other", "none"}) {
    SCOPED_TRACE(function);
    const auto text = UserText(kAll, function, true);
    BuiltPrograms programs;
    BuildStats stats;
    const Status s = cache.Build({text}, "", &programs, &stats);
    ASSERT_TRUE(s.ok()) << s.message();
    const Signature& told = programs[0]->signatures.at(function);
    const auto parsed = ParseSignature(kAll, function);
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(told.size(), parsed->size());
    for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i].ToString(), (*parsed)[i].ToString());
  }
  const auto f = ParseSignature(kAll, "f");
  std::string all;
  for (const Parameter& p : *f) all += p.ToString() + "; ";
  EXPECT_EQ(all,
            "__global float* x; __global uchar* table; image2d_t in; image2d_array_t out; "
            "__local float4* tile; uint n; float3 v; char c; ulong l; uint u; int16 w; ");
}

TEST(Signature, TextThatIsNotUnderstood) {
  EXPECT_FALSE(ParseSignature(kAll, "helper").has_value());
  EXPECT_FALSE(ParseSignature(kAll, "nowhere").has_value());
  EXPECT_FALSE(ParseSignature("kernel void f(IN(X), int n) {}", "f").has_value());
  EXPECT_FALSE(ParseSignature("kernel void f(", "f").has_value());
  EXPECT_FALSE(ParseSignature("kernel void f(float* x) {}", "f").has_value());
}

TEST(Signature, SizesOfTypes) {
  EXPECT_EQ(SizeOfClType("char"), 1u);
  EXPECT_EQ(SizeOfClType("unsigned short"), 2u);
  EXPECT_EQ(SizeOfClType("half"), 2u);
  EXPECT_EQ(SizeOfClType("float3"), 16u);
  EXPECT_EQ(SizeOfClType("uchar16"), 16u);
  EXPECT_EQ(SizeOfClType("double16"), 128u);
  EXPECT_EQ(SizeOfClType("unsigned long int"), 8u);
  EXPECT_EQ(SizeOfClType("float5"), 0u);
  EXPECT_EQ(SizeOfClType("bool2"), 0u);
  EXPECT_EQ(SizeOfClType("struct_of_mine"), 0u);
}

Arg Scalar(const char* type, size_t bytes) {
  Arg a;
  a.bytes = bytes, a.type_name = type, a.what = "a";
  return a;
}
Parameter Declared(ParameterKind kind, const char* type) { return {kind, type, "p"}; }

TEST(Signature, Misfits) {
  using Kind = ParameterKind;
  Arg tensor = ArgOf(Arg::Kind::kInput, 0), local;
  tensor.what = "input 0 f32[4]";
  local.kind = Arg::Kind::kLocal, local.bytes = 64;
  const auto compare = [](const Arg& a, const Parameter& p) {
    return CompareSignature("f", {a}, {p});
  };
  EXPECT_EQ(compare(tensor, Declared(Kind::kBuffer, "float")), "");
  EXPECT_EQ(compare(tensor, Declared(Kind::kImage2d, "")), "");
  EXPECT_EQ(compare(Scalar("int", 4), Declared(Kind::kValue, "uint")), "");
  EXPECT_EQ(compare(Scalar("float4", 16), Declared(Kind::kValue, "mine")), "");
  EXPECT_EQ(compare(local, Declared(Kind::kLocal, "float")), "");
  EXPECT_THAT(compare(tensor, Declared(Kind::kValue, "float")),
              HasSubstr("memory against a value"));
  EXPECT_THAT(compare(tensor, Declared(Kind::kLocal, "float")),
              HasSubstr("memory against local memory"));
  EXPECT_THAT(compare(Scalar("int", 4), Declared(Kind::kBuffer, "int")),
              HasSubstr("a value against memory"));
  EXPECT_THAT(compare(Scalar("float", 4), Declared(Kind::kValue, "float4")),
              HasSubstr("4 bytes against 16"));
  EXPECT_THAT(compare(local, Declared(Kind::kBuffer, "float")),
              HasSubstr("local memory against something else"));
  EXPECT_THAT(compare(tensor, Declared(Kind::kOther, "image3d_t")),
              HasSubstr("no argument can be a image3d_t"));
}

TEST(Signature, Doubts) {
  using Kind = ParameterKind;
  Arg tensor = ArgOf(Arg::Kind::kOutput, 0);
  tensor.what = "output 0 u8[4]";
  tensor.type = {DataType::UINT8, {4}, {}};
  const auto doubts = [](const Arg& a, const Parameter& p) { return DoubtsOf({a}, {p}); };
  EXPECT_THAT(doubts(tensor, Declared(Kind::kBuffer, "float")),
              testing::ElementsAre("parameter 0 is '__global float* p', but the op passes output 0 "
                                   "u8[4]: its elements have 1, not 4 bytes"));
  EXPECT_THAT(doubts(tensor, Declared(Kind::kBuffer, "uchar16")), testing::IsEmpty());
  EXPECT_THAT(doubts(tensor, Declared(Kind::kBuffer, "mine")), testing::IsEmpty());
  EXPECT_THAT(doubts(Scalar("float", 4), Declared(Kind::kValue, "int")),
              testing::ElementsAre(HasSubstr("its bits are taken as they are")));
  EXPECT_THAT(doubts(Scalar("float", 4), Declared(Kind::kValue, "float")), testing::IsEmpty());
}

}  // namespace
}  // namespace tim::vx::opencl
