// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Control tokens that the format of an answer speaks of. Such a token has no text; in the input of
/// an OutputParser it is two bytes that no text holds, so a text that only spells it is no mark.
/// Thread: any (a value).
class OutputMarks {
 public:
  static constexpr std::size_t kCodeBytes = 2;
  static constexpr std::size_t kMaxMarks = 64;

  OutputMarks() = default;

  /// Requires at most kMaxMarks texts, none empty.
  explicit OutputMarks(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  const std::vector<std::string>& texts() const { return texts_; }

  bool contains(std::string_view text) const;

  /// The bytes that stand for the mark of that number.
  static std::string code(std::size_t mark);

  /// A text with each mark in it as its bytes.
  std::string encode(std::string_view text) const;

  /// The input with each mark as its text, or without them.
  std::string decode(std::string_view input, bool with_marks = true) const;

  /// The same inside a JSON string.
  std::string decode_in_json(std::string_view json) const;

 private:
  template <class Append>
  std::string replace_codes(std::string_view input, const Append& append) const;

  std::vector<std::string> texts_;
};

}  // namespace plumb
