// SPDX-License-Identifier: Apache-2.0
#include "cli/option_warnings.h"

#include "scheduler/fair_share.h"
#include "scheduler/schedule_policy.h"

namespace plumb {
namespace {

void warn_of_scheduling(const SchedulerOptions& scheduler, const KeySet& keys,
                        std::vector<std::string>* warnings) {
  if (!uses_priority(scheduler.schedule_policy) && scheduler.priority_aging.count() > 0) {
    warnings->emplace_back(
        "--priority-aging has no effect: --schedule-policy is neither priority nor priority-lof");
  }
  if (!scheduler.tenant_fairness && !scheduler.tenant_weights.empty()) {
    warnings->emplace_back("--tenant-weights has no effect with --no-tenant-fairness");
    return;
  }
  const auto weights = parse_tenant_weights(scheduler.tenant_weights);
  if (!weights.ok()) {
    return;  // refused elsewhere
  }
  for (const TenantWeight& weight : weights.value()) {
    if (!keys.has_name(weight.tenant)) {
      warnings->push_back(
          "--tenant-weights: no key of --api-key-file or --admin-key-file is named '" +
          weight.tenant.substr(0, 64) + "'");
    }
  }
}

}  // namespace

std::vector<std::string> option_warnings(const ServerOptions& server, const EngineOptions& engine,
                                         const KeySet& keys) {
  std::vector<std::string> warnings;
  if (engine.kv_events && !keys.has_admin()) {
    warnings.push_back(
        std::string(server.kv_events_port < 0 ? "--kv-events" : "--kv-events --kv-events-port") +
        ": nobody can read the events without an admin key; give --admin-key-file");
  }
  warn_of_scheduling(engine.scheduler, keys, &warnings);
  if (engine.tiers.disk_folder.empty() && engine.tiers.disk_bytes != TierOptions().disk_bytes) {
    warnings.emplace_back("--disk-cache-bytes has no effect without --disk-cache-dir");
  }
  return warnings;
}

std::vector<std::string> thread_warnings(const BackendOptions& backend, int num_usable_cores) {
  if (backend.threads <= 2 * std::int64_t{num_usable_cores}) {
    return {};
  }
  return {"--threads " + std::to_string(backend.threads) + ": this process may use " +
          std::to_string(num_usable_cores) +
          " cores, so the threads wait for each other and steps are slow; leave it out, or give at "
          "most " +
          std::to_string(num_usable_cores)};
}

}  // namespace plumb
