// Pins the public surface of the original API: if a signature, an enumerator's number, a default
// argument or what is abstract changes, this file no longer compiles or its tests fail. Callers
// written for the original are built against exactly these.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "api/pins.h"
#include "permute_vector.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/operation.h"
#include "tim/vx/ops.h"
#include "tim/vx/status.h"
#include "tim/vx/tensor.h"
#include "tim/vx/types.h"
#include "vsi_nn_pub.h"

namespace {

using namespace tim::vx;  // NOLINT: as callers do
using namespace tim::vx::test;

// The member's type is exactly the one given.
#define PIN(member, ...) static_assert(std::is_same_v<decltype(&member), __VA_ARGS__>)
// One overload of the member has exactly the type given.
#define PIN_OVERLOAD(member, ...) static_assert(sizeof(static_cast<__VA_ARGS__>(&member)) != 0)
// The enumerator has this number.
#define PIN_VALUE(enumerator, number) static_assert(static_cast<int>(enumerator) == (number))

using TensorPtr = std::shared_ptr<Tensor>;
using TensorPtrs = std::vector<TensorPtr>;
using OpPtr = std::shared_ptr<Operation>;
using OpPtrs = std::vector<OpPtr>;

// ------------------------------------------------------------------------------------- types.h

static_assert(std::is_same_v<std::underlying_type_t<DataType>, int>);
PIN_VALUE(DataType::UNKNOWN, 0);
PIN_VALUE(DataType::INT8, 1);
PIN_VALUE(DataType::UINT8, 2);
PIN_VALUE(DataType::INT16, 3);
PIN_VALUE(DataType::UINT16, 4);
PIN_VALUE(DataType::INT32, 5);
PIN_VALUE(DataType::UINT32, 6);
PIN_VALUE(DataType::INT64, 7);
PIN_VALUE(DataType::FLOAT16, 8);
PIN_VALUE(DataType::FLOAT32, 9);
PIN_VALUE(DataType::BOOL8, 10);
PIN_VALUE(DataType::INT4, 11);
PIN_VALUE(DataType::UINT4, 12);

PIN_VALUE(QuantType::NONE, 0);
PIN_VALUE(QuantType::ASYMMETRIC, 1);
PIN_VALUE(QuantType::SYMMETRIC_PER_CHANNEL, 2);
PIN_VALUE(QuantType::ASYMMETRIC_PER_CHANNEL, 3);
PIN_VALUE(QuantType::DYNAMIC_FIXED_POINT, 4);

// Unscoped: both spellings, and an int comes out by itself.
static_assert(std::is_convertible_v<TensorAttribute, int>);
static_assert(tim::vx::INPUT == tim::vx::TensorAttribute::INPUT);
PIN_VALUE(tim::vx::CONSTANT, 1);
PIN_VALUE(tim::vx::TRANSIENT, 2);
PIN_VALUE(tim::vx::VARIABLE, 4);
PIN_VALUE(tim::vx::INPUT, 8);
PIN_VALUE(tim::vx::OUTPUT, 16);
PIN_VALUE(TensorAttribute::CONSTANT, 1);
PIN_VALUE(TensorAttribute::TRANSIENT, 2);
PIN_VALUE(TensorAttribute::VARIABLE, 4);
PIN_VALUE(TensorAttribute::OUTPUT, 16);

PIN_VALUE(PadType::NONE, -1);
PIN_VALUE(PadType::AUTO, 0);
PIN_VALUE(PadType::VALID, 1);
PIN_VALUE(PadType::SAME, 2);

PIN_VALUE(PoolType::MAX, 0);
PIN_VALUE(PoolType::AVG, 1);
PIN_VALUE(PoolType::L2, 2);
PIN_VALUE(PoolType::AVG_ANDROID, 3);

PIN_VALUE(RoundType::CEILING, 0);
PIN_VALUE(RoundType::FLOOR, 1);
PIN_VALUE(OverflowPolicy::WRAP, 0);
PIN_VALUE(OverflowPolicy::SATURATE, 1);
PIN_VALUE(RoundingPolicy::TO_ZERO, 0);
PIN_VALUE(RoundingPolicy::RTNE, 1);
PIN_VALUE(ResizeType::NEAREST_NEIGHBOR, 0);
PIN_VALUE(ResizeType::BILINEAR, 1);
PIN_VALUE(ResizeType::AREA, 2);

PIN_VALUE(DataLayout::ANY, 0);
PIN_VALUE(DataLayout::WHCN, 1);
PIN_VALUE(DataLayout::CWHN, 2);
PIN_VALUE(DataLayout::IcWHOc, 3);
PIN_VALUE(DataLayout::OcIcWH, 4);
PIN_VALUE(DataLayout::IcOcWH, 5);
PIN_VALUE(DataLayout::WHIcOc, 6);
PIN_VALUE(DataLayout::WCN, 7);
PIN_VALUE(DataLayout::WIcOc, 8);
PIN_VALUE(DataLayout::WHDCN, 9);
PIN_VALUE(DataLayout::WHDIcOc, 10);
PIN_VALUE(DataLayout::CWHDN, 11);
PIN_VALUE(DataLayout::OcIcWHD, 12);

static_assert(!std::is_convertible_v<DataType, int> && !std::is_convertible_v<QuantType, int> &&
              !std::is_convertible_v<PadType, int> && !std::is_convertible_v<PoolType, int> &&
              !std::is_convertible_v<RoundType, int> && !std::is_convertible_v<ResizeType, int> &&
              !std::is_convertible_v<OverflowPolicy, int> &&
              !std::is_convertible_v<RoundingPolicy, int> &&
              !std::is_convertible_v<DataLayout, int>);

// ------------------------------------------------------------------------------------ tensor.h

static_assert(std::is_same_v<ShapeType, std::vector<uint32_t>>);

// All four constructors are implicit.
struct Taker {
  static void Take(Quantization);
};
static_assert(requires { Taker::Take({}); });
static_assert(requires { Taker::Take({QuantType::ASYMMETRIC, 0.5f, 3}); });
static_assert(requires {
  Taker::Take({QuantType::SYMMETRIC_PER_CHANNEL, 3, std::vector<float>{}, std::vector<int32_t>{}});
});
static_assert(requires(int8_t fl) { Taker::Take({QuantType::DYNAMIC_FIXED_POINT, fl}); });
static_assert(std::is_constructible_v<Quantization, QuantType, float, int32_t>);
static_assert(std::is_constructible_v<Quantization, QuantType, int32_t, std::vector<float>,
                                      std::vector<int32_t>>);

PIN_OVERLOAD(Quantization::Type, QuantType& (Quantization::*)());
PIN_OVERLOAD(Quantization::Type, const QuantType& (Quantization::*)() const);
PIN(Quantization::SetType, Quantization& (Quantization::*)(QuantType));
PIN_OVERLOAD(Quantization::ChannelDim, int32_t& (Quantization::*)());
PIN_OVERLOAD(Quantization::ChannelDim, const int32_t& (Quantization::*)() const);
PIN(Quantization::SetChannelDim, Quantization& (Quantization::*)(int32_t));
PIN_OVERLOAD(Quantization::Scales, std::vector<float>& (Quantization::*)());
PIN_OVERLOAD(Quantization::Scales, const std::vector<float>& (Quantization::*)() const);
PIN(Quantization::SetScales, Quantization& (Quantization::*)(std::vector<float>));
PIN_OVERLOAD(Quantization::ZeroPoints, std::vector<int32_t>& (Quantization::*)());
PIN_OVERLOAD(Quantization::ZeroPoints, const std::vector<int32_t>& (Quantization::*)() const);
PIN(Quantization::SetZeroPoints, Quantization& (Quantization::*)(std::vector<int32_t>));
PIN(Quantization::Fl, const std::int8_t& (Quantization::*)() const);
PIN(Quantization::operator==, bool (Quantization::*)(const Quantization&) const);

// Protected data, read by subclasses.
struct QuantizationMembers : Quantization {
  static_assert(std::is_same_v<decltype(type_), QuantType>);
  static_assert(std::is_same_v<decltype(channel_dim_), int32_t>);
  static_assert(std::is_same_v<decltype(scales_), std::vector<float>>);
  static_assert(std::is_same_v<decltype(zero_points_), std::vector<int32_t>>);
  static_assert(std::is_same_v<decltype(fl_), int8_t>);
};

static_assert(std::is_default_constructible_v<TensorSpec>);
static_assert(std::is_constructible_v<TensorSpec, DataType, const ShapeType&, TensorAttribute>);
static_assert(std::is_constructible_v<TensorSpec, DataType, const ShapeType&, TensorAttribute,
                                      const Quantization&>);
static_assert(std::is_copy_constructible_v<TensorSpec> && std::is_copy_assignable_v<TensorSpec>);
PIN(TensorSpec::operator==, bool (TensorSpec::*)(const TensorSpec&) const);
PIN(TensorSpec::SetDataType, TensorSpec& (TensorSpec::*)(DataType));
PIN(TensorSpec::SetShape, TensorSpec& (TensorSpec::*)(const ShapeType&));
PIN(TensorSpec::SetAttribute, TensorSpec& (TensorSpec::*)(TensorAttribute));
PIN(TensorSpec::SetQuantization, TensorSpec& (TensorSpec::*)(Quantization&));
PIN(TensorSpec::AsTransientSpec, TensorSpec (TensorSpec::*)() const);
PIN(TensorSpec::GetElementNum, int64_t (TensorSpec::*)() const);
PIN(TensorSpec::GetElementByteSize, int64_t (TensorSpec::*)() const);
PIN(TensorSpec::GetByteSize, int64_t (TensorSpec::*)() const);
PIN(TensorSpec::GetDataType, DataType& (TensorSpec::*)());
PIN(TensorSpec::GetShapeType, ShapeType& (TensorSpec::*)());
PIN(TensorSpec::GetTensorAttribute, TensorAttribute& (TensorSpec::*)());
PIN(TensorSpec::GetQuantization, Quantization& (TensorSpec::*)());
PIN(TensorSpec::datatype_, DataType TensorSpec::*);
PIN(TensorSpec::shape_, ShapeType TensorSpec::*);
PIN(TensorSpec::attr_, TensorAttribute TensorSpec::*);
PIN(TensorSpec::quantization_, Quantization TensorSpec::*);

PIN(DmaBufferDesc::fd, int64_t DmaBufferDesc::*);
static_assert(DmaBufferDesc{7}.fd == 7);

PIN(Tensor::GetShape, const ShapeType& (Tensor::*)());
PIN(Tensor::GetDataType, DataType (Tensor::*)());
PIN(Tensor::GetQuantization, const Quantization& (Tensor::*)());
PIN(Tensor::GetSpec, TensorSpec& (Tensor::*)());
PIN(Tensor::GetId, uint32_t (Tensor::*)());
PIN(Tensor::CopyDataToTensor, bool (Tensor::*)(const void*, uint32_t));
PIN(Tensor::CopyDataFromTensor, bool (Tensor::*)(void*));
PIN_OVERLOAD(Tensor::SwapHandle, bool (Tensor::*)(void*, bool, void**));
PIN_OVERLOAD(Tensor::SwapHandle, bool (Tensor::*)(TensorPtr));
PIN(Tensor::SwapHandleWithCache, bool (Tensor::*)(TensorPtr));
PIN(Tensor::FlushCacheForHandle, bool (Tensor::*)());
PIN(Tensor::InvalidateCacheForHandle, bool (Tensor::*)());
PIN(Tensor::map, void* (Tensor::*)(bool));
PIN(Tensor::unmap, void (Tensor::*)());
PIN(Tensor::IsPlaceHolder, bool (Tensor::*)());
PIN(Tensor::IsConstTensor, bool (Tensor::*)());
PIN(Tensor::IsScalar, bool (Tensor::*)());
PIN(Tensor::SaveTensorToTextByFp32, bool (Tensor::*)(std::string));
PIN(Tensor::SetScalar, void (Tensor::*)(int8_t));
PIN(Tensor::ConvertTensorToData, void* (Tensor::*)(uint8_t*));
PIN(Tensor::ConvertTensorToFloat32Data, float* (Tensor::*)());

PIN(utils::Float32ToDtype, bool (*)(TensorPtr, std::vector<float>, uint8_t*));
PIN(utils::DtypeToFloat32, bool (*)(TensorPtr, uint8_t*, float*));

// Exactly the original's members are pure: a subclass that knows only these is complete.
class OriginalTensor : public Tensor {
 public:
  const ShapeType& GetShape() override { return spec_.shape_; }
  DataType GetDataType() override { return spec_.datatype_; }
  const Quantization& GetQuantization() override { return spec_.quantization_; }
  TensorSpec& GetSpec() override { return spec_; }
  uint32_t GetId() override { return 0; }
  bool CopyDataToTensor(const void*, uint32_t size_in_bytes) override {
    size_in_bytes_ = size_in_bytes;
    return true;
  }
  bool CopyDataFromTensor(void*) override { return true; }
  bool SwapHandle(void*, bool, void**) override { return true; }
  bool SwapHandle(std::shared_ptr<tim::vx::Tensor>) override { return true; }
  bool SwapHandleWithCache(std::shared_ptr<tim::vx::Tensor>) override { return true; }
  bool FlushCacheForHandle() override { return true; }
  bool InvalidateCacheForHandle() override { return true; }
  void* map(bool invalidate_cpu_cache) override {
    invalidate_cpu_cache_ = invalidate_cpu_cache;
    return nullptr;
  }
  void unmap() override {}
  bool IsPlaceHolder() override { return false; }
  bool IsConstTensor() override { return false; }
  bool IsScalar() override { return false; }
  bool SaveTensorToTextByFp32(std::string) override { return true; }
  void SetScalar(int8_t) override {}
  void* ConvertTensorToData(uint8_t*) override { return nullptr; }
  float* ConvertTensorToFloat32Data() override { return nullptr; }

  TensorSpec spec_;
  uint32_t size_in_bytes_ = 99;
  bool invalidate_cpu_cache_ = true;
};
static_assert(std::is_abstract_v<Tensor> && !std::is_abstract_v<OriginalTensor>);
static_assert(std::has_virtual_destructor_v<Tensor>);

TEST(PinSignatures, TensorDefaultArguments) {
  OriginalTensor original;
  Tensor& tensor = original;
  tensor.CopyDataToTensor(nullptr);
  EXPECT_EQ(original.size_in_bytes_, 0u);
  tensor.map();
  EXPECT_FALSE(original.invalidate_cpu_cache_);
}

TEST(PinSignatures, TensorNamesAreNotKeptByDefault) {
  OriginalTensor tensor;
  tensor.SetName("x");
  EXPECT_EQ(tensor.Name(), "");
}

// ------------------------------------------------------------------------------------- graph.h

PIN(Graph::SetCompileOption, void (Graph::*)(const CompileOption&));
PIN_OVERLOAD(Graph::CreateTensor, TensorPtr (Graph::*)(const TensorSpec&, const void*));
PIN_OVERLOAD(Graph::CreateTensor, TensorPtr (Graph::*)(const TensorSpec&, const DmaBufferDesc&));
PIN(Graph::CreateIOTensor, TensorPtr (Graph::*)(const TensorSpec&, void*));
PIN(Graph::CreateTensorPlaceHolder, TensorPtr (Graph::*)());
PIN(Graph::Compile, bool (Graph::*)());
PIN(Graph::CompileToBinary, bool (Graph::*)(void*, size_t*));
PIN(Graph::Run, bool (Graph::*)());
PIN(Graph::InputsTensor, const TensorPtrs (Graph::*)() const);
PIN(Graph::OutputsTensor, const TensorPtrs (Graph::*)() const);
PIN(Graph::UpdateTensorConsumersMap, void (Graph::*)(const TensorPtr&, const Operation*));
PIN(Graph::RenewTensorConsumersMap,
    void (Graph::*)(const TensorPtr&, const TensorPtr&, const Operation*));
PIN(Graph::UpdateTensorProducerMap, void (Graph::*)(const TensorPtr&, const Operation*));
PIN(Graph::GetConsumersOp, const OpPtrs (Graph::*)(TensorPtr) const);
PIN(Graph::GetProducerOp, OpPtr (Graph::*)(TensorPtr));
PIN(Graph::PrintGraph, void (Graph::*)() const);
PIN(Graph::GetConstantInputs, const TensorPtrs (Graph::*)() const);
PIN(Graph::OpVector, OpPtrs& (Graph::*)());
PIN(Graph::TensorConsumer, std::map<TensorPtr, OpPtrs>& (Graph::*)());
PIN(Graph::TensorProducer, std::map<TensorPtr, OpPtr>& (Graph::*)());

// CreateOperation takes its parameters by value, whatever they are.
using TwoWide = std::array<uint32_t, 2>;
static_assert(
    std::is_same_v<decltype(std::declval<Graph&>().CreateOperation<ops::Conv2d>(
                       PadType::SAME, std::declval<const TwoWide&>(), std::declval<TwoWide&>())),
                   std::shared_ptr<ops::Conv2d>>);
static_assert(sizeof(static_cast<std::shared_ptr<ops::Transpose> (Graph::*)(std::vector<uint32_t>)>(
                  &Graph::CreateOperation<ops::Transpose, std::vector<uint32_t>>)) != 0);
static_assert(sizeof(static_cast<std::shared_ptr<ops::Clip> (Graph::*)(float, float)>(
                  &Graph::CreateOperation<ops::Clip, float, float>)) != 0);

class OriginalGraph : public Graph {
 public:
  void SetCompileOption(const CompileOption&) override {}
  TensorPtr CreateTensor(const TensorSpec&, const void* data) override {
    data_ = data;
    return nullptr;
  }
  TensorPtr CreateTensor(const TensorSpec&, const DmaBufferDesc&) override { return nullptr; }
  TensorPtr CreateIOTensor(const TensorSpec&, void* data) override {
    data_ = data;
    return nullptr;
  }
  TensorPtr CreateTensorPlaceHolder() override { return nullptr; }
  bool Compile() override { return true; }
  bool CompileToBinary(void*, size_t*) override { return true; }
  bool Run() override { return true; }
  const TensorPtrs InputsTensor() const override { return {}; }
  const TensorPtrs OutputsTensor() const override { return {}; }
  void UpdateTensorConsumersMap(const TensorPtr&, const Operation*) override {}
  void RenewTensorConsumersMap(const TensorPtr&, const TensorPtr&, const Operation*) override {}
  void UpdateTensorProducerMap(const TensorPtr&, const Operation*) override {}
  const OpPtrs GetConsumersOp(TensorPtr) const override { return {}; }
  OpPtr GetProducerOp(TensorPtr) override { return nullptr; }
  void PrintGraph() const override {}
  OpPtrs& OpVector() override { return op_vector_; }
  std::map<TensorPtr, OpPtrs>& TensorConsumer() override { return consumers_; }
  std::map<TensorPtr, OpPtr>& TensorProducer() override { return producers_; }

  static_assert(std::is_same_v<decltype(op_vector_), std::vector<std::shared_ptr<Operation>>>);
  const void* data_ = this;
  std::map<TensorPtr, OpPtrs> consumers_;
  std::map<TensorPtr, OpPtr> producers_;
};
static_assert(std::is_abstract_v<Graph> && !std::is_abstract_v<OriginalGraph>);
static_assert(std::has_virtual_destructor_v<Graph>);

TEST(PinSignatures, GraphDefaultArguments) {
  OriginalGraph original;
  Graph& graph = original;
  graph.CreateTensor(TensorSpec());
  EXPECT_EQ(original.data_, nullptr);
  original.data_ = &original;
  graph.CreateIOTensor(TensorSpec());
  EXPECT_EQ(original.data_, nullptr);
}

TEST(PinSignatures, GraphAdditionsHaveHarmlessDefaults) {
  OriginalGraph graph;
  EXPECT_TRUE(graph.LastStatus().ok());
  EXPECT_TRUE(graph.Report().ops.empty());
  EXPECT_EQ(graph.ToText(), "");
}

// -------------------------------------------------------------------- operation.h, builtin_op.h

PIN(Operation::Clone, OpPtr (Operation::*)(std::shared_ptr<Graph>&) const);
PIN(Operation::BindInput, Operation& (Operation::*)(const TensorPtr&));
PIN(Operation::BindOutput, Operation& (Operation::*)(const TensorPtr&));
PIN(Operation::BindInputs, Operation& (Operation::*)(const TensorPtrs&));
PIN(Operation::BindOutputs, Operation& (Operation::*)(const TensorPtrs&));
PIN(Operation::SetRoundingPolicy,
    Operation& (Operation::*)(OverflowPolicy, RoundingPolicy, RoundType, uint32_t));
static_assert(requires(Operation & op) { op.SetRoundingPolicy(); });
PIN_OVERLOAD(Operation::impl, std::unique_ptr<OpImpl>& (Operation::*)());
PIN_OVERLOAD(Operation::impl, const std::unique_ptr<OpImpl>& (Operation::*)() const);
PIN(Operation::uid, const uint32_t& (Operation::*)() const);
PIN(Operation::ConstantInputsTensor, const TensorPtrs (Operation::*)() const);
static_assert(std::is_abstract_v<Operation> && std::has_virtual_destructor_v<Operation>);

// What subclasses of the original see: a default constructor, the protected members, the private
// hook.
class OriginalOperation : public Operation {
 public:
  OriginalOperation() = default;
  OpPtr Clone(std::shared_ptr<Graph>&) const override { return nullptr; }

  static_assert(std::is_same_v<decltype(impl_), std::unique_ptr<OpImpl>>);
  void Check() const { static_assert(std::is_same_v<decltype(IsAllInputsConst()), bool>); }

 private:
  void OnBindInputPostProc(const TensorPtr&, int32_t) override {}
};
static_assert(!std::is_abstract_v<OriginalOperation>);

// Every argument list that the original's BuiltinOp constructor admits.
class OriginalBuiltinOp : public BuiltinOp {
 public:
  using BuiltinOp::BuiltinOp;
  OpPtr Clone(std::shared_ptr<Graph>&) const override { return nullptr; }
};
static_assert(std::is_base_of_v<Operation, BuiltinOp>);
static_assert(std::is_constructible_v<OriginalBuiltinOp, Graph*, uint32_t>);
static_assert(std::is_constructible_v<OriginalBuiltinOp, Graph*, uint32_t, int>);
static_assert(std::is_constructible_v<OriginalBuiltinOp, Graph*, uint32_t, int, int>);
static_assert(std::is_constructible_v<OriginalBuiltinOp, Graph*, uint32_t, int, int, DataLayout>);
static_assert(std::is_same_v<DirectMapOp, BuiltinOp>);

// ---------------------------------------------------------------- context.h, compile_option.h

PIN_OVERLOAD(Context::CreateGraph, std::shared_ptr<Graph> (Context::*)());
PIN_OVERLOAD(Context::CreateGraph, std::shared_ptr<Graph> (Context::*)(const CompileOption&));
PIN(Context::isClOnly, bool (Context::*)());
PIN(Context::hasSP, bool (Context::*)());
PIN_OVERLOAD(Context::Create, std::shared_ptr<Context> (*)());

class OriginalContext : public Context {
 public:
  std::shared_ptr<Graph> CreateGraph() override { return nullptr; }
  std::shared_ptr<Graph> CreateGraph(const CompileOption&) override { return nullptr; }
  bool isClOnly() override { return true; }
  bool hasSP() override { return false; }
};
static_assert(std::is_abstract_v<Context> && !std::is_abstract_v<OriginalContext>);
static_assert(std::has_virtual_destructor_v<Context>);

TEST(PinSignatures, ContextAdditionsHaveHarmlessDefaults) {
  OriginalContext context;
  EXPECT_TRUE(context.LastStatus().ok());
  EXPECT_EQ(context.AddBackend(nullptr).code(), Code::kUnsupported);
  EXPECT_EQ(context.DeviceName(), "");
}

TEST(PinSignatures, ContextOptionsDefaults) {
  const ContextOptions options;
  EXPECT_EQ(options.device, "");
  EXPECT_EQ(options.cache_dir, "");
  EXPECT_TRUE(options.use_env);
  EXPECT_TRUE(options.use_disk_cache);
  EXPECT_FALSE(options.host_only);
}

static_assert(std::is_default_constructible_v<CompileOption> &&
              std::is_copy_constructible_v<CompileOption> &&
              std::is_copy_assignable_v<CompileOption>);
PIN(CompileOption::isRelaxMode, bool (CompileOption::*)() const);
PIN(CompileOption::setRelaxMode, bool (CompileOption::*)(bool));
PIN(CompileOption::DefaultOptions, CompileOption*);

TEST(PinSignatures, CompileOptionDefaults) {
  EXPECT_FALSE(CompileOption::DefaultOptions.isRelaxMode());
  CompileOption option;
  EXPECT_FALSE(option.isRelaxMode());
  EXPECT_EQ(option.GetFallback(), Fallback::kWarn);
  EXPECT_TRUE(option.Fusion());
  EXPECT_TRUE(option.Pins().empty());
  EXPECT_TRUE(option.setRelaxMode(true));
  EXPECT_TRUE(option.isRelaxMode());
  EXPECT_FALSE(option.setRelaxMode());
  EXPECT_FALSE(option.isRelaxMode());
}

TEST(PinSignatures, CompileOptionCopiesAreIndependent) {
  CompileOption first;
  first.Pin("Add", "reference").Pin("conv1", "opencl").SetFusion(false);
  CompileOption second = first;
  second.SetFallback(Fallback::kForbid).Pin("Add", "opencl").SetFusion(true).setRelaxMode(true);
  using Pins = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(first.Pins(), (Pins{{"Add", "reference"}, {"conv1", "opencl"}}));
  EXPECT_EQ(second.Pins(), (Pins{{"Add", "opencl"}, {"conv1", "opencl"}}));
  EXPECT_EQ(first.GetFallback(), Fallback::kWarn);
  EXPECT_EQ(second.GetFallback(), Fallback::kForbid);
  EXPECT_FALSE(first.Fusion());
  EXPECT_TRUE(second.Fusion());
  EXPECT_FALSE(first.isRelaxMode());
}

// ---------------------------------------------------------------------------------------- ops/

static_assert(kAllPlain<ops::Relu, ops::Relu1, ops::Relu6, ops::Tanh, ops::Sigmoid, ops::Swish,
                        ops::HardSwish, ops::Mish, ops::SoftRelu, ops::Sign, ops::SoftSign>);
static_assert(kAllPlain<ops::Minimum, ops::Maximum, ops::Add, ops::Sub, ops::Pow, ops::FloorDiv>);
static_assert(
    kAllPlain<ops::DataConvert, ops::Neg, ops::Abs, ops::Sin, ops::Exp, ops::Log, ops::Sqrt,
              ops::Rsqrt, ops::Square, ops::LogicalNot, ops::Floor, ops::Ceil, ops::Round,
              ops::Cast, ops::Rcp, ops::Cos, ops::Tan, ops::ATan, ops::ATanh, ops::ACosh>);

#define PIN_CLONE(Op)                                     \
  static_assert(std::is_same_v<decltype(&ops::Op::Clone), \
                               OpPtr (ops::Op::*)(std::shared_ptr<Graph>&) const>)
PIN_CLONE(Relu);
PIN_CLONE(Elu);
PIN_CLONE(Add);
PIN_CLONE(DataConvert);
PIN_CLONE(Conv2d);
PIN_CLONE(Pool2d);
PIN_CLONE(FullyConnected);
PIN_CLONE(Softmax);
PIN_CLONE(Concat);
PIN_CLONE(Reshape);
PIN_CLONE(Transpose);
PIN_CLONE(Pad);
PIN_CLONE(Clip);
PIN_CLONE(RNNCell);

static_assert(kTakes<ops::Elu> && kTakes<ops::Elu, float> && !kTakes<ops::Elu, float, float>);
static_assert(kTakes<ops::Prelu, int> && !kTakes<ops::Prelu>);
static_assert(kTakes<ops::HardSigmoid, float, float> && !kTakes<ops::HardSigmoid, float>);
static_assert(kTakes<ops::LeakyRelu, float> && !kTakes<ops::LeakyRelu>);
static_assert(kTakes<ops::Linear, float> && kTakes<ops::Linear, float, float> &&
              !kTakes<ops::Linear>);
static_assert(kTakes<ops::Gelu> && kTakes<ops::Gelu, bool>);
static_assert(!std::is_convertible_v<Graph*, ops::Gelu> && std::is_convertible_v<Graph*, ops::Relu>,
              "Gelu's constructor is explicit, that of the others is not");
static_assert(kTakes<ops::Selu> && kTakes<ops::Selu, float> && kTakes<ops::Selu, float, float>);
static_assert(kTakes<ops::Celu, float> && !kTakes<ops::Celu>);
static_assert(kTakes<ops::Multiply> && kTakes<ops::Multiply, float>);
static_assert(kTakes<ops::Div> && kTakes<ops::Div, float>);
static_assert(kTakes<ops::Clip, float, float> && !kTakes<ops::Clip, float>);
static_assert(kDerives<ops::Clip, BuiltinOp>);

// Protected members that subclasses read.
struct EluMembers : ops::Elu {
  static_assert(std::is_same_v<decltype(alpha_), float>);
};
struct PreluMembers : ops::Prelu {
  static_assert(std::is_same_v<decltype(axis_), int>);
};
struct HardSigmoidMembers : ops::HardSigmoid {
  static_assert(std::is_same_v<decltype(alpha_), float> && std::is_same_v<decltype(beta_), float>);
};
struct LeakyReluMembers : ops::LeakyRelu {
  static_assert(std::is_same_v<decltype(alpha_), float>);
};
struct LinearMembers : ops::Linear {
  static_assert(std::is_same_v<decltype(a_), float> && std::is_same_v<decltype(b_), float>);
};
struct SeluMembers : ops::Selu {
  static_assert(std::is_same_v<decltype(alpha_), float> && std::is_same_v<decltype(gamma_), float>);
};
struct CeluMembers : ops::Celu {
  static_assert(std::is_same_v<decltype(alpha_), float>);
};

using Two = const std::array<uint32_t, 2>&;
using Four = const std::array<uint32_t, 4>&;

template <class... Args>
constexpr bool kConv2dTail =  // multiplier, input layout, kernel layout
    kTakes<ops::Conv2d, Args...>&& kTakes<ops::Conv2d, Args..., int32_t>&&
        kTakes<ops::Conv2d, Args..., int32_t, DataLayout>&&
            kTakes<ops::Conv2d, Args..., int32_t, DataLayout, DataLayout> &&
    !kTakes<ops::Conv2d, Args..., int32_t, DataLayout, DataLayout, int>;
static_assert(kDerives<ops::Conv2d, BuiltinOp>);
static_assert(kConv2dTail<PadType, Two, Two>);
static_assert(kConv2dTail<Four, Two, Two>);
static_assert(kConv2dTail<int32_t, PadType, Two, Two, Two>);
static_assert(kConv2dTail<int32_t, PadType, Two, Two, Two, Four>);
PIN(ops::Conv2d::KernelDataLayout, DataLayout (ops::Conv2d::*)());
PIN(ops::Conv2d::ConstantInputsTensor, const TensorPtrs (ops::Conv2d::*)() const);
struct Conv2dHook : ops::Conv2d {
  void OnBindInputPostProc(const TensorPtr&, int32_t) override {}
};

template <class... Args>
constexpr bool kPool2dTail =  // round type, layout
    kTakes<ops::Pool2d, Args...>&& kTakes<ops::Pool2d, Args..., RoundType>&&
        kTakes<ops::Pool2d, Args..., RoundType, DataLayout> &&
    !kTakes<ops::Pool2d, Args..., RoundType, DataLayout, int>;
static_assert(kDerives<ops::Pool2d, BuiltinOp>);
static_assert(kPool2dTail<PoolType, PadType, Two, Two>);
static_assert(kPool2dTail<PoolType, Four, Two, Two>);
static_assert(kPool2dTail<PoolType, Two>);
static_assert(kPool2dTail<PoolType, Two, Two>);
PIN(ops::Pool2d::Init, void (ops::Pool2d::*)());

static_assert(kDerives<ops::FullyConnected, BuiltinOp>);
static_assert(kTakes<ops::FullyConnected, uint32_t> &&
              kTakes<ops::FullyConnected, uint32_t, uint32_t> && !kTakes<ops::FullyConnected>);
struct FullyConnectedHook : ops::FullyConnected {
  void OnBindInputPostProc(const TensorPtr&, int32_t) override {}
};

static_assert(kDerives<ops::Softmax, BuiltinOp> && kTakes<ops::Softmax, float, int32_t> &&
              !kTakes<ops::Softmax, float>);
// The order of Softmax's arguments: braces refuse to narrow, so each only fits its own place.
static_assert(requires(Graph * graph, float beta, int32_t axis) {
  ops::Softmax{graph, beta, axis};
});
template <class T>
constexpr bool kSoftmaxSwapped = requires(Graph* graph, T beta, int32_t axis) {
  ops::Softmax{graph, axis, beta};
};
static_assert(!kSoftmaxSwapped<float>);

static_assert(kDerives<ops::Concat, BuiltinOp> && kTakes<ops::Concat, uint32_t, int> &&
              !kTakes<ops::Concat, uint32_t>);
static_assert(kTakes<ops::Transpose, const std::vector<uint32_t>&> &&
              kDerives<ops::Transpose, BuiltinOp>);
static_assert(kTakes<ops::Reshape, const std::vector<uint32_t>&> &&
              kDerives<ops::Reshape, Operation> && !std::is_base_of_v<BuiltinOp, ops::Reshape>);

using Extents = const std::vector<uint32_t>&;
static_assert(kDerives<ops::Pad, BuiltinOp> && kTakes<ops::Pad, Extents, Extents, int32_t> &&
              kTakes<ops::Pad, Extents, Extents, int32_t, ops::Pad::pad_mode_type> &&
              !kTakes<ops::Pad, Extents, Extents>);
PIN_VALUE(ops::Pad::PAD_MODE_CONSTANT, 0);
PIN_VALUE(ops::Pad::PAD_MODE_EDGE, 1);
PIN_VALUE(ops::Pad::PAD_MODE_SYMMETRIC, 2);
PIN_VALUE(ops::Pad::PAD_MODE_REFLECT, 3);
static_assert(std::is_convertible_v<ops::Pad::pad_mode_type, int>);

static_assert(kDerives<ops::RNNCell, Operation> && !std::is_base_of_v<BuiltinOp, ops::RNNCell> &&
              kTakes<ops::RNNCell, ops::RNNCell::ActivationType> && !kTakes<ops::RNNCell>);
PIN_VALUE(ops::RNNCell::kNONE, 0);
PIN_VALUE(ops::RNNCell::kRELU, 1);
PIN_VALUE(ops::RNNCell::kRELU1, 2);
PIN_VALUE(ops::RNNCell::kRELU6, 3);
PIN_VALUE(ops::RNNCell::kTANH, 4);
PIN_VALUE(ops::RNNCell::kSIGMOID, 6);
PIN_VALUE(ops::RNNCell::kHARDSIGMOID, 31);
static_assert(std::is_convertible_v<ops::RNNCell::ActivationType, int>);

// --------------------------------------------------------------------------------- custom_base.h

// The macro's text is an open expression, as in the original: callers put it in parentheses.
static_assert((gpu_align(5, 4)) == 8 && (gpu_align(8, 4)) == 8 && (gpu_align(1, 4)) == 4);
static_assert(std::is_same_v<decltype(ops::gobal_kernel_id_), int32_t>);
PIN(ops::Param::type, DataType ops::Param::*);
static_assert(std::is_same_v<decltype(ops::Param().data.f), float> &&
              std::is_same_v<decltype(ops::Param().data.i), int> &&
              std::is_same_v<decltype(ops::Param().data.b), bool> &&
              std::is_same_v<decltype(ops::Param().data.ui), unsigned int>);

class UserOp : public ops::CustomOpBase {
 public:
  explicit UserOp(Graph* graph) : CustomOpBase(graph, uint32_t{1}, uint32_t{1}, int32_t{-1}, "u") {}
  OpPtr Clone(std::shared_ptr<Graph>&) const override { return nullptr; }

 protected:  // as users write them
  void SetupParams(std::vector<tim::vx::DataType>, std::string&) override {}
  void SetupShapeInfor() override {}
  void SetupEnqueue(uint32_t&, std::vector<size_t>&, std::vector<size_t>&) override {}
};
static_assert(kDerives<UserOp, Operation> && std::is_abstract_v<ops::CustomOpBase> &&
              !std::is_base_of_v<BuiltinOp, ops::CustomOpBase>);
using ops::CustomOpBase;
PIN(CustomOpBase::SetupParams, void (CustomOpBase::*)(std::vector<DataType>, std::string&));
PIN(CustomOpBase::SetupShapeInfor, void (CustomOpBase::*)());
PIN(CustomOpBase::SetupEnqueue,
    void (CustomOpBase::*)(uint32_t&, std::vector<size_t>&, std::vector<size_t>&));
PIN(CustomOpBase::param_list_, std::vector<ops::Param> CustomOpBase::*);
PIN(CustomOpBase::inputs_size_, std::vector<ShapeType> CustomOpBase::*);
PIN(CustomOpBase::outputs_size_, std::vector<ShapeType> CustomOpBase::*);
PIN(CustomOpBase::func_name_, const char* CustomOpBase::*);
PIN(CustomOpBase::kernel_resource_, const char* CustomOpBase::*);
PIN(CustomOpBase::init_kernel_, void* CustomOpBase::*);
PIN(CustomOpBase::vx_node_, void* CustomOpBase::*);
PIN(CustomOpBase::input_num_, uint32_t CustomOpBase::*);
PIN(CustomOpBase::output_num_, uint32_t CustomOpBase::*);

TEST(PinSignatures, ParamTransformKeepsOrderAndTypes) {
  std::vector<ops::Param> list;
  const std::tuple<int, float, bool, uint32_t> scalars(-3, 0.5f, true, 4000000000u);
  ops::param_transform(scalars, list);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].type, DataType::INT32);
  EXPECT_EQ(list[0].data.i, -3);
  EXPECT_EQ(list[1].type, DataType::FLOAT32);
  EXPECT_EQ(list[1].data.f, 0.5f);
  EXPECT_EQ(list[2].type, DataType::BOOL8);
  EXPECT_TRUE(list[2].data.b);
  EXPECT_EQ(list[3].type, DataType::UINT32);
  EXPECT_EQ(list[3].data.ui, 4000000000u);
}

// The original left them out, with a message on stdout.
TEST(PinSignatures, ParamTransformTakesOtherNumbersToo) {
  std::vector<ops::Param> list;
  ops::param_transform(std::tuple<double, int, short>(1.5, 7, short{2}), list);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].other->cl_type, "double");
  EXPECT_EQ(list[1].other, nullptr);
  EXPECT_EQ(list[1].data.i, 7);
  EXPECT_EQ(list[2].other->cl_type, "short");
}

// --------------------------------------------------------------------- feature macros, compat/

#if !defined(VSI_FEAT_OP_COS) || !defined(VSI_FEAT_OP_TAN) || !defined(VSI_FEAT_OP_ATAN) || \
    !defined(VSI_FEAT_OP_ATANH) || !defined(VSI_FEAT_OP_ACOSH)
#error "a feature macro of an operator that exists is missing"
#endif
#if !defined(VSI_FEAT_OP_CUMSUM) || !defined(VSI_FEAT_OP_MOD) ||                   \
    !defined(VSI_FEAT_OP_MAX_POOL3D) || !defined(VSI_FEAT_OP_MAXPOOLWITHARGMAX) || \
    !defined(VSI_FEAT_OP_CUSTOM_TINY_YOLOV4_POSTPROCESS)
#error "a feature macro of an operator that exists is missing"
#endif
#if !defined(_VSI_NN_OP_SELU_H) || !defined(_VSI_NN_OP_CELU_H)
#error "a feature macro of an operator that exists is missing"
#endif
#ifndef VSI_EXPAND_BROADCAST_ENABLE_DIMENSIONS
#error "vsi_nn_pub.h does not tell that Broadcast honours its dimensions"
#endif

using tim::transform::IPermuteVector;
using tim::transform::IPermuteVectorPtr;
using tim::transform::PermuteVector;
static_assert(std::is_same_v<IPermuteVectorPtr, std::shared_ptr<IPermuteVector>>);
PIN(IPermuteVector::Rank, uint32_t (IPermuteVector::*)() const);
PIN_OVERLOAD(IPermuteVector::At, const uint32_t& (IPermuteVector::*)(const uint32_t) const);
PIN_OVERLOAD(IPermuteVector::At, uint32_t& (IPermuteVector::*)(const uint32_t));
PIN(IPermuteVector::Reverse, IPermuteVectorPtr (IPermuteVector::*)());
PIN(IPermuteVector::AsText, std::string (IPermuteVector::*)() const);
PIN(IPermuteVector::Add, IPermuteVectorPtr (IPermuteVector::*)(const IPermuteVectorPtr&) const);
PIN(IPermuteVector::ReInitialize, void (IPermuteVector::*)());
PIN(IPermuteVector::IsAligned, bool (IPermuteVector::*)() const);
PIN(IPermuteVector::AsStdVec, std::vector<uint32_t> (IPermuteVector::*)() const);
PIN(tim::transform::MakeShared, IPermuteVectorPtr (*)(uint32_t));
static_assert(PermuteVector<4>::kMaxRank == 10);
static_assert(std::is_constructible_v<PermuteVector<4>, const PermuteVector<2>&> &&
              !std::is_convertible_v<const PermuteVector<2>&, PermuteVector<4>>);

TEST(PermuteVectorTest, ReverseAndAdd) {
  PermuteVector<4> cwhn{1, 2, 0, 3};
  EXPECT_FALSE(cwhn.IsAligned());
  EXPECT_EQ(cwhn.AsText(), "{1, 2, 0, 3}");
  const IPermuteVectorPtr back = cwhn.Reverse();
  EXPECT_EQ(back->AsStdVec(), (std::vector<uint32_t>{2, 0, 1, 3}));
  EXPECT_TRUE(cwhn.Add(back)->IsAligned());
  // Apply one, then the other: result[i] = first[second[i]].
  const auto second = std::make_shared<PermuteVector<4>>(PermuteVector<4>{3, 2, 1, 0});
  EXPECT_EQ(cwhn.Add(second)->AsStdVec(), (std::vector<uint32_t>{3, 0, 2, 1}));
  EXPECT_EQ(cwhn.Add(tim::transform::MakeShared(3)), nullptr);
  cwhn.ReInitialize();
  EXPECT_TRUE(cwhn.IsAligned());
}

TEST(PermuteVectorTest, GrowsByTheIdentity) {
  const PermuteVector<4> grown(PermuteVector<2>{1, 0});
  EXPECT_EQ(grown.AsStdVec(), (std::vector<uint32_t>{1, 0, 2, 3}));
}

TEST(PermuteVectorTest, MakeSharedIsTheIdentityOfEachRank) {
  EXPECT_EQ(tim::transform::MakeShared(0)->Rank(), 1u);
  for (uint32_t rank = 1; rank <= 10; ++rank) {
    const IPermuteVectorPtr identity = tim::transform::MakeShared(rank);
    ASSERT_NE(identity, nullptr);
    EXPECT_EQ(identity->Rank(), rank);
    EXPECT_TRUE(identity->IsAligned());
  }
  EXPECT_EQ(tim::transform::MakeShared(11), nullptr);
}

// ------------------------------------------------------------------------ status.h, additions

PIN_VALUE(Code::kOk, 0);
PIN_VALUE(Code::kInvalidArgument, 1);
PIN_VALUE(Code::kInvalidShape, 2);
PIN_VALUE(Code::kInvalidType, 3);
PIN_VALUE(Code::kInvalidGraph, 4);
PIN_VALUE(Code::kUnsupported, 5);
PIN_VALUE(Code::kOutOfMemory, 6);
PIN_VALUE(Code::kKernelBuild, 7);
PIN_VALUE(Code::kDevice, 8);
PIN_VALUE(Code::kBadBinary, 9);
PIN_VALUE(Code::kVersionMismatch, 10);
PIN_VALUE(Code::kPlugin, 11);
PIN_VALUE(Code::kNotFound, 12);
PIN_VALUE(Code::kAlreadyExists, 13);
PIN_VALUE(Code::kIo, 14);
PIN_VALUE(Code::kCancelled, 15);
PIN_VALUE(Code::kInternal, 16);
static_assert(std::is_same_v<std::underlying_type_t<Code>, int32_t>);
static_assert(std::is_convertible_v<Code, Status>);
static_assert(!std::is_convertible_v<Status, bool> && std::is_constructible_v<bool, Status>);

TEST(StatusTest, SuccessHasNoWords) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(static_cast<bool>(status));
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_TRUE(status.AtOp("Add#1").ok());
  EXPECT_TRUE(status.AtTensor("'x'").ok());
  EXPECT_TRUE(Status(Code::kOk).ok());
  EXPECT_TRUE(Status::Error(Code::kOk, "unused").ok());
}

TEST(StatusTest, MessageTellsCodePlaceAndCause) {
  const Status bare = Status::Error(Code::kInvalidShape, "2 against 3");
  EXPECT_FALSE(bare.ok());
  EXPECT_EQ(bare.code(), Code::kInvalidShape);
  EXPECT_EQ(bare.message(), "kInvalidShape: 2 against 3");
  const Status at_op = bare.AtOp("Add#12 'block2/residual'");
  EXPECT_EQ(at_op.message(), "kInvalidShape: Add#12 'block2/residual': 2 against 3");
  EXPECT_EQ(at_op.op(), "Add#12 'block2/residual'");
  EXPECT_EQ(at_op.AtOp("Sub#13").message(), at_op.message()) << "the first place stays";
  const Status at_tensor = at_op.AtTensor("'main'");
  EXPECT_EQ(at_tensor.message(), "kInvalidShape: Add#12 'block2/residual': 'main': 2 against 3");
  EXPECT_EQ(at_tensor.tensor(), "'main'");
  EXPECT_EQ(bare.message(), "kInvalidShape: 2 against 3") << "the source is not changed";
  EXPECT_EQ(Status(Code::kIo).message(), "kIo");
}

TEST(StatusTest, EveryCodeHasItsName) {
  EXPECT_STREQ(CodeName(Code::kOk), "kOk");
  EXPECT_STREQ(CodeName(Code::kInternal), "kInternal");
  std::vector<std::string> names;
  for (int32_t number = 0; number <= 16; ++number) {
    names.emplace_back(CodeName(static_cast<Code>(number)));
    EXPECT_EQ(names.back().front(), 'k');
    for (size_t i = 0; i + 1 < names.size(); ++i) EXPECT_NE(names[i], names.back());
  }
  EXPECT_STREQ(CodeName(static_cast<Code>(17)), "unknown code");
}

TEST(CompileReportTest, TextIsAnAlignedTableAndASummary) {
  CompileReport report;
  report.ops.push_back({"Conv2d#1 'conv'", "Conv2d", "opencl", "conv2d/general", "first", {}});
  report.ops.push_back({"Relu#2", "Relu", "opencl", "fused into 1", "", {"tile: rank 5"}});
  report.warnings.push_back("output 'y' is never written");
  report.device = "test device";
  report.steps = 1;
  report.launches = 1;
  report.syncs = 1;
  report.partitions = 1;
  report.arena_bytes = 4096;
  report.constant_bytes = 1;
  report.programs_built = 1;
  report.compile_ms = 12.34;
  EXPECT_EQ(report.ToText(),
            "op              | kind   | backend | kernel         | reason\n"
            "Conv2d#1 'conv' | Conv2d | opencl  | conv2d/general | first\n"
            "Relu#2          | Relu   | opencl  | fused into 1   |\n"
            "    refused: tile: rank 5\n"
            "warning: output 'y' is never written\n"
            "2 ops, 1 partition, 1 step, 1 launch, 1 sync; arena 4096 bytes, constants 1 byte; "
            "1 program built, 0 from cache; compiled in 12.3 ms on test device\n");
  EXPECT_EQ(CompileReport().ToText(),
            "0 ops, 0 partitions, 0 steps, 0 launches, 0 syncs; arena 0 bytes, constants 0 bytes; "
            "0 programs built, 0 from cache; compiled in 0.0 ms\n");
}

}  // namespace
