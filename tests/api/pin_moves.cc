// Pins the constructors and protected members of the operators that move, compare, choose and add
// up elements, in the manner of pin_signatures.cc.
#include <memory>
#include <type_traits>
#include <vector>

#include "api/pins.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do
using namespace tim::vx::test;

using Ints = const std::vector<int32_t>&;
using Words = const std::vector<uint32_t>&;

static_assert(
    kAllPlain<ops::Greater, ops::GreaterOrEqual, ops::Less, ops::LessOrEqual, ops::NotEqual,
              ops::Equal, ops::LogicalAnd, ops::LogicalOr, ops::Select, ops::Erf>);

static_assert(kNode<ops::Slice> && kTakes<ops::Slice, uint32_t, Ints, Ints> &&
              kTakes<ops::Slice, uint32_t, Ints, Ints, Ints> &&
              !kTakes<ops::Slice, uint32_t, Ints>);
struct SliceMembers : ops::Slice {
  static_assert(std::is_same_v<decltype(dims_), uint32_t> &&
                std::is_same_v<decltype(start_), std::vector<int32_t>> &&
                std::is_same_v<decltype(length_), std::vector<int32_t>> &&
                std::is_same_v<decltype(step_), std::vector<int32_t>>);
};

static_assert(kNode<ops::StridedSlice> &&
              kTakes<ops::StridedSlice, Ints, Ints, Ints, int32_t, int32_t, int32_t> &&
              kTakes<ops::StridedSlice, Ints, Ints, Ints, int32_t, int32_t, int32_t, int32_t> &&
              !kTakes<ops::StridedSlice, Ints, Ints, Ints, int32_t, int32_t>);
struct StridedSliceMembers : ops::StridedSlice {
  static_assert(std::is_same_v<decltype(begin_dims_), std::vector<int32_t>> &&
                std::is_same_v<decltype(end_dims_), std::vector<int32_t>> &&
                std::is_same_v<decltype(stride_dims_), std::vector<int32_t>> &&
                std::is_same_v<decltype(begin_mask_), int32_t> &&
                std::is_same_v<decltype(end_mask_), int32_t> &&
                std::is_same_v<decltype(shrink_axis_mask_), int32_t> &&
                std::is_same_v<decltype(new_axis_mask_), int32_t>);
};

static_assert(kNode<ops::Split> && kTakes<ops::Split, uint32_t, Words> &&
              !kTakes<ops::Split, uint32_t>);
struct SplitMembers : ops::Split {
  static_assert(std::is_same_v<decltype(axis_), uint32_t> &&
                std::is_same_v<decltype(slices_), std::vector<uint32_t>>);
};

static_assert(kNode<ops::Squeeze> && kTakes<ops::Squeeze, Words> && !kTakes<ops::Squeeze>);
struct SqueezeMembers : ops::Squeeze {
  static_assert(std::is_same_v<decltype(axis_), std::vector<uint32_t>>);
};

static_assert(kNode<ops::Stack> && kTakes<ops::Stack, uint32_t, int> &&
              !kTakes<ops::Stack, uint32_t>);
struct StackMembers : ops::Stack {
  static_assert(std::is_same_v<decltype(axis_), uint32_t> &&
                std::is_same_v<decltype(input_cnt_), int>);
};

static_assert(kNode<ops::Unstack> && kTakes<ops::Unstack, int32_t, uint32_t> &&
              !kTakes<ops::Unstack, int32_t>);
struct UnstackMembers : ops::Unstack {
  static_assert(std::is_same_v<decltype(axis_), int32_t> &&
                std::is_same_v<decltype(output_num_), uint32_t>);
};

static_assert(kNode<ops::Reverse> && kTakes<ops::Reverse, Ints> && !kTakes<ops::Reverse>);
struct ReverseMembers : ops::Reverse {
  static_assert(std::is_same_v<decltype(axis_), std::vector<int32_t>>);
};

static_assert(kNode<ops::Tile> && kTakes<ops::Tile, Ints> && !kTakes<ops::Tile>);
struct TileMembers : ops::Tile {
  static_assert(std::is_same_v<decltype(multiples_), std::vector<int32_t>>);
};

// Both element types of the shape: callers have vectors of either.
static_assert(kNode<ops::Broadcast> && kTakes<ops::Broadcast, Words> &&
              kTakes<ops::Broadcast, Words, Ints> && kTakes<ops::Broadcast, Ints> &&
              kTakes<ops::Broadcast, Ints, Ints> && !kTakes<ops::Broadcast>);
static_assert(BROADCAST_OPVERSION == 1);
struct BroadcastMembers : ops::Broadcast {
  static_assert(std::is_same_v<decltype(dimensions_), std::vector<int32_t>>);
};

static_assert(kNode<ops::AddN> && kTakes<ops::AddN, uint32_t> && !kTakes<ops::AddN>);
struct AddNMembers : ops::AddN {
  static_assert(std::is_same_v<decltype(num_inputs_), uint32_t>);
};

static_assert(kNode<ops::Mod> && kTakes<ops::Mod> && kTakes<ops::Mod, int32_t>);
struct ModMembers : ops::Mod {
  static_assert(std::is_same_v<decltype(fmod_), int32_t>);
};

static_assert(kNode<ops::Dropout> && kTakes<ops::Dropout, float> && !kTakes<ops::Dropout>);
struct DropoutMembers : ops::Dropout {
  static_assert(std::is_same_v<decltype(ratio_), float>);
};

}  // namespace
