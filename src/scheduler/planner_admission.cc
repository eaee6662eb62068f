// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "kvcache/block_pool.h"
#include "scheduler/planner.h"

namespace plumb {
namespace {

// After so many others went ahead of it, nobody passes a sequence any more.
constexpr std::int64_t kMaxPassed = 64;

std::int64_t at_least_one(std::int64_t num_tokens) {
  return std::max<std::int64_t>(num_tokens, 1);
}

}  // namespace

// Blocks of its cached prefix that somebody holds. Where sequences have left in this step, these
// may be the blocks that they left.
BlockCount Planner::claimed_blocks(const SeqSnapshot& waiting) const {
  return limits_.cached_blocks(waiting.num_computed) - waiting.pinned();
}

// Of what is available, the blocks with which a waiting sequence would begin.
BlockCount Planner::begin_blocks(const SeqSnapshot& waiting) const {
  return counts_claims_ ? waiting.pinned() + claimed_blocks(waiting) : waiting.pinned();
}

// Blocks that the known tokens of a waiting sequence take, those that it pins among them.
std::int64_t Planner::known_blocks(const SeqSnapshot& waiting) const {
  return num_blocks_for(waiting.num_tokens, limits_.block_size) -
         waiting.num_computed / limits_.block_size + begin_blocks(waiting).full;
}

// The same with what it is expected to produce, and one that it may leave half empty. Of window
// blocks, what it holds at a time: those behind the window come back.
BlockCount Planner::wanted_blocks(const SeqSnapshot& waiting) const {
  const std::int64_t num_new = admission_->reserve_new(waiting);
  const std::int64_t held = limits_.window_blocks(waiting.num_tokens + num_new) -
                            limits_.cached_blocks(waiting.num_computed).window;
  return {known_blocks(waiting) + num_blocks_for(num_new, limits_.block_size) + 1,
          begin_blocks(waiting).window + std::max(held, limits_.demand(1).window)};
}

// Window blocks that a running sequence is expected to hold beyond those that it has, with so many
// tokens to come.
std::int64_t Planner::window_reserve(const SeqSnapshot& running, std::int64_t to_come) const {
  const std::int64_t num_tokens = running.num_tokens + to_come;
  return std::max<std::int64_t>(limits_.window_blocks(num_tokens) - running.num_window_blocks, 0);
}

// What the running sequences are expected to take beyond this step. Of window blocks a step's
// chunks take some for a while, too.
void Planner::forecast_running() {
  std::int64_t num_blocks = 0;
  std::int64_t num_window_blocks = 0;
  std::int64_t num_tokens = 0;
  ends_.clear();
  for (const SeqSnapshot& seq : alive_) {
    const std::int64_t to_come = admission_->reserve_running(seq);
    const std::int64_t blocks = blocks_to_reach(seq, seq.num_uncached());
    num_blocks += blocks;
    num_tokens += to_come;
    num_window_blocks += window_reserve(seq, to_come);
    ends_.push_back(
        {at_least_one(to_come), (seq.num_reclaimable_blocks + blocks) * limits_.block_size});
  }
  const auto beyond_plan = [this](std::int64_t num_wanted) {
    return std::max<std::int64_t>(num_wanted - plan_.num_new_blocks, 0);
  };
  const std::int64_t free = available_.full - beyond_plan(num_blocks);
  room_.full = free - num_blocks_for(num_tokens, limits_.block_size);
  room_.window = available_.window - beyond_plan(num_window_blocks) - chunk_window_blocks();
  if (limits_.simulates_completion) {
    forecast_.reset(free * limits_.block_size, limits_.completion_spare, ends_);
  }
}

// Window blocks that are left to the chunks of a step.
std::int64_t Planner::chunk_window_blocks() const {
  const std::int64_t step = num_blocks_for(limits_.max_step_tokens(), limits_.block_size);
  return limits_.window > 0 ? std::min(step, std::max<std::int64_t>(pool_.window / 4, 1)) : 0;
}

bool Planner::has_window_room(const SeqSnapshot& waiting) const {
  return limits_.window == 0 || wanted_blocks(waiting).window <= room_.window;
}

bool Planner::has_room(const SeqSnapshot& waiting) {
  if (!has_window_room(waiting)) {
    return false;
  }
  if (!limits_.simulates_completion) {
    return wanted_blocks(waiting).full <= room_.full;
  }
  const std::int64_t left = at_least_one(admission_->reserve_new(waiting));
  const std::int64_t known = (known_blocks(waiting) + 1) * limits_.block_size;
  forecast_.add_new(left, known);
  const bool holds = forecast_.holds();
  forecast_.remove_new(left, known);
  return holds;
}

void Planner::take_room(const SeqSnapshot& waiting) {
  room_ -= wanted_blocks(waiting);
  if (limits_.simulates_completion) {
    forecast_.add_new(at_least_one(admission_->reserve_new(waiting)),
                      (known_blocks(waiting) + 1) * limits_.block_size);
  }
  admissible_.push_back(waiting);
}

// Fills admissible_; false if the first sequence cannot run even in an empty engine.
bool Planner::collect_admissible(const PlannerState& state) {
  admissible_.clear();
  num_skipping_ = 0;
  forecast_running();
  for (std::size_t i = 0; i < state.waiting.size(); ++i) {
    const SeqSnapshot& seq = state.waiting[i];
    if (has_ended(seq.id) || waits_for_twin(seq, limits_.block_size)) {
      continue;
    }
    const bool is_alone = alive_.empty() && admissible_.empty();
    const BlockCount least{known_blocks(seq), limits_.demand(1).window + begin_blocks(seq).window};
    if (is_alone && !available_.holds(least)) {
      end(seq.id, Code::kResourceExhausted);
      return false;
    }
    const bool has_row = std::ssize(admissible_) < budget_.num_seqs;
    if (is_alone || (has_row && has_room(seq)) || displace_for(seq)) {
      take_room(seq);
      continue;
    }
    if (has_row) {
      skip_ahead(state.waiting.subspan(i + 1), seq);
    }
    break;  // later ones may not take what this one waits for
  }
  return true;
}

// Lets later sequences begin that end before the first one's room is there, or leave it that room.
void Planner::skip_ahead(std::span<const SeqSnapshot> later, const SeqSnapshot& first) {
  if (!limits_.simulates_completion || first.num_passed >= kMaxPassed || !has_window_room(first)) {
    return;
  }
  const std::int64_t wanted = wanted_blocks(first).full * limits_.block_size;
  const std::int64_t start = forecast_.steps_until_free(wanted);
  if (start == CompletionForecast::kNever) {
    return;
  }
  plan_.passed = first.id;
  std::int64_t num_tries = limits_.skip_ahead;
  for (const SeqSnapshot& seq : later) {
    if (num_tries == 0 || std::ssize(admissible_) >= budget_.num_seqs) {
      return;
    }
    if (has_ended(seq.id) || waits_for_twin(seq, limits_.block_size)) {
      continue;
    }
    --num_tries;
    if (!has_room(seq)) {
      continue;
    }
    const std::int64_t left = at_least_one(admission_->reserve_new(seq));
    const std::int64_t known = (known_blocks(seq) + 1) * limits_.block_size;
    forecast_.add_new(left, known);
    const bool delays = forecast_.steps_until_free(wanted) > start;
    forecast_.remove_new(left, known);
    if (!delays) {
      take_room(seq);
      ++num_skipping_;
    }
  }
}

bool Planner::may_displace(const SeqSnapshot& waiting, std::span<const SeqSnapshot> running) const {
  return limits_.displace_threshold >= 0 &&
         std::any_of(running.begin(), running.end(), [&](const SeqSnapshot& seq) {
           return waiting.priority - seq.priority > limits_.displace_threshold;
         });
}

bool Planner::would_be_picked(const SeqSnapshot& waiting) {
  Budget budget = budget_;
  budget.num_seqs = std::ssize(admissible_) + 1;
  admissible_.push_back(waiting);
  const std::vector<Pick> picks = schedule_->pick(admissible_, budget);
  admissible_.pop_back();
  return !picks.empty() && picks.back().seq == waiting.id;
}

// Preempts the least important, of equals the newest, until a row and the blocks are there: what
// they hold and what they were expected to take. Nobody, if even all of them would not do.
bool Planner::displace_for(const SeqSnapshot& waiting) {
  if (!may_displace(waiting, alive_) || !would_be_picked(waiting)) {
    return false;
  }
  victims_.clear();
  for (const SeqSnapshot& seq : alive_) {
    if (waiting.priority - seq.priority > limits_.displace_threshold) {
      victims_.push_back(seq);
    }
  }
  std::sort(victims_.begin(), victims_.end(), [](const SeqSnapshot& a, const SeqSnapshot& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.id > b.id;
  });
  bool lacks_row = std::ssize(admissible_) >= budget_.num_seqs;
  BlockCount lacking = has_room(waiting) ? BlockCount() : wanted_blocks(waiting) - room_;
  const auto lacks = [&] { return lacking.full > 0 || lacking.window > 0; };
  if (lacks() && !counts_claims_) {
    lacking += claimed_blocks(waiting);
    for (const SeqSnapshot& seq : admissible_) {
      lacking += claimed_blocks(seq);
    }
  }
  std::size_t count = 0;
  while (count < victims_.size() && (lacks_row || lacks())) {
    const SeqSnapshot& seq = victims_[count++];
    lacks_row = false;
    lacking -= seq.reclaimable();
    lacking.full -= blocks_to_reach(seq, seq.num_uncached()) +
                    admission_->reserve_running(seq) / limits_.block_size;
  }
  if (lacks_row || lacks()) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    displace(victims_[i]);
  }
  const std::vector<SeqSnapshot> before = std::move(admissible_);
  admissible_.clear();
  forecast_running();
  for (const SeqSnapshot& seq : before) {
    take_room(seq);
  }
  return true;
}

// Takes a running sequence out of the plan as far as it stands.
void Planner::displace(const SeqSnapshot& victim) {
  std::erase_if(alive_, [&victim](const SeqSnapshot& seq) { return seq.id == victim.id; });
  const auto pick = std::find_if(plan_.picks.begin(), plan_.picks.end(),
                                 [&victim](const Pick& p) { return p.seq == victim.id; });
  if (pick != plan_.picks.end()) {
    take(-blocks_to_reach(victim, pick->num_tokens));
    plan_.picks.erase(pick);
  }
  plan_.preempts.push_back(victim.id);
  ++plan_.num_displaced;
  ++budget_.num_seqs;
  available_ += victim.reclaimable();
  counts_claims_ = true;
  recount_if_alone();
}

// Chunks of those that begin take window blocks for all their tokens, though few are kept.
void Planner::limit_chunks(std::int64_t num_window_blocks) {
  const std::int64_t most = std::max<std::int64_t>(num_window_blocks, 0) * limits_.block_size;
  if (limits_.window > 0 && budget_.num_tokens + budget_.merge_tokens > most) {
    budget_.num_tokens = std::min(budget_.num_tokens, most);
    budget_.merge_tokens = 0;
  }
}

// What the admissible leave of the window blocks to their chunks: a sequence that runs alone may
// have been admitted without room for the chunks of a step.
std::int64_t Planner::window_blocks_left() const {
  BlockCount with_leavers = available_;
  BlockCount without = certain_;
  for (const SeqSnapshot& seq : admissible_) {
    with_leavers -= begin_blocks(seq);
    without -= seq.pinned();
  }
  // Each but one may leave a part of a block to nobody.
  return std::max(with_leavers.window, without.window) - std::ssize(admissible_) + 1;
}

void Planner::plan_admissions(const PlannerState& state) {
  const bool on_hold = !alive_.empty() && num_takeable() < state.hold_blocks;
  budget_.num_seqs = limits_.max_num_seqs - std::ssize(alive_);
  const bool has_row = budget_.num_seqs > 0 || limits_.displace_threshold >= 0;
  if (state.waiting.empty() || on_hold || !has_row || budget_.num_tokens <= 0) {
    return;
  }
  limit_chunks(chunk_window_blocks());
  while (!collect_admissible(state)) {
  }
  limit_chunks(window_blocks_left());
  const auto first_skipping = admissible_.end() - num_skipping_;
  for (const Pick& pick : schedule_->pick(admissible_, budget_)) {
    const auto seq = std::find_if(admissible_.begin(), admissible_.end(),
                                  [&pick](const SeqSnapshot& s) { return s.id == pick.seq; });
    PLUMB_CHECK(seq != admissible_.end(), "a policy picks a sequence that it was not shown");
    const std::int64_t blocks =
        num_blocks_for(seq->num_computed + pick.num_tokens, limits_.block_size) -
        seq->num_computed / limits_.block_size;
    plan_.admits.push_back(pick.seq);
    plan_.picks.push_back(pick);
    take(blocks);
    available_ -= begin_blocks(*seq);
    plan_.num_passing += seq >= first_skipping ? 1 : 0;
  }
}

}  // namespace plumb
