// Pins the constructors of pooling and of regions, as pin_signatures.cc does for other operators.
#include <array>
#include <type_traits>

#include "api/pins.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do
using namespace tim::vx::test;

// A layout may follow the arguments, and nothing else.
template <class Op, class... Args>
constexpr bool kLayout =
    kTakes<Op, Args...>&& kTakes<Op, Args..., DataLayout> && !kTakes<Op, Args..., DataLayout, int>;
// A rounding may, and then a layout.
template <class Op, class... Args>
constexpr bool kRounding = kTakes<Op, Args...>&& kLayout<Op, Args..., RoundType>;

using Two = const std::array<uint32_t, 2>&;
using Three = const std::array<uint32_t, 3>&;
using Six = const std::array<uint32_t, 6>&;

static_assert(kNode<ops::Pool1d>);
static_assert(kRounding<ops::Pool1d, PoolType, PadType, uint32_t, uint32_t>);
static_assert(kRounding<ops::Pool1d, PoolType, Two, uint32_t, uint32_t>);
static_assert(kRounding<ops::Pool1d, PoolType, uint32_t>);
static_assert(kRounding<ops::Pool1d, PoolType, uint32_t, uint32_t>);
static_assert(std::is_same_v<decltype(&ops::Pool1d::Init), void (ops::Pool1d::*)()>);

static_assert(kNode<ops::MaxPool3d>);
static_assert(kLayout<ops::MaxPool3d, RoundType, Three, Three, Six, PadType>);

static_assert(kNode<ops::MaxpoolWithArgmax> && kNode<ops::MaxpoolWithArgmax2> &&
              kNode<ops::MaxpoolGrad, Operation> &&
              !std::is_base_of_v<BuiltinOp, ops::MaxpoolGrad>);
static_assert(kRounding<ops::MaxpoolWithArgmax, PadType, Two, Two>);
static_assert(kRounding<ops::MaxpoolWithArgmax2, PadType, Two, Two>);
static_assert(kRounding<ops::MaxpoolGrad, PadType, Two, Two>);
static_assert(kNode<ops::MaxUnpool2d> && kLayout<ops::MaxUnpool2d, Two, Two>);

static_assert(kNode<ops::RoiAlign> && std::is_same_v<ops::ROI_Align, ops::RoiAlign>);
static_assert(kLayout<ops::RoiAlign, int32_t, int32_t, float, float, int32_t, int32_t>);
static_assert(kNode<ops::RoiPool> && std::is_same_v<ops::ROI_Pool, ops::RoiPool>);
static_assert(kLayout<ops::RoiPool, PoolType, float, Two>);

// What subclasses read.
struct Pool1dMembers : ops::Pool1d {
  static_assert(std::is_same_v<decltype(ksize_), const uint32_t> &&
                std::is_same_v<decltype(pad_), const std::array<uint32_t, 2>>);
};
struct MaxpoolGradMembers : ops::MaxpoolGrad {
  static_assert(std::is_same_v<decltype(ksize_), const std::array<uint32_t, 2>> &&
                std::is_same_v<decltype(round_type_), const RoundType>);
};

}  // namespace
