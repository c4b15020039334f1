// Operation::Clone of one operator class.
#ifndef TIMCL_TESTS_SUPPORT_CLONE_H_
#define TIMCL_TESTS_SUPPORT_CLONE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/op_impl.h"
#include "support/api_support.h"
#include "tim/vx/op_def.h"

namespace tim::vx::test {

inline std::vector<std::string> cloned;  // kinds that ExpectClones met in this program

/// A clone in another graph has the same kind and attributes and no operands.
template <class Op, class... Args>
void ExpectClones(Args... args) {
  auto from = SharedContext()->CreateGraph();
  auto to = SharedContext()->CreateGraph();
  auto op = from->CreateOperation<Op>(args...);
  SCOPED_TRACE(std::string(op->Kind()) + " " + op->Attributes().ToText());
  op->BindInput(Input(from, {4}));
  const std::shared_ptr<Operation> clone = op->Clone(to);
  ASSERT_NE(clone, nullptr);
  EXPECT_EQ(to->OpVector(), (std::vector<std::shared_ptr<Operation>>{clone}));
  EXPECT_NE(dynamic_cast<Op*>(clone.get()), nullptr);
  EXPECT_STREQ(clone->Kind(), op->Kind());
  EXPECT_EQ(clone->Attributes(), op->Attributes());
  EXPECT_EQ(clone->Attributes().ToText(), op->Attributes().ToText());
  EXPECT_TRUE(clone->impl()->inputs.empty());
  cloned.emplace_back(op->Kind());
}

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_SUPPORT_CLONE_H_
