// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace plumb {

/// What of a step its time depends on.
struct StepShape {
  std::int64_t num_decode_rows = 0;
  std::int64_t num_cached_tokens = 0;  ///< that the decode rows attend to
  std::int64_t num_prefill_tokens = 0;
};

/// Prefill tokens beside which a step of `base` still ends in time: (target - base) / each, at
/// least `least`, at most `most`.
std::int64_t prefill_allowance(std::chrono::nanoseconds target, std::chrono::nanoseconds base,
                               std::chrono::nanoseconds each, std::int64_t least,
                               std::int64_t most);

/// The time of a step as a linear function of its shape, learned from the steps that ran.
///
/// Numerics  recursive least squares over (1, rows, cached tokens, prefill tokens) that forgets
///           half of what it knows in about 350 steps; the time of a prefill token is never below
///           1 ns.
class StepTimeModel {
 public:
  StepTimeModel();

  void observe(const StepShape& shape, std::chrono::nanoseconds time);

  /// Whether enough steps with and without prefill were seen.
  bool knows() const { return num_decodes_ >= kEnough && num_prefills_ >= kEnough; }

  std::chrono::nanoseconds predict(const StepShape& shape) const;
  std::chrono::nanoseconds each_prefill_token() const;

 private:
  static constexpr std::int64_t kEnough = 8;
  static constexpr std::size_t kTerms = 4;
  using Vector = std::array<double, kTerms>;

  static Vector terms(const StepShape& shape);

  Vector weights_{};                     ///< milliseconds for each term
  std::array<Vector, kTerms> spread_{};  ///< how little is known of the weights
  std::int64_t num_decodes_ = 0;
  std::int64_t num_prefills_ = 0;
};

}  // namespace plumb
