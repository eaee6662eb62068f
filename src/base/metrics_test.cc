// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, prints_help_type_and_one_line_per_series) {
  Metrics metrics;
  const Counter ok = metrics.counter("plumb_requests_total", "requests", {{"code", "200"}});
  const Counter bad = metrics.counter("plumb_requests_total", "requests", {{"code", "400"}});
  ok.add();
  ok.add(2);
  bad.add();
  metrics.gauge("plumb_running", "running sequences").set(5);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("# HELP plumb_requests_total requests\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE plumb_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("plumb_requests_total{code=\"200\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("plumb_requests_total{code=\"400\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE plumb_running gauge\nplumb_running 5\n"));
}

TEST(Metrics, histogram_buckets_are_cumulative) {
  Metrics metrics;
  const Histogram h = metrics.histogram("plumb_ttft_seconds", "time to first token", {0.1, 1});
  h.observe(0.05);
  h.observe(0.5);
  h.observe(7);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("plumb_ttft_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("plumb_ttft_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("plumb_ttft_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("plumb_ttft_seconds_count 3\n"));
}

TEST(Metrics, a_histogram_takes_over_what_others_counted) {
  Metrics metrics;
  const std::vector<double> bounds{0.1, 1};
  metrics.histogram("plumb_mask_seconds", "masks", bounds)
      .set(std::array<std::int64_t, 3>{2, 0, 1}, 9);
  metrics.histogram("plumb_mask_seconds", "masks", bounds)
      .set(std::array<std::int64_t, 3>{2, 3, 1}, 11);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("plumb_mask_seconds_bucket{le=\"0.1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("plumb_mask_seconds_bucket{le=\"1\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("plumb_mask_seconds_bucket{le=\"+Inf\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("plumb_mask_seconds_sum 11\n"));
  Histogram().set(std::array<std::int64_t, 3>{1, 1, 1}, 3);
}

TEST(Metrics, the_same_name_and_labels_give_the_same_series) {
  Metrics metrics;
  metrics.counter("plumb_steps_total", "steps").add();
  metrics.counter("plumb_steps_total", "steps").add();
  EXPECT_EQ(metrics.counter("plumb_steps_total", "steps").value(), 2);
}

TEST(Metrics, label_values_from_outside_cannot_break_the_text) {
  Metrics metrics;
  metrics.gauge("plumb_model", "model", {{"name", "a\"b\\c\nd\xff"}}).set(1);
  EXPECT_THAT(metrics.text(), HasSubstr("plumb_model{name=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\"} 1\n"));
}

TEST(Metrics, a_handle_of_nothing_ignores_what_it_is_told) {
  const Counter counter;
  counter.add();
  Gauge().set(1);
  Histogram().observe(1);
  EXPECT_EQ(counter.value(), 0);
}

}  // namespace
}  // namespace plumb
