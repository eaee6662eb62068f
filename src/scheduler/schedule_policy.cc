// SPDX-License-Identifier: Apache-2.0
#include "scheduler/schedule_policy.h"

namespace plumb {
namespace {

// A prefill that would stay unfinished waits when enough of them run; shorter ones behind it pass.
std::vector<Pick> pick_in_order(std::span<const SeqSnapshot> waiting, Budget budget) {
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

class FcfsPolicy final : public SchedulePolicy {
 public:
  QueueKey key(const SeqSnapshot& seq) const override { return {0, seq.id}; }

  std::vector<Pick> pick(std::span<const SeqSnapshot> waiting, Budget budget) override {
    return pick_in_order(waiting, budget);
  }
};

class PriorityPolicy final : public SchedulePolicy {
 public:
  QueueKey key(const SeqSnapshot& seq) const override { return {-seq.priority, seq.id}; }

  std::vector<Pick> pick(std::span<const SeqSnapshot> waiting, Budget budget) override {
    return pick_in_order(waiting, budget);
  }
};

}  // namespace

std::unique_ptr<SchedulePolicy> make_schedule_policy(ScheduleOrder order) {
  if (order == ScheduleOrder::kPriority) {
    return std::make_unique<PriorityPolicy>();
  }
  return std::make_unique<FcfsPolicy>();
}

}  // namespace plumb
