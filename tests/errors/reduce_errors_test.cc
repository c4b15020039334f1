// Operators that reduce, multiply matrices and follow indices: operands and attributes that make no
// sense.
#include "errors/error_fixture.h"
#include "tim/vx/ops/arg.h"
#include "tim/vx/ops/embedding_lookup.h"
#include "tim/vx/ops/gather.h"
#include "tim/vx/ops/gather_elements.h"
#include "tim/vx/ops/gathernd.h"
#include "tim/vx/ops/hashtable_lookup.h"
#include "tim/vx/ops/logsoftmax.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/moments.h"
#include "tim/vx/ops/onehot.h"
#include "tim/vx/ops/reduce.h"
#include "tim/vx/ops/scatternd.h"
#include "tim/vx/ops/scatternd_onnx_v16.h"
#include "tim/vx/ops/topk.h"

namespace tim::vx::test {
namespace {

using Ints = std::vector<int32_t>;
using Words = std::vector<uint32_t>;
constexpr DataType kF32 = DataType::FLOAT32, kI32 = DataType::INT32;

struct Operand {
  ShapeType shape;
  DataType type = kF32;
};

class ReduceErrorTest : public ErrorTest {
 protected:
  /// One op over these inputs, named x0 and so on, with open outputs of these types, in a new
  /// graph.
  template <class Op, class... Args>
  void Expect(Code code, const std::vector<std::string>& words, const std::vector<Operand>& inputs,
              const std::vector<DataType>& outputs, Args... args) {
    graph_ = SharedContext()->CreateGraph();
    std::vector<TensorPtr> operands, results;
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(Input(graph_, inputs[i].shape, inputs[i].type));
      operands.back()->SetName("x" + std::to_string(i));
    }
    for (DataType type : outputs) results.push_back(Output(graph_, {}, type));
    Bind<Op>(graph_, operands, results, args...);
    ExpectFailure(code, words);
  }
};

TEST_F(ReduceErrorTest, AxisOutOfRange) {
  const auto code = Code::kInvalidArgument;
  Expect<ops::ReduceMean>(code, {"ReduceMean#1", "axis 2 is outside [-2, 2)", "'x0' f32[7,5]"},
                          {{{7, 5}}}, {kF32}, Ints{0, 2}, false);
  Expect<ops::ReduceAny>(code, {"ReduceAny#1", "axis -3"}, {{{7, 5}, DataType::INT8}},
                         {DataType::INT8}, Ints{-3}, true);
  Expect<ops::Moments>(code, {"Moments#1", "axis 5"}, {{{7, 5}}}, {kF32, kF32}, Ints{5}, true);
  Expect<ops::LogSoftmax>(code, {"LogSoftmax#1", "axis 2"}, {{{7, 5}}}, {kF32}, 2, 1.0f);
  Expect<ops::ArgMax>(code, {"ArgMax#1", "axis 2"}, {{{7, 5}}}, {kI32}, 2);
  Expect<ops::Topk>(code, {"Topk#1", "axis -3"}, {{{7, 5}}}, {kF32, kI32}, 1u, -3);
  Expect<ops::Gather>(code, {"Gather#1", "axis 2"}, {{{7, 5}}, {{3}, kI32}}, {kF32}, 2, 0);
  Expect<ops::GatherElements>(code, {"GatherElements#1", "axis 2"}, {{{7, 5}}, {{7, 5}, kI32}},
                              {kF32}, 2);
  Expect<ops::OneHot>(code, {"OneHot#1", "axis 2 is outside [-1, 1]"}, {{{7}, kI32}}, {kF32}, 3,
                      1.0f, 0.0f, 2);
  Expect<ops::OneHot>(code, {"OneHot#1", "axis -2"}, {{{7}, kI32}}, {kF32}, 3, 1.0f, 0.0f, -2);
}

TEST_F(ReduceErrorTest, Types) {
  Expect<ops::ReduceAll>(Code::kInvalidType, {"ReduceAll#1", "'x0' f32[7,5]"}, {{{7, 5}}}, {kF32},
                         Ints{0}, false);
  Expect<ops::Gather>(Code::kInvalidType, {"Gather#1", "'x1' f32[3]"}, {{{7, 5}}, {{3}}}, {kF32}, 0,
                      0);
}

TEST_F(ReduceErrorTest, DeclaredOutput) {
  Bind<ops::ReduceSum>(graph_, {Input(graph_, {7, 5})}, {Output(graph_, {7})}, Ints{0}, false);
  ExpectFailure(Code::kInvalidShape, {"ReduceSum#1", "is declared [7], the op computes [5]"});
}

TEST_F(ReduceErrorTest, Matmul) {
  auto bad = [&](const std::vector<std::string>& words, const ShapeType& a, const ShapeType& b,
                 bool turn_a, bool turn_b) {
    Expect<ops::Matmul>(Code::kInvalidShape, words, {{a}, {b}}, {kF32}, turn_a, turn_b);
  };
  bad({"Matmul#1", "'x0' f32[7,5]", "'x1' f32[3,6]", "rows of 7 against columns of 6"}, {7, 5},
      {3, 6}, false, false);
  bad({"transpose_a=true", "rows of 5 against columns of 7"}, {7, 5}, {3, 7}, true, false);
  bad({"rows of 7 against columns of 3"}, {7, 5}, {3, 7}, false, true);
  bad({"rows of 7 against columns of 6"}, {7}, {6}, false, false);
  bad({"do not broadcast: dimension 2", "2 against 3"}, {7, 5, 2}, {3, 7, 3}, false, false);
}

TEST_F(ReduceErrorTest, Topk) {
  const auto code = Code::kInvalidArgument;
  Expect<ops::Topk>(code, {"Topk#1", "k is 8", "[1, 7]", "'x0' f32[7,5]", "axis 0"}, {{{7, 5}}},
                    {kF32, kI32}, 8u, 0);
  Expect<ops::Topk>(code, {"k is 0", "[1, 5]"}, {{{7, 5}}}, {kF32, kI32}, 0u, 1);
}

TEST_F(ReduceErrorTest, OneHot) {
  for (int32_t depth : {0, -4}) {
    Expect<ops::OneHot>(Code::kInvalidArgument,
                        {"OneHot#1", "depth " + std::to_string(depth) + " is not positive"},
                        {{{7}, kI32}}, {kF32}, depth, 1.0f, 0.0f, 0);
  }
}

TEST_F(ReduceErrorTest, Gathers) {
  Expect<ops::Gather>(Code::kInvalidArgument, {"Gather#1", "batch_dims 2", "'x1' i32[3]"},
                      {{{7, 5, 3}}, {{3}, kI32}}, {kF32}, 0, 2);
  Expect<ops::Gather>(Code::kInvalidArgument, {"batch_dims -1"}, {{{7, 5}}, {{3}, kI32}}, {kF32}, 0,
                      -1);
  Expect<ops::Gather>(Code::kInvalidArgument, {"axis 1", "one of the 1 dimensions of the batch"},
                      {{{7, 5}}, {{3, 5}, kI32}}, {kF32}, 1, 1);
  Expect<ops::Gather>(Code::kInvalidShape, {"outermost dimensions: 5 against 4"},
                      {{{7, 5}}, {{3, 4}, kI32}}, {kF32}, 0, 1);
  Expect<ops::GatherNd>(Code::kInvalidShape,
                        {"GatherNd#1", "'x1' i32[3,6]", "at most 2 numbers", "'x0' f32[7,5]"},
                        {{{7, 5}}, {{3, 6}, kI32}}, {kF32});
  Expect<ops::GatherElements>(Code::kInvalidShape, {"GatherElements#1", "rank 1", "rank 2"},
                              {{{7, 5}}, {{7}, kI32}}, {kF32}, 0);
  Expect<ops::GatherElements>(Code::kInvalidShape,
                              {"'x1' i32[8,5]", "below or above axis 1", "'x0' f32[7,5]"},
                              {{{7, 5}}, {{8, 5}, kI32}}, {kF32}, 1);
  Expect<ops::HashtableLookup>(Code::kInvalidShape,
                               {"HashtableLookup#1", "4 keys for the 5 rows", "'x2' f32[7,5]"},
                               {{{3}, kI32}, {{4}, kI32}, {{7, 5}}}, {kF32, kF32});
}

TEST_F(ReduceErrorTest, Scatters) {
  Expect<ops::ScatterND>(Code::kInvalidArgument, {"ScatterND#1", "shape is empty"},
                         {{{1, 3}, kI32}, {{3}}}, {kF32}, Words{});
  Expect<ops::ScatterND>(Code::kInvalidArgument, {"shape [7,0]"}, {{{1, 3}, kI32}, {{7, 3}}},
                         {kF32}, Words{7, 0});
  Expect<ops::ScatterND>(Code::kInvalidShape, {"'x0' i32[3,4]", "at most 2 numbers", "[7,5]"},
                         {{{3, 4}, kI32}, {{4}}}, {kF32}, Words{7, 5});
  Expect<ops::ScatterND>(Code::kInvalidShape,
                         {"'x1' f32[7,2]", "must have 21 elements: 3 slices of 7"},
                         {{{1, 3}, kI32}, {{7, 2}}}, {kF32}, Words{7, 5});
  Expect<ops::ScatterND_ONNX_V16>(
      Code::kInvalidShape, {"ScatterND_ONNX_V16#1", "'x2' f32[7]", "3 slices of 7"},
      {{{7, 5}}, {{1, 3}, kI32}, {{7}}}, {kF32}, ops::ScatterND_ONNX_V16::REDUCTION_ADD);
  Expect<ops::ScatterND_ONNX_V16>(Code::kInvalidArgument, {"reduction", "is 9", "NONE ADD MUL"},
                                  {{{7, 5}}, {{1, 3}, kI32}, {{7, 3}}}, {kF32},
                                  static_cast<ops::ScatterND_ONNX_V16::ReductionType>(9));
}

}  // namespace
}  // namespace tim::vx::test
