// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;

namespace plumb {

/// A regular expression that a whole text has to match: for what no automaton decides, such as
/// look-around and back-references.
///
/// Syntax: PCRE2 without verbs "(*", callouts and \C; \d, \w and \s are ASCII, \uXXXX is a code
/// point, `.` excludes line feeds.
/// Thread  any (immutable).
class WholeRegex {
 public:
  static constexpr std::size_t kMaxPatternBytes = 64 << 10;

  /// Errors  kInvalidArgument: too long, not a pattern (with its offset); kUnsupported: verbs and
  ///         what else is left out.
  static Result<std::unique_ptr<const WholeRegex>> compile(const std::string& pattern);
  ~WholeRegex();
  WholeRegex(const WholeRegex&) = delete;
  WholeRegex& operator=(const WholeRegex&) = delete;

  /// Requires  valid UTF-8.
  /// Errors    kInvalidArgument: the text does not match, or only so many of its first bytes do;
  ///           kResourceExhausted: the pattern backtracks more than sensible ones do.
  /// Cost      bounded by a number of steps: some ten milliseconds.
  Status check(std::string_view text) const;

 private:
  explicit WholeRegex(pcre2_real_code_8* code) : code_(code) {}

  pcre2_real_code_8* code_;
};

}  // namespace plumb
