// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "grammar/compiled_grammar.h"

namespace plumb {

/// Makes the masks of the positions that texts reach first, nearest first, so that requests find
/// them: kMaxWarmed at most, at most a quarter of what the grammar may keep, and with
/// kMaxWarmingWork together. From a position where many tokens may come only some are followed.
/// Thread  any, also while requests use the grammar; is_cancelled is asked before each mask.
std::int64_t warm_masks(const CompiledGrammar& grammar, const std::function<bool()>& is_cancelled);

inline constexpr std::int64_t kMaxWarmed = 64;

/// In the units of MatcherLimits: about 20 ms.
inline constexpr std::int64_t kMaxWarmingWork = 1'000'000;

}  // namespace plumb
