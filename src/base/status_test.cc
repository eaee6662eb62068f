// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) {
    return Status{Code::kInvalidArgument,
                  "x is " + std::to_string(x) + ", expected an even number"};
  }
  return x / 2;
}

Result<int> quarter(int x) {
  PLUMB_ASSIGN(const int h, half(x));
  PLUMB_ASSIGN(const int q, half(h));
  return q;
}

TEST(Status, errors_travel_up_and_values_come_through) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).status().message(), "x is 3, expected an even number");
  EXPECT_EQ(quarter(6).status().with("quarter").message(),
            "quarter: x is 3, expected an even number");
}

TEST(Scope, the_trace_names_what_the_thread_is_doing) {
  EXPECT_EQ(scope_trace(), "");
  PLUMB_SCOPE("step", 12);
  {
    PLUMB_SCOPE("layer", 3);
    PLUMB_SCOPE("attention");
    EXPECT_EQ(scope_trace(), "step 12 > layer 3 > attention");
  }
  EXPECT_EQ(scope_trace(), "step 12");
}

TEST(CheckDeathTest, a_failed_check_prints_the_expression_the_detail_and_the_trace) {
  PLUMB_SCOPE("step", 7);
  EXPECT_DEATH(PLUMB_CHECK(1 == 2, "one is not two"),
               "check failed: 1 == 2\n  one is not two(.|\n)*in step 7");
}

}  // namespace
}  // namespace plumb
