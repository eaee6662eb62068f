// SPDX-License-Identifier: Apache-2.0
#include "scheduler/admission_policy.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plumb {
namespace {

constexpr std::int64_t kMaxCountedOutput = 4096;
constexpr double kInitialRatio = 0.7;
constexpr double kLowestShare = 0.14;
constexpr double kDecaySteps = 600;
constexpr std::int64_t kStepsAhead = 20;
constexpr std::int64_t kEnoughLengths = 50;
constexpr double kUsualShare = 0.8;
constexpr std::size_t kMaxKinds = 1024;

double output_to_come(const SeqSnapshot& seq) {
  return static_cast<double>(
      std::clamp<std::int64_t>(seq.max_output - seq.num_output, 0, kMaxCountedOutput));
}

}  // namespace

std::int64_t AdmissionPolicy::expected_left(const SeqSnapshot& seq) const {
  return std::max<std::int64_t>(seq.max_output - seq.num_output, 1);
}

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

// The tenant and the number of bits of the limit, at most 64, as one number.
std::uint64_t OutputLengths::place(TenantId tenant, std::int64_t max_output) {
  const auto num_bits = std::bit_width(static_cast<std::uint64_t>(max_output));
  return static_cast<std::uint64_t>(tenant) * 128 + static_cast<std::uint64_t>(num_bits);
}

void OutputLengths::observe(TenantId tenant, std::int64_t max_output, std::int64_t num_output) {
  const std::uint64_t key = place(tenant, max_output);
  auto found = lengths_.find(key);
  if (found == lengths_.end()) {
    if (lengths_.size() >= kMaxKinds) {
      return;
    }
    found = lengths_.emplace(key, Lengths()).first;
  }
  Lengths& kind = found->second;
  kind.last[static_cast<std::size_t>(kind.num_seen % kKept)] = num_output;
  ++kind.num_seen;
  kind.sorted.assign(kind.last.begin(), kind.last.begin() + std::min(kind.num_seen, kKept));
  std::sort(kind.sorted.begin(), kind.sorted.end());
}

std::int64_t OutputLengths::usual_of(std::span<const std::int64_t> sorted) {
  const double count = std::ceil(kUsualShare * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(count) - 1];
}

const OutputLengths::Lengths* OutputLengths::find(TenantId tenant, std::int64_t max_output) const {
  const auto found = lengths_.find(place(tenant, max_output));
  return found != lengths_.end() && found->second.num_seen >= kEnoughLengths ? &found->second
                                                                             : nullptr;
}

std::optional<std::int64_t> OutputLengths::usual(TenantId tenant, std::int64_t max_output) const {
  const Lengths* kind = find(tenant, max_output);
  return kind != nullptr ? std::optional(usual_of(kind->sorted)) : std::nullopt;
}

std::optional<std::int64_t> OutputLengths::usual_left(TenantId tenant, std::int64_t max_output,
                                                      std::int64_t num_output) const {
  const Lengths* kind = find(tenant, max_output);
  if (kind == nullptr || kind->sorted.back() <= num_output) {
    return std::nullopt;
  }
  const auto beyond = std::upper_bound(kind->sorted.begin(), kind->sorted.end(), num_output);
  return usual_of({beyond, kind->sorted.end()}) - num_output;
}

std::optional<std::int64_t> LearnedAdmission::learned(const SeqSnapshot& seq) const {
  const std::optional<std::int64_t> usual = lengths_.usual(seq.tenant, seq.max_output);
  if (!usual.has_value()) {
    return std::nullopt;
  }
  const std::int64_t left = std::max<std::int64_t>(seq.max_output - seq.num_output, 1);
  const auto expected = static_cast<double>(std::max<std::int64_t>(*usual - seq.num_output, 1));
  return std::clamp<std::int64_t>(std::llround(expected * conservativeness_), 1, left);
}

std::int64_t LearnedAdmission::reserve_running(const SeqSnapshot& seq) const {
  const std::optional<std::int64_t> left = learned(seq);
  return left.has_value() ? *left : ratio_.reserve_running(seq);
}

std::int64_t LearnedAdmission::reserve_new(const SeqSnapshot& seq) const {
  const std::optional<std::int64_t> left = learned(seq);
  return left.has_value() ? *left : ratio_.reserve_new(seq);
}

std::int64_t LearnedAdmission::expected_left(const SeqSnapshot& seq) const {
  const std::int64_t most = AdmissionPolicy::expected_left(seq);
  return std::min(lengths_.usual_left(seq.tenant, seq.max_output, seq.num_output).value_or(most),
                  most);
}

void LearnedAdmission::observe_end(const SeqSnapshot& seq) {
  lengths_.observe(seq.tenant, seq.max_output, seq.num_output);
}

}  // namespace plumb
