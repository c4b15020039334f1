// The networks of bench/networks on the device against the reference backend, all elements; the
// large ones in their small forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "networks.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"

namespace networks {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using tim::vx::CompileReport;
using tim::vx::PartitionReport;

struct Run {
  std::shared_ptr<tim::vx::Graph> graph;
  Built built;
};
tim::vx::Result<Run> On(tim::vx::Context& context, const Network& network, Type type, int k,
                        bool relaxed = false) {
  tim::vx::CompileOption options;
  options.setRelaxMode(relaxed);
  Run run{context.CreateGraph(options), {}};
  TIMCL_ASSIGN(run.built, Built::Into(*run.graph, network, type));
  TIMCL_TRY(run.built.SetInputs(k));
  if (!run.graph->Run()) return run.graph->LastStatus();
  return run;
}

/// As in bench/model_bench.cc, but closer: these networks are small.
constexpr double kFloatTolerance = 1e-5;  // of the largest value
constexpr double kSteps = 1.001;          // a softmax or sigmoid of int8 may be off by one
/// Of the root of the mean square, where roundings that fall the other way go on through layers:
/// of bfloat16, or to int8 between sums in float32.
constexpr double kMixedTolerance = 0.03;

void ExpectNear(const Built& ours, const Built& expected, Type type) {
  const auto difference = Compare(ours, expected);
  ASSERT_TRUE(difference.ok()) << difference.status().message();
  const Network& network = ours.network();
  if (type == Type::kInt8 && network.int8 != "all") {
    EXPECT_LE(difference->rms(), kMixedTolerance) << difference->where;
    return;
  }
  double allowed = kFloatTolerance * difference->scale;
  if (type == Type::kInt8) {
    allowed = 0;
    for (const std::string& tensor : network.outputs)
      allowed = std::max<double>(allowed, kSteps * ours.StepOf(tensor));
  }
  EXPECT_LE(difference->largest, allowed) << difference->where;
}

/// All of it is on the device, and its memory hardly more than what lives at one moment.
void ExpectWhole(const CompileReport& report) {
  EXPECT_THAT(report.parts, Each(Field("backend", &PartitionReport::backend, "opencl")));
  EXPECT_EQ(report.partitions, 1u);
  EXPECT_LE(static_cast<double>(report.arena_bytes),
            1.1 * static_cast<double>(report.live_bytes_bound));
}

const std::shared_ptr<tim::vx::Context>& Host() {
  static const auto host = [] {
    tim::vx::ContextOptions options;
    options.host_only = true;
    return tim::vx::Context::Create(options);
  }();
  return host;
}

struct Param {
  const char* network;
  bool relaxed = false;  // in this mode, too: each form takes seconds of the kernels' compiler
};
void PrintTo(const Param& param, std::ostream* out) { *out << param.network; }
class NetworksOnOpenCl : public testing::TestWithParam<Param> {};

TEST_P(NetworksOnOpenCl, AsTheReference) {
  const auto network = Load(FileOf(GetParam().network));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto device = tim::vx::Context::Create();
  ASSERT_TRUE(device->LastStatus().ok()) << device->LastStatus().message();
  // An input that was not calibrated with: values beyond the ranges saturate alike.
  constexpr int kInput = 9;
  for (const Type type : {Type::kFloat32, Type::kInt8}) {
    SCOPED_TRACE(NameOf(type));
    const auto ours = On(*device, *network, type, kInput),
               expected = On(*Host(), *network, type, kInput);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ExpectWhole(ours->graph->Report());
    ExpectNear(ours->built, expected->built, type);
    if (type != Type::kFloat32 || !GetParam().relaxed) continue;
    const auto relaxed = On(*device, *network, type, kInput, true);
    ASSERT_TRUE(relaxed.ok()) << relaxed.status().message();
    ExpectWhole(relaxed->graph->Report());
    const auto difference = Compare(relaxed->built, expected->built);
    ASSERT_TRUE(difference.ok()) << difference.status().message();
    EXPECT_LE(difference->rms(), kMixedTolerance) << difference->where;
    // Else it is float32, and tested above.
    const std::string& note = relaxed->graph->Report().parts[0].note;
    EXPECT_THAT(note, HasSubstr("relaxed"));
    if (note.find("in bfloat16") != std::string::npos) {
      EXPECT_GT(difference->rms(), 1e-4) << note;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, NetworksOnOpenCl,
    testing::Values(Param{"lenet"}, Param{"autoencoder"}, Param{"resnet8", true}, Param{"ds_cnn"},
                    Param{"mobilenet_v1_025"}, Param{"small/resnet50", true},
                    Param{"small/mobilenet_v2"}, Param{"small/efficientnet_lite0"},
                    Param{"small/ssd_mobilenet_v1"}, Param{"small/yolov4_tiny"},
                    Param{"small/bert_base", true}, Param{"small/lstm"}),
    [](const auto& test) {
      std::string name = test.param.network;
      std::replace(name.begin(), name.end(), '/', '_');
      return name;
    });

}  // namespace
}  // namespace networks
