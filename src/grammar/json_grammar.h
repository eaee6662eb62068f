// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "grammar/cfg.h"

namespace plumb {

/// Blanks that JSON may have in one gap between its tokens: enough to indent by, too few to loop
/// on.
inline constexpr std::int64_t kMaxJsonBlanks = 2;

/// Up to kMaxJsonBlanks blanks.
RegexId json_blanks(RegexSet* set);

/// A string with its quotes: any characters, control characters escaped.
RegexId json_string(RegexSet* set);

/// A number in any notation of RFC 8259.
RegexId json_number(RegexSet* set);

/// Any JSON object, without blanks around it.
Cfg json_object_grammar();

}  // namespace plumb
