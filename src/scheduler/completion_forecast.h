// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace plumb {

/// One sequence: how many tokens it still produces, and how many it holds.
struct ExpectedEnd {
  std::int64_t left = 0;
  std::int64_t occupied = 0;
  auto operator<=>(const ExpectedEnd&) const = default;
};

/// The expected course of sequences that run together: who ends after how many more tokens, and how
/// much then comes free. Answers whether the cache holds until all have ended.
///
/// Units  tokens of cache. Each running sequence produces one token a step.
/// Cost   adding is linear, questions are linear in the sequences.
class CompletionForecast {
 public:
  /// `free` tokens are there now; each sequence alive needs more than `spare` of them beyond what
  /// it produces (the part of a block that it may leave unused). What a sequence holds comes free
  /// at its end.
  void reset(std::int64_t free, std::int64_t spare, std::span<const ExpectedEnd> running);

  /// One more, which takes `known` of what is free now and holds no more than that.
  void add_new(std::int64_t left, std::int64_t known);
  /// Takes out one that was added with the same numbers.
  void remove_new(std::int64_t left, std::int64_t known);

  /// Whether at every end the sequences alive until then have found room.
  bool holds() const;

  /// Steps after which `num_tokens` are free beside what the others need; kNever.
  std::int64_t steps_until_free(std::int64_t num_tokens) const;

  /// Room that is left when every sequence has produced all and none has given back.
  std::int64_t room_at_worst() const { return free_ - sum_left_; }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

 private:
  std::int64_t free_ = 0;
  std::int64_t spare_ = 0;
  std::int64_t sum_left_ = 0;
  std::vector<ExpectedEnd> ends_;  ///< by `left`
};

}  // namespace plumb
