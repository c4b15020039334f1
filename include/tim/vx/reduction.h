// What operators share that make one number from all elements along some dimensions (reductions,
// moments): the shape of the result, and how a kernel walks to the elements (reduce.clh).
#ifndef TIM_VX_REDUCTION_H_
#define TIM_VX_REDUCTION_H_

#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

class Reduction {
 public:
  /// The axes went through OpView::CheckAxis.
  Reduction(const OpView& op, const std::vector<int32_t>& axes) : x_(op.in(0).shape()) {
    reduced_.assign(x_.rank(), false);
    for (int32_t a : axes) reduced_[op.Axis(a)] = true;
    int64_t stride = 1;
    for (size_t d = 0; d < x_.rank(); ++d) {
      const int64_t extent = x_[d];
      if (extent == 1) continue;
      if (!groups_.empty() && groups_.back().reduced == reduced_[d]) {
        groups_.back().extent *= extent;
      } else {
        groups_.push_back({extent, stride, reduced_[d]});
      }
      stride *= extent;
      if (reduced_[d]) terms_ *= extent;
    }
  }

  Shape Result(bool keep_dims) const {
    Shape y;
    for (size_t d = 0; d < x_.rank(); ++d) {
      if (!reduced_[d]) {
        y.push_back(x_[d]);
      } else if (keep_dims) {
        y.push_back(1);
      }
    }
    if (y.empty()) y.push_back(1);
    return y;
  }
  /// Elements that make one result.
  int64_t terms() const { return terms_; }
  int64_t results() const { return x_.count() / terms_; }
  /// Neighbours that lie side by side in the input: elements of one result, or where these lie
  /// apart those of as many neighbouring results.
  int64_t neighbours() const { return groups_.empty() ? 1 : groups_[0].extent; }
  /// The result that element i of the input is a part of.
  int64_t ResultOf(int64_t i) const {
    int64_t to = 0, stride = 1;
    for (const Group& g : groups_) {
      const int64_t at = i % g.extent;
      i /= g.extent;
      if (g.reduced) continue;
      to += at * stride;
      stride *= g.extent;
    }
    return to;
  }

  /// Fills in operand T, sizes, defines and the work-items of a kernel that includes reduce.clh.
  /// `lanes`: elements of one result that it takes at once where they are neighbours.
  /// `widest`: results, of neighbours, that a work-item makes on a CPU, where there are as many.
  void Launch(const DeviceCaps& caps, int64_t lanes, KernelSpec* spec, int64_t widest = 16) const {
    const bool lines = groups_.empty() || groups_[0].reduced;  // neighbours belong to one result
    const int64_t length = lines ? 1 : groups_[0].extent;
    const int64_t run = lines || !caps.is_cpu ? 1
                        : length >= widest    ? widest
                        : length >= 16        ? 16
                        : length >= 4         ? 4
                                              : 1;
    const int64_t across = DivideUp(length, run);
    std::vector<int32_t> table;
    size_t kept = 0, folded = 0;
    int64_t n = 1, step = 1;
    Append(across, 0, &table);
    for (size_t g = lines ? 0 : 1; g < groups_.size(); ++g) {
      if (!groups_[g].reduced) Append(groups_[g].extent, groups_[g].stride, &table), ++kept;
    }
    for (const Group& g : groups_) {
      if (!g.reduced) continue;
      if (n == 1) {
        n = g.extent, step = g.stride;
      } else {
        Append(g.extent, g.stride, &table), ++folded;
      }
    }
    const int64_t items = results() / length * across;
    spec->operands.push_back(Data(table, "T", "int"));
    spec->sizes = {
        {"LENGTH", length}, {"N", n}, {"STEP", step}, {"M", terms_ / n}, {"ITEMS", items}};
    spec->defines = {
        {"KEPT", kept}, {"FOLDED", folded}, {"RUN", run}, {"LANES", lines ? lanes : 1}};
    spec->global = Grid(items);
    spec->local = {items >= 64 ? size_t{16} : size_t{1}, 1, 1};
    spec->flops = static_cast<double>(x_.count());
  }

 private:
  /// Neighbouring dimensions that are all reduced or all kept.
  struct Group {
    int64_t extent, stride;
    bool reduced;
  };
  static void Append(int64_t extent, int64_t stride, std::vector<int32_t>* table) {
    AppendDivision(extent, table);
    table->push_back(static_cast<int32_t>(stride));
  }
  Shape x_;
  std::vector<bool> reduced_;
  std::vector<Group> groups_;
  int64_t terms_ = 1;
};

}  // namespace tim::vx
#endif  // TIM_VX_REDUCTION_H_
