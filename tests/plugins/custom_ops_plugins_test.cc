// The operators of custom_ops as plugins: found at run time, used by name, closed again. Their
// values are tests/custom's business; here it is the way to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "plugins/mapped.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_def.h"
#include "tim/vx/operation.h"
#include "tim/vx/tensor.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class CustomOpsPlugins : public ::testing::Test {
 protected:
  void Load(const std::string& file, const std::string& op, const std::string& attrs) {
    file_ = file;
    context_ = Context::Create();
    std::vector<PluginInfo> loaded;
    const Status status = context_->LoadPlugin(file, &loaded);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(loaded[0].name, op);
    EXPECT_THAT(loaded[0].ops, ElementsAre(op));
    const auto def = context_->Ops().Find(op);
    ASSERT_NE(def, nullptr);
    const auto defaults = AnyAttrs::From(def->schema, {});
    ASSERT_TRUE(defaults.ok());
    EXPECT_EQ(defaults->Map().ToText(), attrs);
    graph_ = context_->CreateGraph();
  }
  void TearDown() override {
    graph_.reset(), context_.reset();
    EXPECT_FALSE(ClosesLibraries() && IsMapped(file_)) << "the library is still open";
  }
  template <class T = float>
  std::shared_ptr<Tensor> In(const ShapeType& shape, const std::vector<T>& values,
                             DataType type = DataType::FLOAT32) {
    const auto t = graph_->CreateTensor({type, shape, INPUT});
    EXPECT_TRUE(t->CopyDataToTensor(values.data()));
    return t;
  }
  std::shared_ptr<Tensor> Out(const ShapeType& shape, DataType type = DataType::FLOAT32) {
    return graph_->CreateTensor({type, shape, OUTPUT});
  }
  template <class T = float>
  static std::vector<T> Read(const std::shared_ptr<Tensor>& tensor, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(tensor->CopyDataFromTensor(values.data()));
    return values;
  }
  void Run() {
    ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    EXPECT_EQ(graph_->Report().ops[0].backend, "opencl");
  }
  std::string file_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<Graph> graph_;
};

TEST_F(CustomOpsPlugins, Attention) {
  Load(ATTENTION_PLUGIN, "custom_ops.attention", "scale=0.0, window=0, sink=false");
  // Scores 0, log 2, log 3, of which the window hides the first, and a sink of log 5: the weights
  // are 2 / 10 and 3 / 10.
  const auto y = Out({1, 1, 1, 1});
  graph_->CreateOperation("custom_ops.attention", {{"window", 2}, {"sink", true}})
      ->BindInputs({In({1, 1, 1, 1}, {1}), In({1, 3, 1, 1}, {0, std::log(2.0f), std::log(3.0f)}),
                    In({1, 3, 1, 1}, {5, 10, 20}), In({1}, {std::log(5.0f)})})
      .BindOutput(y);
  Run();
  EXPECT_THAT(Read(y, 1), ElementsAre(FloatNear(8, 1e-5f)));
}

TEST_F(CustomOpsPlugins, DetectionPostprocess) {
  Load(DETECTION_PLUGIN, "custom_ops.detection_postprocess",
       "max_detections=10, num_classes=0, nms_score_threshold=0.0, nms_iou_threshold=0.5, "
       "y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0");
  const auto boxes = Out({4, 2, 1}), classes = Out({2, 1}), scores = Out({2, 1}), count = Out({1});
  graph_
      ->CreateOperation("custom_ops.detection_postprocess",
                        {{"max_detections", 2}, {"num_classes", 2}})
      ->BindInputs({In({4, 2, 1}, {0, 0, 0, 0, 0, 1, 0, 0}), In({2, 2, 1}, {0.5f, 0.25f, 0, 0.75f}),
                    In({4, 2}, {1, 1, 2, 2, 1, 1, 2, 2})})
      .BindOutputs({boxes, classes, scores, count});
  Run();
  // The second box, 0.2 to the right, covers the first: 3.6 of 4.4.
  EXPECT_THAT(Read(count, 1), ElementsAre(1));
  EXPECT_THAT(Read(classes, 2), ElementsAre(1, 0));
  EXPECT_THAT(Read(scores, 2), ElementsAre(0.75f, 0));
  EXPECT_THAT(Read(boxes, 8), ElementsAre(FloatNear(0, 1e-6f), FloatNear(0.2f, 1e-6f),
                                          FloatNear(2, 1e-6f), FloatNear(2.2f, 1e-6f), 0, 0, 0, 0));
}

TEST_F(CustomOpsPlugins, LookupTable) {
  Load(LOOKUP_TABLE_PLUGIN, "custom_ops.lookup_table", "file=\"\"");
  const auto x = In<uint8_t>({3}, {0, 128, 255}, DataType::UINT8), y = Out({3}, DataType::UINT8);
  graph_
      ->CreateOperation(
          "custom_ops.lookup_table",
          {{"file", std::string(TIMCL_SOURCE_DIR "/custom_ops/lookup_table/sigmoid_uint8.txt")}})
      ->BindInput(x)
      .BindOutput(y);
  Run();
  // 256 / (1 + e^8) = 0.09, 256 / 2, and 256 / (1 + e^-7.94) = 255.9 in a byte
  EXPECT_THAT(Read<uint8_t>(y, 3), ElementsAre(0, 128, 255));
}

// What an operator of a plugin says at Compile() is as good as that of any other; nothing is
// thrown.
TEST_F(CustomOpsPlugins, BadFilesAndAttributes) {
  Load(LOOKUP_TABLE_PLUGIN, "custom_ops.lookup_table", "file=\"\"");
  const auto fails = [&](const AttrMap& attrs) {
    graph_ = context_->CreateGraph();
    graph_->CreateOperation("custom_ops.lookup_table", attrs)
        ->BindInput(In<uint8_t>({1}, {0}, DataType::UINT8))
        .BindOutput(Out({1}, DataType::UINT8));
    EXPECT_FALSE(graph_->Compile());
    return graph_->LastStatus().message();
  };
  EXPECT_THAT(fails({}), HasSubstr("there is no table file ''"));
  EXPECT_THAT(fails({{"file", std::string("/nowhere")}}),
              AllOf(HasSubstr("kNotFound"), HasSubstr("custom_ops.lookup_table#1"),
                    HasSubstr("there is no table file '/nowhere'")));
  EXPECT_THAT(fails({{"file", 7}}), HasSubstr("'file' has a value of the wrong kind"));
  EXPECT_THAT(fails({{"table", std::string("/nowhere")}}),
              HasSubstr("unknown attribute 'table' (known: file)"));
}

}  // namespace
}  // namespace tim::vx::test
