// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

/// How a notation for grammars is spelled.
struct Notation {
  std::string_view name;        ///< begins its messages
  std::string_view name_marks;  ///< that names are made of, besides letters and digits
  std::string_view comment{};   ///< begins a comment, as # does; empty: only # does
};

/// What the notations have in common: a place in a text, and the steps from there.
/// Thread  one at a time.
class NotationReader {
 public:
  NotationReader(const Notation& notation, std::string_view text)
      : notation_(notation), text_(text) {}

  /// To be asked before anything is read. Errors  kInvalidArgument: the text is longer than that,
  /// or not well-formed UTF-8.
  Status check_text(std::int64_t max_bytes) const;

  bool at_end() const { return pos_ >= text_.size(); }

  /// The byte here; 0 at the end.
  char peek() const { return at_end() ? '\0' : text_[pos_]; }

  std::size_t pos() const { return pos_; }

  /// Back to where it was.
  void go_back(std::size_t pos) { pos_ = pos; }

  void advance(std::size_t num_bytes) { pos_ += num_bytes; }

  /// The text from here on.
  std::string_view rest() const { return text_.substr(pos_); }

  bool looking_at(std::string_view token) const { return rest().starts_with(token); }

  bool take(std::string_view token);
  /// Blanks, line ends and comments.
  void skip_blank();
  /// Blanks of this line only.
  void skip_inline_blank();
  bool at_name() const;
  /// May be empty.
  std::string_view take_name();
  /// The bytes of one character. Requires that this is not the end.
  std::string_view take_char();
  /// The code point that the digits of an escape name; the escape begins at `begin`.
  Result<char32_t> take_hex(int num_digits, std::size_t begin);
  /// Takes ?, * or +, and says how often it repeats what stands before; false: none is here.
  bool take_quantifier(std::int64_t* min, std::int64_t* max);

  /// kInvalidArgument with line and column.
  Status error(const std::string& what, std::size_t offset) const;

 protected:
  /// "lark: line 2, column 5: "
  std::string place(std::size_t offset) const;

 private:
  const Notation notation_;
  const std::string_view text_;
  std::size_t pos_ = 0;
};

/// "line 2, column 5: ", both counted from 1, the column in bytes.
std::string place_in_text(std::string_view text, std::size_t offset);

}  // namespace plumb
