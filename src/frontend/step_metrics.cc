// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_metrics.h"

#include <chrono>
#include <vector>

namespace plumb {
namespace {

const std::vector<double> kTokenBounds{1,   8,    16,   32,   64,   128,  256,
                                       512, 1024, 2048, 4096, 8192, 16384};
const std::vector<double> kPlannerBounds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4,
                                         2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1};

}  // namespace

StepMetrics::StepMetrics(Metrics& metrics)
    : planner_time_(metrics.histogram("plumb_step_planner_seconds",
                                      "time in which the scheduler decided a step",
                                      kPlannerBounds)) {
  tokens_.add(metrics.histogram("plumb_step_tokens", "tokens computed in a step", kTokenBounds));
}

void StepMetrics::add_tokens(Histogram histogram) {
  const MutexLock lock(mutex_);
  tokens_.add(histogram);
}

void StepMetrics::on_step(const StepStats& step) {
  profile_.on_step(step);
  const std::int64_t num_tokens = step.num_decode_rows + step.num_prefill_tokens;
  if (num_tokens == 0) {
    return;  // it only ended or waited
  }
  {
    const MutexLock lock(mutex_);
    tokens_.observe(static_cast<double>(num_tokens));
  }
  planner_time_.observe(std::chrono::duration<double>(step.planner_time).count());
}

void StepMetrics::on_end(const Request&, const StreamEvent&) {}

}  // namespace plumb
