// SPDX-License-Identifier: Apache-2.0
#include "frontend/step_metrics.h"

#include <chrono>
#include <vector>

namespace plumb {
namespace {

const std::vector<double> kTokenBounds{1,   8,    16,   32,   64,   128,  256,
                                       512, 1024, 2048, 4096, 8192, 16384};
const std::vector<double> kMicrosecondBounds{1,   2,   5,    10,   20,   50,    100,
                                             200, 500, 1000, 2000, 5000, 10000, 100000};

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

StepMetrics::StepMetrics(Metrics& metrics)
    : planner_time_(metrics.histogram("plumb_step_planner_microseconds",
                                      "time in which the scheduler decided a step",
                                      kMicrosecondBounds)),
      mask_time_(metrics.histogram("plumb_step_mask_microseconds",
                                   "time for the grammars' token masks of a step that had any",
                                   kMicrosecondBounds)) {
  tokens_.add(metrics.histogram("plumb_step_tokens", "tokens computed in a step", kTokenBounds));
}

void StepMetrics::add_tokens(Histogram histogram) {
  const MutexLock lock(mutex_);
  tokens_.add(histogram);
}

void StepMetrics::on_step(const StepStats& step) {
  const std::int64_t num_tokens = step.num_decode_rows + step.num_prefill_tokens;
  if (num_tokens == 0) {
    return;  // it only ended or waited
  }
  {
    const MutexLock lock(mutex_);
    tokens_.observe(static_cast<double>(num_tokens));
  }
  planner_time_.observe(microseconds(step.planner_time));
  if (step.num_masks > 0) {
    mask_time_.observe(microseconds(step.mask_time));
  }
}

void StepMetrics::on_end(const Request&, const StreamEvent&) {}

}  // namespace plumb
