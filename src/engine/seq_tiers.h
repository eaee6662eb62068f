// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "request/kv_event.h"

namespace plumb {

/// Names blocks on their way from a slow tier; 0 is none.
enum class FetchId : std::uint64_t {};

/// What the tiers know of one sequence.
struct SeqTiers {
  std::vector<BlockHash> chain;  ///< of its first full blocks, as far as anybody asked
  Digest256 chain_end{};         ///< the whole digest of the last of them
  std::int64_t num_named = 0;    ///< running: blocks of its table whose names are noted

  // While it waits.
  FetchId fetch{};
  bool was_fetched = false;     ///< a fetch was begun, or there was nothing to fetch
  Clock::TimePoint hold_until;  ///< with kTimeout
  std::int64_t num_loads = 0;
};

}  // namespace plumb
