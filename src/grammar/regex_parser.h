// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "grammar/regex_set.h"

namespace plumb {

struct RegexParseOptions {
  /// True: the whole text matches, as if written ^(...)$. False: some part of it does, and ^ and $
  /// bind to the ends of the text, as JSON Schema's `pattern` wants.
  bool anchored = true;
  std::int64_t max_pattern_bytes = 1 << 20;
  int max_depth = 64;                      ///< of nested groups
  std::int64_t max_expressions = 500'000;  ///< that the set may hold afterwards
  bool dot_takes_returns = false;          ///< `.` excludes \n only, as Python's does
  std::function<bool()> is_cancelled{};    ///< asked now and then, if there is one
};

/// The language of a pattern in ECMAScript's Unicode dialect with (?:...), (?<name>...),
/// (?P<name>...), the flags i and s, and lazy quantifiers, which change no language.
///
/// \d and \w are ASCII, \s is ECMAScript's white space, `.` excludes line terminators unless flag s
/// is set, \p{L} and the like are general categories. Only well-formed UTF-8 matches.
/// Errors  kInvalidArgument: malformed, too long, too deep; kUnsupported: look-around,
///         back-references, \b and what else is no regular language over characters;
///         kResourceExhausted: too many expressions; kDeadlineExceeded: cancelled. Each names the
///         construct and its byte offset.
Result<RegexId> parse_regex(std::string_view pattern, const RegexParseOptions& options,
                            RegexSet* set);

}  // namespace plumb
