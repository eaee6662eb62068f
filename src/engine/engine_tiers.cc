// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "engine/engine_core.h"

namespace plumb {
namespace {

// As the window of the planner weighs a sequence of which nothing is cached.
std::int64_t cost_of(const Sequence& seq) {
  return seq.num_tokens() + seq.max_output;
}

}  // namespace

Status EngineCore::create_tiers() {
  TierParts parts;
  parts.cache = cache_.get();
  parts.backend = parts_.backend;
  parts.stream = stream_.get();
  parts.clock = parts_.clock;
  parts.files = parts_.files;
  parts.layout = parts_.model->kv_layout();
  parts.model_id = parts_.model_id;
  PLUMB_ASSIGN(tiers_, TieredCache::create(options_, parts));
  if (tiers_) {
    is_held_ = [this](const Sequence& seq) { return tiers_->holds(seq); };
  }
  return {};
}

void EngineCore::start_tiers(std::function<void()> wake) {
  if (tiers_) {
    tiers_->start(std::move(wake));
  }
}

void EngineCore::poll_tiers() {
  if (tiers_) {
    tiers_->poll();
  }
}

void EngineCore::finish_tiers(Clock::TimePoint deadline) {
  if (tiers_) {
    tiers_->finish(deadline);
  }
}

// Brings the waiting sequences' blocks nearer: from the disk for all, to the device for those that
// the next plan may admit.
Status EngineCore::advance_tiers() {
  if (!tiers_) {
    return {};
  }
  tiers_->poll();
  const std::int64_t block_size = cache_->block_size();
  const auto blocks_of = [&](const Sequence& seq) {
    return BlockCount{num_blocks_for(seq.num_tokens(), block_size),
                      most_window_blocks(seq.num_tokens(), cache_->window(), block_size)};
  };
  BlockCount reserved;
  for (const Sequence* seq : queues_.running()) {
    const BlockCount more = blocks_of(*seq) - snapshot_of(*seq).held();
    reserved += {std::max<std::int64_t>(more.full, 0), std::max<std::int64_t>(more.window, 0)};
  }
  num_held_ = 0;
  bool may_load = std::ssize(queues_.running()) < planner_.limits().max_num_seqs;
  queues_.first_waiting(kPlanWindow, cost_of, &tier_window_);
  for (Sequence* seq : tier_window_) {
    tiers_->prefetch(*seq);
    if (tiers_->holds(*seq)) {
      ++num_held_;
      continue;
    }
    if (may_load) {
      PLUMB_ASSIGN(may_load, tiers_->load(*seq, reserved));
      reserved += blocks_of(*seq);
    }
  }
  return {};
}

}  // namespace plumb
