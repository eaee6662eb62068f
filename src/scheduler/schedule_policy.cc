// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule_policy.h"

#include <numeric>

#include "base/rng.h"

namespace plumb {
namespace {

// The arrival that makes waiting count: a step of priority is worth one `aging` of waiting. As time
// passes alike for all, the order of two waiting sequences never changes.
std::int64_t importance_rank(const SeqSnapshot& seq, std::chrono::microseconds aging) {
  return aging.count() > 0 ? seq.submitted.count() - seq.priority * aging.count() : -seq.priority;
}

class FcfsPolicy final : public SchedulePolicy {};

class PriorityPolicy final : public SchedulePolicy {
 public:
  explicit PriorityPolicy(std::chrono::microseconds aging) : aging_(aging) {}

  QueueKey key(const SeqSnapshot& seq) const override {
    return {importance_rank(seq, aging_), 0, seq.id};
  }

 private:
  std::chrono::microseconds aging_;
};

// Equal in priority are those whose ranks fall into one interval of ageing.
class PriorityLofPolicy final : public SchedulePolicy {
 public:
  explicit PriorityLofPolicy(std::chrono::microseconds aging) : aging_(aging) {}

  QueueKey key(const SeqSnapshot& seq) const override {
    std::int64_t rank = importance_rank(seq, aging_);
    if (aging_.count() > 0) {
      rank = (rank - (rank < 0 ? aging_.count() - 1 : 0)) / aging_.count();
    }
    return {rank, -seq.max_output, seq.id};
  }

 private:
  std::chrono::microseconds aging_;
};

class LofPolicy final : public SchedulePolicy {
 public:
  QueueKey key(const SeqSnapshot& seq) const override { return {-seq.max_output, 0, seq.id}; }
};

// A hash of the identity is as good as a draw and stays the same when the sequence comes back.
class RandomPolicy final : public SchedulePolicy {
 public:
  QueueKey key(const SeqSnapshot& seq) const override {
    const std::uint64_t drawn = mix64(static_cast<std::uint64_t>(seq.id) + 0x9e3779b97f4a7c15U);
    return {static_cast<std::int64_t>(drawn >> 1U), 0, seq.id};
  }
};

}  // namespace

std::vector<std::int64_t> SchedulePolicy::order(std::span<const SeqSnapshot> waiting,
                                                std::span<const SeqSnapshot> /*running*/) const {
  std::vector<std::int64_t> indices(waiting.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// A prefill that would stay unfinished waits when enough of them run; shorter ones behind it pass.
std::vector<Pick> SchedulePolicy::pick(std::span<const SeqSnapshot> waiting, Budget budget) const {
  std::vector<Pick> picks;
  for (const SeqSnapshot& seq : waiting) {
    if (budget.num_tokens <= 0 || std::ssize(picks) >= budget.num_seqs) {
      break;
    }
    const std::int64_t num_tokens = chunk_tokens(seq, budget);
    const bool is_partial = num_tokens < seq.num_uncached();
    if (num_tokens == 0 || (is_partial && budget.num_partials <= 0)) {
      continue;
    }
    picks.push_back({seq.id, num_tokens});
    charge(seq, num_tokens, &budget);
  }
  return picks;
}

std::unique_ptr<SchedulePolicy> make_schedule_policy(ScheduleOrder order,
                                                     std::chrono::microseconds aging) {
  switch (order) {
    case ScheduleOrder::kFcfs:
      return std::make_unique<FcfsPolicy>();
    case ScheduleOrder::kPriority:
      return std::make_unique<PriorityPolicy>(aging);
    case ScheduleOrder::kLof:
      return std::make_unique<LofPolicy>();
    case ScheduleOrder::kPriorityLof:
      return std::make_unique<PriorityLofPolicy>(aging);
    case ScheduleOrder::kRandom:
      return std::make_unique<RandomPolicy>();
    default:
      return make_changing_policy(order);
  }
}

}  // namespace plumb
