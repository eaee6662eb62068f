// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/seq_snapshot.h"

namespace plumb {

/// What a step did, as far as estimates of the future learn from it.
struct StepOutcome {
  std::int64_t num_running = 0;
  std::int64_t num_preempted = 0;
  std::int64_t sum_output = 0;      ///< of the running sequences after the step
  std::int64_t sum_max_output = 0;  ///< likewise
};

/// For how many tokens still to come the cache keeps room. Thread: engine.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  /// Tokens that a running sequence is expected to add.
  virtual std::int64_t reserve_running(const SeqSnapshot& seq) const = 0;
  /// Tokens beyond its known ones for which there must be room when a sequence starts.
  virtual std::int64_t reserve_new(const SeqSnapshot& seq) const = 0;
  /// After each step that ran; num_running = 0 when the engine became idle.
  virtual void observe(const StepOutcome& outcome) = 0;
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

}  // namespace plumb
