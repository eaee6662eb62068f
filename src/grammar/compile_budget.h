// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"

namespace plumb {

/// What compiling one grammar may use. Counters are shared by all parts of it.
///
/// Cancellation is cooperative: is_cancelled is asked every few hundred microseconds; the caller
/// lets it compare a clock with a deadline or look at a flag.
/// Thread  one at a time.
class CompileBudget {
 public:
  struct Limits {
    std::int64_t max_states = 500'000;         ///< of all terminals' automata
    std::int64_t max_expressions = 1'000'000;  ///< in the RegexSet
    std::int64_t max_depth = 1'000;            ///< nested operators of one expression
    std::int64_t max_rules = 500'000;
  };

  CompileBudget() = default;

  CompileBudget(const Limits& limits, std::function<bool()> is_cancelled)
      : limits_(limits), is_cancelled_(std::move(is_cancelled)) {}

  /// A budget of one part in so many, with the same cancellation, for an attempt that may fail.
  CompileBudget share(std::int64_t parts) const;

  const Limits& limits() const { return limits_; }

  /// What says that the work is to stop; may be empty.
  const std::function<bool()>& is_cancelled() const { return is_cancelled_; }

  /// Counts states of automata. Errors: kResourceExhausted past the limit.
  Status take_states(std::int64_t num);
  /// Whether so many more states would be within the limit; counts nothing. Errors as
  /// take_states().
  Status check_states(std::int64_t num) const;
  /// Errors: kResourceExhausted if a set has more expressions than allowed.
  Status check_expressions(std::int64_t num) const;
  /// Errors: kResourceExhausted if a grammar has more rules, or more symbols, than allowed.
  Status check_rules(std::int64_t num) const;
  /// Asks is_cancelled on every 64th call. Errors: kDeadlineExceeded.
  Status poll();
  /// The same on every call.
  Status poll_now();

 private:
  Limits limits_;
  std::function<bool()> is_cancelled_;
  std::int64_t num_states_ = 0;
  std::int64_t num_polls_ = 0;
};

}  // namespace plumb
