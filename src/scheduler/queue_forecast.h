// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace plumb {

/// How fast a queue gets shorter where prompts are what takes time: prompt tokens that began for
/// each second in which somebody waited, and how many of them the cache did not hold. The last half
/// minute counts most.
class QueueForecast {
 public:
  /// In `elapsed`, while sequences waited, prompts of that many tokens left the queue; so many of
  /// the tokens were in the cache.
  void observe(std::chrono::nanoseconds elapsed, std::int64_t started_tokens,
               std::int64_t cached_tokens = 0);

  /// Prompt tokens a second; nullopt until a tenth of a second of waiting was seen, and while
  /// nothing has begun.
  std::optional<double> tokens_per_second() const;

  /// The part of the prompt tokens that had to be computed; 1 while nothing has begun.
  double computed_share() const;

 private:
  double seconds_ = 0;
  double tokens_ = 0;
  double cached_tokens_ = 0;
};

/// How long a queue of that many prompt tokens lasts at that rate.
std::chrono::milliseconds queue_time(std::int64_t queued_tokens, double tokens_per_second);

/// The mean time of the last steps that produced answers, about 32 of them.
class MeanStepTime {
 public:
  void observe(std::chrono::nanoseconds time);

  /// nullopt until one was seen.
  std::optional<std::chrono::nanoseconds> value() const;

 private:
  double nanos_ = 0;
  std::int64_t num_seen_ = 0;
};

/// When rows come free: whoever waits takes the first one, in the order of the queue.
///
/// Units  steps from now; each running sequence produces one token a step.
/// Cost   logarithmic in the rows taken for each sequence.
class RowForecast {
 public:
  /// All rows are free.
  void reset(std::int64_t num_rows);
  /// A sequence keeps its row for `num_left` more steps of all its `num_steps`.
  /// Requires a row is free, and none waits.
  void add_running(std::int64_t num_left, std::int64_t num_steps);
  /// The next of the queue will keep its row that long.
  void add_waiting(std::int64_t num_steps);
  /// That many more wait, as long as the others on average.
  void add_waiting_alike(std::int64_t count);

  /// Rows that nobody takes who is known.
  std::int64_t num_free_rows() const { return num_rows_ - std::ssize(ends_); }

  /// Until the first of the rows that are taken comes free; 0 without one.
  double steps_until_row() const;
  /// By which each more that waits makes that later.
  double steps_each() const;

 private:
  void take_row(std::int64_t end);

  std::int64_t num_rows_ = 1;
  std::vector<std::int64_t> ends_;  ///< of the rows taken; a heap, the first at the front
  double sum_steps_ = 0;
  std::int64_t num_seqs_ = 0;
  double steps_alike_ = 0;
};

/// How long one that comes now would wait until it begins, as of the moment it was made.
struct QueueOutlook {
  std::int64_t num_requests = 0;                     ///< that wait and are counted in all below
  std::int64_t num_free_rows = 1;                    ///< for those who come next
  std::optional<std::chrono::nanoseconds> next_row;  ///< the wait of the one after those
  std::chrono::nanoseconds each_row{};               ///< and what each more adds to it
  /// What a prompt token adds to a step, where next_row speaks of steps without prompts; else 0.
  std::chrono::nanoseconds each_token{};
  std::int64_t num_running_tokens = 0;  ///< of prompts that have begun, still to be computed
  /// Of the tokens of prompts that wait; the cache holds the rest.
  double computed_share = 1;
  std::optional<double> tokens_per_second;  ///< at which prompts begin

  /// The longer of the waits for a row, in which the prompts ahead are computed too, and for the
  /// prompts ahead alone, when by now so many requests and prompt tokens wait. nullopt while too
  /// little was measured.
  std::optional<std::chrono::milliseconds> wait(std::int64_t num_requests_now,
                                                std::int64_t num_tokens_now) const;
};

}  // namespace plumb
