// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/metrics.h"
#include "engine/engine_stats.h"

namespace plumb {

/// Sets the plumb_kvtier_* series; those of tiers that are not there do not appear.
void export_tier_metrics(const KvTierStats& stats, Metrics& metrics);

}  // namespace plumb
