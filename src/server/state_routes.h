// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/json.h"
#include "server/load_report.h"
#include "server/metrics_dialect.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// What the server shows of itself: metrics, configuration, load, model.
/// Thread: the server's loop, but for construction.
class StateRoutes {
 public:
  /// `kv_events_port`: of the publisher of cache events; -1 without one.
  StateRoutes(const RouteContext& context, std::function<int()> kv_events_port);

  void add_routes();

 private:
  void metrics(Transaction transaction);
  void server_info(Transaction transaction);
  EngineStats stats() const;
  LoadFacts load_facts();
  Json internal_states();
  void model_info(Transaction transaction);
  void props(Transaction transaction);
  void server_load(Transaction transaction);
  void rank_load(Transaction transaction);
  void loads(Transaction transaction);

  const RouteContext& context_;
  const std::function<int()> kv_events_port_;
  std::vector<std::unique_ptr<MetricsDialect>> dialects_;
  ThroughputMeter throughput_;
};

}  // namespace plumb
