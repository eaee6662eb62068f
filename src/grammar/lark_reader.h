// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// The tokens of a text in Lark's notation, one after the other.
/// Thread  one at a time.
class LarkReader {
 public:
  explicit LarkReader(std::string_view text) : text_(text) {}

  bool at_end() const { return pos_ >= text_.size(); }

  /// The byte here; 0 at the end.
  char peek() const { return at_end() ? '\0' : text_[pos_]; }

  std::size_t pos() const { return pos_; }

  bool looking_at(std::string_view token) const { return text_.substr(pos_).starts_with(token); }

  bool take(std::string_view token);
  /// Blanks, line ends and comments.
  void skip_blank();
  /// Blanks of this line only.
  void skip_inline_blank();
  bool at_name() const;
  /// Letters, digits and _; may be empty.
  std::string_view take_name();
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

  /// kInvalidArgument with line and column.
  Status error(const std::string& what, std::size_t offset) const;
  /// kUnsupported with line and column: "`what` is not supported`remedy`".
  Status unsupported(const std::string& what, std::size_t offset,
                     const std::string& remedy = "") const;

 private:
  std::string place(std::size_t offset) const;
  Status take_escape(std::size_t begin, std::string* out);
  Result<char32_t> take_hex(int num_digits, std::size_t begin);

  std::string_view text_;
  std::size_t pos_ = 0;
};

/// A name in capitals, which is that of a terminal.
bool is_lark_terminal(std::string_view name);

/// Whether it is a name at all: of one case, not of digits and underscores alone.
bool is_lark_name(std::string_view name);

}  // namespace plumb
