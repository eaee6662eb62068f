// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "grammar/regex_set.h"

namespace plumb {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

/// The same code points as rising ranges that neither overlap nor touch, inside Unicode.
std::vector<CodePointRange> tidy_ranges(std::span<const CodePointRange> ranges);

/// The other code points, tidy; surrogates count as code points.
std::vector<CodePointRange> other_ranges(std::span<const CodePointRange> ranges);

}  // namespace plumb
