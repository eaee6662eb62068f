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
        limits_(random_limits()),
        num_blocks_(64 / limits_.block_size),
        num_window_blocks_(limits_.window_blocks(64) + (limits_.window > 0 ? below(12) : 0)),
        order_(static_cast<ScheduleOrder>(below(kNumScheduleOrders))),
        planner_(limits_, make_schedule_policy(order_, std::chrono::microseconds(below(3) * 1000)),
                 make_least_recompute(), random_admission()) {
    for (std::uint64_t i = 1; i <= 30; ++i) {
      SeqSnapshot seq{.id = SeqId{i},
                      .tenant = TenantId{static_cast<std::uint32_t>(below(2))},
                      .priority = below(4),
                      .submitted = std::chrono::microseconds(100 * i),
                      .num_tokens = 1 + below(30),
                      .max_output = 1 + below(28)};
      seq.needs_all_logits = below(5) == 0;
      seq.routing_key = below(2) == 0 ? "a" : "b";
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
  int num_displaced = 0;
  int num_passing = 0;
  int num_mixed = 0;
  int num_prefill_alone = 0;

 private:
  std::int64_t below(std::int64_t limit) { return static_cast<std::int64_t>(random_()) % limit; }

  StepLimits random_limits() {
    StepLimits limits{.max_num_seqs = 1 + below(6),
                      .max_num_tokens = 4 + below(40),
                      .merge_tokens = below(8),
                      .max_num_partials = 2,
                      .max_logits_tokens = 1 + below(4),
                      .block_size = 1 + below(5)};
    limits.window = below(3) == 0 ? 1 + below(20) : 0;
    limits.mixing = static_cast<Mixing>(below(3));
    limits.step_target = std::chrono::milliseconds(5 + below(40));
    limits.displace_threshold = below(3) - 1;
    limits.skip_ahead = below(2) * 8;
    limits.simulates_completion = below(3) != 0;
    limits.completion_spare = 1 + below(limits.block_size);
    return limits;
  }

  std::unique_ptr<AdmissionPolicy> random_admission() {
    const double conservativeness = 0.5 * static_cast<double>(below(3));
    if (below(2) == 0) {
      return std::make_unique<RatioAdmission>(conservativeness);
    }
    auto learned = std::make_unique<LearnedAdmission>(conservativeness);
    for (int i = 0; i < 60; ++i) {  // of one tenant something is known
      const std::int64_t max_output = 1 + below(28);
      learned->observe_end({.num_output = 1 + below(max_output), .max_output = max_output});
    }
    return learned;
  }

  void sort(std::vector<SeqSnapshot>& seqs) const {
    std::sort(seqs.begin(), seqs.end(), [this](const SeqSnapshot& a, const SeqSnapshot& b) {
      return planner_.schedule().key(a) < planner_.schedule().key(b);
    });
  }

  // The window as the engine shows it, in the order of policies that change theirs too.
  std::vector<SeqSnapshot> window() const {
    std::vector<SeqSnapshot> shown = waiting_;
    if (planner_.schedule().reordering().window > 0) {
      shown.clear();
      for (const std::int64_t index : planner_.schedule().order(waiting_, running_)) {
        shown.push_back(waiting_[static_cast<std::size_t>(index)]);
      }
      EXPECT_EQ(shown.size(), waiting_.size());
    }
    shown.resize(std::min<std::size_t>(shown.size(), 4));
    return shown;
  }

  BlockCount num_free() const {
    BlockCount free{num_blocks_, num_window_blocks_};
    for (const SeqSnapshot& seq : running_) {
      free -= seq.held();
    }
    return free;
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
      seq.num_reclaimable_window_blocks = seq.num_window_blocks;
      seq.num_recompute_tokens = seq.num_computed;
    }
    PlannerState state;
    state.running = running_;
    const std::vector<SeqSnapshot> shown = window();
    state.waiting = shown;
    state.num_stalled_steps = num_stalled_;
    state.num_blocks = num_blocks_;
    state.num_free_blocks = num_free().full;
    state.num_window_blocks = num_window_blocks_;
    state.num_free_window_blocks = num_free().window;
    const Plan plan = planner_.next(state);
    ASSERT_EQ(validate(plan, state, limits_).message(), "") << to_text(plan);
    ASSERT_FALSE(plan.picks.empty());  // no input fits no pool here, so each step gets on
    ASSERT_TRUE(plan.ended.empty());
    apply(plan);
  }

  void apply(const Plan& plan) {
    for (const SeqId id : plan.preempts) {
      SeqSnapshot seq = take(running_, id);
      seq.num_computed = seq.num_blocks = seq.num_window_blocks = 0;
      ++seq.num_preemptions;
      ++num_preempted;
      waiting_.push_back(seq);
    }
    for (const SeqId id : plan.admits) {
      running_.push_back(take(waiting_, id));
    }
    bool has_decode = false;
    bool has_prefill = false;
    std::int64_t num_prefill_tokens = 0;
    bool had_decode = std::any_of(running_.begin(), running_.end(),
                                  [](const SeqSnapshot& seq) { return seq.is_decode(); });
    for (const Pick& pick : plan.picks) {
      const auto seq = std::find_if(running_.begin(), running_.end(),
                                    [&pick](const SeqSnapshot& s) { return s.id == pick.seq; });
      ASSERT_NE(seq, running_.end());
      num_prefill_tokens += seq->is_decode() ? 0 : pick.num_tokens;
      (seq->is_decode() ? has_decode : has_prefill) = true;
      compute(*seq, pick.num_tokens);
      if (seq->num_output == seq->max_output) {
        planner_.observe_end(*seq);
        running_.erase(seq);
        ++num_finished;
      }
    }
    num_mixed += has_decode && has_prefill ? 1 : 0;
    num_displaced += static_cast<int>(plan.num_displaced);
    num_passing += static_cast<int>(plan.num_passing);
    num_prefill_alone += had_decode && !has_decode ? 1 : 0;
    num_stalled_ = has_decode ? 0 : num_stalled_ + 1;
    ASSERT_LE(num_stalled_ * (had_decode ? 1 : 0), 9);
    ASSERT_TRUE(num_free().holds({0, 0}));
    sort(waiting_);
    sort(running_);
    planner_.observe({.num_running = std::ssize(running_),
                      .num_preempted = std::ssize(plan.preempts) - plan.num_displaced,
                      .sum_max_output = 1,
                      .shape = {has_decode ? 1 : 0, 10, num_prefill_tokens},
                      .time = std::chrono::milliseconds(4 + num_prefill_tokens)});
  }

  void compute(SeqSnapshot& seq, std::int64_t num_tokens) const {
    seq.num_computed += num_tokens;
    seq.num_blocks = num_blocks_for(seq.num_computed, limits_.block_size);
    if (limits_.window > 0) {  // what is behind it goes back after the step
      seq.num_window_blocks =
          seq.num_blocks - first_window_block(seq.num_computed, limits_.window, limits_.block_size);
    }
    if (seq.num_uncached() == 0) {
      ++seq.num_tokens;
      ++seq.num_output;
    }
  }

  std::mt19937 random_;
  StepLimits limits_;
  std::int64_t num_blocks_;
  std::int64_t num_window_blocks_;
  ScheduleOrder order_;
  Planner planner_;
  std::int64_t num_stalled_ = 0;
  std::vector<SeqSnapshot> waiting_;
  std::vector<SeqSnapshot> running_;
};

TEST(PlannerProperty, every_sequence_ends_and_every_plan_is_valid) {
  int num_preempted = 0;
  int num_displaced = 0;
  int num_passing = 0;
  int num_mixed = 0;
  int num_prefill_alone = 0;
  for (unsigned seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed) {
    World world(seed);
    EXPECT_LT(world.run(), 20'000) << "no progress, seed " << seed;
    EXPECT_EQ(world.num_finished, 30) << "seed " << seed;
    num_preempted += world.num_preempted;
    num_displaced += world.num_displaced;
    num_passing += world.num_passing;
    num_mixed += world.num_mixed;
    num_prefill_alone += world.num_prefill_alone;
  }
  EXPECT_GT(num_preempted - num_displaced, 100);
  EXPECT_GT(num_displaced, 100);
  EXPECT_GT(num_passing, 100);
  EXPECT_GT(num_mixed, 3000);
  EXPECT_GT(num_prefill_alone, 300);
}

// One sequence of no importance among important ones that come without end.
TEST(PlannerProperty, ageing_starts_the_least_important_though_others_keep_coming) {
  for (const bool ages : {true, false}) {
    const StepLimits limits{.max_num_seqs = 1, .max_num_tokens = 16, .block_size = 4};
    Planner planner(
        limits,
        make_schedule_policy(ScheduleOrder::kPriority, std::chrono::milliseconds(ages ? 10 : 0)),
        make_least_recompute(), std::make_unique<RatioAdmission>(0.0));
    std::vector<SeqSnapshot> waiting{{.id = SeqId{1}, .num_tokens = 4, .max_output = 1}};
    int started_at = -1;
    for (int step = 1; step <= 200 && started_at < 0; ++step) {
      waiting.push_back({.id = SeqId{static_cast<std::uint64_t>(step + 1)},
                         .priority = 5,
                         .submitted = std::chrono::milliseconds(step),
                         .num_tokens = 4,
                         .max_output = 1});
      std::sort(waiting.begin(), waiting.end(), [&](const SeqSnapshot& a, const SeqSnapshot& b) {
        return planner.schedule().key(a) < planner.schedule().key(b);
      });
      PlannerState state;
      state.waiting = waiting;
      state.num_blocks = state.num_free_blocks = 100;
      const SeqId first = planner.next(state).admits.front();  // and it ends in the same step
      std::erase_if(waiting, [first](const SeqSnapshot& seq) { return seq.id == first; });
      started_at = first == SeqId{1} ? step : -1;
    }
    EXPECT_EQ(started_at, ages ? 50 : -1);  // five steps of 10 ms later
  }
}

}  // namespace
}  // namespace plumb
