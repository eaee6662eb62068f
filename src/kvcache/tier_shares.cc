// SPDX-License-Identifier: Apache-2.0
#include "kvcache/tier_shares.h"

#include "base/check.h"

namespace plumb {
namespace {

constexpr std::int64_t kTurnoversUntilGone = 16;

}  // namespace

void TierShares::add(TierOwner owner, std::int64_t amount) {
  num_taken_in_ += amount;
  Share& share = owners_[owner];
  share.held += amount;
  share.last_use = num_taken_in_;
}

void TierShares::remove(TierOwner owner, std::int64_t amount) {
  const auto found = owners_.find(owner);
  PLUMB_CHECK(found != owners_.end() && found->second.held >= amount,
              "a tier's owner gives more than it holds");
  found->second.held -= amount;
  if (found->second.held == 0) {
    owners_.erase(found);
  }
}

void TierShares::use(TierOwner owner) {
  const auto found = owners_.find(owner);
  if (found != owners_.end()) {
    found->second.last_use = num_taken_in_;
  }
}

std::int64_t TierShares::held(TierOwner owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.held;
}

std::optional<TierOwner> TierShares::giver(TierOwner newcomer, std::int64_t amount,
                                           const std::function<bool(TierOwner)>& can_give) const {
  const std::int64_t wanted = held(newcomer) + amount;
  std::optional<TierOwner> most;
  std::int64_t most_held = 0;
  for (const auto& [owner, share] : owners_) {
    if (!can_give(owner)) {
      continue;
    }
    const bool is_newcomer = owner == newcomer;
    // More than so many times the capacity, which may be any number.
    if (!is_newcomer && (num_taken_in_ - share.last_use - 1) / kTurnoversUntilGone >= capacity_) {
      return owner;
    }
    const std::int64_t held = is_newcomer ? wanted : share.held;
    if (!most || held > most_held || (held == most_held && is_newcomer)) {
      most = owner;
      most_held = held;
    }
  }
  return most && (*most == newcomer || most_held >= wanted) ? most : std::nullopt;
}

}  // namespace plumb
