// SPDX-License-Identifier: Apache-2.0
#include "scheduler/admission_policy.h"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

constexpr std::int64_t kMaxCountedOutput = 4096;
constexpr double kInitialRatio = 0.7;
constexpr double kLowestShare = 0.14;
constexpr double kDecaySteps = 600;
constexpr std::int64_t kStepsAhead = 20;

double output_to_come(const SeqSnapshot& seq) {
  return static_cast<double>(
      std::clamp<std::int64_t>(seq.max_output - seq.num_output, 0, kMaxCountedOutput));
}

}  // namespace

RatioAdmission::RatioAdmission(double conservativeness)
    : new_share_(std::min(conservativeness, 1.0)),
      initial_(std::min(kInitialRatio * conservativeness, 1.0)),
      lowest_(initial_ * kLowestShare),
      decay_((initial_ - lowest_) / kDecaySteps),
      ratio_(initial_) {}

std::int64_t RatioAdmission::reserve_running(const SeqSnapshot& seq) const {
  return static_cast<std::int64_t>(std::ceil(output_to_come(seq) * ratio_));
}

std::int64_t RatioAdmission::reserve_new(const SeqSnapshot& seq) const {
  return static_cast<std::int64_t>(std::ceil(output_to_come(seq) * new_share_));
}

void RatioAdmission::observe(const StepOutcome& outcome) {
  if (outcome.num_running == 0) {
    ratio_ = initial_;
  } else if (outcome.num_preempted > 0) {
    const auto expected =
        static_cast<double>(outcome.sum_output + kStepsAhead * outcome.num_running);
    ratio_ = std::min(1.0, expected / static_cast<double>(outcome.sum_max_output + 1));
  } else {
    ratio_ = std::max(ratio_ - decay_, lowest_);
  }
}

}  // namespace plumb
