// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan.h"

#include <algorithm>
#include <limits>

#include "kvcache/block_pool.h"

namespace plumb {
namespace {

std::string to_text(SeqId id) {
  return std::to_string(static_cast<std::uint64_t>(id));
}

Status bad(const std::string& what) {
  return {Code::kInternal, "plan: " + what};
}

// Looks from *hint on, round the end: picks follow the order of the snapshots.
const SeqSnapshot* find(std::span<const SeqSnapshot> seqs, SeqId id, std::size_t* hint) {
  for (std::size_t n = 0; n < seqs.size(); ++n) {
    *hint = *hint + 1 < seqs.size() ? *hint + 1 : 0;
    if (seqs[*hint].id == id) {
      return &seqs[*hint];
    }
  }
  return nullptr;
}

bool contains(std::span<const SeqId> ids, SeqId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool contains(std::span<const Ended> ended, SeqId id) {
  return std::any_of(ended.begin(), ended.end(), [id](const Ended& e) { return e.seq == id; });
}

// Where a walk over the plan stands.
struct Count {
  std::int64_t num_running = 0;
  std::int64_t num_tokens = 0;
  std::int64_t num_new_blocks = 0;
  BlockCount reclaimed;  ///< blocks that the preempted leave
  BlockCount pinned;     ///< of the admitted: cached blocks that nobody holds
  BlockCount cached;     ///< of the admitted: all cached blocks
  BlockCount of_last;    ///< held by the one that runs on, if it is alone
  std::size_t hint = 0;  ///< index of the snapshot found last
  std::size_t last = 0;  ///< of the pick before
  bool is_ascending = true;
};

Status check_leavers(const Plan& plan, const PlannerState& state, Count* count) {
  for (const Ended& ended : plan.ended) {
    if (ended.code == Code::kOk) {
      return bad("sequence " + to_text(ended.seq) + " ends without a reason");
    }
  }
  for (const SeqId id : plan.preempts) {
    const SeqSnapshot* seq = find(state.running, id, &count->hint);
    if (seq == nullptr || contains(plan.ended, id)) {
      return bad("preempts " + to_text(id) + ", which does not run");
    }
    count->reclaimed += seq->reclaimable();
  }
  for (const SeqSnapshot& seq : state.running) {
    if (!contains(plan.ended, seq.id) && !contains(plan.preempts, seq.id)) {
      ++count->num_running;
      count->of_last = seq.held();
    }
  }
  return {};
}

// The best that is certain. Those who leave may leave the very blocks with which others begin, so
// that all cached blocks of these count where the blocks of those do.
BlockCount available(const PlannerState& state, const Count& count) {
  const auto larger = [](const BlockCount& a, const BlockCount& b) {
    return BlockCount{std::max(a.full, b.full), std::max(a.window, b.window)};
  };
  const BlockCount now = state.available();
  const BlockCount most = larger(now - count.pinned, now + count.reclaimed - count.cached);
  // Alone, a sequence has the whole pool but what it holds itself.
  return count.num_running <= 1 ? larger(most, state.pool() - count.of_last - count.cached) : most;
}

Status check_pick(const Pick& pick, const Plan& plan, const PlannerState& state,
                  const StepLimits& limits, Count* count) {
  const bool is_admit = contains(plan.admits, pick.seq);
  const SeqSnapshot* seq = find(is_admit ? state.waiting : state.running, pick.seq, &count->hint);
  if (seq == nullptr || pick.num_tokens < 1 || pick.num_tokens > seq->num_uncached()) {
    return bad("sequence " + to_text(pick.seq) + " cannot compute " +
               std::to_string(pick.num_tokens) + " tokens");
  }
  if (contains(plan.preempts, pick.seq) || contains(plan.ended, pick.seq)) {
    return bad("sequence " + to_text(pick.seq) + " leaves and is picked");
  }
  count->num_tokens += pick.num_tokens;
  const std::int64_t held = is_admit ? seq->num_computed / limits.block_size : seq->num_blocks;
  count->num_new_blocks += std::max<std::int64_t>(
      num_blocks_for(seq->num_computed + pick.num_tokens, limits.block_size) - held, 0);
  if (is_admit) {
    count->pinned += seq->pinned();
    count->cached += limits.cached_blocks(seq->num_computed);
  }
  return {};
}

bool is_picked(std::span<const Pick> picks, SeqId id) {
  return std::any_of(picks.begin(), picks.end(), [id](const Pick& p) { return p.seq == id; });
}

Status check_admits(const Plan& plan) {
  for (const SeqId id : plan.admits) {
    if (!is_picked(plan.picks, id)) {
      return bad("sequence " + to_text(id) + " is admitted and not picked");
    }
  }
  return {};
}

// Whoever is displaced is less important, by more than the threshold, than somebody who begins.
Status check_displaced(const Plan& plan, const PlannerState& state, const StepLimits& limits) {
  if (plan.num_displaced < std::ssize(plan.preempts) && !plan.admits.empty()) {
    return bad("admits while the cache is too full for those who run");
  }
  std::size_t hint = 0;
  std::int64_t most_important = std::numeric_limits<std::int64_t>::min();
  for (const SeqId id : plan.admits) {
    const SeqSnapshot* seq = find(state.waiting, id, &hint);
    most_important = std::max(most_important, seq == nullptr ? most_important : seq->priority);
  }
  for (auto i = std::ssize(plan.preempts) - plan.num_displaced; i < std::ssize(plan.preempts);
       ++i) {
    const SeqSnapshot* seq = find(state.running, plan.preempts[static_cast<std::size_t>(i)], &hint);
    if (limits.displace_threshold < 0 || plan.admits.empty() || seq == nullptr ||
        most_important - seq->priority <= limits.displace_threshold) {
      return bad("displaces " + to_text(plan.preempts[static_cast<std::size_t>(i)]) +
                 ", which is too important for that");
    }
  }
  return {};
}

}  // namespace

std::int64_t StepLimits::max_step_tokens() const {
  return std::max(max_num_tokens, max_num_seqs + block_size) + merge_tokens;
}

BlockCount StepLimits::cached_blocks(std::int64_t num_tokens) const {
  const std::int64_t num_blocks = num_tokens / block_size;
  return {num_blocks,
          window > 0 ? num_blocks - first_window_block(num_tokens, window, block_size) : 0};
}

void Plan::clear() {
  ended.clear();
  preempts.clear();
  admits.clear();
  picks.clear();
  num_displaced = 0;
  num_new_blocks = 0;
  passed = {};
  num_passing = 0;
  prefill_allowance = 0;
}

Status validate(const Plan& plan, const PlannerState& state, const StepLimits& limits) {
  Count count;
  PLUMB_RETURN_IF_ERROR(check_leavers(plan, state, &count));
  PLUMB_RETURN_IF_ERROR(check_displaced(plan, state, limits));
  for (std::size_t i = 0; i < plan.picks.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(check_pick(plan.picks[i], plan, state, limits, &count));
    // As long as picks follow the order of the snapshots, none can come twice.
    count.is_ascending = count.is_ascending && (i == 0 || count.hint > count.last);
    count.last = count.hint;
    if (!count.is_ascending && is_picked(std::span(plan.picks).first(i), plan.picks[i].seq)) {
      return bad("sequence " + to_text(plan.picks[i].seq) + " is picked twice");
    }
  }
  if (count.num_running + std::ssize(plan.admits) > limits.max_num_seqs ||
      count.num_tokens > limits.max_step_tokens()) {
    return bad("more sequences or tokens than a step may hold");
  }
  const BlockCount most = available(state, count);
  if (count.num_new_blocks != plan.num_new_blocks ||
      !most.holds(limits.demand(count.num_new_blocks))) {
    return bad("takes " + std::to_string(count.num_new_blocks) + " blocks, announces " +
               std::to_string(plan.num_new_blocks) + ", available are " +
               std::to_string(most.full) + ", of windows " + std::to_string(most.window));
  }
  return check_admits(plan);
}

std::string to_text(const Plan& plan) {
  std::string text = "ended";
  for (const Ended& ended : plan.ended) {
    text += " " + to_text(ended.seq) + ":" + std::string(to_text(ended.code));
  }
  text += "; preempts";
  for (const SeqId id : plan.preempts) {
    text += " " + to_text(id);
  }
  text += "; admits";
  for (const SeqId id : plan.admits) {
    text += " " + to_text(id);
  }
  text += "; picks";
  for (const Pick& pick : plan.picks) {
    text += " " + to_text(pick.seq) + "+" + std::to_string(pick.num_tokens);
  }
  return text + "; blocks " + std::to_string(plan.num_new_blocks);
}

}  // namespace plumb
