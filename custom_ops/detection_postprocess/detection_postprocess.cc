// DetectionPostprocess: checks, definition and the two launches.
#include "detection_postprocess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources
    kDetectionPostprocessFiles;  // detection_postprocess.cl, by CMakeLists.txt
namespace {

using tim::vx::Code;
using tim::vx::ShapeType;
using tim::vx::Status;
using Attrs = DetectionPostprocess::Attrs;

std::string ToText(const ShapeType& shape) { return tim::vx::Shape(shape).ToString(); }

struct Candidate {
  std::array<float, 4> box;  // ymin xmin ymax xmax
  float score;
  int64_t label;
};

float Overlap(const std::array<float, 4>& a, const std::array<float, 4>& b) {
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  if (!(area_a > 0 && area_b > 0)) return 0;
  const float height = std::fmax(std::fmin(a[2], b[2]) - std::fmax(a[0], b[0]), 0.0f);
  const float width = std::fmax(std::fmin(a[3], b[3]) - std::fmax(a[1], b[1]), 0.0f);
  return height * width / (area_a + area_b - height * width);
}

/// The definition as its source has it: candidates sorted by score, each kept unless it overlaps
/// one that was kept. Tests compare the kernels with it, and it runs where there is no OpenCL. In
/// float as the kernels, so that both overflow alike.
Status Reference(const Attrs& a, const tim::vx::ref::Inputs& inputs,
                 tim::vx::ref::Outputs& outputs) {
  const tim::vx::Shape& shape = inputs[1].type().shape;
  const int64_t columns = shape[0], anchors = shape[1], background = columns - a.num_classes;
  const int64_t max = a.max_detections;
  for (int64_t image = 0; image < shape[2]; ++image) {
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < anchors; ++i) {
      const auto code = [&](int64_t k) { return inputs[0].Float(4 * (image * anchors + i) + k); };
      const auto anchor = [&](int64_t k) { return inputs[2].Float(4 * i + k); };
      const float y = code(0) / a.y_scale * anchor(2) + anchor(0);
      const float x = code(1) / a.x_scale * anchor(3) + anchor(1);
      const float half_h = 0.5f * std::exp(code(2) / a.h_scale) * anchor(2);
      const float half_w = 0.5f * std::exp(code(3) / a.w_scale) * anchor(3);
      Candidate c = {{y - half_h, x - half_w, y + half_h, x + half_w}, -INFINITY, -1};
      for (int64_t k = 0; k < a.num_classes; ++k) {
        const float score = inputs[1].Float((image * anchors + i) * columns + background + k);
        if (!std::isnan(score) && (c.label < 0 || score > c.score)) c.score = score, c.label = k;
      }
      if (c.label >= 0 && c.score >= a.nms_score_threshold) candidates.push_back(c);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& l, const Candidate& r) { return l.score > r.score; });
    std::vector<Candidate> kept;
    for (const Candidate& c : candidates) {
      if (static_cast<int64_t>(kept.size()) == max) break;
      const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Candidate& k) {
        return Overlap(k.box, c.box) > a.nms_iou_threshold;
      });
      if (!covered) kept.push_back(c);
    }
    outputs[3].Set(image, static_cast<double>(kept.size()));
    kept.resize(static_cast<size_t>(max), Candidate{{0, 0, 0, 0}, 0, 0});
    for (int64_t n = 0; n < max; ++n) {
      const Candidate& c = kept[static_cast<size_t>(n)];
      const int64_t slot = image * max + n;
      for (int64_t k = 0; k < 4; ++k) outputs[0].Set(4 * slot + k, c.box[static_cast<size_t>(k)]);
      outputs[1].Set(slot, static_cast<double>(c.label));
      outputs[2].Set(slot, c.score);
    }
  }
  return Status();
}

/// "" or what is wrong.
std::string Check(const Attrs& a) {
  if (a.max_detections < 1)
    return "max_detections is " + std::to_string(a.max_detections) + ", below 1";
  if (a.num_classes < 1) return "num_classes is " + std::to_string(a.num_classes) + ", below 1";
  if (std::isnan(a.nms_score_threshold)) return "nms_score_threshold is not a number";
  if (!(a.nms_iou_threshold > 0 && a.nms_iou_threshold <= 1))
    return "nms_iou_threshold is " + std::to_string(a.nms_iou_threshold) + ", outside (0, 1]";
  for (const float scale : {a.y_scale, a.x_scale, a.h_scale, a.w_scale}) {
    if (!(scale > 0 && std::isfinite(scale)))
      return "a scale is " + std::to_string(scale) + ", not a positive number";
  }
  return "";
}

}  // namespace

DetectionPostprocess::DetectionPostprocess(tim::vx::Graph* graph, const Attrs& attrs)
    : CustomOpBase(graph, 3, 4, -1, "custom_ops.detection_postprocess"), attrs_(attrs) {
  kernel_resource_ = kDetectionPostprocessFiles.Find("detection_postprocess.cl")->text;
  SetTypes("f32|f16|u8|i8, f32|f16|u8|i8, f32|f16|u8|i8 -> f32, f32, f32, f32");
  UseTensorMacros("ENCODINGS SCORES ANCHORS", "BOXES CLASSES TOP_SCORES COUNT");
  SetReference([a = attrs_](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    return Reference(a, inputs, outputs);
  });
  if (const std::string wrong = Check(attrs); !wrong.empty()) Fail(Code::kInvalidArgument, wrong);
}

std::shared_ptr<tim::vx::Operation> DetectionPostprocess::Clone(
    std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<DetectionPostprocess>(attrs_);
}

void DetectionPostprocess::SetupShapeInfor() {
  const ShapeType &encodings = inputs_size_[0], &scores = inputs_size_[1],
                  &anchors = inputs_size_[2];
  const auto bad = [&](const std::string& message) { Fail(Code::kInvalidShape, message); };
  if (encodings.size() != 3 || encodings[0] != 4)
    return bad("encodings are " + ToText(encodings) + ", expected [4, anchors, batch]");
  const uint32_t count = encodings[1], images = encodings[2];
  if (anchors != ShapeType{4, count})
    return bad("anchors are " + ToText(anchors) + ", expected " + ToText({4, count}) +
               " as encodings are " + ToText(encodings));
  const auto classes = static_cast<uint32_t>(attrs_.num_classes);
  if (scores != ShapeType{classes, count, images} &&
      scores != ShapeType{classes + 1, count, images})
    return bad("scores are " + ToText(scores) + ", expected " + ToText({classes, count, images}) +
               ", or one column more for the background");
  const auto max = static_cast<uint32_t>(attrs_.max_detections);
  outputs_size_ = {{4, max, images}, {max, images}, {max, images}, {images}};
}

void DetectionPostprocess::SetupParams(std::vector<tim::vx::DataType>, std::string&) {}

void DetectionPostprocess::SetupEnqueue(uint32_t&, std::vector<size_t>&, std::vector<size_t>&) {
  const auto columns = static_cast<int>(inputs_size_[1][0]);
  const auto anchors = static_cast<int>(inputs_size_[1][1]);
  const size_t images = inputs_size_[1][2], boxes = images * inputs_size_[1][1];
  enum Scratch { kBoxes, kScores, kClasses };
  AddLaunch("decode")
      .Input(0)
      .Input(1)
      .Input(2)
      .Scratch(kBoxes, boxes * 4 * sizeof(float))
      .Scratch(kScores, boxes * sizeof(float))
      .Scratch(kClasses, boxes * sizeof(int))
      .Value(anchors)
      .Value(static_cast<int>(images))
      .Value(columns)
      .Value(columns - attrs_.num_classes)
      .Value(attrs_.nms_score_threshold)
      .Value(std::array<float, 4>{attrs_.y_scale, attrs_.x_scale, attrs_.h_scale, attrs_.w_scale})
      .Items(RoundUp(boxes, 64));
  // A power of two; a CPU runs the work-items of a group one after the other.
  size_t group = Device().is_cpu ? 8 : 256;
  while (group > Device().max_work_group || group > Device().max_work_items[0]) group /= 2;
  AddLaunch("choose")
      .Scratch(kBoxes, boxes * 4 * sizeof(float))
      .Scratch(kScores, boxes * sizeof(float))
      .Scratch(kClasses, boxes * sizeof(int))
      .Output(0)
      .Output(1)
      .Output(2)
      .Output(3)
      .Local(group * sizeof(float))
      .Local(group * sizeof(int))
      .Value(anchors)
      .Value(attrs_.max_detections)
      .Value(attrs_.nms_iou_threshold)
      .Items(group, images)
      .Group(group);
}

}  // namespace custom_ops
