// SPDX-License-Identifier: Apache-2.0
#include "frontend/tier_metrics.h"

#include <chrono>
#include <string>

namespace plumb {
namespace {

void export_tier(const std::string& tier, const TierStats& stats, std::int64_t hit_tokens,
                 Metrics& metrics) {
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    metrics.gauge(name, help, {{"tier", tier}}).set(static_cast<double>(value));
  };
  set("plumb_kvtier_hit_tokens", "prompt tokens brought to the KV cache since the start",
      hit_tokens);
  set("plumb_kvtier_blocks", "blocks that the tier holds", stats.num_blocks);
  set("plumb_kvtier_bytes", "bytes that the tier takes", stats.num_bytes);
  set("plumb_kvtier_stored_blocks", "blocks stored since the start", stats.num_stored);
  set("plumb_kvtier_evicted_blocks", "blocks that made room since the start", stats.num_evicted);
  set("plumb_kvtier_dropped_blocks", "blocks not taken since the start", stats.num_dropped);
  set("plumb_kvtier_damaged_blocks", "damaged blocks met since the start", stats.num_damaged);
  set("plumb_kvtier_errors", "reads and writes that failed since the start", stats.num_errors);
  set("plumb_kvtier_writable", "1 while the tier takes blocks, 0 after an error",
      stats.can_write ? 1 : 0);
}

}  // namespace

void export_tier_metrics(const KvTierStats& stats, Metrics& metrics) {
  if (!stats.is_on) {
    return;
  }
  export_tier("host", stats.host, stats.host_hit_tokens, metrics);
  if (stats.has_disk) {
    export_tier("disk", stats.disk, stats.disk_hit_tokens, metrics);
  }
  metrics.gauge("plumb_kvtier_loads", "prefixes brought to the KV cache since the start")
      .set(static_cast<double>(stats.num_loads));
  metrics.gauge("plumb_kvtier_load_seconds", "time that bringing them from memory took in all")
      .set(std::chrono::duration<double>(stats.load_time).count());
}

}  // namespace plumb
