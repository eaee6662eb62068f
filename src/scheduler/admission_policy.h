// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/seq_snapshot.h"
#include "scheduler/step_time.h"

namespace plumb {

/// What a step did, as far as estimates of the future learn from it.
struct StepOutcome {
  std::int64_t num_running = 0;
  std::int64_t num_preempted = 0;   ///< because the cache was full
  std::int64_t sum_output = 0;      ///< of the running sequences after the step
  std::int64_t sum_max_output = 0;  ///< likewise
  StepShape shape;                  ///< what was computed
  std::chrono::nanoseconds time{};  ///< that the step took
};

/// For how many tokens still to come the cache keeps room. Thread: engine.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  /// Tokens that a running sequence is expected to add.
  virtual std::int64_t reserve_running(const SeqSnapshot& seq) const = 0;
  /// Tokens beyond its known ones for which there must be room when a sequence starts.
  virtual std::int64_t reserve_new(const SeqSnapshot& seq) const = 0;
  /// Tokens that a sequence will probably still produce, waiting or running, at least 1; by default
  /// all that its limit leaves.
  virtual std::int64_t expected_left(const SeqSnapshot& seq) const;
  /// After each step that ran; num_running = 0 when the engine became idle.
  virtual void observe(const StepOutcome& outcome) = 0;

  /// A sequence ended by itself, with num_output of the max_output tokens that it might produce.
  virtual void observe_end(const SeqSnapshot& /*seq*/) {}
};

/// Running sequences are expected to use a fraction of what they may still produce; the fraction
/// sinks with every step without preemption and rises after one.
///
/// Numerics  begins at min(0.7 * conservativeness, 1), sinks to 0.14 of that in 600 steps; after a
///           preemption (sum_output + 20 * rows) / (sum_max_output + 1). At most 4096 tokens count
///           for one sequence. A conservativeness below 1 also cuts what a new sequence must find.
class RatioAdmission final : public AdmissionPolicy {
 public:
  explicit RatioAdmission(double conservativeness);
  std::int64_t reserve_running(const SeqSnapshot& seq) const override;
  std::int64_t reserve_new(const SeqSnapshot& seq) const override;
  void observe(const StepOutcome& outcome) override;

  double ratio() const { return ratio_; }

 private:
  double new_share_;
  double initial_;
  double lowest_;
  double decay_;
  double ratio_;
};

/// Output lengths as they were, by tenant and by the size of the limit.
///
/// Numerics  limits count as equal within a power of two; the last 256 lengths are kept.
/// Bounded   at most 1,024 pairs of tenant and size; those beyond are not learned.
class OutputLengths {
 public:
  void observe(TenantId tenant, std::int64_t max_output, std::int64_t num_output);

  /// The length that 80 % do not exceed; nullopt until 50 were seen.
  std::optional<std::int64_t> usual(TenantId tenant, std::int64_t max_output) const;

  /// What 80 % of those that got beyond num_output then still produced at most; nullopt as usual(),
  /// and if none got that far.
  std::optional<std::int64_t> usual_left(TenantId tenant, std::int64_t max_output,
                                         std::int64_t num_output) const;

 private:
  static constexpr std::int64_t kKept = 256;

  struct Lengths {
    std::array<std::int64_t, kKept> last{};
    std::int64_t num_seen = 0;
    std::vector<std::int64_t> sorted;  ///< the same, ascending
  };

  static std::int64_t usual_of(std::span<const std::int64_t> sorted);
  const Lengths* find(TenantId tenant, std::int64_t max_output) const;
  static std::uint64_t place(TenantId tenant, std::int64_t max_output);

  std::unordered_map<std::uint64_t, Lengths>
      lengths_;  ///< looked up for every sequence, every step
};

/// Sequences are expected to produce what most of their kind produced; as long as too few of a kind
/// have ended, the ratio decides.
///
/// Numerics  max(1, usual length - output so far), times the conservativeness, never more than the
///           limit leaves.
class LearnedAdmission final : public AdmissionPolicy {
 public:
  explicit LearnedAdmission(double conservativeness)
      : ratio_(conservativeness), conservativeness_(conservativeness) {}

  std::int64_t reserve_running(const SeqSnapshot& seq) const override;
  std::int64_t reserve_new(const SeqSnapshot& seq) const override;
  std::int64_t expected_left(const SeqSnapshot& seq) const override;

  void observe(const StepOutcome& outcome) override { ratio_.observe(outcome); }

  void observe_end(const SeqSnapshot& seq) override;

 private:
  std::optional<std::int64_t> learned(const SeqSnapshot& seq) const;

  RatioAdmission ratio_;
  double conservativeness_;
  OutputLengths lengths_;
};

}  // namespace plumb
