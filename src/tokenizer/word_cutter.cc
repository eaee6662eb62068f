// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_cutter.h"

namespace plumb {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Position after `from` of a U+2581 that follows another character; size() if none.
std::size_t next_word(std::string_view text, std::size_t from) {
  const auto is_mark = [&](std::size_t at) {
    return text.substr(at, kSpaceMark.size()) == kSpaceMark;
  };
  std::size_t at = text.find(kSpaceMark, from + 1);
  while (at != std::string_view::npos) {
    if (at < kSpaceMark.size() || !is_mark(at - kSpaceMark.size())) {
      return at;
    }
    at = text.find(kSpaceMark, at + kSpaceMark.size());
  }
  return text.size();
}

unsigned char byte_before(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at - 1]);
}

}  // namespace

void WordCutter::learn(std::string_view token_text) {
  for (std::size_t at = next_word(token_text, 0); at < token_text.size();
       at = next_word(token_text, at)) {
    joins_[byte_before(token_text, at)] = true;
  }
}

std::size_t WordCutter::part_end(std::string_view text, std::size_t begin) const {
  std::size_t end = next_word(text, begin);
  while (end < text.size() && joins_[byte_before(text, end)]) {
    end = next_word(text, end);
  }
  return end;
}

}  // namespace plumb
