// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "grammar/regex_set.h"

namespace plumb {

/// The code points of a general category ("Lu"), a group of them ("L", "LC"), their long names of
/// the Unicode standard ("Letter", "Uppercase_Letter"), "Any" or "ASCII"; each also with
/// "General_Category=" or "gc=" in front. Absent for other names.
/// Cost: asks for every code point.
std::optional<std::vector<CodePointRange>> category_ranges(std::string_view name);

/// The ranges with every code point that differs from one of them in case only.
std::vector<CodePointRange> with_other_cases(std::vector<CodePointRange> ranges);

}  // namespace plumb
