// Wrong convolutions: the code and the words of the error.
#include "errors/error_fixture.h"
#include "tim/vx/ops/conv1d.h"
#include "tim/vx/ops/conv3d.h"
#include "tim/vx/ops/deconv.h"
#include "tim/vx/ops/deconv1d.h"
#include "tim/vx/ops/groupedconv1d.h"
#include "tim/vx/ops/groupedconv2d.h"

namespace tim::vx::test {
namespace {

using One = std::array<uint32_t, 2>;

class ConvErrors : public ErrorTest {
 protected:
  template <class Op, class... Args>
  void Make(const std::vector<std::vector<uint32_t>>& inputs, Args... args) {
    std::vector<TensorPtr> tensors;
    for (const auto& shape : inputs) tensors.push_back(Input(graph_, shape));
    Bind<Op>(graph_, tensors, {Output(graph_, {})}, args...);
  }
};

TEST_F(ConvErrors, GroupsThatDoNotDivide) {
  Make<ops::GroupedConv2d>({{8, 8, 6, 1}, {3, 3, 2, 8}}, PadType::VALID, One{1, 1}, One{1, 1}, 4);
  ExpectFailure(Code::kInvalidArgument, {"GroupedConv2d", "attribute group 4", "6 channels",
                                         "f32[8,8,6,1]", "8 slices", "f32[3,3,2,8]"});
}
TEST_F(ConvErrors, NegativeGroup) {
  Make<ops::GroupedConv2d>({{8, 8, 6, 1}, {3, 3, 2, 8}}, PadType::VALID, One{1, 1}, One{1, 1}, -2);
  ExpectFailure(Code::kInvalidArgument, {"attribute group -2"});
}
TEST_F(ConvErrors, GroupZero) {
  Make<ops::GroupedConv1d>({{8, 6, 1}, {3, 2, 8}}, PadType::VALID, 1u, 1u, 0u);
  ExpectFailure(Code::kInvalidArgument, {"GroupedConv1d", "attribute group 0"});
}
TEST_F(ConvErrors, KernelOfAGroupHasTooFewChannels) {
  Make<ops::GroupedConv2d>({{8, 8, 6, 1}, {3, 3, 2, 8}}, PadType::VALID, One{1, 1}, One{1, 1}, 2);
  ExpectFailure(Code::kInvalidShape,
                {"f32[8,8,6,1]", "f32[3,3,2,8]", "the kernel has 2 input channels, 3 are needed"});
}
TEST_F(ConvErrors, StrideZero) {
  Make<ops::GroupedConv2d>({{8, 8, 6, 1}, {3, 3, 3, 8}}, PadType::VALID, One{1, 0}, One{1, 1}, 2);
  ExpectFailure(Code::kInvalidArgument, {"attribute stride [1,0] must be positive"});
}
TEST_F(ConvErrors, Conv1dOfRank4) {
  Make<ops::Conv1d>({{8, 8, 6, 1}, {3, 6, 8}}, PadType::VALID, 1u, 1u);
  ExpectFailure(Code::kInvalidShape, {"Conv1d", "f32[8,8,6,1]"});
}
TEST_F(ConvErrors, Conv1dStrideZero) {
  Make<ops::Conv1d>({{8, 6, 1}, {3, 6, 8}}, PadType::VALID, 0u, 1u);
  ExpectFailure(Code::kInvalidArgument, {"attribute stride is 0"});
}
TEST_F(ConvErrors, Conv1dBias) {
  Make<ops::Conv1d>({{8, 6, 1}, {3, 6, 8}, {7}}, PadType::VALID, 1u, 1u);
  ExpectFailure(Code::kInvalidShape, {"f32[7]", "7 elements for 8 output channels"});
}
TEST_F(ConvErrors, Conv1dWindowLargerThanTheInput) {
  Make<ops::Conv1d>({{8, 6, 1}, {3, 6, 8}}, PadType::VALID, 1u, 4u);
  ExpectFailure(Code::kInvalidShape, {"Conv1d", "[0,8,1]"});
}
TEST_F(ConvErrors, Conv1dMultiplier) {
  Make<ops::Conv1d>({{8, 6, 1}, {3, 6, 1}}, PadType::VALID, 1u, 1u, 2);
  ExpectFailure(Code::kInvalidShape, {"the kernel has 6 slices for 12 output channels"});
}
TEST_F(ConvErrors, Conv3dNegativePad) {
  using Three = std::array<int32_t, 3>;
  Make<ops::Conv3d>({{8, 8, 8, 2, 1}, {3, 3, 3, 2, 4}}, std::array<int32_t, 6>{0, 0, -1, 0, 0, 0},
                    Three{1, 1, 1}, Three{1, 1, 1});
  ExpectFailure(Code::kInvalidArgument, {"Conv3d", "attribute pad has -1, which is negative"});
}
TEST_F(ConvErrors, Conv3dStride) {
  using Three = std::array<int32_t, 3>;
  Make<ops::Conv3d>({{8, 8, 8, 2, 1}, {3, 3, 3, 2, 4}}, PadType::SAME, Three{1, -2, 1},
                    Three{1, 1, 1});
  ExpectFailure(Code::kInvalidArgument, {"attribute stride has -2, which is not positive"});
}
TEST_F(ConvErrors, Conv3dWeightsBeyondTheKernel) {
  using Three = std::array<int32_t, 3>;
  Make<ops::Conv3d>({{8, 8, 8, 2, 1}, {3, 3, 3, 2, 4}}, 5, PadType::SAME, Three{3, 3, 3},
                    Three{1, 1, 1}, Three{1, 1, 1});
  ExpectFailure(Code::kInvalidShape, {"the kernel has 4 slices for 5 output channels"});
}
TEST_F(ConvErrors, DeConv2dGroup) {
  Make<ops::DeConv2d>({{8, 8, 4, 1}, {3, 3, 2, 4}}, 4, PadType::AUTO, One{3, 3}, One{1, 1},
                      One{0, 0}, std::array<uint32_t, 4>{}, 2u);
  ExpectFailure(Code::kInvalidArgument,
                {"DeConv2d", "attribute group 2 must be 1", "4", "f32[8,8,4,1]"});
}
TEST_F(ConvErrors, DeConv2dDepthwiseKernel) {
  Make<ops::DeConv2d>({{8, 8, 4, 1}, {3, 3, 2, 4}}, 4, PadType::AUTO, One{3, 3}, One{1, 1},
                      One{0, 0}, std::array<uint32_t, 4>{}, 4u);
  ExpectFailure(Code::kInvalidShape, {"f32[3,3,2,4]", "its dimension 2 or 3 must be 1"});
}
TEST_F(ConvErrors, DeConv2dMoreChannelsThanTheKernel) {
  Make<ops::DeConv2d>({{8, 8, 4, 1}, {3, 3, 4, 5}}, 6, PadType::AUTO, One{3, 3}, One{1, 1},
                      One{0, 0});
  ExpectFailure(Code::kInvalidShape, {"the kernel has 5 slices for 6 output channels"});
}
TEST_F(ConvErrors, DeConv2dPadsCutAll) {
  Make<ops::DeConv2d>({{4, 4, 2, 1}, {3, 3, 2, 2}}, 2, PadType::AUTO, One{3, 3}, One{1, 1},
                      One{0, 0}, std::array<uint32_t, 4>{3, 3, 0, 0});
  ExpectFailure(Code::kInvalidShape, {"DeConv2d", "[0,6,2,1]"});
}
TEST_F(ConvErrors, DeConv1dStrideZero) {
  Make<ops::DeConv1d>({{4, 2, 1}, {3, 2, 2}}, PadType::AUTO, 0u, 0u);
  ExpectFailure(Code::kInvalidArgument, {"DeConv1d", "attribute stride is 0"});
}
TEST_F(ConvErrors, DeclaredChannelsDiffer) {
  Bind<ops::Conv1d>(graph_, {Input(graph_, {8, 2, 1}), Input(graph_, {3, 2, 4})},
                    {Output(graph_, {6, 5, 1})}, PadType::VALID, 1u, 1u);
  ExpectFailure(Code::kInvalidShape, {"f32[6,5,1]", "it must have 4 channels and 1 images"});
}

}  // namespace
}  // namespace tim::vx::test
