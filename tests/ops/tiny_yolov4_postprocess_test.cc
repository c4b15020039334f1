// TinyYolov4Postprocess as its caller sees it.
#include "tim/vx/ops/tiny_yolov4_postprocess.h"

#include "errors/error_fixture.h"
#include "support/clone.h"

namespace tim::vx::test {
namespace {

class TinyYolov4PostprocessTest : public ErrorTest {
 protected:
  static Quantization Q(float scale, int32_t zero_point) {
    return Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  }
  TensorPtr U8(const ShapeType& shape, float scale = 0.1f, int32_t zero_point = 128) {
    return Input(graph_, shape, DataType::UINT8, Q(scale, zero_point));
  }
  void Bound(const ShapeType& coarse, const ShapeType& fine, const ShapeType& coarse_grid,
             const ShapeType& fine_grid) {
    inputs_ = {U8(coarse), U8(fine), U8(coarse_grid, 1, 0), U8(fine_grid, 1, 0)};
    scores_ = Output(graph_, {}, DataType::UINT8, Q(1.0f / 256, 0));
    boxes_ = Output(graph_, {}, DataType::UINT8, Q(4, 0));
    Bind<ops::TinyYolov4Postprocess>(graph_, inputs_, {scores_, boxes_})->SetName("yolo");
  }
  std::vector<TensorPtr> inputs_;
  TensorPtr scores_, boxes_;
};

// At t = 0 a sigmoid is 1/2 and exp is 1: the scores are 1/4, the boxes lie around the middle of
// their cells.
TEST_F(TinyYolov4PostprocessTest, CellsOfBothMaps) {
  Bound({13, 13, 255, 1}, {2, 1, 255, 1}, {13, 13, 2}, {2, 2, 1});
  for (size_t m : {size_t{0}, size_t{1}}) {
    std::vector<uint8_t> zeros(static_cast<size_t>(inputs_[m]->GetSpec().GetElementNum()), 128);
    Write(inputs_[m], zeros);
  }
  std::vector<uint8_t> planes(2 * 169);
  for (size_t cell = 0; cell < 169; ++cell) {
    planes[cell] = static_cast<uint8_t>(cell % 13);
    planes[169 + cell] = static_cast<uint8_t>(cell / 13);
  }
  Write(inputs_[2], planes);
  Write<uint8_t>(inputs_[3], {0, 0, 1, 0});
  ExpectSuccess();
  const size_t boxes = 3 * (2 + 169);
  EXPECT_EQ(Read<uint8_t>(scores_, boxes * 80), std::vector<uint8_t>(boxes * 80, 64));
  const auto box = Read<uint8_t>(boxes_, boxes * 4);
  auto at = [&](size_t i) {
    return std::vector<uint8_t>(box.begin() + static_cast<std::ptrdiff_t>(i * 4),
                                box.begin() + static_cast<std::ptrdiff_t>(i * 4 + 4));
  };
  // In units of 4 pixels, half to even: 8 = 0.5 * 16 is 2, 24 is 6; anchors 23 x 27 and 81 x 82.
  EXPECT_EQ(at(0), (std::vector<uint8_t>{2, 2, 6, 7}));
  EXPECT_EQ(at(1), (std::vector<uint8_t>{6, 2, 6, 7}));
  EXPECT_EQ(at(4), (std::vector<uint8_t>{2, 2, 20, 20}));
  // 13 x 13 cells are 32 pixels wide: cell (3, 2) of the second anchor, 135 x 169.
  EXPECT_EQ(at(6 + 169 + 2 * 13 + 3), (std::vector<uint8_t>{28, 20, 34, 42}));
}

TEST_F(TinyYolov4PostprocessTest, Channels) {
  Bound({2, 2, 85, 1}, {4, 4, 255, 1}, {2, 2, 2}, {4, 4, 2});
  ExpectFailure(Code::kInvalidShape, {"TinyYolov4Postprocess#1 'yolo'", "input 0 'coarse'",
                                      "85 channels instead of 255"});
}

TEST_F(TinyYolov4PostprocessTest, Images) {
  Bound({2, 2, 255, 1}, {4, 4, 255, 2}, {2, 2, 2}, {4, 4, 2});
  ExpectFailure(Code::kInvalidShape, {"input 0 'coarse'", "input 1 'fine'", "numbers of images"});
}

TEST_F(TinyYolov4PostprocessTest, Grids) {
  Bound({2, 2, 255, 1}, {4, 3, 255, 1}, {2, 2, 2}, {4, 3, 1});
  ExpectFailure(Code::kInvalidShape,
                {"input 3 'fine_grid'", "must be [4,3,2] or [2,4,3]", "input 1 'fine'"});
}

TEST_F(TinyYolov4PostprocessTest, GridOfAnotherMap) {
  Bound({2, 2, 255, 1}, {4, 3, 255, 1}, {2, 2, 2}, {3, 4, 2});
  ExpectFailure(Code::kInvalidShape, {"input 3 'fine_grid'", "must be [4,3,2]"});
}

TEST_F(TinyYolov4PostprocessTest, TypeThatIsNotSupported) {
  Bind<ops::TinyYolov4Postprocess>(
      graph_,
      {Input(graph_, {2, 2, 255, 1}), U8({4, 4, 255, 1}), U8({2, 2, 2}, 1, 0), U8({4, 4, 2}, 1, 0)},
      {Output(graph_, {}), Output(graph_, {})});
  ExpectFailure(Code::kInvalidType, {"input 0 'coarse'", "f32[2,2,255,1]", "u8, u8, u8, u8"});
}

TEST_F(TinyYolov4PostprocessTest, Clone) { ExpectClones<ops::TinyYolov4Postprocess>(); }

}  // namespace
}  // namespace tim::vx::test
