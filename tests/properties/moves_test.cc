// Laws of operators that move elements and of those that broadcast or sum them.
#include <algorithm>

#include "laws.h"
#include "tim/vx/ops/concat.h"
#include "tim/vx/ops/cumsum.h"
#include "tim/vx/ops/depth2space.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/gather.h"
#include "tim/vx/ops/pad.h"
#include "tim/vx/ops/reverse.h"
#include "tim/vx/ops/slice.h"
#include "tim/vx/ops/space2depth.h"
#include "tim/vx/ops/split.h"
#include "tim/vx/ops/tile.h"
#include "tim/vx/ops/transpose.h"

namespace tim::vx::laws {
namespace {

using test::TensorPtr;

std::vector<int32_t> Signed(const std::vector<uint32_t>& v) { return {v.begin(), v.end()}; }

TEST(MoveLaws, TransposesCompose) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 5);
    const Array x = Counting(DrawShape(m, rank, 5));
    const auto p = DrawPermutation("first", rank), q = DrawPermutation("second", rank);
    // Dimension i of the result is dimension p[i] of the input.
    std::vector<uint32_t> both(rank), back(rank);
    for (size_t i = 0; i < rank; ++i) {
      both[i] = p[q[i]];
      back[p[i]] = static_cast<uint32_t>(i);
    }
    Net net(m, DrawType(m));
    const TensorPtr in = net.In(x), once = net.Apply<ops::Transpose>({in}, p);
    const TensorPtr twice = net.Apply<ops::Transpose>({once}, q);
    const TensorPtr composed = net.Apply<ops::Transpose>({in}, both);
    const TensorPtr returned = net.Apply<ops::Transpose>({once}, back);
    net.Run();
    RC_ASSERT(net(twice) == net(composed));
    RC_ASSERT(net(returned) == x.values);
  });
}

TEST(MoveLaws, SplitUndoesConcat) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 5);
    const int axis = Draw("axis", 0, static_cast<int>(rank) - 1);
    const int parts = m.opencl ? 3 : Draw("parts", 1, 5);
    ShapeType shape = DrawShape(m, rank, 5);
    std::vector<Array> pieces;
    std::vector<uint32_t> slices;
    for (int i = 0; i < parts; ++i) {
      slices.push_back(static_cast<uint32_t>(Draw("slice", 1, 4)));
      shape[static_cast<size_t>(axis)] = slices.back();
      pieces.push_back(Counting(shape));
      for (float& v : pieces.back().values) v = static_cast<float>((int(v) + 50 * i) % 251);
    }
    Net net(m, DrawType(m));
    std::vector<TensorPtr> ins;
    for (const Array& piece : pieces) ins.push_back(net.In(piece));
    const TensorPtr whole = net.Apply<ops::Concat>(ins, static_cast<uint32_t>(axis), parts);
    const auto outs = net.ApplyAll<ops::Split>(static_cast<size_t>(parts), {whole},
                                               static_cast<uint32_t>(axis), slices);
    net.Run();
    for (size_t i = 0; i < pieces.size(); ++i) RC_ASSERT(net(outs[i]) == pieces[i].values);
  });
}

TEST(MoveLaws, SpaceToDepthAndDepthToSpaceAreInverse) {
  ForAll([](const Machine& m) {
    const int b = Draw("block", 1, 3);
    auto extent = [](const char* what, int factor) {
      return static_cast<uint32_t>(Draw(what, 1, 4) * factor);
    };
    const uint32_t batch = extent("batch", 1);
    const Array wide = Counting({extent("w", b), extent("h", b), extent("c", 1), batch});
    const Array deep = Counting({extent("w", 1), extent("h", 1), extent("c", b * b), batch});
    Net net(m, DrawType(m));
    const TensorPtr deeper = net.Apply<ops::SpaceToDepth>({net.In(wide)}, std::vector<int>{b, b});
    const TensorPtr wide_again = net.Apply<ops::DepthToSpace>({deeper}, b);
    const TensorPtr wider = net.Apply<ops::DepthToSpace>({net.In(deep)}, b);
    const TensorPtr deep_again = net.Apply<ops::SpaceToDepth>({wider}, std::vector<int>{b, b});
    net.Run();
    RC_ASSERT(net(wide_again) == wide.values);
    RC_ASSERT(net(deep_again) == deep.values);
  });
}

TEST(MoveLaws, ReversesCancel) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 5);
    const Array x = Counting(DrawShape(m, rank, 5));
    const int axis = Draw("axis", 0, static_cast<int>(rank) - 1);  // in both
    std::vector<int32_t> first, second, odd;                       // odd: turned around once
    for (int d = 0; d < static_cast<int>(rank); ++d) {
      const bool a = d == axis || DrawBool("in first"), b = d == axis || DrawBool("in second");
      if (a) first.push_back(d);
      if (b) second.push_back(d);
      if (a != b) odd.push_back(d);
    }
    Net net(m, DrawType(m));
    const TensorPtr in = net.In(x), once = net.Apply<ops::Reverse>({in}, first);
    const TensorPtr again = net.Apply<ops::Reverse>({once}, first);
    const TensorPtr other = net.Apply<ops::Reverse>({once}, second);
    const TensorPtr direct = odd.empty() ? in : net.Apply<ops::Reverse>({in}, odd);
    // One axis turned around is what Gather takes by indices that count down.
    std::vector<int32_t> down(x.shape[static_cast<size_t>(axis)]);
    for (size_t i = 0; i < down.size(); ++i) down[i] = static_cast<int32_t>(down.size() - 1 - i);
    const TensorPtr gathered = net.Apply<ops::Gather>({in, net.Indices(down)}, axis, 0);
    const TensorPtr turned = net.Apply<ops::Reverse>({in}, std::vector<int32_t>{axis});
    net.Run();
    RC_ASSERT(net(again) == x.values);
    RC_ASSERT(net(other) == (odd.empty() ? x.values : net(direct)));
    RC_ASSERT(net(turned) == net(gathered));
  });
}

TEST(MoveLaws, SliceUndoesPad) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 4);
    const auto mode = static_cast<ops::Pad::pad_mode_type>(Draw("mode", 0, 3));
    const Array x = Counting(DrawShape(m, rank, 5));
    std::vector<uint32_t> front, back;
    for (size_t d = 0; d < rank; ++d) {
      // A mirror image is no larger than the input, without the border cell even smaller.
      const int most = mode == ops::Pad::PAD_MODE_REFLECT     ? static_cast<int>(x.shape[d]) - 1
                       : mode == ops::Pad::PAD_MODE_SYMMETRIC ? static_cast<int>(x.shape[d])
                                                              : 3;
      front.push_back(static_cast<uint32_t>(Draw("front", 0, most)));
      back.push_back(static_cast<uint32_t>(Draw("back", 0, most)));
    }
    Net net(m, DrawType(m));
    const TensorPtr padded = net.Apply<ops::Pad>({net.In(x)}, front, back, 7, mode);
    const TensorPtr middle = net.Apply<ops::Slice>({padded}, static_cast<uint32_t>(rank),
                                                   Signed(front), Signed(x.shape));
    net.Run();
    RC_ASSERT(net(middle) == x.values);
    if (mode != ops::Pad::PAD_MODE_CONSTANT) return;
    // All the rest is the constant.
    const std::vector<float> all = net(padded);
    RC_ASSERT(std::count(all.begin(), all.end(), 7) -
                  std::count(x.values.begin(), x.values.end(), 7) ==
              static_cast<int64_t>(all.size()) - static_cast<int64_t>(x.values.size()));
  });
}

TEST(MoveLaws, GatherByAPermutationAndBack) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 4);
    const Array x = Counting(DrawShape(m, rank, 6));
    const int axis = Draw("axis", 0, static_cast<int>(rank) - 1);
    const size_t n = x.shape[static_cast<size_t>(axis)];
    const auto p = Signed(DrawPermutation("indices", n));
    std::vector<int32_t> same(n), back(n);
    for (size_t i = 0; i < n; ++i) {
      same[i] = static_cast<int32_t>(i);
      back[static_cast<size_t>(p[i])] = static_cast<int32_t>(i);
    }
    Net net(m, DrawType(m));
    const TensorPtr in = net.In(x);
    const TensorPtr copy = net.Apply<ops::Gather>({in, net.Indices(same)}, axis, 0);
    const TensorPtr mixed = net.Apply<ops::Gather>({in, net.Indices(p)}, axis, 0);
    const TensorPtr sorted = net.Apply<ops::Gather>({mixed, net.Indices(back)}, axis, 0);
    net.Run();
    RC_ASSERT(net(copy) == x.values);
    RC_ASSERT(net(sorted) == x.values);
  });
}

TEST(SumLaws, BroadcastIsTile) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 4);
    const ShapeType full = DrawShape(m, rank, 4);
    ShapeType a = full, b = full;
    std::vector<int32_t> repeat_a(rank, 1), repeat_b(rank, 1);
    for (size_t d = 0; d < rank; ++d) {
      const int who = Draw("repeated", 0, 2);  // neither, a or b
      if (who == 1) std::swap(repeat_a[d], reinterpret_cast<int32_t&>(a[d]));
      if (who == 2) std::swap(repeat_b[d], reinterpret_cast<int32_t&>(b[d]));
    }
    const Array x = DrawNumbers("x", a, 9), y = DrawNumbers("y", b, 9);
    // Trailing extents of 1 may be left out.
    Array shorter = y;
    while (shorter.shape.size() > 1 && shorter.shape.back() == 1 && DrawBool("lower rank"))
      shorter.shape.pop_back();
    Net net(m);
    const TensorPtr u = net.In(x), v = net.In(shorter);
    const TensorPtr tiled_u = net.Apply<ops::Tile>({u}, repeat_a);
    const TensorPtr tiled_v = net.Apply<ops::Tile>({net.In(y)}, repeat_b);
    const std::pair<TensorPtr, TensorPtr> pairs[] = {
        {net.Apply<ops::Add>({u, v}), net.Apply<ops::Add>({tiled_u, tiled_v})},
        {net.Apply<ops::Sub>({v, u}), net.Apply<ops::Sub>({tiled_v, tiled_u})},
        {net.Apply<ops::Multiply>({u, v}), net.Apply<ops::Multiply>({tiled_u, tiled_v})},
        {net.Apply<ops::Maximum>({v, u}), net.Apply<ops::Maximum>({tiled_v, tiled_u})}};
    net.Run();
    for (const auto& [broadcast, tiled] : pairs) RC_ASSERT(net(broadcast) == net(tiled));
  });
}

TEST(SumLaws, DifferencesOfCumSum) {
  ForAll([](const Machine& m) {
    const size_t rank = DrawRank(m, 4);
    ShapeType shape = DrawShape(m, rank, 6);
    const int axis = Draw("axis", 0, static_cast<int>(rank) - 1);
    const auto at = static_cast<size_t>(axis);
    const auto n = static_cast<int32_t>(++shape[at]);
    const Array x = DrawNumbers("x", shape, 9);
    Net net(m);
    auto part = [&](const TensorPtr& t, int32_t begin, int32_t length) {
      std::vector<int32_t> start(rank, 0), extents = Signed(x.shape);
      start[at] = begin, extents[at] = length;
      return net.Apply<ops::Slice>({t}, static_cast<uint32_t>(rank), start, extents);
    };
    const TensorPtr in = net.In(x), sums = net.Apply<ops::CumSum>({in}, axis, 0, 0);
    const TensorPtr before = net.Apply<ops::CumSum>({in}, axis, 1, 0);
    const TensorPtr difference = net.Apply<ops::Sub>({sums, before});
    const TensorPtr from_end = net.Apply<ops::CumSum>({in}, axis, 0, 1);
    const std::vector<int32_t> axes = {axis};
    const TensorPtr turned = net.Apply<ops::Reverse>(
        {net.Apply<ops::CumSum>({net.Apply<ops::Reverse>({in}, axes)}, axis, 0, 0)}, axes);
    const TensorPtr first_sum = part(sums, 0, 1), first = part(in, 0, 1);
    const TensorPtr rest = part(in, 1, n - 1);
    const TensorPtr steps = net.Apply<ops::Sub>({part(sums, 1, n - 1), part(sums, 0, n - 1)});
    net.Run();
    RC_ASSERT(net(difference) == x.values);
    RC_ASSERT(net(from_end) == net(turned));
    RC_ASSERT(net(first_sum) == net(first));
    RC_ASSERT(net(steps) == net(rest));
  });
}

}  // namespace
}  // namespace tim::vx::laws
