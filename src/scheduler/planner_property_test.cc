// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <random>

#include "scheduler/planner.h"

namespace plumb {
namespace {

// An engine without a model and without prefix cache: applies plans to plain numbers.
class World {
 public:
  explicit World(unsigned seed)
      : random_(seed),
        limits_{.max_num_seqs = 1 + static_cast<std::int64_t>(random_() % 6),
                .max_num_tokens = 4 + static_cast<std::int64_t>(random_() % 40),
                .merge_tokens = static_cast<std::int64_t>(random_() % 8),
                .max_num_partials = 2,
                .max_logits_tokens = 1 + static_cast<std::int64_t>(random_() % 4),
                .block_size = 1 + static_cast<std::int64_t>(random_() % 5)},
        num_blocks_(64 / limits_.block_size),
        planner_(limits_, make_schedule_policy(ScheduleOrder::kPriority), make_least_recompute(),
                 std::make_unique<RatioAdmission>(0.1)) {
    for (std::uint64_t i = 1; i <= 30; ++i) {
      SeqSnapshot seq{.id = SeqId{i},
                      .priority = static_cast<std::int64_t>(random_() % 2),
                      .num_tokens = 1 + static_cast<std::int64_t>(random_() % 30),
                      .max_output = 1 + static_cast<std::int64_t>(random_() % 28)};
      seq.needs_all_logits = random_() % 5 == 0;
      waiting_.push_back(seq);
    }
    sort(waiting_);
  }

  // Runs until all sequences ended; returns the number of steps.
  int run() {
    int steps = 0;
    while ((!waiting_.empty() || !running_.empty()) && steps < 20'000) {
      step();
      ++steps;
      if (testing::Test::HasFatalFailure()) {
        break;
      }
    }
    return steps;
  }

  int num_finished = 0;
  int num_preempted = 0;
  int num_mixed = 0;

 private:
  void sort(std::vector<SeqSnapshot>& seqs) const {
    std::sort(seqs.begin(), seqs.end(), [this](const SeqSnapshot& a, const SeqSnapshot& b) {
      return planner_.key(a) < planner_.key(b);
    });
  }

  std::int64_t num_free() const {
    std::int64_t held = 0;
    for (const SeqSnapshot& seq : running_) {
      held += seq.num_blocks;
    }
    return num_blocks_ - held;
  }

  static SeqSnapshot take(std::vector<SeqSnapshot>& from, SeqId id) {
    const auto at = std::find_if(from.begin(), from.end(),
                                 [id](const SeqSnapshot& seq) { return seq.id == id; });
    SeqSnapshot seq = *at;
    from.erase(at);
    return seq;
  }

  void step() {
    for (SeqSnapshot& seq : running_) {
      seq.num_reclaimable_blocks = seq.num_blocks;
      seq.num_recompute_tokens = seq.num_computed;
    }
    PlannerState state;
    state.running = running_;
    state.waiting =
        std::span<const SeqSnapshot>(waiting_).first(std::min<std::size_t>(waiting_.size(), 4));
    state.num_blocks = num_blocks_;
    state.num_free_blocks = num_free();
    const Plan plan = planner_.next(state);
    ASSERT_EQ(validate(plan, state, limits_).message(), "") << to_text(plan);
    ASSERT_FALSE(plan.picks.empty());  // no input fits no pool here, so each step gets on
    ASSERT_TRUE(plan.ended.empty());
    apply(plan);
  }

  void apply(const Plan& plan) {
    for (const SeqId id : plan.preempts) {
      SeqSnapshot seq = take(running_, id);
      seq.num_computed = seq.num_blocks = 0;
      ++seq.num_preemptions;
      ++num_preempted;
      waiting_.push_back(seq);
    }
    for (const SeqId id : plan.admits) {
      running_.push_back(take(waiting_, id));
    }
    bool has_decode = false;
    bool has_prefill = false;
    for (const Pick& pick : plan.picks) {
      const auto seq = std::find_if(running_.begin(), running_.end(),
                                    [&pick](const SeqSnapshot& s) { return s.id == pick.seq; });
      ASSERT_NE(seq, running_.end());
      (seq->is_decode() ? has_decode : has_prefill) = true;
      compute(*seq, pick.num_tokens);
      if (seq->num_output == seq->max_output) {
        running_.erase(seq);
        ++num_finished;
      }
    }
    num_mixed += has_decode && has_prefill ? 1 : 0;
    ASSERT_GE(num_free(), 0);
    sort(waiting_);
    sort(running_);
    planner_.observe({.num_running = std::ssize(running_),
                      .num_preempted = std::ssize(plan.preempts),
                      .sum_max_output = 1});
  }

  void compute(SeqSnapshot& seq, std::int64_t num_tokens) const {
    seq.num_computed += num_tokens;
    seq.num_blocks = (seq.num_computed + limits_.block_size - 1) / limits_.block_size;
    if (seq.num_uncached() == 0) {
      ++seq.num_tokens;
      ++seq.num_output;
    }
  }

  std::mt19937 random_;
  StepLimits limits_;
  std::int64_t num_blocks_;
  Planner planner_;
  std::vector<SeqSnapshot> waiting_;
  std::vector<SeqSnapshot> running_;
};

TEST(PlannerProperty, every_sequence_ends_and_every_plan_is_valid) {
  int num_preempted = 0;
  int num_mixed = 0;
  for (unsigned seed = 0; seed < 200 && !testing::Test::HasFatalFailure(); ++seed) {
    World world(seed);
    EXPECT_LT(world.run(), 20'000) << "no progress, seed " << seed;
    EXPECT_EQ(world.num_finished, 30) << "seed " << seed;
    num_preempted += world.num_preempted;
    num_mixed += world.num_mixed;
  }
  EXPECT_GT(num_preempted, 100);
  EXPECT_GT(num_mixed, 1000);
}

}  // namespace
}  // namespace plumb
