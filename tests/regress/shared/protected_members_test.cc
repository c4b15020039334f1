// Subclasses of the original read protected members of its operators; nine classes had lost theirs.
#include <gtest/gtest.h>

#include <array>
#include <type_traits>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/clip.h"
#include "tim/vx/ops/concat.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/pad.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/rnn_cell.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/ops/transpose.h"

namespace tim::vx::test {
namespace {

using Two = std::array<uint32_t, 2>;
using Four = std::array<uint32_t, 4>;
using Extents = std::vector<uint32_t>;

#define MEMBER(name, Type, value)                                                 \
  static_assert(std::is_same_v<std::remove_const_t<decltype(this->name)>, Type>); \
  EXPECT_EQ(this->name, (value))

struct MyClip : ops::Clip {
  using Clip::Clip;
  void Check() {
    MEMBER(min_, float, -1);
    MEMBER(max_, float, 2);
  }
};
struct MyConcat : ops::Concat {
  using Concat::Concat;
  void Check() {
    MEMBER(axis_, uint32_t, 1u);
    MEMBER(input_cnt_, int, 3);
  }
};
struct MyConv2d : ops::Conv2d {
  using Conv2d::Conv2d;
  void Check(uint32_t weights, const Two& ksize, PadType padding, const Four& pad) {
    MEMBER(weights_, uint32_t, weights);
    MEMBER(padding_, PadType, padding);
    MEMBER(ksize_, Two, ksize);
    MEMBER(stride_, Two, (Two{1, 2}));
    MEMBER(dilation_, Two, (Two{3, 4}));
    MEMBER(pad_, Four, pad);
    MEMBER(multiplier_, int32_t, 5);
    MEMBER(kernel_layout_, DataLayout, DataLayout::IcWHOc);
  }
};
struct MyFullyConnected : ops::FullyConnected {
  using FullyConnected::FullyConnected;
  void Check() {
    MEMBER(axis_, uint32_t, 1u);
    MEMBER(weights_, uint32_t, 7u);
  }
};
struct MyPad : ops::Pad {
  using Pad::Pad;
  void Check(pad_mode_type mode) {
    MEMBER(front_size_, Extents, (Extents{1, 2}));
    MEMBER(back_size_, Extents, (Extents{3, 4}));
    MEMBER(const_val_, int32_t, 9);
    MEMBER(pad_mode_, pad_mode_type, mode);
  }
};
struct MyPool2d : ops::Pool2d {
  using Pool2d::Pool2d;
  void Check(PadType padding, const Four& pad, const Two& ksize, const Two& stride) {
    MEMBER(type_, PoolType, PoolType::AVG);
    MEMBER(padding_, PadType, padding);
    MEMBER(ksize_, Two, ksize);
    MEMBER(stride_, Two, stride);
    MEMBER(round_type_, RoundType, RoundType::CEILING);
    MEMBER(pad_, Four, pad);
  }
};
struct MyRnnCell : ops::RNNCell {
  using RNNCell::RNNCell;
  void Check() { MEMBER(activation_, ActivationType, kTANH); }
};
struct MySoftmax : ops::Softmax {
  using Softmax::Softmax;
  void Check() {
    MEMBER(beta_, float, 0.5f);
    MEMBER(axis_, int32_t, -1);
  }
};
struct MyTranspose : ops::Transpose {
  using Transpose::Transpose;
  void Check() { MEMBER(perm_, Extents, (Extents{1, 0})); }
};

TEST(Regress, ProtectedMembersOfTheOriginal) {
  ContextOptions options;
  options.host_only = true;
  auto owner = Context::Create(options)->CreateGraph();
  Graph* graph = owner.get();
  MyClip(graph, -1.0f, 2.0f).Check();
  MyConcat(graph, 1u, 3).Check();
  const auto whcn = DataLayout::WHCN, iwho = DataLayout::IcWHOc;
  const Two stride = {1, 2}, dilation = {3, 4}, ksize = {5, 6}, none = {0, 0};
  const Four pad = {1, 2, 3, 4}, no_pad = {0, 0, 0, 0};
  MyConv2d(graph, PadType::SAME, stride, dilation, 5, whcn, iwho)
      .Check(0, none, PadType::SAME, no_pad);
  MyConv2d(graph, pad, stride, dilation, 5, whcn, iwho).Check(0, none, PadType::AUTO, pad);
  MyConv2d(graph, 8, PadType::VALID, ksize, stride, dilation, 5, whcn, iwho)
      .Check(8, ksize, PadType::VALID, no_pad);
  MyConv2d(graph, 8, PadType::VALID, ksize, stride, dilation, pad, 5, whcn, iwho)
      .Check(8, ksize, PadType::VALID, pad);
  MyFullyConnected(graph, 1u, 7u).Check();
  MyPad(graph, Extents{1, 2}, Extents{3, 4}, 9).Check(ops::Pad::PAD_MODE_CONSTANT);
  MyPad(graph, Extents{1, 2}, Extents{3, 4}, 9, ops::Pad::PAD_MODE_EDGE)
      .Check(ops::Pad::PAD_MODE_EDGE);
  const auto avg = PoolType::AVG;
  const auto up = RoundType::CEILING;
  MyPool2d(graph, avg, PadType::SAME, ksize, stride, up)
      .Check(PadType::SAME, no_pad, ksize, stride);
  MyPool2d(graph, avg, pad, ksize, stride, up).Check(PadType::AUTO, pad, ksize, stride);
  MyPool2d(graph, avg, ksize, up).Check(PadType::AUTO, no_pad, ksize, ksize);
  MyPool2d(graph, avg, Two{7, 9}, Two{3, 3}, up).Check(PadType::AUTO, no_pad, Two{3, 3}, Two{2, 3});
  MyRnnCell(graph, ops::RNNCell::kTANH).Check();
  MySoftmax(graph, 0.5f, -1).Check();
  MyTranspose(graph, Extents{1, 0}).Check();
}

}  // namespace
}  // namespace tim::vx::test
