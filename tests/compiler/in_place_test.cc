// PlaceInPlace: which results take the memory of a tensor, and that it changes no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "backends/opencl/compile/unit.h"
#include "opencl/run_fixture.h"
#include "support/pipeline.h"

namespace tim::vx::opencl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tim::vx::testing::Builtin;
using tim::vx::testing::ReadGraph;

struct Placed {
  size_t count = 0;
  size_t scratch_bytes = 0;
};
Placed Place(const std::string& text) {
  const auto graph = ReadGraph(text, Builtin());
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const Status s = ir::VerifyNode(*graph, static_cast<int>(id));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  Unit unit;
  const Status s = Select(GraphView(graph, *graph->TopologicalOrder()), DeviceCaps(), &unit);
  EXPECT_TRUE(s.ok()) << s.message();
  Alias(&unit);
  PlacePieces(DeviceCaps(), &unit);
  Placed placed;
  placed.count = PlaceInPlace(&unit);
  kernels::Sources sources("");
  const auto emitted = Emit(&unit, DeviceCaps(), &sources);
  EXPECT_TRUE(emitted.ok()) << emitted.status().message();
  if (emitted.ok()) placed.scratch_bytes = emitted->plan.scratch_bytes;
  return placed;
}

TEST(InPlace, AChainStaysInOneMemory) {
  const Placed p = Place(
      "%0 = input f32[32]\n%1 = Relu(%0) : f32[32]\n%2 = Neg(%1) : f32[32]\n"
      "%3 = Reshape(%2) {target_shape=[4,8]} : f32[4,8]\n%4 = Abs(%3) : f32[4,8]\n"
      "%5 = Relu(%4) : output f32[4,8]\n");
  EXPECT_EQ(p.count, 2u);
  EXPECT_EQ(p.scratch_bytes, 128u);
}

TEST(InPlace, WhatIsReadLaterStays) {
  const Placed p = Place(
      "%0 = input f32[32]\n%1 = Relu(%0) : f32[32]\n%2 = Neg(%1) : f32[32]\n"
      "%3 = Add(%1, %2) : output f32[32]\n");
  EXPECT_EQ(p.count, 0u);
  EXPECT_EQ(p.scratch_bytes, 256u);
  // By way of another shape.
  EXPECT_EQ(Place("%0 = input f32[32]\n%1 = Relu(%0) : f32[32]\n"
                  "%2 = Reshape(%1) {target_shape=[4,8]} : f32[4,8]\n%3 = Neg(%1) : f32[32]\n"
                  "%4 = Abs(%3) : output f32[32]\n%5 = Abs(%2) : output f32[4,8]\n")
                .count,
            0u);
  // As a part of a tensor.
  EXPECT_EQ(Place("%0 = input f32[32]\n%1 = Relu(%0) : f32[32]\n%2 = Relu(%0) : f32[32]\n"
                  "%3 = Concat(%1, %2) {axis=0} : f32[64]\n%4 = Neg(%1) : f32[32]\n"
                  "%5 = Abs(%4) : output f32[32]\n%6 = Abs(%3) : output f32[64]\n")
                .count,
            0u);
}

TEST(InPlace, MemoryOfTheOutsideIsNotWritten) {
  EXPECT_EQ(Place("%0 = input f32[32]\n%1 = constant f32[32] "
                  "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
                  "30,31,32}\n%2 = Neg(%0) : f32[32]\n"
                  "%3 = Add(%1, %0) : f32[32]\n%4 = Abs(%2) : output f32[32]\n"
                  "%5 = Abs(%3) : output f32[32]\n")
                .count,
            0u);
}

TEST(InPlace, ElementsMustCorrespond) {
  const std::string head = "%0 = input f32[1,8]\n%1 = input f32[4,8]\n%2 = Relu(%0) : f32[1,8]\n";
  // The smaller operand is repeated.
  EXPECT_EQ(Place(head + "%3 = Add(%2, %1) : f32[4,8]\n%4 = Abs(%3) : output f32[4,8]\n").count,
            0u);
  // Elements of another size.
  EXPECT_EQ(Place("%0 = input f32[32]\n%1 = Relu(%0) : f32[32]\n%2 = Neg(%1) : u8(0.5,3)[32]\n"
                  "%3 = Abs(%2) : output u8(0.5,3)[32]\n")
                .count,
            0u);
  // The same value, once as it is and once transposed by another op: that one is no point-wise op.
  EXPECT_EQ(Place("%0 = input f32[4,4]\n%1 = Relu(%0) : f32[4,4]\n"
                  "%2 = Transpose(%1) {perm=[1,0]} : f32[4,4]\n%3 = Abs(%2) : output f32[4,4]\n")
                .count,
            0u);
}

// ---- On and off agree

std::string Random(std::mt19937& random, size_t count, int least, int most) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const int v = least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
    text += (i == 0 ? "{" : ",") + std::to_string(v);
  }
  return text + "}";
}

/// Blocks of a residual network: x + conv(conv(x)), of sizes that tiles do not divide and that they
/// do; by 1x1, 3x3 (Winograd) and depthwise convolutions.
std::string Blocks(bool bytes, int width, int channels) {
  std::mt19937 random(7);
  const auto c = static_cast<size_t>(channels);
  const std::string type = bytes ? "i8(0.5,-3)" : "f32";
  const std::string weights = bytes ? "i8(0.02,0)" : "f32";
  const std::string x = "[" + std::to_string(width) + ",5," + std::to_string(channels) + ",1]";
  const std::string n = std::to_string(channels);
  auto constant = [&](int id, const std::string& shape, size_t count) {
    return "%" + std::to_string(id) + " = constant " + weights + shape + " " +
           Random(random, count, -4, 4) + "\n";
  };
  std::string text =
      "%0 = input " + type + x + "\n" + constant(1, "[1,1," + n + "," + n + "]", c * c) +
      constant(2, "[3,3," + n + "," + n + "]", 9 * c * c) + constant(3, "[3,3," + n + ",1]", 9 * c);
  int value = 4, at = 0;
  auto conv = [&](int weight, const char* attributes) {
    text += "%" + std::to_string(value) + " = Conv2d(%" + std::to_string(at) + ", %" +
            std::to_string(weight) + ") {padding=\"SAME\"" + attributes + "} : " + type + x + "\n";
    at = value++;
  };
  conv(1, "");
  for (const int last : {1, 2, 3, 1}) {
    const int shortcut = at;
    conv(1, "");
    conv(last, last == 3 ? ", multiplier=1" : "");
    text += "%" + std::to_string(value) + " = Add(%" + std::to_string(at) + ", %" +
            std::to_string(shortcut) + ") : " + type + x + "\n";
    at = value++;
    text += "%" + std::to_string(value) + " = Clip(%" + std::to_string(at) +
            ") {min=-40, max=40} : " + type + x + "\n";
    at = value++;
  }
  return text + "%" + std::to_string(value) + " = Abs(%" + std::to_string(at) + ") : output " +
         type + x + "\n";
}

TEST(InPlace, OnAndOffAgree) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  size_t placed = 0;
  for (const bool bytes : {false, true}) {
    for (const int width : {9, 14}) {
      const std::string text = Blocks(bytes, width, 24);
      std::vector<std::vector<std::byte>> results;
      for (const bool on : {false, true}) {
        const auto graph = ReadGraph(text, Builtin());
        const ir::Value& in = graph->values()[0];
        auto* const data = static_cast<uint8_t*>(in.storage->data());
        for (int64_t i = 0; i < in.type.count(); ++i) {
          if (bytes) {
            data[i] = static_cast<uint8_t>(i * 37 + 11);
          } else {
            reinterpret_cast<float*>(data)[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
          }
        }
        compiler::Options options;
        options.options_for = [&](const std::string&) {
          return std::vector<std::pair<std::string, std::string>>{{"in_place", on ? "on" : "off"}};
        };
        CompileReport report;
        const Status s = tim::vx::testing::RunGraph(graph, Builtin(), {{device}}, options, &report);
        ASSERT_TRUE(s.ok()) << s.message();
        ASSERT_EQ(report.parts.size(), 1u);
        const std::string& note = report.parts[0].note;
        if (on) {
          placed += note.find("in place") != std::string::npos;
        } else {
          EXPECT_THAT(note, Not(HasSubstr("in place")));
        }
        const ir::Value& out = graph->values().back();
        const auto* const got = static_cast<const std::byte*>(out.storage->data());
        results.emplace_back(got, got + out.type.bytes());
      }
      EXPECT_EQ(results[0], results[1]) << "bytes " << bytes << ", width " << width;
    }
  }
  // int8 tiles of 9 pixels overlap.
  EXPECT_GE(placed, 3u);
}

}  // namespace
}  // namespace tim::vx::opencl
