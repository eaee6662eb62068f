// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/token_id.h"
#include "sampling/candidate_cut.h"

namespace plumb {

/// Draws a token with probability proportional to exp(z) among those that the cut keeps: the
/// largest z - log(-log u), with u of (seed, position, token).
///
/// Numerics  u is (word + 1/2) / 2^32 with the word of Philox4x32-10: key = seed, counter =
///           (token / 4, 0, position low, position high), word token mod 4. So a draw depends on
///           nothing but seed, position and distribution.
/// Requires  z <= 0, z[most_likely] = 0.
/// Cost      exact logarithms are taken only of the few tokens that can still win.
TokenId draw_gumbel(std::span<const float> z, const CandidateCut& cut, TokenId most_likely,
                    std::uint64_t seed, std::int64_t position);

}  // namespace plumb
