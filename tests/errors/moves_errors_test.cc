// Operators that move, compare, choose and add up elements: operands and attributes that make no
// sense.
#include "errors/error_fixture.h"
#include "tim/vx/ops/addn.h"
#include "tim/vx/ops/broadcast.h"
#include "tim/vx/ops/logical.h"
#include "tim/vx/ops/relational_operations.h"
#include "tim/vx/ops/reverse.h"
#include "tim/vx/ops/select.h"
#include "tim/vx/ops/slice.h"
#include "tim/vx/ops/split.h"
#include "tim/vx/ops/squeeze.h"
#include "tim/vx/ops/stack.h"
#include "tim/vx/ops/stridedslice.h"
#include "tim/vx/ops/tile.h"
#include "tim/vx/ops/transpose.h"
#include "tim/vx/ops/unstack.h"

namespace tim::vx::test {
namespace {

using Ints = std::vector<int32_t>;
using Words = std::vector<uint32_t>;

class MovesErrorTest : public ErrorTest {
 protected:
  /// One op over f32[7,5] with so many open outputs, in a graph of its own.
  template <class Op, class... Args>
  void Expect(Code code, const std::vector<std::string>& words, size_t outputs, Args... args) {
    graph_ = SharedContext()->CreateGraph();
    auto x = Input(graph_, {7, 5});
    x->SetName("x");
    std::vector<TensorPtr> results;
    for (size_t k = 0; k < outputs; ++k) results.push_back(Output(graph_, {}));
    Bind<Op>(graph_, {x}, results, args...);
    ExpectFailure(code, words);
  }
};

TEST_F(MovesErrorTest, TransposeMovesChannelsWithTheirScales) {
  auto scales = [](int32_t dim, std::vector<float> list) {
    return Quantization(QuantType::SYMMETRIC_PER_CHANNEL, dim, std::move(list), {});
  };
  const Quantization along0 = scales(0, {0.5f, 1});
  for (const Quantization& result : {scales(0, {0.5f, 1, 2}), scales(1, {0.5f, 2})}) {
    graph_ = SharedContext()->CreateGraph();
    Bind<ops::Transpose>(graph_, {Input(graph_, {2, 3}, DataType::INT8, along0)},
                         {Output(graph_, {3, 2}, DataType::INT8, result)}, Words{1, 0});
    ExpectFailure(Code::kInvalidArgument, {"Transpose#1", "output 0 'output' i8(dim=",
                                           "those of input 0 'input' i8(dim=0", "dimension 1"});
  }
  graph_ = SharedContext()->CreateGraph();
  auto x = Input(graph_, {2, 3}, DataType::INT8, along0);
  auto y = Output(graph_, {3, 2}, DataType::INT8, scales(1, {0.5f, 1}));
  Bind<ops::Transpose>(graph_, {x}, {y}, Words{1, 0});
  Write<int8_t>(x, {1, 2, 3, 4, 5, 6});
  ExpectSuccess();
  EXPECT_EQ(Read<int8_t>(y, 6), (std::vector<int8_t>{1, 3, 5, 2, 4, 6}));
}

TEST_F(MovesErrorTest, Slice) {
  auto bad = [&](Code code, const std::vector<std::string>& words, uint32_t dims, Ints start,
                 Ints length,
                 Ints step) { Expect<ops::Slice>(code, words, 1, dims, start, length, step); };
  bad(Code::kInvalidArgument, {"Slice#1", "dims is 3", "2 dimensions of input 0 'x' f32[7,5]"}, 3,
      {0, 0}, {1, 1}, {});
  bad(Code::kInvalidArgument, {"start, length and step have 2, 1 and 0 entries", "f32[7,5]"}, 0,
      {0, 0}, {1}, {});
  bad(Code::kInvalidArgument, {"2, 2 and 1 entries"}, 0, {0, 0}, {1, 1}, {1});
  bad(Code::kInvalidArgument, {"start is 5 for the 5 elements along dimension 1"}, 0, {0, 5},
      {1, 1}, {});
  bad(Code::kInvalidArgument, {"start is -1 for the 7 elements along dimension 0"}, 0, {-1, 0},
      {1, 1}, {});
  bad(Code::kInvalidArgument, {"step is 0", "dimension 1"}, 0, {0, 0}, {1, 1}, {1, 0});
  bad(Code::kInvalidShape, {"5 elements from 3 on", "dimension 0 of input 0 'x' f32[7,5]"}, 0,
      {3, 0}, {5, 1}, {});
  bad(Code::kInvalidShape, {"0 elements from 3 on"}, 0, {3, 0}, {0, 1}, {});
  bad(Code::kInvalidShape, {"-1 elements from 3 on"}, 0, {3, 0}, {-1, 1}, {});
}

TEST_F(MovesErrorTest, SliceDeclaredBeyondTheInput) {
  Bind<ops::Slice>(graph_, {Input(graph_, {7})}, {Output(graph_, {4})}, 0u, Ints{4}, Ints{2});
  ExpectFailure(Code::kInvalidShape, {"Slice#1", "4 elements, from 4 on in steps of 1", "output 0",
                                      "f32[4]", "dimension 0 of input 0", "f32[7]"});
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::Slice>(graph_, {Input(graph_, {7})}, {Output(graph_, {5})}, 0u, Ints{4}, Ints{5});
  ExpectFailure(Code::kInvalidShape, {"Slice#1", "5 elements, from 4 on", "f32[7]"});
}

TEST_F(MovesErrorTest, StridedSlice) {
  auto bad = [&](Code code, const std::vector<std::string>& words, Ints begin, Ints end,
                 Ints stride) {
    Expect<ops::StridedSlice>(code, words, 1, begin, end, stride, 0, 0, 0);
  };
  bad(Code::kInvalidArgument, {"StridedSlice#1", "have 2, 1 and 2 entries", "'x' f32[7,5]"}, {0, 0},
      {1}, {1, 1});
  bad(Code::kInvalidArgument, {"have 3, 3 and 3 entries", "of 2 dimensions"}, {0, 0, 0}, {1, 1, 1},
      {1, 1, 1});
  bad(Code::kInvalidArgument, {"entry 1 of attribute stride_dims is 0", "f32[7,5]"}, {0, 0}, {1, 1},
      {1, 0});
  bad(Code::kInvalidShape,
      {"0 elements, from 3 on in steps of 1", "dimension 0 of input 0 'x' f32[7,5]"}, {3, 0},
      {3, 1}, {1, 1});
  bad(Code::kInvalidShape, {"from 1 on in steps of -1", "dimension 1"}, {0, 1}, {7, 4}, {1, -1});
}

TEST_F(MovesErrorTest, StridedSliceDeclaredBeyondTheInput) {
  Bind<ops::StridedSlice>(graph_, {Input(graph_, {7})}, {Output(graph_, {4})}, Ints{1}, Ints{0},
                          Ints{2}, 0, 0, 0);
  ExpectFailure(Code::kInvalidShape, {"StridedSlice#1", "4 elements, from 1 on in steps of 2",
                                      "f32[4]", "dimension 0 of input 0", "f32[7]"});
}

TEST_F(MovesErrorTest, Split) {
  Expect<ops::Split>(Code::kInvalidArgument, {"Split#1", "axis 2", "[-2, 2)"}, 2, 2u, Words{});
  Expect<ops::Split>(Code::kInvalidGraph, {"2 outputs are bound", "slices has 3 entries"}, 2, 0u,
                     Words{1, 2, 4});
  Expect<ops::Split>(Code::kInvalidArgument,
                     {"2 parts of input 0 'x' f32[7,5]", "add up to 6", "dimension 0 has 7"}, 2, 0u,
                     Words{2, 4});
  Expect<ops::Split>(Code::kInvalidArgument, {"add up to 4", "dimension 1 has 5"}, 2, 1u, Words{});
  Expect<ops::Split>(Code::kInvalidArgument, {"part 1 of input 0 'x' f32[7,5]", "is empty"}, 2, 0u,
                     Words{7, 0});
  Expect<ops::Split>(Code::kInvalidArgument, {"part 0 of", "dimension 1", "is empty"}, 6, 1u,
                     Words{});
}

TEST_F(MovesErrorTest, Squeeze) {
  Expect<ops::Squeeze>(Code::kInvalidArgument, {"Squeeze#1", "axis 2"}, 1, Words{2});
  Expect<ops::Squeeze>(Code::kInvalidArgument, {"axis -3"}, 1, Words{static_cast<uint32_t>(-3)});
  Expect<ops::Squeeze>(Code::kInvalidShape, {"'x' f32[7,5]", "dimension 1 has 5 elements"}, 1,
                       Words{1});
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::Squeeze>(graph_, {Input(graph_, {1, 5})}, {Output(graph_, {})},
                     Words{0, static_cast<uint32_t>(-2)});
  ExpectFailure(Code::kInvalidArgument, {"names dimension 0 twice"});
}

TEST_F(MovesErrorTest, StackAndUnstack) {
  Expect<ops::Stack>(Code::kInvalidGraph, {"Stack#1", "1 inputs are bound", "input_cnt says 2"}, 1,
                     0u, 2);
  Expect<ops::Stack>(Code::kInvalidArgument, {"axis 3 is outside [0, 2]", "'x' f32[7,5]"}, 1, 3u,
                     1);
  Expect<ops::Unstack>(Code::kInvalidArgument, {"Unstack#1", "axis 2"}, 2, 2, 2u);
  Expect<ops::Unstack>(Code::kInvalidGraph, {"2 outputs are bound", "output_num says 5"}, 2, 1, 5u);
  Expect<ops::Unstack>(Code::kInvalidArgument,
                       {"dimension 1 of input 0 'x' f32[7,5] has 5 elements for 2 outputs"}, 2, 1,
                       2u);
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::Stack>(graph_, {Input(graph_, {7, 5}), Input(graph_, {5, 7})}, {Output(graph_, {})}, 0u,
                   2);
  ExpectFailure(Code::kInvalidShape, {"Stack#1", "f32[5,7]", "[7,5]", "input 0"});
}

TEST_F(MovesErrorTest, Reverse) {
  Expect<ops::Reverse>(Code::kInvalidArgument, {"Reverse#1", "axis 2"}, 1, Ints{0, 2});
  Expect<ops::Reverse>(Code::kInvalidArgument, {"names dimension 1 twice"}, 1, Ints{1, -1});
  graph_ = SharedContext()->CreateGraph();
  const Quantization q(QuantType::SYMMETRIC_PER_CHANNEL, 1, {0.5f, 0.25f}, {0, 0});
  Bind<ops::Reverse>(graph_, {Input(graph_, {3, 2}, DataType::INT8, q)},
                     {Output(graph_, {3, 2}, DataType::INT8, q)}, Ints{1});
  ExpectFailure(Code::kInvalidArgument, {"quantized along dimension 1", "turns around"});
}

TEST_F(MovesErrorTest, Tile) {
  Expect<ops::Tile>(Code::kInvalidArgument, {"Tile#1", "multiples has 3 entries", "'x' f32[7,5]"},
                    1, Ints{1, 2, 3});
  Expect<ops::Tile>(Code::kInvalidArgument, {"multiples is 0", "dimension 1"}, 1, Ints{1, 0});
  Expect<ops::Tile>(Code::kInvalidArgument, {"multiples is -2", "dimension 0"}, 1, Ints{-2, 1});
}

TEST_F(MovesErrorTest, Broadcast) {
  Expect<ops::Broadcast>(
      Code::kInvalidShape,
      {"Broadcast#1", "'x' f32[7,5]", "[7,3]", "dimension 1", "is 5, not 1 or 3"}, 1, Words{7, 3});
  Expect<ops::Broadcast>(Code::kInvalidArgument, {"shape has the extent 0"}, 1, Words{7, 0});
  Expect<ops::Broadcast>(Code::kInvalidArgument, {"shape has the extent -1"}, 1, Ints{7, -1});
  for (const Ints& dimensions : {Ints{0}, Ints{0, 0}, Ints{0, 3}, Ints{0, -4}}) {
    Expect<ops::Broadcast>(Code::kInvalidArgument,
                           {"do not give each dimension of input 0 'x' f32[7,5] one of the shape"},
                           1, Words{7, 5, 3}, dimensions);
  }
  Expect<ops::Broadcast>(Code::kInvalidShape, {"dimension 0", "is 7, not 1 or 5"}, 1,
                         Words{7, 5, 5}, Ints{1, 2});
}

TEST_F(MovesErrorTest, AddN) {
  Expect<ops::AddN>(Code::kInvalidGraph, {"AddN#1", "1 inputs are bound", "at least 2"}, 1, 1u);
  graph_ = SharedContext()->CreateGraph();
  auto x = Input(graph_, {7, 5});
  Bind<ops::AddN>(graph_, {x, x}, {Output(graph_, {})}, 3u);
  ExpectFailure(Code::kInvalidGraph, {"2 inputs are bound", "num_inputs says 3"});
  graph_ = SharedContext()->CreateGraph();
  x = Input(graph_, {7, 5});
  Bind<ops::AddN>(graph_, {x, x, Input(graph_, {5, 7})}, {Output(graph_, {})}, 3u);
  ExpectFailure(Code::kInvalidShape, {"AddN#1", "input 2", "f32[5,7]", "do not broadcast",
                                      "dimension 0", "is 5 against 7"});
}

TEST_F(MovesErrorTest, TypesThatAreNotTheirs) {
  Bind<ops::Greater>(graph_, {Input(graph_, {4}), Input(graph_, {4})}, {Output(graph_, {4})});
  ExpectFailure(Code::kInvalidType, {"Greater#1", "output 0", "f32[4]", "is expected"});
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::LogicalOr>(graph_, {Input(graph_, {4}), Input(graph_, {4})},
                       {Output(graph_, {4}, DataType::BOOL8)});
  ExpectFailure(Code::kInvalidType, {"LogicalOr#1", "input 0", "f32[4]", "is expected"});
  graph_ = SharedContext()->CreateGraph();
  Bind<ops::Select>(graph_, {Input(graph_, {4}), Input(graph_, {4}), Input(graph_, {4})},
                    {Output(graph_, {4})});
  ExpectFailure(Code::kInvalidType, {"Select#1", "input 0", "f32[4]", "is expected"});
}

}  // namespace
}  // namespace tim::vx::test
