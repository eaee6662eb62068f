// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "grammar/regex_set.h"

namespace plumb {

/// The language of a pattern with ^ and $ in it, by what its matches demand of the text around
/// them: a match that passed ^ must begin the text, one that passed $ must end it.
struct AnchoredRegex {
  RegexId free{};   ///< anywhere
  RegexId begin{};  ///< at the beginning only
  RegexId end{};    ///< at the end only
  RegexId both{};   ///< the whole text only
};

AnchoredRegex plain(RegexId regex, const RegexSet& set);
AnchoredRegex at_begin(const RegexSet& set);     ///< ^
AnchoredRegex at_text_end(const RegexSet& set);  ///< $

AnchoredRegex any_of(std::span<const AnchoredRegex> parts, RegexSet* set);
AnchoredRegex concat(std::span<const AnchoredRegex> parts, RegexSet* set);
/// Requires 0 <= min, and max = kUnbounded or max >= min.
AnchoredRegex repeat(const AnchoredRegex& regex, std::int64_t min, std::int64_t max, RegexSet* set);

/// The texts that match from beginning to end.
RegexId whole_match(const AnchoredRegex& regex, RegexSet* set);

/// The texts with a match in them.
RegexId search_match(const AnchoredRegex& regex, RegexSet* set);

}  // namespace plumb
