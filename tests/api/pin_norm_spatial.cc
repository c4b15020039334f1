// Pins the constructors of normalization, resize and block operators: parameter types, their order
// and what may be left out. See pin_signatures.cc.
#include <memory>
#include <type_traits>
#include <vector>

#include "api/pins.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"
#include "tim/vx/types.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do
using namespace tim::vx::test;

// Braces refuse to narrow: each argument only fits a parameter that holds all its values.
template <class Op, class... Args>
concept TakesExactly = requires(Graph* graph, Args... args) {
  Op{graph, args...};
};

using Ints = std::vector<int>;
using Words = std::vector<uint32_t>;

#define PIN_CLONE(Op) static_assert(kNode<ops::Op>)
PIN_CLONE(BatchNorm);
PIN_CLONE(LayerNormalization);
PIN_CLONE(InstanceNormalization);
PIN_CLONE(L2Normalization);
PIN_CLONE(LocalResponseNormalization);
PIN_CLONE(Resize);
PIN_CLONE(Resize1d);
PIN_CLONE(DepthToSpace);
PIN_CLONE(SpaceToDepth);
PIN_CLONE(Space2Batch);
PIN_CLONE(Batch2Space);
PIN_CLONE(PadV2);
PIN_CLONE(ShuffleChannel);
PIN_CLONE(Reorg);
PIN_CLONE(SignalFrame);
PIN_CLONE(SpatialTransformer);

static_assert(!kTakes<ops::BatchNorm> && TakesExactly<ops::BatchNorm, float> &&
              TakesExactly<ops::BatchNorm, float, DataLayout> &&
              !TakesExactly<ops::BatchNorm, double>);
static_assert(kTakes<ops::InstanceNormalization> &&
              TakesExactly<ops::InstanceNormalization, float> &&
              TakesExactly<ops::InstanceNormalization, float, DataLayout>);
static_assert(!kTakes<ops::LayerNormalization> && TakesExactly<ops::LayerNormalization, int32_t> &&
              TakesExactly<ops::LayerNormalization, int32_t, float> &&
              !TakesExactly<ops::LayerNormalization, float, int32_t>);
static_assert(!kTakes<ops::L2Normalization> && TakesExactly<ops::L2Normalization, int32_t> &&
              !TakesExactly<ops::L2Normalization, uint32_t>);
static_assert(std::is_same_v<ops::LRN, ops::LocalResponseNormalization>);
static_assert(TakesExactly<ops::LRN, uint32_t, float, float, float, int32_t> &&
              !TakesExactly<ops::LRN, int32_t, float, float, float, int32_t> &&
              !kTakes<ops::LRN, uint32_t, float, float, float>);

static_assert(TakesExactly<ops::Resize, ResizeType, float, bool, bool, int, int> &&
              TakesExactly<ops::Resize, ResizeType, float, bool, bool, int, int, DataLayout> &&
              !kTakes<ops::Resize, ResizeType, float, bool, bool, int>);
static_assert(TakesExactly<ops::Resize1d, ResizeType, float, bool, bool, int> &&
              TakesExactly<ops::Resize1d, ResizeType, float, bool, bool, int, DataLayout> &&
              !kTakes<ops::Resize1d, ResizeType, float, bool, bool, int, int>);

static_assert(static_cast<int>(ops::DepthToSpace::DCR_mode) == 0 &&
              static_cast<int>(ops::DepthToSpace::CRD_mode) == 1 &&
              std::is_convertible_v<ops::DepthToSpace::depth2space_mode, int>);
using Mode = ops::DepthToSpace::depth2space_mode;
static_assert(TakesExactly<ops::DepthToSpace, int> &&
              TakesExactly<ops::DepthToSpace, int, DataLayout> &&
              TakesExactly<ops::DepthToSpace, int, Mode> &&
              TakesExactly<ops::DepthToSpace, int, Mode, DataLayout> &&
              !kTakes<ops::DepthToSpace, int, int>);
static_assert(kTakes<ops::SpaceToDepth, Ints> && kTakes<ops::SpaceToDepth, Ints, DataLayout> &&
              !kTakes<ops::SpaceToDepth, Words> && !kTakes<ops::SpaceToDepth>);
static_assert(kTakes<ops::Space2Batch, const Ints&, const Ints&> &&
              kTakes<ops::Space2Batch, const Ints&, const Ints&, DataLayout> &&
              !kTakes<ops::Space2Batch, Ints>);
static_assert(kTakes<ops::Batch2Space, const Ints&, const Ints&> &&
              kTakes<ops::Batch2Space, const Ints&, const Ints&, DataLayout> &&
              !kTakes<ops::Batch2Space, Ints>);

static_assert(static_cast<int>(ops::PadV2::PAD_MODE_CONSTANT) == 0 &&
              static_cast<int>(ops::PadV2::PAD_MODE_EDGE) == 1 &&
              static_cast<int>(ops::PadV2::PAD_MODE_SYMMETRIC) == 2 &&
              static_cast<int>(ops::PadV2::PAD_MODE_REFLECT) == 3);
static_assert(TakesExactly<ops::PadV2, Words, Words, float> &&
              TakesExactly<ops::PadV2, Words, Words, float, ops::PadV2::pad_mode_type> &&
              !TakesExactly<ops::PadV2, Words, Words, int32_t> &&
              !kTakes<ops::PadV2, Words, Words>);

static_assert(TakesExactly<ops::ShuffleChannel, int32_t, int32_t> &&
              !TakesExactly<ops::ShuffleChannel, uint32_t, int32_t> &&
              !kTakes<ops::ShuffleChannel, int32_t>);
static_assert(TakesExactly<ops::Reorg, uint32_t> && !TakesExactly<ops::Reorg, int32_t> &&
              !kTakes<ops::Reorg>);
static_assert(TakesExactly<ops::SignalFrame, uint32_t, uint32_t> &&
              TakesExactly<ops::SignalFrame, uint32_t, uint32_t, uint32_t> &&
              TakesExactly<ops::SignalFrame, uint32_t, uint32_t, uint32_t, uint32_t> &&
              !kTakes<ops::SignalFrame, uint32_t>);
static_assert(TakesExactly<ops::SpatialTransformer, uint32_t, uint32_t, bool, bool, bool, bool,
                           bool, bool, float, float, float, float, float, float> &&
              TakesExactly<ops::SpatialTransformer, uint32_t, uint32_t, bool, bool, bool, bool,
                           bool, bool, float, float, float, float, float, float, bool>);

// Subclasses read these.
struct Members : ops::Resize {
  static_assert(std::is_same_v<decltype(type_), const ResizeType> &&
                std::is_same_v<decltype(factor_), const float> &&
                std::is_same_v<decltype(align_corners_), const bool> &&
                std::is_same_v<decltype(half_pixel_centers_), const bool> &&
                std::is_same_v<decltype(target_height_), const int> &&
                std::is_same_v<decltype(target_width_), const int>);
};

}  // namespace
