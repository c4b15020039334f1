// Pins the constructors and protected members of the operators that reduce, multiply matrices and
// follow indices, in the manner of pin_signatures.cc.
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

static_assert(kAllPlain<ops::GatherNd, ops::EmbeddingLookup, ops::HashtableLookup>);

template <class... Ops>
constexpr bool kAllReduce = ((kNode<Ops> && kTakes<Ops, Ints, bool> && !kTakes<Ops, Ints>)&&...);
static_assert(kAllReduce<ops::ReduceMin, ops::ReduceMax, ops::ReduceAny, ops::ReduceAll,
                         ops::ReduceProd, ops::ReduceMean, ops::ReduceSum>);
template <class Op>
struct ReduceMembers : Op {
  static_assert(std::is_same_v<decltype(ReduceMembers::axis_), std::vector<int32_t>> &&
                std::is_same_v<decltype(ReduceMembers::keep_dims_), bool>);
};
template struct ReduceMembers<ops::ReduceMin>;
template struct ReduceMembers<ops::ReduceMax>;
template struct ReduceMembers<ops::ReduceAny>;
template struct ReduceMembers<ops::ReduceAll>;
template struct ReduceMembers<ops::ReduceProd>;
template struct ReduceMembers<ops::ReduceMean>;
template struct ReduceMembers<ops::ReduceSum>;

static_assert(kNode<ops::Matmul> && kTakes<ops::Matmul> && kTakes<ops::Matmul, bool> &&
              kTakes<ops::Matmul, bool, bool> && kTakes<ops::Matmul, bool, bool, bool> &&
              kTakes<ops::Matmul, bool, bool, bool, bool>);
struct MatmulMembers : ops::Matmul {
  static_assert(std::is_same_v<decltype(transpose_a_), bool> &&
                std::is_same_v<decltype(transpose_b_), bool> &&
                std::is_same_v<decltype(adjoint_a_), bool> &&
                std::is_same_v<decltype(adjoint_b_), bool>);
};

static_assert(kNode<ops::Gather> && kTakes<ops::Gather, int> && kTakes<ops::Gather, int, int> &&
              !kTakes<ops::Gather>);
struct GatherMembers : ops::Gather {
  static_assert(std::is_same_v<decltype(axis_), int> && std::is_same_v<decltype(batch_dims_), int>);
};

static_assert(kNode<ops::GatherElements> && kTakes<ops::GatherElements, int> &&
              !kTakes<ops::GatherElements>);
struct GatherElementsMembers : ops::GatherElements {
  static_assert(std::is_same_v<decltype(axis_), int>);
};

static_assert(kNode<ops::ArgMin> && kTakes<ops::ArgMin, int32_t> && !kTakes<ops::ArgMin>);
static_assert(kNode<ops::ArgMax> && kTakes<ops::ArgMax, int32_t> && !kTakes<ops::ArgMax>);
struct ArgMinMembers : ops::ArgMin {
  static_assert(std::is_same_v<decltype(axis_), int32_t>);
};
struct ArgMaxMembers : ops::ArgMax {
  static_assert(std::is_same_v<decltype(axis_), int32_t>);
};

static_assert(kNode<ops::Topk> && kTakes<ops::Topk, uint32_t> &&
              kTakes<ops::Topk, uint32_t, int32_t> && !kTakes<ops::Topk>);
struct TopkMembers : ops::Topk {
  static_assert(std::is_same_v<decltype(k_), uint32_t> && std::is_same_v<decltype(axis_), int32_t>);
};

static_assert(kNode<ops::OneHot> && kTakes<ops::OneHot, int32_t> &&
              kTakes<ops::OneHot, int32_t, float> && kTakes<ops::OneHot, int32_t, float, float> &&
              kTakes<ops::OneHot, int32_t, float, float, int32_t>);
struct OneHotMembers : ops::OneHot {
  static_assert(std::is_same_v<decltype(depth_), int32_t> &&
                std::is_same_v<decltype(on_value_), float> &&
                std::is_same_v<decltype(off_value_), float> &&
                std::is_same_v<decltype(axis_), int32_t>);
};

static_assert(kNode<ops::ScatterND> && kTakes<ops::ScatterND, Words> && !kTakes<ops::ScatterND>);
struct ScatterNDMembers : ops::ScatterND {
  static_assert(std::is_same_v<decltype(shape_), std::vector<uint32_t>>);
};

using Update = ops::ScatterND_ONNX_V16;
static_assert(kNode<Update> && kTakes<Update> && kTakes<Update, Update::ReductionType>);
static_assert(std::is_convertible_v<Update::ReductionType, int> && Update::REDUCTION_NONE == 0 &&
              Update::REDUCTION_ADD == 1 && Update::REDUCTION_MUL == 2 &&
              Update::REDUCTION_MAX == 3 && Update::REDUCTION_MIN == 4);
#ifndef VSI_FEAT_OP_SCATTER_ND_UPDATE
#error "callers guard ScatterND_ONNX_V16 with it"
#endif
#ifndef _VSI_NN_OP_GATHER_ELEMENTS_H
#error "callers guard GatherElements with it"
#endif

static_assert(kNode<ops::LogSoftmax> && kTakes<ops::LogSoftmax, int32_t> &&
              kTakes<ops::LogSoftmax, int32_t, float> && !kTakes<ops::LogSoftmax>);
struct LogSoftmaxMembers : ops::LogSoftmax {
  static_assert(std::is_same_v<decltype(axis_), int32_t> && std::is_same_v<decltype(beta_), float>);
};

static_assert(kNode<ops::Moments> && kTakes<ops::Moments, Ints> &&
              kTakes<ops::Moments, Ints, bool> && !kTakes<ops::Moments>);
struct MomentsMembers : ops::Moments {
  static_assert(std::is_same_v<decltype(axes_), std::vector<int32_t>> &&
                std::is_same_v<decltype(keep_dims_), bool>);
};

}  // namespace
