// SPDX-License-Identifier: Apache-2.0
// What the tiers still keep when the engine ends.
#include <algorithm>
#include <vector>

#include "base/log.h"
#include "engine/tiered_cache.h"

namespace plumb {

// The beginnings of prefixes first: without them the rest is useless.
void TieredCache::queue_all() {
  std::vector<BlockId> blocks;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    blocks.push_back(static_cast<BlockId>(i));
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [this](BlockId a, BlockId b) { return at(a).depth < at(b).depth; });
  queue(blocks);
}

void TieredCache::finish(Clock::TimePoint deadline) {
  if (!traffic_) {
    return;
  }
  poll();
  if (write_policy_ == TierWritePolicy::kBack) {
    queue_all();
  }
  if (const Status status = copy_rest(deadline); !status.ok()) {
    log_warning("cached prefixes are not kept", {{"reason", status.message()}});
  }
  const std::int64_t num_left_out = std::count_if(
      to_copy_.begin(), to_copy_.end(), [this](BlockId block) { return is_missing(block); });
  to_copy_.clear();
  traffic_->finish_by(deadline, num_left_out);
  traffic_.reset();
}

// Fills as much of the memory as may be on its way to the disk, lets that be written, and so on.
Status TieredCache::copy_rest(Clock::TimePoint deadline) {
  const std::int64_t most = std::max<std::int64_t>(kStepBytes / copier_.block_bytes(), 1);
  while (!to_copy_.empty() && clock_.now() < deadline) {
    const std::size_t num_before = to_copy_.size();
    PLUMB_ASSIGN(const std::vector<BlockId> without_room,
                 copy_first(std::min(most, traffic_->num_allowed())));
    to_copy_.insert(to_copy_.begin(), without_room.begin(), without_room.end());
    bool was_busy = false;
    while (clock_.now() < deadline && traffic_->wait()) {
      was_busy = true;
    }
    if (to_copy_.size() == num_before && !was_busy) {
      break;
    }
  }
  return {};
}

}  // namespace plumb
