// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/status.h"
#include "frontend/constraint_compiler.h"
#include "frontend/step_metrics.h"
#include "frontend/text_service.h"
#include "server/server_metrics.h"

namespace plumb {

/// What a dialect of metrics is made of; all of it outlives the dialect.
struct MetricsSource {
  Metrics& metrics;
  ServerMetrics& server;
  StepMetrics* steps;      ///< null: nobody observes the engine's steps
  std::string model_name;  ///< as served
  std::int64_t context_len = 0;
};

/// The names that another server gives to what Plumb measures, so that its dashboards and routers
/// go on working. Series have labels of the configuration only, none from a request.
/// Thread: one at a time.
class MetricsDialect {
 public:
  virtual ~MetricsDialect() = default;
  /// Shows the engine's state and totals; called before the metrics are read.
  virtual void update(const EngineStats& stats, const ConstraintStats& constraints,
                      Clock::TimePoint now) = 0;
};

std::unique_ptr<MetricsDialect> make_vllm_metrics(const MetricsSource& source);
std::unique_ptr<MetricsDialect> make_sglang_metrics(const MetricsSource& source);
std::unique_ptr<MetricsDialect> make_llamacpp_metrics(const MetricsSource& source);

/// Errors kInvalidArgument: a name that is none of vllm, sglang, llamacpp, or comes twice.
Status check_metrics_dialects(const std::vector<std::string>& names);

/// Requires the names were checked.
std::vector<std::unique_ptr<MetricsDialect>> make_metrics_dialects(
    const std::vector<std::string>& names, const MetricsSource& source);

}  // namespace plumb
