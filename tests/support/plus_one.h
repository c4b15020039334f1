// An operator of a test's own, y = x + 1, whose kernel's text the test chooses.
#ifndef TIMCL_TESTS_SUPPORT_PLUS_ONE_H_
#define TIMCL_TESTS_SUPPORT_PLUS_ONE_H_

#include <string>
#include <utility>

#include "tim/vx/op_kit.h"

namespace tim::vx::testing {

inline Status PlusOne(const OpView&, const ref::Inputs& in, ref::Outputs& out) {
  for (int64_t i = 0; i < out[0].count(); ++i) out[0].Set(i, in[0].At(i) + 1);
  return Status();
}
/// Of the kernel plus_one of this text: X, Y and their length N, in groups of four.
inline Result<Launches> LaunchPlusOne(const OpView& op, std::string text) {
  KernelSpec k;
  k.source = "plus_one", k.entry = "plus_one", k.source_text = std::move(text);
  k.operands = {In(0, "X"), Out(0, "Y")};
  k.sizes = {{"N", op.out(0).type().count()}};
  k.global = Grid(op.out(0).type().count()), k.local = {4, 1, 1};
  return Launches{k};
}

}  // namespace tim::vx::testing
#endif  // TIMCL_TESTS_SUPPORT_PLUS_ONE_H_
