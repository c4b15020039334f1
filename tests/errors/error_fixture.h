// A graph on the default device, and a check of the status that a bad one gets.
#ifndef TIMCL_TESTS_ERRORS_ERROR_FIXTURE_H_
#define TIMCL_TESTS_ERRORS_ERROR_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/api_support.h"

namespace tim::vx::test {

class ErrorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
    graph_ = SharedContext()->CreateGraph();
  }

  /// Compile() fails with this code and these words; so does a second one, and Run().
  void ExpectFailure(Code code, const std::vector<std::string>& words) {
    EXPECT_FALSE(graph_->Compile());
    const Status first = graph_->LastStatus();
    EXPECT_EQ(first.code(), code) << first.message();
    for (const std::string& word : words) {
      EXPECT_THAT(first.message(), testing::HasSubstr(word));
    }
    EXPECT_EQ(first.message().rfind(CodeName(code), 0), 0u) << "the code comes first";
    EXPECT_FALSE(graph_->Run());
    EXPECT_EQ(graph_->LastStatus().message(), first.message());
    EXPECT_FALSE(graph_->Compile());
    EXPECT_EQ(graph_->LastStatus().message(), first.message());
  }
  void ExpectSuccess() { EXPECT_TRUE(graph_->Run()) << graph_->LastStatus().message(); }

  GraphPtr graph_;
};

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_ERRORS_ERROR_FIXTURE_H_
