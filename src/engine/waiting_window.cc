// SPDX-License-Identifier: Apache-2.0
#include "engine/waiting_window.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "base/rng.h"

namespace plumb {
namespace {

// Of a queue that is to be ordered, how many sequences are looked up in the prefix cache at a time.
constexpr std::int64_t kPeeks = 32;

}  // namespace

SeqSnapshot snapshot_of(const Sequence& seq) {
  SeqSnapshot s;
  s.id = seq.id;
  s.tenant = seq.tenant;
  s.priority = seq.priority;
  s.submitted = std::chrono::duration_cast<std::chrono::microseconds>(
      seq.timings.submitted.time_since_epoch());
  s.num_tokens = seq.num_tokens();
  s.num_computed = seq.num_computed;
  s.num_output = seq.num_output();
  s.max_output = seq.max_output;
  s.num_blocks = std::ssize(seq.blocks.table);
  s.num_window_blocks = seq.blocks.window.num_held();
  s.num_preemptions = seq.timings.num_preemptions;
  s.num_passed = seq.num_passed;
  s.routing_key = seq.request.routing_key;
  s.needs_all_logits = seq.needs_prompt_logprobs();
  return s;
}

std::span<const SeqSnapshot> WaitingWindow::look(
    std::span<const SeqSnapshot> running, std::int64_t tokens_computed,
    const std::function<bool(const Sequence&)>& is_held) {
  leaders_.clear();
  for (const Sequence* seq : queues_.running()) {
    if (seq->num_tokens() - seq->num_computed > 1) {
      leaders_.push_back(seq);
    }
  }
  choose(running, tokens_computed);
  snapshots_.clear();
  for (Sequence* seq : chosen_) {
    if (is_held && is_held(*seq)) {
      continue;
    }
    peek(*seq);
    SeqSnapshot s = snapshot_of(*seq);
    s.num_computed = seq->peek.num_tokens;
    s.num_pinned_blocks = seq->peek.num_evictable.full;
    s.num_pinned_window_blocks = seq->peek.num_evictable.window;
    s.num_shared_tokens = shared_with_leaders(*seq);
    if (!waits_for_twin(s, cache_.block_size())) {
      leaders_.push_back(seq);
    }
    snapshots_.push_back(s);
  }
  return snapshots_;
}

void WaitingWindow::choose(std::span<const SeqSnapshot> running, std::int64_t tokens_computed) {
  const Reordering wanted = planner_.schedule().reordering();
  const bool keeps_order = wanted.window == 0 ||
                           (wanted.only_whole && queues_.num_waiting() > wanted.window) ||
                           (wanted.needs_cache && !cache_.has_prefix_cache());
  const auto cost = [this](const Sequence& seq) { return cost_of(seq); };
  queues_.first_waiting(keeps_order ? kPlanWindow : wanted.window, cost, &chosen_);
  if (keeps_order) {
    return;
  }
  order(wanted, running, tokens_computed);
  // The lanes take their turns again, each in the new order.
  std::map<TenantId, std::size_t> next;
  chosen_.clear();
  queues_.serve(kPlanWindow, [&](TenantId lane) -> std::optional<std::int64_t> {
    std::size_t& at = next[lane];
    while (at < ordered_.size() && ordered_[at]->lane != lane) {
      ++at;
    }
    if (at == ordered_.size()) {
      return std::nullopt;
    }
    chosen_.push_back(ordered_[at++]);
    return cost_of(*chosen_.back());
  });
}

// Fills ordered_ with the chosen in the policy's order. What the prefix cache holds of a sequence
// is looked up in turns, so that it may be a few steps old.
void WaitingWindow::order(const Reordering& wanted, std::span<const SeqSnapshot> running,
                          std::int64_t tokens_computed) {
  const std::int64_t count = std::ssize(chosen_);
  for (std::int64_t i = 0; wanted.needs_prefixes && i < std::min(count, kPeeks); ++i) {
    peek(*chosen_[static_cast<std::size_t>(next_peek_++ % count)]);
  }
  snapshots_.clear();
  for (Sequence* seq : chosen_) {
    SeqSnapshot s = snapshot_of(*seq);
    s.num_computed = seq->peek.num_tokens;
    s.tokens_waited = tokens_computed - seq->tokens_at_arrival;
    if (wanted.needs_hashes) {
      hash_prefix(*seq);
      const auto cached = static_cast<std::size_t>(s.num_computed / cache_.block_size());
      s.prefix_hashes =
          std::span(seq->prefix_hashes).first(std::min(seq->prefix_hashes.size(), cached));
    }
    snapshots_.push_back(s);
  }
  ordered_.clear();
  for (const std::int64_t index : planner_.schedule().order(snapshots_, running)) {
    ordered_.push_back(chosen_[static_cast<std::size_t>(index)]);
  }
}

void WaitingWindow::peek(Sequence& seq) const {
  seq.peek = cache_.peek(seq.request.cache_namespace, seq.reusable());
}

void WaitingWindow::hash_prefix(Sequence& seq) const {
  if (!seq.prefix_hashes.empty()) {
    return;
  }
  std::uint64_t hash = std::hash<std::string_view>()(seq.request.cache_namespace);
  for (std::int64_t i = 0; i < seq.prompt_len; ++i) {
    hash = mix64(hash + static_cast<std::uint64_t>(seq.tokens[static_cast<std::size_t>(i)]) + 1);
    if ((i + 1) % cache_.block_size() == 0) {
      seq.prefix_hashes.push_back(hash);
    }
  }
}

// Service tokens that the sequence will probably take from now on.
std::int64_t WaitingWindow::cost_of(const Sequence& seq) const {
  return seq.num_tokens() - seq.peek.num_tokens + 2 * planner_.expected_output(snapshot_of(seq));
}

// The longest prefix in whole blocks that a sequence shares with one that computes it before.
std::int64_t WaitingWindow::shared_with_leaders(const Sequence& seq) const {
  std::int64_t longest = 0;
  if (!cache_.has_prefix_cache()) {
    return longest;
  }
  const std::span<const TokenId> own = seq.reusable();
  for (const Sequence* leader : leaders_) {
    if (leader->request.cache_namespace == seq.request.cache_namespace) {
      const auto end =
          std::mismatch(own.begin(), own.end(), leader->tokens.begin(), leader->tokens.end());
      longest = std::max<std::int64_t>(longest, end.first - own.begin());
    }
  }
  return longest / cache_.block_size() * cache_.block_size();
}

}  // namespace plumb
