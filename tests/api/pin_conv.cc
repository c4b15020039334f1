// Pins the constructors of convolutions, as pin_signatures.cc does for other operators.
#include <array>
#include <type_traits>

#include "api/pins.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do
using namespace tim::vx::test;

// Two layouts may follow the arguments, and nothing else.
template <class Op, class... Args>
constexpr bool kLayouts = kTakes<Op, Args...>&& kTakes<Op, Args..., DataLayout>&&
                              kTakes<Op, Args..., DataLayout, DataLayout> &&
                          !kTakes<Op, Args..., DataLayout, DataLayout, int>;
// A multiplier may, and then two layouts.
template <class Op, class... Args>
constexpr bool kMultiplier = kTakes<Op, Args...>&& kLayouts<Op, Args..., int32_t>;
template <class Op>
constexpr bool kTellsKernelLayout =
    std::is_same_v<decltype(&Op::KernelDataLayout), DataLayout (Op::*)()>;

using Two = const std::array<uint32_t, 2>&;
using Four = const std::array<uint32_t, 4>&;
using Three = const std::array<int32_t, 3>&;
using Six = const std::array<int32_t, 6>&;

static_assert(kNode<ops::GroupedConv2d> && kTellsKernelLayout<ops::GroupedConv2d>);
static_assert(kLayouts<ops::GroupedConv2d, PadType, Two, Two, int32_t>);
static_assert(kLayouts<ops::GroupedConv2d, Four, Two, Two, int32_t>);
static_assert(!kTakes<ops::GroupedConv2d, PadType, Two, Two>);

static_assert(kNode<ops::Conv1d> && kTellsKernelLayout<ops::Conv1d>);
static_assert(kMultiplier<ops::Conv1d, PadType, uint32_t, uint32_t>);
static_assert(kMultiplier<ops::Conv1d, Two, uint32_t, uint32_t>);
static_assert(kMultiplier<ops::Conv1d, int32_t, PadType, uint32_t, uint32_t, uint32_t>);
static_assert(kMultiplier<ops::Conv1d, int32_t, PadType, uint32_t, uint32_t, uint32_t, Two>);

static_assert(kNode<ops::GroupedConv1d> && kTellsKernelLayout<ops::GroupedConv1d>);
static_assert(
    kLayouts<ops::GroupedConv1d, PadType, std::array<uint32_t, 2>, uint32_t, uint32_t, uint32_t>);
static_assert(kLayouts<ops::GroupedConv1d, PadType, uint32_t, uint32_t, uint32_t>);

static_assert(kNode<ops::Conv3d> && kTellsKernelLayout<ops::Conv3d>);
static_assert(kMultiplier<ops::Conv3d, PadType, Three, Three>);
static_assert(kMultiplier<ops::Conv3d, Six, Three, Three>);
static_assert(kMultiplier<ops::Conv3d, int32_t, PadType, Three, Three, Three>);
static_assert(kMultiplier<ops::Conv3d, int32_t, PadType, Three, Three, Three, Six>);

static_assert(kNode<ops::DeConv2d> && kTellsKernelLayout<ops::DeConv2d>);
static_assert(kLayouts<ops::DeConv2d, int32_t, PadType, Two, Two, Two>);
static_assert(kTakes<ops::DeConv2d, int32_t, PadType, Two, Two, Two, Four>);
static_assert(kLayouts<ops::DeConv2d, int32_t, PadType, Two, Two, Two, Four, uint32_t>);

static_assert(kNode<ops::DeConv1d> && kTellsKernelLayout<ops::DeConv1d>);
static_assert(kTakes<ops::DeConv1d, PadType, uint32_t, uint32_t>);
static_assert(kLayouts<ops::DeConv1d, PadType, uint32_t, uint32_t, uint32_t>);
static_assert(kTakes<ops::DeConv1d, Two, uint32_t, uint32_t>);
static_assert(kLayouts<ops::DeConv1d, Two, uint32_t, uint32_t, uint32_t>);
static_assert(kTakes<ops::DeConv1d, int32_t, PadType, uint32_t, uint32_t, uint32_t>);
static_assert(kTakes<ops::DeConv1d, int32_t, PadType, uint32_t, uint32_t, uint32_t, Two>);
static_assert(kTakes<ops::DeConv1d, int32_t, PadType, uint32_t, uint32_t, uint32_t, Two, uint32_t>);
static_assert(
    kTakes<ops::DeConv1d, PadType, uint32_t, uint32_t, Two, uint32_t, DataLayout, DataLayout>);
static_assert(!kTakes<ops::DeConv1d, PadType, uint32_t, uint32_t, Two, uint32_t>);

// What subclasses read.
struct GroupedConv2dMembers : ops::GroupedConv2d {
  static_assert(std::is_same_v<decltype(grouped_number_), const int32_t> &&
                std::is_same_v<decltype(pad_), const std::array<uint32_t, 4>>);
};
struct Conv1dMembers : ops::Conv1d {
  static_assert(std::is_same_v<decltype(stride_), const uint32_t> &&
                std::is_same_v<decltype(pad_), const std::array<uint32_t, 2>>);
};
struct DeConv2dMembers : ops::DeConv2d {
  static_assert(std::is_same_v<decltype(oc_count_), const uint32_t> &&
                std::is_same_v<decltype(output_padding_), const std::array<uint32_t, 2>>);
};
struct Conv3dMembers : ops::Conv3d {
  static_assert(std::is_same_v<decltype(ksize_), const std::array<int32_t, 3>> &&
                std::is_same_v<decltype(pad_), const std::array<int32_t, 6>>);
};

}  // namespace
