// Wrong pooling and regions: the code and the words of the error.
#include "errors/error_fixture.h"
#include "tim/vx/ops/max_pool3d.h"
#include "tim/vx/ops/maxpoolgrad.h"
#include "tim/vx/ops/maxpoolwithargmax.h"
#include "tim/vx/ops/maxpoolwithargmax2.h"
#include "tim/vx/ops/maxunpool2d.h"
#include "tim/vx/ops/pool1d.h"
#include "tim/vx/ops/roi_align.h"
#include "tim/vx/ops/roi_pool.h"

namespace tim::vx::test {
namespace {

using Pair = std::array<uint32_t, 2>;
using Triple = std::array<uint32_t, 3>;

class PoolErrors : public ErrorTest {
 protected:
  TensorPtr Indices(const std::vector<uint32_t>& shape, DataType dtype,
                    TensorAttribute attribute = TensorAttribute::INPUT) {
    return graph_->CreateTensor(TensorSpec(dtype, shape, attribute));
  }
  template <class Op, class... Args>
  void Make(const std::vector<std::vector<uint32_t>>& inputs, Args... args) {
    std::vector<TensorPtr> tensors;
    for (const auto& shape : inputs) tensors.push_back(Input(graph_, shape));
    Bind<Op>(graph_, tensors, {Output(graph_, {})}, args...);
  }
};

TEST_F(PoolErrors, Pool1dKsizeZero) {
  Make<ops::Pool1d>({{8, 2, 1}}, PoolType::MAX, PadType::VALID, 0u, 1u);
  ExpectFailure(Code::kInvalidArgument, {"Pool1d", "attribute ksize is 0"});
}
TEST_F(PoolErrors, Pool1dStrideZero) {
  Make<ops::Pool1d>({{8, 2, 1}}, PoolType::MAX, PadType::VALID, 3u, 0u);
  ExpectFailure(Code::kInvalidArgument, {"attribute stride is 0", "as large as the input"});
}
TEST_F(PoolErrors, Pool1dWindowLargerThanTheInput) {
  Make<ops::Pool1d>({{8, 2, 1}}, PoolType::MAX, PadType::VALID, 9u, 1u);
  ExpectFailure(Code::kInvalidShape, {"f32[8,2,1]", "a window of 9 does not fit"});
}
TEST_F(PoolErrors, Pool1dRank) {
  Make<ops::Pool1d>({{8, 2, 1, 1}}, PoolType::MAX, PadType::VALID, 2u, 1u);
  ExpectFailure(Code::kInvalidShape, {"f32[8,2,1,1]"});
}
TEST_F(PoolErrors, MaxPool3dWindow) {
  Make<ops::MaxPool3d>({{8, 8, 2, 2, 1}}, RoundType::FLOOR, Triple{2, 2, 3}, Triple{1, 1, 1},
                       std::array<uint32_t, 6>{}, PadType::AUTO);
  ExpectFailure(Code::kInvalidShape, {"MaxPool3d", "a window of 3", "dimension 2"});
}
TEST_F(PoolErrors, MaxPool3dKsizeZero) {
  Make<ops::MaxPool3d>({{8, 8, 2, 2, 1}}, RoundType::FLOOR, Triple{2, 0, 1}, Triple{1, 1, 1},
                       std::array<uint32_t, 6>{}, PadType::AUTO);
  ExpectFailure(Code::kInvalidArgument, {"ksize of axis 1 is 0"});
}
TEST_F(PoolErrors, ArgmaxStrideZero) {
  Bind<ops::MaxpoolWithArgmax2>(
      graph_, {Input(graph_, {8, 8, 2, 1})},
      {Output(graph_, {}), Indices({}, DataType::INT32, TensorAttribute::OUTPUT)}, PadType::VALID,
      Pair{2, 2}, Pair{0, 2});
  ExpectFailure(Code::kInvalidArgument, {"stride of axis 0 is 0"});
}
TEST_F(PoolErrors, ArgmaxOutputsDiffer) {
  Bind<ops::MaxpoolWithArgmax>(
      graph_, {Input(graph_, {8, 8, 2, 1})},
      {Output(graph_, {5, 4, 2, 1}), Indices({}, DataType::UINT8, TensorAttribute::OUTPUT)},
      PadType::VALID, Pair{2, 2}, Pair{2, 2});
  ExpectFailure(Code::kInvalidShape, {"output 1", "must have the shape of", "f32[5,4,2,1]"});
}
TEST_F(PoolErrors, ArgmaxIndexOfAnotherType) {
  Bind<ops::MaxpoolWithArgmax>(graph_, {Input(graph_, {8, 8, 2, 1})},
                               {Output(graph_, {}), Output(graph_, {})}, PadType::VALID, Pair{2, 2},
                               Pair{2, 2});
  ExpectFailure(Code::kInvalidType, {"MaxpoolWithArgmax", "u8"});
}
TEST_F(PoolErrors, GradientOfAnotherShape) {
  Make<ops::MaxpoolGrad>({{8, 8, 2, 1}, {4, 3, 2, 1}}, PadType::VALID, Pair{2, 2}, Pair{2, 2});
  ExpectFailure(Code::kInvalidShape, {"MaxpoolGrad", "f32[4,3,2,1]", "[4,4,2,1]"});
}
TEST_F(PoolErrors, UnpoolIndicesOfAnotherShape) {
  Bind<ops::MaxUnpool2d>(graph_,
                         {Input(graph_, {4, 4, 2, 1}), Indices({4, 3, 2, 1}, DataType::UINT8)},
                         {Output(graph_, {})}, Pair{0, 0}, Pair{2, 2});
  ExpectFailure(Code::kInvalidShape, {"MaxUnpool2d", "[4,3,2,1]", "[4,4,2,1]"});
}
TEST_F(PoolErrors, UnpoolWithoutSize) {
  Bind<ops::MaxUnpool2d>(graph_,
                         {Input(graph_, {4, 4, 2, 1}), Indices({4, 4, 2, 1}, DataType::UINT8)},
                         {Output(graph_, {})}, Pair{0, 0}, Pair{2, 0});
  ExpectFailure(Code::kInvalidArgument, {"ksize and stride of axis 1 are both 0"});
}
TEST_F(PoolErrors, RoiAlignRois) {
  Bind<ops::RoiAlign>(
      graph_, {Input(graph_, {8, 8, 2, 1}), Input(graph_, {5, 3}), Indices({3}, DataType::INT32)},
      {Output(graph_, {})}, 2, 2, 1.0f, 1.0f, 0, 0);
  ExpectFailure(Code::kInvalidShape, {"RoiAlign", "f32[5,3]", "[4,3]"});
}
TEST_F(PoolErrors, RoiAlignImages) {
  Bind<ops::RoiAlign>(
      graph_, {Input(graph_, {8, 8, 2, 1}), Input(graph_, {4, 3}), Indices({2}, DataType::INT32)},
      {Output(graph_, {})}, 2, 2, 1.0f, 1.0f, 0, 0);
  ExpectFailure(Code::kInvalidShape, {"i32[2]", "one for each region"});
}
TEST_F(PoolErrors, RoiAlignAttributes) {
  Bind<ops::RoiAlign>(
      graph_, {Input(graph_, {8, 8, 2, 1}), Input(graph_, {4, 3}), Indices({3}, DataType::INT32)},
      {Output(graph_, {})}, 2, 2, 0.0f, 1.0f, 0, 0);
  ExpectFailure(Code::kInvalidArgument, {"attribute height_ratio", "must be positive"});
}
TEST_F(PoolErrors, RoiPoolOtherTypes) {
  Make<ops::RoiPool>({{8, 8, 2, 1}, {5, 3}}, PoolType::AVG, 1.0f, Pair{2, 2});
  ExpectFailure(Code::kInvalidArgument, {"RoiPool", "attribute type must be MAX"});
}
TEST_F(PoolErrors, RoiPoolRois) {
  Make<ops::RoiPool>({{8, 8, 2, 1}, {4, 3}}, PoolType::MAX, 1.0f, Pair{2, 2});
  ExpectFailure(Code::kInvalidShape, {"f32[4,3]", "must be [5,R] or [1,1,5,R]"});
}
TEST_F(PoolErrors, RoiPoolSize) {
  Make<ops::RoiPool>({{8, 8, 2, 1}, {5, 3}}, PoolType::MAX, 1.0f, Pair{2, 0});
  ExpectFailure(Code::kInvalidArgument, {"attribute size [2,0] must be positive"});
}

}  // namespace
}  // namespace tim::vx::test
