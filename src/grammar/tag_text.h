// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "grammar/regex_set.h"
#include "grammar/string_automata.h"

namespace plumb {

/// The free text of structural tags as regular languages.
///
/// With a limit on its tokens the languages contain the token marks (Cfg::kTokenMark), else not.
/// Thread  one at a time.
class TagText {
 public:
  /// Text without the excluded strings and without the stops, of at most max_tokens tokens.
  TagText(std::span<const std::string> excludes, std::span<const std::string> stops,
          std::int64_t max_tokens, RegexSet* set);

  /// What making such a text adds to the size of the set at most, beside expressions.
  static std::int64_t max_size(std::span<const std::string> excludes,
                               std::span<const std::string> stops, std::int64_t max_tokens);

  /// Whether the languages contain token marks.
  bool has_marks() const { return max_tokens_ != kUnbounded; }

  /// Such a text.
  RegexId alone() const;

  /// Such a text, and behind it the stop, which no stop comes before.
  RegexId up_to(std::string_view stop) const;

 private:
  RegexId literal(std::string_view text) const;
  RegexId utf8_with_marks() const;
  RegexId counted() const;

  std::int64_t max_tokens_;
  RegexSet& set_;
  RegexId text_{};         // without what is excluded
  RegexId without_{};      // without the stops
  RegexId up_to_first_{};  // up to the first stop
};

}  // namespace plumb
