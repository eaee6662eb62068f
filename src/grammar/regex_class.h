// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammar/regex_set.h"

namespace plumb {

/// What `.` does not match unless flag s is set.
inline constexpr std::array<CodePointRange, 3> kLineTerminators = {
    {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}};

/// "regex: WHAT at offset N".
Status regex_error(Code code, std::string_view what, std::size_t offset);

/// The characters of one atom of a pattern.
struct CharSet {
  std::vector<CodePointRange> written;  ///< literals and ranges: flag i adds their other cases
  std::vector<CodePointRange> named;    ///< \d, \W, \p{L}: taken as they are
  bool is_negated = false;
};

RegexId char_set_regex(const CharSet& chars, bool ignore_case, RegexSet* set);

/// Reads the escapes and bracket expressions of a pattern. Positions are byte offsets into it.
/// Thread  one at a time.
class RegexClassParser {
 public:
  /// Requires the pattern is valid UTF-8 and outlives the parser.
  explicit RegexClassParser(std::string_view pattern) : pattern_(pattern) {}

  /// Reads "[...]" at *pos and steps past it.
  Result<CharSet> parse_class(std::size_t* pos);

  /// Reads the escape at *pos, which stands for characters, and steps past it.
  Result<CharSet> parse_escape(std::size_t* pos, bool in_class);

 private:
  Result<CharSet> parse_item(std::size_t* pos);
  Result<CharSet> parse_property(std::size_t* pos, std::size_t begin);
  Result<CharSet> parse_letter(char letter, std::size_t* pos, std::size_t begin, bool in_class);
  Result<char32_t> parse_code_point(char letter, std::size_t* pos, std::size_t begin);
  Result<char32_t> parse_hex(std::size_t* pos, std::size_t num_digits, std::size_t begin);
  bool take(std::size_t* pos, std::string_view text) const;
  const std::vector<CodePointRange>* property_ranges(std::string_view name);

  std::string_view pattern_;
  std::map<std::string, std::vector<CodePointRange>, std::less<>> properties_;  // used so far
};

}  // namespace plumb
