// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb {

/// Which unused part of the prefix cache goes first.
enum class EvictStrategy : unsigned char {
  kLru,       ///< the least recently used
  kLfu,       ///< the one that the fewest requests reused, then the least recently used
  kFifo,      ///< the oldest
  kMru,       ///< the most recently used
  kFilo,      ///< the youngest
  kPriority,  ///< that of the least important requests, then the least recently used
  kSlru,      ///< those not reused by two requests first; each class by last use
};
inline constexpr int kNumEvictStrategies = 7;

/// What a strategy may look at. Times are counts of tree operations, not of seconds.
struct EvictSnapshot {
  std::int64_t last_access = 0;
  std::int64_t created = 0;
  std::int64_t hit_count = 0;   ///< requests that reused the node
  std::int64_t priority = 0;    ///< of the most important request that stored it
  bool first_to_evict = false;  ///< left behind by a preempted sequence and not reused since
};

/// Ordering of evictable leaves: the smallest goes first.
struct EvictKey {
  std::int64_t segment = 0;
  std::int64_t major = 0;
  std::int64_t minor = 0;
  auto operator<=>(const EvictKey&) const = default;
};

/// Pure. Leaves marked first_to_evict go before all others, in the same order among themselves.
EvictKey evict_key(EvictStrategy strategy, const EvictSnapshot& node);

std::string_view to_text(EvictStrategy strategy);
std::optional<EvictStrategy> evict_strategy_from_text(std::string_view name);

}  // namespace plumb
