// SPDX-License-Identifier: Apache-2.0
#include "frontend/tier_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TierMetrics, each_tier_that_is_there_has_its_series) {
  Metrics metrics;
  KvTierStats stats;
  export_tier_metrics(stats, metrics);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("kvtier")));
  stats.is_on = true;
  stats.host_hit_tokens = 96;
  export_tier_metrics(stats, metrics);
  EXPECT_THAT(metrics.text(), HasSubstr("plumb_kvtier_hit_tokens_total{tier=\"host\"} 96\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("disk")));
  stats.has_disk = true;
  stats.disk.num_damaged = 3;
  stats.disk.can_write = false;
  export_tier_metrics(stats, metrics);
  EXPECT_THAT(metrics.text(), HasSubstr("plumb_kvtier_damaged_blocks_total{tier=\"disk\"} 3\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("plumb_kvtier_writable{tier=\"disk\"} 0\n"));
}

}  // namespace
}  // namespace plumb
