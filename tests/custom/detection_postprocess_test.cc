// custom_ops/detection_postprocess: by hand, and against its reference, which sorts where the
// kernels search.
#include "detection_postprocess.h"

#include <cmath>
#include <limits>

#include "fixture.h"
#include "support/api_support.h"
#include "tim/vx/check_op.h"
#include "tim/vx/status.h"
#include "tim/vx/testing.h"

namespace custom_test {
namespace {

using custom_ops::DetectionPostprocess;
using Attrs = DetectionPostprocess::Attrs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using vx::Code;
using vx::Shape;
using vx::ShapeType;
using Floats = std::vector<float>;

const float kNan = std::nanf(""), kInf = std::numeric_limits<float>::infinity();

struct Detections {
  Floats boxes, classes, scores;
  float count;
};

class DetectionTest : public CustomOp {
 protected:
  static Attrs Defaults(int32_t max_detections = 3, int32_t num_classes = 2) {
    Attrs a;
    a.max_detections = max_detections;
    a.num_classes = num_classes;
    return a;
  }
  /// One image, by the kernels, and then by the reference, which must agree.
  Detections Of(const Attrs& attrs, const Floats& encodings, const Floats& scores,
                const Floats& anchors) {
    const Detections got = On(context_, "opencl", attrs, encodings, scores, anchors);
    const Detections expected =
        On(vx::test::HostContext(), "reference", attrs, encodings, scores, anchors);
    EXPECT_EQ(got.classes, expected.classes);
    EXPECT_EQ(got.scores, expected.scores);
    EXPECT_EQ(got.count, expected.count);
    EXPECT_THAT(got.boxes, Pointwise(::testing::NanSensitiveFloatNear(1e-4f), expected.boxes));
    return got;
  }
  static Detections On(const std::shared_ptr<vx::Context>& context, const std::string& backend,
                       const Attrs& attrs, const Floats& encodings, const Floats& scores,
                       const Floats& anchors) {
    const auto count = static_cast<uint32_t>(anchors.size() / 4);
    const auto columns = static_cast<uint32_t>(scores.size()) / count;
    const auto max = static_cast<uint32_t>(attrs.max_detections);
    const auto graph = context->CreateGraph();
    const auto in = [&](const ShapeType& shape, const Floats& values) {
      const auto t = graph->CreateTensor({DataType::FLOAT32, shape, vx::INPUT});
      Write(t, values);
      return t;
    };
    const auto out = [&](const ShapeType& shape) {
      return graph->CreateTensor({DataType::FLOAT32, shape, vx::OUTPUT});
    };
    const std::vector<TensorPtr> outs = {out({4, max, 1}), out({max, 1}), out({max, 1}), out({1})};
    graph->CreateOperation<DetectionPostprocess>(attrs)
        ->BindInputs({in({4, count, 1}, encodings), in({columns, count, 1}, scores),
                      in({4, count}, anchors)})
        .BindOutputs(outs);
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_EQ(graph->Report().ops[0].backend, backend);
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return {Read<float>(outs[0], 4 * max), Read<float>(outs[1], max), Read<float>(outs[2], max),
            Read<float>(outs[3], 1)[0]};
  }
  std::string Refused(const Attrs& attrs, const std::vector<ShapeType>& shapes,
                      Code code = Code::kInvalidShape, DataType dtype = DataType::FLOAT32) {
    SetUp();
    const auto op = graph_->CreateOperation<DetectionPostprocess>(attrs);
    for (const ShapeType& shape : shapes)
      op->BindInput(graph_->CreateTensor({dtype, shape, vx::INPUT}));
    for (int i = 0; i < 4; ++i) op->BindOutput(Output<float>({}));
    EXPECT_FALSE(graph_->Compile());
    EXPECT_EQ(graph_->LastStatus().code(), code);
    EXPECT_THAT(graph_->LastStatus().message(), HasSubstr("custom_ops.detection_postprocess#1"));
    return graph_->LastStatus().message();
  }
};

// Six anchors of 1 x 1 around x = 0.5, 10.5 and 100.5. The scales divide an encoding of 1 by 10.
const Floats kAnchors = {0.5f, 0.5f,  1, 1, 0.5f, 0.5f,  1, 1, 0.5f, 0.5f,   1, 1,
                         0.5f, 10.5f, 1, 1, 0.5f, 10.5f, 1, 1, 0.5f, 100.5f, 1, 1};
const Floats kEncodings = {0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
// Background, class 0, class 1.
const Floats kScores = {0, 0.9f,  0.8f,  0, 0.75f, 0.72f, 0, 0.6f, 0.5f,
                        0, 0.93f, 0.95f, 0, 0.5f,  0.4f,  0, 0.3f, 0.2f};

// The example of the source's own test. Boxes 0, 1, 2 lie at x = 0, 0.1 and -0.1: box 0 has the
// highest score, and 0.9 / 1.1 in common with the others. So have boxes 3 and 4. Box 5 is alone.
TEST_F(DetectionTest, ByHand) {
  const Detections d = Of(Defaults(), kEncodings, kScores, kAnchors);
  EXPECT_THAT(d.boxes,
              Pointwise(FloatNear(1e-4f), Floats{0, 10, 1, 11, 0, 0, 1, 1, 0, 100, 1, 101}));
  EXPECT_THAT(d.classes, ElementsAre(1, 0, 0));
  EXPECT_THAT(d.scores, ElementsAre(0.95f, 0.9f, 0.3f));
  EXPECT_EQ(d.count, 3);
}

TEST_F(DetectionTest, DecodesSizesAndCentres) {
  // Scales 4, 2, 1, 0.5; anchor at y 10, x 20 of 8 x 6. Centre: 10 + 2 / 4 * 8 = 14,
  // 20 - 1 / 2 * 6 = 17. Height 8 exp(log 2 / 1) = 16, width 6 exp(log 1 / 0.5) = 6.
  Attrs a = Defaults(1, 1);
  a.y_scale = 4, a.x_scale = 2, a.h_scale = 1, a.w_scale = 0.5f;
  const Detections d = Of(a, {2, -1, std::log(2.0f), 0}, {0.5f}, {10, 20, 8, 6});
  EXPECT_THAT(d.boxes, Pointwise(FloatNear(1e-4f), Floats{6, 14, 22, 20}));
  // The width has a scale of its own: 6 exp(log 3 / 2 / 0.5) = 18.
  const Detections wide = Of(a, {0, 0, 0, std::log(3.0f) / 2}, {0.5f}, {10, 20, 8, 6});
  EXPECT_THAT(wide.boxes, Pointwise(FloatNear(1e-4f), Floats{6, 11, 14, 29}));
}

TEST_F(DetectionTest, WhatIsNotThereIsZero) {
  Attrs a = Defaults(5);
  Detections d = Of(a, kEncodings, kScores, kAnchors);
  EXPECT_EQ(d.count, 3);
  EXPECT_THAT(Floats(d.boxes.begin() + 12, d.boxes.end()), Each(0));
  EXPECT_THAT(d.classes, ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(d.scores, ElementsAre(0.95f, 0.9f, 0.3f, 0, 0));
  // A score equal to the threshold is enough.
  a.nms_score_threshold = 0.9f;
  d = Of(a, kEncodings, kScores, kAnchors);
  EXPECT_EQ(d.count, 2);
  EXPECT_THAT(d.scores, ElementsAre(0.95f, 0.9f, 0, 0, 0));
  a.nms_score_threshold = 0.96f;
  d = Of(a, kEncodings, kScores, kAnchors);
  EXPECT_EQ(d.count, 0);
  EXPECT_THAT(d.boxes, Each(0));
  // More than there is room for: the best ones.
  d = Of(Defaults(1), kEncodings, kScores, kAnchors);
  EXPECT_EQ(d.count, 1);
  EXPECT_THAT(d.scores, ElementsAre(0.95f));
}

TEST_F(DetectionTest, TheOverlapMustBeLargerThanTheThreshold) {
  // Two boxes of 2 x 1 with one half in common: 1 / 3 of both. 0.25 < 1 / 3 < 0.375.
  const Floats anchors = {0.5f, 1, 1, 2, 0.5f, 2, 1, 2}, none(8, 0.0f);
  Attrs a = Defaults(2, 1);
  a.nms_iou_threshold = 0.25f;
  EXPECT_EQ(Of(a, none, {0.5f, 0.75f}, anchors).count, 1);
  a.nms_iou_threshold = 0.375f;
  EXPECT_EQ(Of(a, none, {0.5f, 0.75f}, anchors).count, 2);
  // Equal to it is not larger: boxes of 4 x 1 and 3 x 1 inside of it.
  const Floats inside = {0.5f, 2, 1, 4, 0.5f, 2, 1, 3};
  a.nms_iou_threshold = 0.75f;
  EXPECT_EQ(Of(a, none, {0.5f, 0.75f}, inside).count, 2);
  // 1 keeps even equal boxes.
  a.nms_iou_threshold = 1;
  EXPECT_EQ(Of(a, none, {0.5f, 0.75f}, {0, 0, 1, 1, 0, 0, 1, 1}).count, 2);
}

// A box that was suppressed suppresses none itself.
TEST_F(DetectionTest, Chains) {
  const Floats anchors = {0, 0, 1, 4, 0, 1, 1, 4, 0, 2, 1, 4}, none(12, 0.0f);
  const Detections d = Of(Defaults(3, 1), none, {0.9f, 0.8f, 0.7f}, anchors);
  EXPECT_THAT(d.scores, ElementsAre(0.9f, 0.7f, 0)) << "3 / 5 in common, then 2 / 6";
}

TEST_F(DetectionTest, TiesGoToTheLowerIndex) {
  constexpr int kCount = 37;
  Floats anchors, scores;
  for (int i = 0; i < kCount; ++i) {
    anchors.insert(anchors.end(), {0, static_cast<float>(3 * i), 1, 1});
    scores.insert(scores.end(), {0.5f, 0.25f, 0.5f});
  }
  const Detections d = Of(Defaults(kCount, 3), Floats(4 * kCount), scores, anchors);
  EXPECT_EQ(d.count, kCount);
  EXPECT_THAT(d.classes, Each(0));
  for (size_t n = 0; n < kCount; ++n)
    EXPECT_EQ(d.boxes[4 * n + 1], 3 * static_cast<float>(n) - 0.5f);
}

TEST_F(DetectionTest, NumbersThatAreNone) {
  // Far from each other. Scores: NaN beside a number, NaN alone, +-inf.
  const Floats anchors = {0, 0, 1, 1, 0, 9, 1, 1, 0, 19, 1, 1, 0, 29, 1, 1}, none(16, 0.0f);
  Detections d = Of(Defaults(4, 2), none, {kNan, 0.5f, kNan, kNan, kInf, 0, -kInf, 0.25f}, anchors);
  EXPECT_THAT(d.scores, ElementsAre(kInf, 0.5f, 0.25f, 0));
  EXPECT_THAT(d.classes, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(d.count, 3);
  Attrs all = Defaults(4, 2);
  all.nms_score_threshold = -kInf;
  d = Of(all, none, {-kInf, kNan, kNan, kNan, -1, -2, 0, 0}, anchors);
  EXPECT_THAT(d.scores, ElementsAre(0, -1, -kInf, 0));
  EXPECT_EQ(d.count, 3);
  // Boxes: NaN, infinite, without area and turned inside out suppress none and stay.
  const Floats odd = {kNan, 0, 0, 0, 0, 0, 1e30f, 1e30f, 0, 0, -kInf, 0, 0, 0, 0, 0};
  const Floats centre = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, -1, 1};
  d = Of(Defaults(4, 1), odd, {0.9f, 0.8f, 0.7f, 0.6f}, centre);
  EXPECT_EQ(d.count, 4);
  EXPECT_THAT(d.scores, ElementsAre(0.9f, 0.8f, 0.7f, 0.6f));
}

TEST_F(DetectionTest, NothingIsLeftOfARunBefore) {
  const uint32_t count = 3;
  const auto e = Input<float>({4, count, 1}), s = Input<float>({1, count, 1});
  const auto a = Input<float>({4, count});
  const auto boxes = Output<float>({4, 3, 1}), classes = Output<float>({3, 1}),
             scores = Output<float>({3, 1}), n = Output<float>({1});
  graph_->CreateOperation<DetectionPostprocess>(Defaults(3, 1))
      ->BindInputs({e, s, a})
      .BindOutputs({boxes, classes, scores, n});
  Compile();
  EXPECT_EQ(graph_->Report().launches, 2u);
  Write(e, Floats(12));
  Write<float>(a, {0, 0, 1, 1, 0, 9, 1, 1, 0, 19, 1, 1});
  for (const Floats& v : {Floats{0.25f, 0.75f, 0.5f}, Floats{-1, 0.5f, -1}, Floats{1, 2, 3}}) {
    Write(s, v);
    Run();
    const float expected = v[0] < 0 ? 1 : 3;
    EXPECT_THAT(Read<float>(n, 1), ElementsAre(expected));
    EXPECT_EQ(Read<float>(scores, 3)[2], expected == 1 ? 0 : v[0]);
  }
}

TEST(CheckOp, DetectionPostprocess) {
  using vx::cases::F16, vx::cases::F32, vx::cases::Affine;
  const auto unit = Affine(DataType::UINT8, {}, 1.0f / 256, 0);
  struct {
    vx::TensorType encodings, scores, anchors;
    bool background;
  } const types[] = {{F32(), F32(), F32(), false},
                     {F16(), F16(), F16(), true},
                     {Affine(DataType::UINT8, {}, 0.05f, 120), unit, F32(), false},
                     {Affine(DataType::INT8, {}, 0.05f, 3), F32(), unit, true}};
  for (const auto& t : types) {
    vx::testing::CheckOptions options;
    options.inputs = {t.encodings, t.scores, t.anchors};
    options.outputs.assign(4, F32());
    options.lo = 0, options.hi = 1;  // sizes of anchors are positive
    options.tolerance = vx::Tolerance::Ulp(16, 0, 1e-6);
    options.shapes = [&](int64_t a, int64_t b, int64_t, int64_t batch) {
      const int64_t anchors = 4 * a + b;
      return std::vector<Shape>{
          {4, anchors, batch}, {t.background ? 4 : 3, anchors, batch}, {4, anchors}};
    };
    Attrs attrs;
    attrs.max_detections = 7;
    attrs.num_classes = 3;
    attrs.nms_score_threshold = 0.2f;
    attrs.nms_iou_threshold = 0.3f;
    EXPECT_EQ(vx::testing::CheckOp<DetectionPostprocess>(options, attrs), "")
        << t.encodings.ToString();
  }
}

TEST_F(DetectionTest, ClonesHaveTheAttributes) {
  auto other = context_->CreateGraph();
  const auto clone = graph_->CreateOperation<DetectionPostprocess>(Defaults(2, 1))->Clone(other);
  const auto in = [&](const ShapeType& shape) {
    return other->CreateTensor({DataType::FLOAT32, shape, vx::INPUT});
  };
  std::vector<TensorPtr> outs;
  for (int i = 0; i < 4; ++i)
    outs.push_back(other->CreateTensor({DataType::FLOAT32, {}, vx::OUTPUT}));
  clone->BindInputs({in({4, 5, 3}), in({2, 5, 3}), in({4, 5})}).BindOutputs(outs);
  ASSERT_TRUE(other->Compile()) << other->LastStatus().message();
}

TEST_F(DetectionTest, WrongShapes) {
  const ShapeType e = {4, 6, 2}, s = {3, 6, 2}, a = {4, 6};
  EXPECT_THAT(Refused(Defaults(), {{4, 6}, s, a}),
              HasSubstr("encodings are [4,6], expected [4, anchors, batch]"));
  EXPECT_THAT(Refused(Defaults(), {{5, 6, 2}, s, a}), HasSubstr("encodings are [5,6,2]"));
  EXPECT_THAT(Refused(Defaults(), {e, s, {4, 7}}),
              HasSubstr("anchors are [4,7], expected [4,6] as encodings are [4,6,2]"));
  for (const ShapeType& wrong : {ShapeType{1, 6, 2}, {4, 6, 2}, {3, 5, 2}, {3, 6, 1}, {3, 6}}) {
    EXPECT_THAT(Refused(Defaults(), {e, wrong, a}),
                HasSubstr("scores are " + Shape(wrong).ToString() +
                          ", expected [2,6,2], or one column more for the background"));
  }
}

TEST_F(DetectionTest, WrongAttributesAndTypes) {
  const std::vector<ShapeType> shapes = {{4, 6, 1}, {2, 6, 1}, {4, 6}};
  const auto refused = [&](void (*change)(Attrs&)) {
    Attrs a = Defaults();
    change(a);
    return Refused(a, shapes, Code::kInvalidArgument);
  };
  EXPECT_THAT(refused([](Attrs& a) { a.max_detections = 0; }),
              HasSubstr("max_detections is 0, below 1"));
  EXPECT_THAT(refused([](Attrs& a) { a.num_classes = 0; }), HasSubstr("num_classes is 0, below 1"));
  EXPECT_THAT(refused([](Attrs& a) { a.nms_score_threshold = kNan; }),
              HasSubstr("nms_score_threshold is not a number"));
  EXPECT_THAT(refused([](Attrs& a) { a.nms_iou_threshold = 0; }),
              HasSubstr("nms_iou_threshold is 0.000000, outside (0, 1]"));
  EXPECT_THAT(refused([](Attrs& a) { a.nms_iou_threshold = kNan; }), HasSubstr("outside (0, 1]"));
  EXPECT_THAT(refused([](Attrs& a) { a.w_scale = 0; }),
              HasSubstr("a scale is 0.000000, not a positive number"));
  EXPECT_THAT(Refused(Defaults(), shapes, Code::kInvalidType, DataType::INT32), HasSubstr("i32"));
}

}  // namespace
}  // namespace custom_test
