// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "grammar/notation_reader.h"

namespace plumb {

/// The tokens of a text in Lark's notation, one after the other.
/// Thread  one at a time.
class LarkReader : public NotationReader {
 public:
  explicit LarkReader(std::string_view text)
      : NotationReader({.name = "lark", .name_marks = "_", .comment = "//"}, text) {}

  /// Whether a definition begins here: marks, a name, parameters, a priority and a colon.
  bool at_definition();

  /// A number with a sign or not. Errors: beyond max, or none here.
  Result<std::int64_t> take_number(std::int64_t max);

  struct Literal {
    std::string bytes;
    std::int64_t num_chars = 0;
    bool ignores_case = false;
  };

  /// What stands in quotes, behind the opening one at `begin`.
  Result<Literal> take_literal(std::size_t begin);

  struct Pattern {
    std::string text;        ///< as parse_regex() takes it
    std::size_t prefix = 0;  ///< bytes of it that are not in the source
    std::size_t begin = 0;   ///< of the pattern in the source
  };

  /// What stands between slashes, behind the opening one at `begin`, with its flags.
  Result<Pattern> take_pattern(std::size_t begin);

  /// kUnsupported with line and column: "`what` is not supported`remedy`".
  Status unsupported(const std::string& what, std::size_t offset,
                     const std::string& remedy = "") const;

 private:
  Status take_escape(std::size_t begin, std::string* out);
};

/// A name in capitals, which is that of a terminal.
bool is_lark_terminal(std::string_view name);

/// Whether it is a name at all: of one case, not of digits and underscores alone.
bool is_lark_name(std::string_view name);

}  // namespace plumb
