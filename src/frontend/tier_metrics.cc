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
  const auto total = [&](const char* name, const char* help, std::int64_t value) {
    metrics.counter(name, help, {{"tier", tier}}).raise_to(static_cast<double>(value));
  };
  total("plumb_kvtier_hit_tokens_total", "prompt tokens brought to the KV cache since the start",
        hit_tokens);
  set("plumb_kvtier_blocks", "blocks that the tier holds", stats.num_blocks);
  set("plumb_kvtier_bytes", "bytes that the tier takes", stats.num_bytes);
  total("plumb_kvtier_stored_blocks_total", "blocks stored since the start", stats.num_stored);
  total("plumb_kvtier_evicted_blocks_total", "blocks that made room since the start",
        stats.num_evicted);
  total("plumb_kvtier_dropped_blocks_total", "blocks not taken since the start", stats.num_dropped);
  total("plumb_kvtier_damaged_blocks_total", "damaged blocks met since the start",
        stats.num_damaged);
  total("plumb_kvtier_errors_total", "reads and writes that failed since the start",
        stats.num_errors);
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
  metrics.counter("plumb_kvtier_loads_total", "prefixes brought to the KV cache since the start")
      .raise_to(static_cast<double>(stats.num_loads));
  metrics
      .counter("plumb_kvtier_load_seconds_total", "time that bringing them from memory took in all")
      .raise_to(std::chrono::duration<double>(stats.load_time).count());
}

}  // namespace plumb
