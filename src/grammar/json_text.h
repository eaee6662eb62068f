// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "grammar/json_number_set.h"
#include "grammar/json_schema_scalars.h"
#include "grammar/regex_set.h"

namespace plumb {

/// The terminals of JSON text.
///
/// Thread  one at a time.
class JsonText {
 public:
  /// Between tokens no white space if compact, else up to two characters.
  JsonText(RegexSet* regexes, bool compact);

  /// Punctuation with the white space around it.
  RegexId open(char bracket) const;
  RegexId close(char bracket, bool is_empty) const;
  RegexId comma() const;
  /// A comma if it is not the first, one of the (decoded) keys, a colon.
  RegexId key(RegexId keys, bool is_first) const;
  /// The same for one name, written in one way only.
  RegexId key(std::string_view name, bool is_first) const;
  /// Brackets around nothing.
  RegexId empty(char open, char close) const;

  RegexId quote() const;
  /// That many characters of a string, in any spelling.
  RegexId characters(std::int64_t min, std::int64_t max) const;
  RegexId string(const JsonStringSet& strings) const;
  RegexId number(const JsonNumberSets& sets, NumberSetId numbers) const;

 private:
  RegexId around_key(RegexId quoted, bool is_first) const;

  RegexSet* regexes_;
  RegexId gap_;
  RegexId any_char_;  ///< one character of a string, with every escape
};

}  // namespace plumb
