// Pins the constructors of every operator of the original API: op_index.txt lists the classes, and
// tests/scripts/check_op_index.py finds one that is missing here. Each parameter has exactly this
// type, references and const aside; as many as the number says have no default.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do

using Two = std::array<uint32_t, 2>;
using Three = std::array<uint32_t, 3>;
using Four = std::array<uint32_t, 4>;
using Six = std::array<uint32_t, 6>;
using Signed3 = std::array<int32_t, 3>;
using Signed6 = std::array<int32_t, 6>;
using Words = std::vector<uint32_t>;
using Ints = std::vector<int32_t>;

/// Converts to T and to nothing else: not even float to double.
template <class T>
struct Exactly {
  template <class U, class = std::enable_if_t<std::is_same_v<U, T>>>
  operator U() const;  // NOLINT: implicit is the point
};
static_assert(std::is_convertible_v<Exactly<int32_t>, int32_t> &&
              !std::is_convertible_v<Exactly<int32_t>, uint32_t> &&
              !std::is_convertible_v<Exactly<float>, double> &&
              !std::is_convertible_v<Exactly<Two>, Four>);

/// The last `kDefaults` arguments may be left out, one after the other.
template <class Op, size_t kDefaults, class Args, class = std::make_index_sequence<kDefaults + 1>>
constexpr bool kFrom = false;
template <class Op, class Args, class = std::make_index_sequence<std::tuple_size_v<Args>>>
constexpr bool kAll = false;
template <class Op, class Args, size_t... kAt>
constexpr bool kAll<Op, Args, std::index_sequence<kAt...>> =
    std::is_constructible_v<Op, Graph*, Exactly<std::tuple_element_t<kAt, Args>>...>;
template <class Op, size_t kDefaults, class Args, size_t... kLess>
constexpr bool kFrom<Op, kDefaults, Args, std::index_sequence<kLess...>> =
    (kAll<Op, Args, std::make_index_sequence<std::tuple_size_v<Args> - kLess>> && ...);

template <class Op, size_t kRequired, class... Args>
constexpr bool kTakes = kFrom<Op, sizeof...(Args) - kRequired, std::tuple<Args...>>;

static_assert(kTakes<ops::Clip, 2, float, float> && !kTakes<ops::Clip, 2, float, double> &&
              !kTakes<ops::Clip, 1, float, float> && !kTakes<ops::AddN, 1, int32_t>);

/// One node, or with the base Operation composed of several.
template <class Op, class Base>
constexpr bool kOperator =
    std::is_base_of_v<Base, Op>&& std::is_base_of_v<BuiltinOp, Op> ==
        std::is_same_v<Base, BuiltinOp> &&
    !std::is_abstract_v<Op> &&
    std::is_same_v<decltype(&Op::Clone),
                   std::shared_ptr<Operation> (Op::*)(std::shared_ptr<Graph>&) const>;

// activations.h
static_assert(kOperator<ops::Relu, BuiltinOp>);
static_assert(kTakes<ops::Relu, 0>);
static_assert(kOperator<ops::Relu1, BuiltinOp>);
static_assert(kTakes<ops::Relu1, 0>);
static_assert(kOperator<ops::Relu6, BuiltinOp>);
static_assert(kTakes<ops::Relu6, 0>);
static_assert(kOperator<ops::Tanh, BuiltinOp>);
static_assert(kTakes<ops::Tanh, 0>);
static_assert(kOperator<ops::Sigmoid, BuiltinOp>);
static_assert(kTakes<ops::Sigmoid, 0>);
static_assert(kOperator<ops::Swish, BuiltinOp>);
static_assert(kTakes<ops::Swish, 0>);
static_assert(kOperator<ops::HardSwish, BuiltinOp>);
static_assert(kTakes<ops::HardSwish, 0>);
static_assert(kOperator<ops::Mish, BuiltinOp>);
static_assert(kTakes<ops::Mish, 0>);
static_assert(kOperator<ops::SoftRelu, BuiltinOp>);
static_assert(kTakes<ops::SoftRelu, 0>);
static_assert(kOperator<ops::Sign, BuiltinOp>);
static_assert(kTakes<ops::Sign, 0>);
static_assert(kOperator<ops::SoftSign, BuiltinOp>);
static_assert(kTakes<ops::SoftSign, 0>);
static_assert(kOperator<ops::Elu, BuiltinOp>);
static_assert(kTakes<ops::Elu, 0>);
static_assert(kTakes<ops::Elu, 1, float>);
static_assert(kOperator<ops::Prelu, BuiltinOp>);
static_assert(kTakes<ops::Prelu, 1, int>);
static_assert(kOperator<ops::HardSigmoid, BuiltinOp>);
static_assert(kTakes<ops::HardSigmoid, 2, float, float>);
static_assert(kOperator<ops::LeakyRelu, BuiltinOp>);
static_assert(kTakes<ops::LeakyRelu, 1, float>);
static_assert(kOperator<ops::Linear, BuiltinOp>);
static_assert(kTakes<ops::Linear, 1, float, float>);
static_assert(kOperator<ops::Gelu, BuiltinOp>);
static_assert(kTakes<ops::Gelu, 0, bool>);
static_assert(kOperator<ops::Selu, BuiltinOp>);
static_assert(kTakes<ops::Selu, 0, float, float>);
static_assert(kOperator<ops::Celu, BuiltinOp>);
static_assert(kTakes<ops::Celu, 1, float>);

// addn.h
static_assert(kOperator<ops::AddN, BuiltinOp>);
static_assert(kTakes<ops::AddN, 1, uint32_t>);

// arg.h
static_assert(kOperator<ops::ArgMin, BuiltinOp>);
static_assert(kTakes<ops::ArgMin, 1, int32_t>);
static_assert(kOperator<ops::ArgMax, BuiltinOp>);
static_assert(kTakes<ops::ArgMax, 1, int32_t>);

// batch2space.h
static_assert(kOperator<ops::Batch2Space, BuiltinOp>);
static_assert(kTakes<ops::Batch2Space, 2, Ints, Ints, DataLayout>);

// batchnorm.h
static_assert(kOperator<ops::BatchNorm, BuiltinOp>);
static_assert(kTakes<ops::BatchNorm, 1, float, DataLayout>);

// bidirectional_sequence_lstm.h
static_assert(kOperator<ops::BidirectionalSequenceLstm, Operation>);
static_assert(kTakes<ops::BidirectionalSequenceLstm, 4, float, float,
                     ops::BidirectionalSequenceLstm::ActivationType, float, bool,
                     ops::BidirectionalSequenceLstm::ActivationType, bool>);

// bidirectional_sequence_rnn.h
static_assert(kOperator<ops::BidirectionalSequenceRnn, BuiltinOp>);
static_assert(kTakes<ops::BidirectionalSequenceRnn, 1,
                     ops::BidirectionalSequenceRnn::ActivationType, bool, bool>);

// bidirectional_sequence_rnn_ext.h
static_assert(kOperator<ops::BidirectionalSequenceRnnExt, Operation>);
static_assert(
    kTakes<ops::BidirectionalSequenceRnnExt, 1, ops::BidirectionalSequenceRnn::ActivationType>);

// broadcast.h
static_assert(kOperator<ops::Broadcast, BuiltinOp>);
static_assert(kTakes<ops::Broadcast, 1, Words, Ints>);
static_assert(kTakes<ops::Broadcast, 1, Ints, Ints>);

// clip.h
static_assert(kOperator<ops::Clip, BuiltinOp>);
static_assert(kTakes<ops::Clip, 2, float, float>);

// concat.h
static_assert(kOperator<ops::Concat, BuiltinOp>);
static_assert(kTakes<ops::Concat, 2, uint32_t, int>);

// conv1d.h
static_assert(kOperator<ops::Conv1d, BuiltinOp>);
static_assert(kTakes<ops::Conv1d, 3, PadType, uint32_t, uint32_t, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv1d, 3, Two, uint32_t, uint32_t, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv1d, 5, int32_t, PadType, uint32_t, uint32_t, uint32_t, int32_t,
                     DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv1d, 6, int32_t, PadType, uint32_t, uint32_t, uint32_t, Two, int32_t,
                     DataLayout, DataLayout>);

// conv2d.h
static_assert(kOperator<ops::Conv2d, BuiltinOp>);
static_assert(kTakes<ops::Conv2d, 3, PadType, Two, Two, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv2d, 3, Four, Two, Two, int32_t, DataLayout, DataLayout>);
static_assert(
    kTakes<ops::Conv2d, 5, int32_t, PadType, Two, Two, Two, int32_t, DataLayout, DataLayout>);
static_assert(
    kTakes<ops::Conv2d, 6, int32_t, PadType, Two, Two, Two, Four, int32_t, DataLayout, DataLayout>);

// conv3d.h
static_assert(kOperator<ops::Conv3d, BuiltinOp>);
static_assert(kTakes<ops::Conv3d, 3, PadType, Signed3, Signed3, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv3d, 3, Signed6, Signed3, Signed3, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv3d, 5, int32_t, PadType, Signed3, Signed3, Signed3, int32_t,
                     DataLayout, DataLayout>);
static_assert(kTakes<ops::Conv3d, 6, int32_t, PadType, Signed3, Signed3, Signed3, Signed6, int32_t,
                     DataLayout, DataLayout>);

// cumsum.h
static_assert(kOperator<ops::CumSum, BuiltinOp>);
static_assert(kTakes<ops::CumSum, 0, int32_t, int32_t, int32_t>);

// custom_base.h
static_assert(std::is_base_of_v<Operation, ops::CustomOpBase> &&
              !std::is_base_of_v<BuiltinOp, ops::CustomOpBase> &&
              std::is_abstract_v<ops::CustomOpBase>);

// deconv.h
static_assert(kOperator<ops::DeConv2d, BuiltinOp>);
static_assert(kTakes<ops::DeConv2d, 5, int32_t, PadType, Two, Two, Two, DataLayout, DataLayout>);
static_assert(kTakes<ops::DeConv2d, 6, int32_t, PadType, Two, Two, Two, Four, uint32_t, DataLayout,
                     DataLayout>);

// deconv1d.h
static_assert(kOperator<ops::DeConv1d, BuiltinOp>);
static_assert(
    kTakes<ops::DeConv1d, 3, PadType, uint32_t, uint32_t, uint32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::DeConv1d, 3, Two, uint32_t, uint32_t, uint32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::DeConv1d, 5, int32_t, PadType, uint32_t, uint32_t, uint32_t>);
static_assert(
    kTakes<ops::DeConv1d, 6, int32_t, PadType, uint32_t, uint32_t, uint32_t, Two, uint32_t>);
static_assert(
    kTakes<ops::DeConv1d, 7, PadType, uint32_t, uint32_t, Two, uint32_t, DataLayout, DataLayout>);

// depth2space.h
static_assert(kOperator<ops::DepthToSpace, BuiltinOp>);
static_assert(kTakes<ops::DepthToSpace, 1, int, DataLayout>);
static_assert(kTakes<ops::DepthToSpace, 2, int, ops::DepthToSpace::depth2space_mode, DataLayout>);

// dropout.h
static_assert(kOperator<ops::Dropout, BuiltinOp>);
static_assert(kTakes<ops::Dropout, 1, float>);

// elementwise.h
static_assert(kOperator<ops::Minimum, BuiltinOp>);
static_assert(kTakes<ops::Minimum, 0>);
static_assert(kOperator<ops::Maximum, BuiltinOp>);
static_assert(kTakes<ops::Maximum, 0>);
static_assert(kOperator<ops::Add, BuiltinOp>);
static_assert(kTakes<ops::Add, 0>);
static_assert(kOperator<ops::Sub, BuiltinOp>);
static_assert(kTakes<ops::Sub, 0>);
static_assert(kOperator<ops::Pow, BuiltinOp>);
static_assert(kTakes<ops::Pow, 0>);
static_assert(kOperator<ops::FloorDiv, BuiltinOp>);
static_assert(kTakes<ops::FloorDiv, 0>);
static_assert(kOperator<ops::Multiply, BuiltinOp>);
static_assert(kTakes<ops::Multiply, 0, float>);
static_assert(kOperator<ops::Div, BuiltinOp>);
static_assert(kTakes<ops::Div, 0, float>);

// embedding_lookup.h
static_assert(kOperator<ops::EmbeddingLookup, BuiltinOp>);
static_assert(kTakes<ops::EmbeddingLookup, 0>);

// erf.h
static_assert(kOperator<ops::Erf, BuiltinOp>);
static_assert(kTakes<ops::Erf, 0>);

// fullyconnected.h
static_assert(kOperator<ops::FullyConnected, BuiltinOp>);
static_assert(kTakes<ops::FullyConnected, 1, uint32_t>);
static_assert(kTakes<ops::FullyConnected, 2, uint32_t, uint32_t>);

// gather.h
static_assert(kOperator<ops::Gather, BuiltinOp>);
static_assert(kTakes<ops::Gather, 1, int, int>);

// gather_elements.h
static_assert(kOperator<ops::GatherElements, BuiltinOp>);
static_assert(kTakes<ops::GatherElements, 1, int>);

// gathernd.h
static_assert(kOperator<ops::GatherNd, BuiltinOp>);
static_assert(kTakes<ops::GatherNd, 0>);

// groupedconv1d.h
static_assert(kOperator<ops::GroupedConv1d, BuiltinOp>);
static_assert(kTakes<ops::GroupedConv1d, 5, PadType, Two, uint32_t, uint32_t, uint32_t, DataLayout,
                     DataLayout>);
static_assert(
    kTakes<ops::GroupedConv1d, 4, PadType, uint32_t, uint32_t, uint32_t, DataLayout, DataLayout>);

// groupedconv2d.h
static_assert(kOperator<ops::GroupedConv2d, BuiltinOp>);
static_assert(kTakes<ops::GroupedConv2d, 4, PadType, Two, Two, int32_t, DataLayout, DataLayout>);
static_assert(kTakes<ops::GroupedConv2d, 4, Four, Two, Two, int32_t, DataLayout, DataLayout>);

// grucell.h
static_assert(kOperator<ops::GRUCell, BuiltinOp>);
static_assert(kTakes<ops::GRUCell, 1, uint32_t, ops::GRUCell::ActivationType,
                     ops::GRUCell::ActivationType, bool>);

// hashtable_lookup.h
static_assert(kOperator<ops::HashtableLookup, BuiltinOp>);
static_assert(kTakes<ops::HashtableLookup, 0>);

// instancenormalization.h
static_assert(kOperator<ops::InstanceNormalization, BuiltinOp>);
static_assert(kTakes<ops::InstanceNormalization, 0, float, DataLayout>);

// l2normalization.h
static_assert(kOperator<ops::L2Normalization, BuiltinOp>);
static_assert(kTakes<ops::L2Normalization, 1, int32_t>);

// layernormalization.h
static_assert(kOperator<ops::LayerNormalization, BuiltinOp>);
static_assert(kTakes<ops::LayerNormalization, 1, int32_t, float>);

// localresponsenormalization.h
static_assert(kOperator<ops::LocalResponseNormalization, BuiltinOp>);
static_assert(kTakes<ops::LocalResponseNormalization, 5, uint32_t, float, float, float, int32_t>);
static_assert(std::is_same_v<ops::LRN, ops::LocalResponseNormalization>);

// logical.h
static_assert(kOperator<ops::LogicalAnd, BuiltinOp>);
static_assert(kTakes<ops::LogicalAnd, 0>);
static_assert(kOperator<ops::LogicalOr, BuiltinOp>);
static_assert(kTakes<ops::LogicalOr, 0>);

// logsoftmax.h
static_assert(kOperator<ops::LogSoftmax, BuiltinOp>);
static_assert(kTakes<ops::LogSoftmax, 1, int32_t, float>);

// matmul.h
static_assert(kOperator<ops::Matmul, BuiltinOp>);
static_assert(kTakes<ops::Matmul, 0, bool, bool, bool, bool>);

// max_pool3d.h
static_assert(kOperator<ops::MaxPool3d, BuiltinOp>);
static_assert(kTakes<ops::MaxPool3d, 5, RoundType, Three, Three, Six, PadType, DataLayout>);

// maxpoolgrad.h
static_assert(kOperator<ops::MaxpoolGrad, Operation>);
static_assert(kTakes<ops::MaxpoolGrad, 3, PadType, Two, Two, RoundType, DataLayout>);

// maxpoolwithargmax.h
static_assert(kOperator<ops::MaxpoolWithArgmax, BuiltinOp>);
static_assert(kTakes<ops::MaxpoolWithArgmax, 3, PadType, Two, Two, RoundType, DataLayout>);

// maxpoolwithargmax2.h
static_assert(kOperator<ops::MaxpoolWithArgmax2, BuiltinOp>);
static_assert(kTakes<ops::MaxpoolWithArgmax2, 3, PadType, Two, Two, RoundType, DataLayout>);

// maxunpool2d.h
static_assert(kOperator<ops::MaxUnpool2d, BuiltinOp>);
static_assert(kTakes<ops::MaxUnpool2d, 2, Two, Two, DataLayout>);

// mod.h
static_assert(kOperator<ops::Mod, BuiltinOp>);
static_assert(kTakes<ops::Mod, 0, int32_t>);

// moments.h
static_assert(kOperator<ops::Moments, BuiltinOp>);
static_assert(kTakes<ops::Moments, 1, Ints, bool>);

// nbg.h
static_assert(kOperator<ops::NBG, BuiltinOp>);
static_assert(kTakes<ops::NBG, 3, const char*, size_t, size_t>);

// onehot.h
static_assert(kOperator<ops::OneHot, BuiltinOp>);
static_assert(kTakes<ops::OneHot, 1, int32_t, float, float, int32_t>);

// pad.h
static_assert(kOperator<ops::Pad, BuiltinOp>);
static_assert(kTakes<ops::Pad, 3, Words, Words, int32_t>);
static_assert(kTakes<ops::Pad, 4, Words, Words, int32_t, ops::Pad::pad_mode_type>);

// pad_v2.h
static_assert(kOperator<ops::PadV2, BuiltinOp>);
static_assert(kTakes<ops::PadV2, 3, Words, Words, float>);
static_assert(kTakes<ops::PadV2, 4, Words, Words, float, ops::PadV2::pad_mode_type>);

// pool1d.h
static_assert(kOperator<ops::Pool1d, BuiltinOp>);
static_assert(kTakes<ops::Pool1d, 4, PoolType, PadType, uint32_t, uint32_t, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool1d, 4, PoolType, Two, uint32_t, uint32_t, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool1d, 2, PoolType, uint32_t, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool1d, 3, PoolType, uint32_t, uint32_t, RoundType, DataLayout>);

// pool2d.h
static_assert(kOperator<ops::Pool2d, BuiltinOp>);
static_assert(kTakes<ops::Pool2d, 4, PoolType, PadType, Two, Two, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool2d, 4, PoolType, Four, Two, Two, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool2d, 2, PoolType, Two, RoundType, DataLayout>);
static_assert(kTakes<ops::Pool2d, 3, PoolType, Two, Two, RoundType, DataLayout>);

// reduce.h
static_assert(kOperator<ops::ReduceMin, BuiltinOp>);
static_assert(kTakes<ops::ReduceMin, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceMax, BuiltinOp>);
static_assert(kTakes<ops::ReduceMax, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceAny, BuiltinOp>);
static_assert(kTakes<ops::ReduceAny, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceAll, BuiltinOp>);
static_assert(kTakes<ops::ReduceAll, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceProd, BuiltinOp>);
static_assert(kTakes<ops::ReduceProd, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceMean, BuiltinOp>);
static_assert(kTakes<ops::ReduceMean, 2, Ints, bool>);
static_assert(kOperator<ops::ReduceSum, BuiltinOp>);
static_assert(kTakes<ops::ReduceSum, 2, Ints, bool>);

// relational_operations.h
static_assert(kOperator<ops::Greater, BuiltinOp>);
static_assert(kTakes<ops::Greater, 0>);
static_assert(kOperator<ops::GreaterOrEqual, BuiltinOp>);
static_assert(kTakes<ops::GreaterOrEqual, 0>);
static_assert(kOperator<ops::Less, BuiltinOp>);
static_assert(kTakes<ops::Less, 0>);
static_assert(kOperator<ops::LessOrEqual, BuiltinOp>);
static_assert(kTakes<ops::LessOrEqual, 0>);
static_assert(kOperator<ops::NotEqual, BuiltinOp>);
static_assert(kTakes<ops::NotEqual, 0>);
static_assert(kOperator<ops::Equal, BuiltinOp>);
static_assert(kTakes<ops::Equal, 0>);

// reorg.h
static_assert(kOperator<ops::Reorg, BuiltinOp>);
static_assert(kTakes<ops::Reorg, 1, uint32_t>);

// reshape.h
static_assert(kOperator<ops::Reshape, Operation>);
static_assert(kTakes<ops::Reshape, 1, Words>);

// resize.h
static_assert(kOperator<ops::Resize, BuiltinOp>);
static_assert(kTakes<ops::Resize, 6, ResizeType, float, bool, bool, int, int, DataLayout>);

// resize1d.h
static_assert(kOperator<ops::Resize1d, BuiltinOp>);
static_assert(kTakes<ops::Resize1d, 5, ResizeType, float, bool, bool, int, DataLayout>);

// reverse.h
static_assert(kOperator<ops::Reverse, BuiltinOp>);
static_assert(kTakes<ops::Reverse, 1, Ints>);

// rnn_cell.h
static_assert(kOperator<ops::RNNCell, Operation>);
static_assert(kTakes<ops::RNNCell, 1, ops::RNNCell::ActivationType>);

// roi_align.h
static_assert(kOperator<ops::RoiAlign, BuiltinOp>);
static_assert(
    kTakes<ops::RoiAlign, 6, int32_t, int32_t, float, float, int32_t, int32_t, DataLayout>);
static_assert(std::is_same_v<ops::ROI_Align, ops::RoiAlign>);

// roi_pool.h
static_assert(kOperator<ops::RoiPool, BuiltinOp>);
static_assert(kTakes<ops::RoiPool, 3, PoolType, float, Two, DataLayout>);
static_assert(std::is_same_v<ops::ROI_Pool, ops::RoiPool>);

// scatternd.h
static_assert(kOperator<ops::ScatterND, BuiltinOp>);
static_assert(kTakes<ops::ScatterND, 1, Words>);

// scatternd_onnx_v16.h
static_assert(kOperator<ops::ScatterND_ONNX_V16, BuiltinOp>);
static_assert(kTakes<ops::ScatterND_ONNX_V16, 0, ops::ScatterND_ONNX_V16::ReductionType>);

// select.h
static_assert(kOperator<ops::Select, BuiltinOp>);
static_assert(kTakes<ops::Select, 0>);

// shuffle_channel.h
static_assert(kOperator<ops::ShuffleChannel, BuiltinOp>);
static_assert(kTakes<ops::ShuffleChannel, 2, int32_t, int32_t>);

// signal_frame.h
static_assert(kOperator<ops::SignalFrame, BuiltinOp>);
static_assert(kTakes<ops::SignalFrame, 2, uint32_t, uint32_t, uint32_t, uint32_t>);

// simple_operations.h
static_assert(kOperator<ops::DataConvert, BuiltinOp>);
static_assert(kTakes<ops::DataConvert, 0>);
static_assert(kOperator<ops::Neg, BuiltinOp>);
static_assert(kTakes<ops::Neg, 0>);
static_assert(kOperator<ops::Abs, BuiltinOp>);
static_assert(kTakes<ops::Abs, 0>);
static_assert(kOperator<ops::Sin, BuiltinOp>);
static_assert(kTakes<ops::Sin, 0>);
static_assert(kOperator<ops::Exp, BuiltinOp>);
static_assert(kTakes<ops::Exp, 0>);
static_assert(kOperator<ops::Log, BuiltinOp>);
static_assert(kTakes<ops::Log, 0>);
static_assert(kOperator<ops::Sqrt, BuiltinOp>);
static_assert(kTakes<ops::Sqrt, 0>);
static_assert(kOperator<ops::Rsqrt, BuiltinOp>);
static_assert(kTakes<ops::Rsqrt, 0>);
static_assert(kOperator<ops::Square, BuiltinOp>);
static_assert(kTakes<ops::Square, 0>);
static_assert(kOperator<ops::LogicalNot, BuiltinOp>);
static_assert(kTakes<ops::LogicalNot, 0>);
static_assert(kOperator<ops::Floor, BuiltinOp>);
static_assert(kTakes<ops::Floor, 0>);
static_assert(kOperator<ops::Ceil, BuiltinOp>);
static_assert(kTakes<ops::Ceil, 0>);
static_assert(kOperator<ops::Round, BuiltinOp>);
static_assert(kTakes<ops::Round, 0>);
static_assert(kOperator<ops::Cast, BuiltinOp>);
static_assert(kTakes<ops::Cast, 0>);
static_assert(kOperator<ops::Rcp, BuiltinOp>);
static_assert(kTakes<ops::Rcp, 0>);
static_assert(kOperator<ops::Cos, BuiltinOp>);
static_assert(kTakes<ops::Cos, 0>);
static_assert(kOperator<ops::Tan, BuiltinOp>);
static_assert(kTakes<ops::Tan, 0>);
static_assert(kOperator<ops::ATan, BuiltinOp>);
static_assert(kTakes<ops::ATan, 0>);
static_assert(kOperator<ops::ATanh, BuiltinOp>);
static_assert(kTakes<ops::ATanh, 0>);
static_assert(kOperator<ops::ACosh, BuiltinOp>);
static_assert(kTakes<ops::ACosh, 0>);

// slice.h
static_assert(kOperator<ops::Slice, BuiltinOp>);
static_assert(kTakes<ops::Slice, 3, uint32_t, Ints, Ints>);
static_assert(kTakes<ops::Slice, 4, uint32_t, Ints, Ints, Ints>);

// softmax.h
static_assert(kOperator<ops::Softmax, BuiltinOp>);
static_assert(kTakes<ops::Softmax, 2, float, int32_t>);

// space2batch.h
static_assert(kOperator<ops::Space2Batch, BuiltinOp>);
static_assert(kTakes<ops::Space2Batch, 2, Ints, Ints, DataLayout>);

// space2depth.h
static_assert(kOperator<ops::SpaceToDepth, BuiltinOp>);
static_assert(kTakes<ops::SpaceToDepth, 1, Ints, DataLayout>);

// spatial_transformer.h
static_assert(kOperator<ops::SpatialTransformer, BuiltinOp>);
static_assert(kTakes<ops::SpatialTransformer, 14, uint32_t, uint32_t, bool, bool, bool, bool, bool,
                     bool, float, float, float, float, float, float, bool>);

// split.h
static_assert(kOperator<ops::Split, BuiltinOp>);
static_assert(kTakes<ops::Split, 2, uint32_t, Words>);

// squeeze.h
static_assert(kOperator<ops::Squeeze, BuiltinOp>);
static_assert(kTakes<ops::Squeeze, 1, Words>);

// stack.h
static_assert(kOperator<ops::Stack, BuiltinOp>);
static_assert(kTakes<ops::Stack, 2, uint32_t, int>);

// stridedslice.h
static_assert(kOperator<ops::StridedSlice, BuiltinOp>);
static_assert(kTakes<ops::StridedSlice, 6, Ints, Ints, Ints, int32_t, int32_t, int32_t>);
static_assert(kTakes<ops::StridedSlice, 7, Ints, Ints, Ints, int32_t, int32_t, int32_t, int32_t>);

// svdf.h
static_assert(kOperator<ops::Svdf, BuiltinOp>);
static_assert(kTakes<ops::Svdf, 3, int32_t, int32_t, int32_t>);

// tile.h
static_assert(kOperator<ops::Tile, BuiltinOp>);
static_assert(kTakes<ops::Tile, 1, Ints>);

// tiny_yolov4_postprocess.h
static_assert(kOperator<ops::TinyYolov4Postprocess, BuiltinOp>);
static_assert(kTakes<ops::TinyYolov4Postprocess, 0>);

// topk.h
static_assert(kOperator<ops::Topk, BuiltinOp>);
static_assert(kTakes<ops::Topk, 1, uint32_t, int32_t>);

// transpose.h
static_assert(kOperator<ops::Transpose, BuiltinOp>);
static_assert(kTakes<ops::Transpose, 1, Words>);

// unidirectional_sequence_gru.h
static_assert(kOperator<ops::UnidirectionalSequenceGRU, BuiltinOp>);
static_assert(kTakes<ops::UnidirectionalSequenceGRU, 1, uint32_t,
                     ops::UnidirectionalSequenceGRU::ActivationType,
                     ops::UnidirectionalSequenceGRU::ActivationType, bool, bool, bool>);

// unidirectional_sequence_lstm.h
static_assert(kOperator<ops::UnidirectionalSequenceLstm, BuiltinOp>);
static_assert(kTakes<ops::UnidirectionalSequenceLstm, 4, float, float,
                     ops::UnidirectionalSequenceLstm::ActivationType, float, bool,
                     ops::UnidirectionalSequenceLstm::ActivationType, bool>);

// unidirectional_sequence_rnn.h
static_assert(kOperator<ops::UnidirectionalSequenceRnn, BuiltinOp>);
static_assert(kTakes<ops::UnidirectionalSequenceRnn, 1,
                     ops::UnidirectionalSequenceRnn::ActivationType, bool>);

// unidirectional_sequence_rnn_ext.h
static_assert(kOperator<ops::UnidirectionalSequenceRnnExt, Operation>);
static_assert(
    kTakes<ops::UnidirectionalSequenceRnnExt, 1, ops::UnidirectionalSequenceRnn::ActivationType>);

// unstack.h
static_assert(kOperator<ops::Unstack, BuiltinOp>);
static_assert(kTakes<ops::Unstack, 2, int32_t, uint32_t>);

}  // namespace
