// Resize, padding and block operators with operands or attributes that make no sense.
#include <cmath>
#include <limits>

#include "errors/error_fixture.h"
#include "tim/vx/ops/batch2space.h"
#include "tim/vx/ops/depth2space.h"
#include "tim/vx/ops/pad_v2.h"
#include "tim/vx/ops/reorg.h"
#include "tim/vx/ops/resize.h"
#include "tim/vx/ops/resize1d.h"
#include "tim/vx/ops/shuffle_channel.h"
#include "tim/vx/ops/signal_frame.h"
#include "tim/vx/ops/space2batch.h"
#include "tim/vx/ops/space2depth.h"
#include "tim/vx/ops/spatial_transformer.h"

namespace tim::vx::test {
namespace {

using Ints = std::vector<int>;
using Words = std::vector<uint32_t>;

class SpatialErrorTest : public ErrorTest {
 protected:
  /// The op over one input of this shape fails so; a new graph each time.
  template <class Op, class... Args>
  void Expect(const ShapeType& shape, Code code, const std::vector<std::string>& words,
              Args... args) {
    graph_ = SharedContext()->CreateGraph();
    Bind<Op>(graph_, {Input(graph_, shape)}, {Output(graph_, {})}, args...);
    ExpectFailure(code, words);
  }
};

TEST_F(SpatialErrorTest, Resize) {
  const auto bilinear = ResizeType::BILINEAR;
  Expect<ops::Resize>({5}, Code::kInvalidShape, {"Resize#1", "2 dimensions or more"}, bilinear,
                      2.0f, false, false, 0, 0);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidArgument, {"Resize#1", "factor is -2"}, bilinear,
                      -2.0f, false, false, 5, 5);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidArgument, {"Resize#1", "factor is nan"}, bilinear,
                      std::nanf(""), false, false, 5, 5);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidArgument,
                      {"Resize#1", "target of dimension 0 is 0"}, bilinear, 0.0f, false, false, 5,
                      0);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidArgument,
                      {"Resize#1", "target of dimension 1 is -5"}, bilinear, 0.0f, false, false, -5,
                      5);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidShape,
                      {"Resize#1", "f32[5,4,1,1]", "dimension 1 times factor 0.2"}, bilinear, 0.2f,
                      false, false, 5, 5);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidShape, {"Resize#1", "dimension 0 times factor"},
                      bilinear, 1e30f, false, false, 5, 5);
  Expect<ops::Resize>({5, 4, 1, 1}, Code::kInvalidArgument, {"type", "9", "BILINEAR"},
                      static_cast<ResizeType>(9), 2.0f, false, false, 5, 5);
  Expect<ops::Resize1d>({5, 4, 1}, Code::kInvalidArgument,
                        {"Resize1d#1", "target of dimension 0 is -1"}, bilinear, 0.0f, false, false,
                        -1);
}

TEST_F(SpatialErrorTest, DepthToSpace) {
  Expect<ops::DepthToSpace>({5, 4, 8, 1}, Code::kInvalidArgument,
                            {"DepthToSpace#1", "block_size is 0"}, 0);
  Expect<ops::DepthToSpace>({5, 4, 8, 1}, Code::kInvalidArgument,
                            {"DepthToSpace#1", "block_size is -2"}, -2);
  Expect<ops::DepthToSpace>({5, 4, 6, 1}, Code::kInvalidShape,
                            {"DepthToSpace#1", "f32[5,4,6,1]", "6 channels", "4"}, 2);
  Expect<ops::DepthToSpace>({5, 4}, Code::kInvalidShape, {"DepthToSpace#1", "f32[5,4]"}, 2);
  Expect<ops::DepthToSpace>({5, 4, 4, 1}, Code::kInvalidArgument, {"mode", "7", "DCR CRD"}, 2,
                            static_cast<ops::DepthToSpace::depth2space_mode>(7));
}

TEST_F(SpatialErrorTest, SpaceToDepth) {
  Expect<ops::SpaceToDepth>({4, 4, 2, 1}, Code::kInvalidArgument, {"SpaceToDepth#1", "block_size"},
                            Ints{2});
  Expect<ops::SpaceToDepth>({4, 4, 2, 1}, Code::kInvalidArgument, {"SpaceToDepth#1", "block_size"},
                            Ints{2, 0});
  Expect<ops::SpaceToDepth>({4, 5, 2, 1}, Code::kInvalidShape,
                            {"SpaceToDepth#1", "dimension 1, 5", "block_size 2"}, Ints{2, 2});
  Expect<ops::SpaceToDepth>({4}, Code::kInvalidShape, {"SpaceToDepth#1", "f32[4]"}, Ints{2, 2});
}

TEST_F(SpatialErrorTest, Space2Batch) {
  Expect<ops::Space2Batch>({4, 4, 2, 1}, Code::kInvalidArgument, {"Space2Batch#1", "two borders"},
                           Ints{2}, Ints{0, 0, 0, 0});
  Expect<ops::Space2Batch>({4, 4, 2, 1}, Code::kInvalidArgument, {"Space2Batch#1", "two borders"},
                           Ints{2, 2}, Ints{0, 0});
  Expect<ops::Space2Batch>({4, 4, 2, 1}, Code::kInvalidArgument, {"Space2Batch#1", "not negative"},
                           Ints{2, 2}, Ints{0, 0, -1, 1});
  Expect<ops::Space2Batch>({4, 4, 2, 1}, Code::kInvalidArgument,
                           {"Space2Batch#1", "positive block"}, Ints{0, 2}, Ints{0, 0, 0, 0});
  Expect<ops::Space2Batch>({4, 4, 2, 1}, Code::kInvalidShape,
                           {"Space2Batch#1", "dimension 1, 5", "block_size 2"}, Ints{2, 2},
                           Ints{1, 1, 1, 0});
  const int most = std::numeric_limits<int>::max();
  Expect<ops::Space2Batch>({1, 1, 2, 3}, Code::kInvalidShape,
                           {"Space2Batch#1", "3 images become 4611686014132420609 times as many"},
                           Ints{most, most}, Ints{most - 1, 0, 0, most - 1});
  Expect<ops::Space2Batch>({4, 4}, Code::kInvalidShape, {"Space2Batch#1", "f32[4,4]"}, Ints{2, 2},
                           Ints{0, 0, 0, 0});
}

TEST_F(SpatialErrorTest, Batch2Space) {
  Expect<ops::Batch2Space>({4, 4, 2, 3}, Code::kInvalidShape,
                           {"Batch2Space#1", "3 images", "4 cells of a block"}, Ints{2, 2},
                           Ints{0, 0, 0, 0});
  Expect<ops::Batch2Space>({2, 2, 2, 4}, Code::kInvalidShape,
                           {"Batch2Space#1", "crop leaves nothing of the 4 cells", "dimension 1"},
                           Ints{2, 2}, Ints{0, 0, 2, 2});
  Expect<ops::Batch2Space>({2, 2, 2, 4}, Code::kInvalidArgument, {"Batch2Space#1", "not negative"},
                           Ints{2, 2}, Ints{-1, 0, 0, 0});
  Expect<ops::Batch2Space>({2, 2, 2, 4}, Code::kInvalidArgument,
                           {"Batch2Space#1", "positive block"}, Ints{2, -2}, Ints{0, 0, 0, 0});
}

TEST_F(SpatialErrorTest, PadV2) {
  Expect<ops::PadV2>({4, 4}, Code::kInvalidArgument, {"PadV2#1", "1 and 2 entries", "f32[4,4]"},
                     Words{1}, Words{1, 1}, 0.5f);
  Expect<ops::PadV2>({4, 4}, Code::kInvalidArgument,
                     {"PadV2#1", "dimension 1", "too small to be mirrored over 4 cells"},
                     Words{0, 4}, Words{0, 0}, 0.5f, ops::PadV2::PAD_MODE_REFLECT);
  Expect<ops::PadV2>({4, 4}, Code::kInvalidArgument, {"pad_mode", "5"}, Words{0, 0}, Words{0, 0},
                     0.5f, static_cast<ops::PadV2::pad_mode_type>(5));
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::PadV2>(graph_, {Input(graph_, {4})}, {Output(graph_, {7})}, Words{1}, Words{1}, 0.5f);
  ExpectFailure(Code::kInvalidShape, {"PadV2#1", "[7]", "[6]"});
}

TEST_F(SpatialErrorTest, ShuffleChannel) {
  Expect<ops::ShuffleChannel>({4, 6}, Code::kInvalidArgument,
                              {"ShuffleChannel#1", "num_groups is 0"}, 0, 1);
  Expect<ops::ShuffleChannel>({4, 6}, Code::kInvalidArgument,
                              {"ShuffleChannel#1", "num_groups is -2"}, -2, 1);
  Expect<ops::ShuffleChannel>({4, 6}, Code::kInvalidShape,
                              {"ShuffleChannel#1", "dimension 1, 6", "num_groups 4"}, 4, -1);
  Expect<ops::ShuffleChannel>({4, 6}, Code::kInvalidArgument, {"ShuffleChannel#1", "2"}, 2, 2);
}

TEST_F(SpatialErrorTest, Reorg) {
  Expect<ops::Reorg>({4, 4, 4, 1}, Code::kInvalidArgument, {"Reorg#1", "stride is 0"}, 0u);
  Expect<ops::Reorg>({4, 4, 6, 1}, Code::kInvalidShape, {"Reorg#1", "6 channels", "4"}, 2u);
  Expect<ops::Reorg>({4, 3, 4, 1}, Code::kInvalidShape, {"Reorg#1", "dimension 1, 3", "stride 2"},
                     2u);
  Expect<ops::Reorg>({4, 4, 4, 1}, Code::kInvalidShape, {"Reorg#1", "dimension 0, 4"}, 0xffffffffu);
  Expect<ops::Reorg>({4, 4}, Code::kInvalidShape, {"Reorg#1", "f32[4,4]"}, 2u);
}

TEST_F(SpatialErrorTest, SignalFrame) {
  Expect<ops::SignalFrame>({4, 6}, Code::kInvalidArgument, {"SignalFrame#1", "0 and 1"}, 0u, 1u);
  Expect<ops::SignalFrame>({4, 6}, Code::kInvalidArgument, {"SignalFrame#1", "3 and 0"}, 3u, 0u);
  Expect<ops::SignalFrame>({4, 6}, Code::kInvalidShape,
                           {"SignalFrame#1", "shorter than a frame of 5"}, 5u, 1u);
  Expect<ops::SignalFrame>({4, 6}, Code::kInvalidArgument, {"SignalFrame#1", "2"}, 2u, 1u, 0u, 2u);
}

TEST_F(SpatialErrorTest, SpatialTransformer) {
  auto add = [&](const std::vector<TensorPtr>& inputs) {
    Bind<ops::SpatialTransformer>(graph_, inputs, {Output(graph_, {})}, 0u, 0u, true, false, false,
                                  false, false, false, 1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f);
  };
  add({Input(graph_, {4, 4, 1, 2}), Input(graph_, {6, 2})});
  ExpectFailure(Code::kInvalidShape, {"SpatialTransformer#1", "input 1 'theta' f32[6,2]",
                                      "5 elements for each of the 2 images"});
  graph_ = SharedContext()->CreateGraph();
  add({Input(graph_, {4, 4, 1, 2})});
  ExpectFailure(Code::kInvalidGraph, {"SpatialTransformer#1", "theta is left out", "5 of the six"});
  graph_ = SharedContext()->CreateGraph();
  add({Input(graph_, {4, 4, 1}), Input(graph_, {5, 1})});
  ExpectFailure(Code::kInvalidShape, {"SpatialTransformer#1", "f32[4,4,1]"});
}

}  // namespace
}  // namespace tim::vx::test
