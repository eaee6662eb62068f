// SPDX-License-Identifier: Apache-2.0
#include "check/op_check.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace plumb {
namespace {

CaseOutput output(const Shape& shape, std::vector<double> values, CaseTolerance tolerance = {}) {
  return {"y", shape, std::move(values), std::move(tolerance), {}};
}

TEST(CompareOutputs, finds_the_element_that_uses_most_of_its_tolerance) {
  const CaseOutput expected = output({2, 2}, {1, 100, 3, 4});
  const CaseOutput got = output({2, 2}, {1.001, 100.5, 3, 4}, {.absolute = 0.0, .relative = 0.01});
  const OutputComparison c = compare_outputs(got, expected);
  EXPECT_TRUE(c.passed);
  EXPECT_EQ(c.worst, 1);
  EXPECT_DOUBLE_EQ(c.max_error, 0.5);
  EXPECT_NEAR(c.mean_error, 0.501 / 4, 1e-12);
  EXPECT_DOUBLE_EQ(c.tolerance, 1.0);
  EXPECT_FALSE(
      compare_outputs(output({2, 2}, {1, 102, 3, 4}, {.relative = 0.01}), expected).passed);
}

TEST(CompareOutputs, tolerates_nothing_by_default_but_equal_nan_and_infinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const CaseOutput expected = output({3}, {nan, inf, 1});
  EXPECT_TRUE(compare_outputs(output({3}, {nan, inf, 1}), expected).passed);
  const CaseTolerance wide{.absolute = 1e9, .relative = 1e9};
  EXPECT_FALSE(compare_outputs(output({3}, {0, inf, 1}, wide), expected).passed);
  EXPECT_FALSE(compare_outputs(output({3}, {nan, -inf, 1}, wide), expected).passed);
  EXPECT_FALSE(compare_outputs(output({3}, {nan, 5, 1}, wide), expected).passed);
  EXPECT_FALSE(compare_outputs(output({3}, {nan, inf, nan}, wide), expected).passed);
}

TEST(CompareOutputs, bounds_the_mean_error_too) {
  const CaseOutput expected = output({2}, {0, 0});
  EXPECT_TRUE(
      compare_outputs(output({2}, {0.5, 0}, {.absolute = 1, .mean = 0.3}), expected).passed);
  EXPECT_FALSE(
      compare_outputs(output({2}, {0.5, 0.5}, {.absolute = 1, .mean = 0.3}), expected).passed);
}

TEST(CompareOutputs, values_worked_by_hand_win_over_the_reference) {
  CaseOutput got = output({1}, {7});
  got.expected = {7};
  EXPECT_TRUE(compare_outputs(got, output({1}, {8})).passed);
}

TEST(OpCases, cover_every_op_under_unique_names) {
  std::set<std::string> names;
  std::set<std::string_view> ops;
  for (const OpCase& c : op_cases()) {
    EXPECT_TRUE(names.insert(std::string(c.op) + " " + c.name).second) << c.op << " " << c.name;
    ops.insert(c.op);
  }
  for (const std::string_view op : op_names()) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
}

TEST(OpCheckReport, prints_the_worst_index_even_when_all_passes) {
  OutputComparison c;
  c.name = "y";
  c.shape = {3, 20};
  c.num_elements = 60;
  c.max_error = 0.25;
  c.mean_error = 0.125;
  c.worst = 37;
  c.expected = 1.0;
  c.got = 1.25;
  c.tolerance = 0.5;
  OpCheckReport report{"cpu", "avx2", "ref", {}};
  report.cases.push_back({"glu", "t3", CaseVerdict::kPassed, "", {c}});
  report.cases.push_back({"glu", "t4", CaseVerdict::kUnsupported, "cpu: no such op", {}});
  EXPECT_EQ(to_text(report),
            "cpu (avx2) against ref\n"
            "glu t3 y [3, 20]: max 0.25, mean 0.125, worst at [1, 17]: 1.25 for 1 (+-0.5) ok\n"
            "glu t4: unsupported, cpu: no such op\n"
            "1 passed, 0 failed, 1 unsupported\n");
  EXPECT_TRUE(report.passed());
  const Json json = to_json(report);
  EXPECT_EQ(json.find("cases")
                ->as_array()[0]
                .find("outputs")
                ->as_array()[0]
                .find("worst_index")
                ->as_int(),
            37);
}

}  // namespace
}  // namespace plumb
