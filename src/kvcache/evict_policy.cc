// SPDX-License-Identifier: Apache-2.0
#include "kvcache/evict_policy.h"

#include <array>

namespace plumb {
namespace {

constexpr std::array<std::string_view, kNumEvictStrategies> kNames = {
    "lru", "lfu", "fifo", "mru", "filo", "priority", "slru"};

}  // namespace

EvictKey evict_key(EvictStrategy strategy, const EvictSnapshot& node) {
  const std::int64_t segment = node.first_to_evict ? 0 : 1;
  switch (strategy) {
    case EvictStrategy::kLru:
      return {segment, node.last_access, 0};
    case EvictStrategy::kLfu:
      return {segment, node.hit_count, node.last_access};
    case EvictStrategy::kFifo:
      return {segment, node.created, 0};
    case EvictStrategy::kMru:
      return {segment, -node.last_access, 0};
    case EvictStrategy::kFilo:
      return {segment, -node.created, 0};
    case EvictStrategy::kPriority:
      return {segment, node.priority, node.last_access};
    case EvictStrategy::kSlru:
      return {segment, node.hit_count >= 2 ? 1 : 0, node.last_access};
  }
  return {};
}

std::string_view to_text(EvictStrategy strategy) {
  return kNames[static_cast<std::size_t>(strategy)];
}

std::optional<EvictStrategy> evict_strategy_from_text(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<EvictStrategy>(i);
    }
  }
  return std::nullopt;
}

}  // namespace plumb
