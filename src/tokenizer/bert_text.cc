// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bert_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "tokenizer/unicode.h"

namespace plumb {
namespace {

struct CharRange {
  char32_t first;
  char32_t last;
};

// The blocks of ideographs that the published code separates. That the seventh begins at 2B920 and
// not at 2B820 is its slip, and part of what models were trained with.
constexpr std::array<CharRange, 7> kIdeographs{{
    {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},
    {0xF900, 0xFAFF},
    {0x20000, 0x2A6DF},
    {0x2A700, 0x2B81F},
    {0x2B920, 0x2CEAF},
    {0x2F800, 0x2FA1F},
}};

bool is_ideograph(char32_t c) {
  return std::any_of(kIdeographs.begin(), kIdeographs.end(),
                     [c](const CharRange& range) { return c >= range.first && c <= range.last; });
}

bool is_bert_space(char32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Control, format and private characters, and the replacement character.
bool is_dropped(char32_t c) {
  if (c < 0x80) {
    return c < 0x20 || c == 0x7F;
  }
  if (c == 0xFFFD) {
    return true;
  }
  const std::string_view category = unicode_category(c);
  return category == "Cc" || category == "Cf" || category == "Co";
}

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80) {
    return c > 0x20 && c < 0x7F &&
           !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
  }
  return unicode_category(c).front() == 'P';
}

void append_cleaned(char32_t c, std::string_view bytes, const BertTextOptions& options,
                    std::string* out) {
  if (options.clean_text) {
    if (is_bert_space(c)) {
      out->push_back(' ');
      return;
    }
    if (is_dropped(c)) {
      return;
    }
    if (is_white_space(c)) {
      out->push_back(' ');
      return;
    }
  }
  const bool is_spaced = options.space_cjk && c >= kIdeographs.front().first && is_ideograph(c);
  out->append(is_spaced ? " " : "").append(bytes).append(is_spaced ? " " : "");
}

std::string drop_nonspacing_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const auto len = static_cast<std::size_t>(c.num_bytes);
    if (c.code_point < 0x80 || unicode_category(c.code_point) != "Mn") {
      out.append(text.substr(0, len));
    }
    text.remove_prefix(len);
  }
  return out;
}

}  // namespace

std::string normalize_bert(std::string_view text, const BertTextOptions& options) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const auto len = static_cast<std::size_t>(c.num_bytes);
    append_cleaned(c.code_point, text.substr(0, len), options, &out);
    text.remove_prefix(len);
  }
  if (options.strip_accents) {
    out = drop_nonspacing_marks(to_unicode_form(out, UnicodeForm::kNfd));
  }
  return options.lowercase ? to_lower_unicode(out) : out;
}

void split_bert_words(std::string_view text, std::vector<std::string_view>* words) {
  std::size_t begin = 0;  // of the word under way
  const auto end_word = [&](std::size_t end) {
    if (begin < end) {
      words->push_back(text.substr(begin, end - begin));
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(at));
    const std::size_t next = at + static_cast<std::size_t>(c.num_bytes);
    const bool is_punctuation = is_bert_punctuation(c.code_point);
    if (is_punctuation || is_white_space(c.code_point)) {
      end_word(at);
      begin = is_punctuation ? at : next;
      if (is_punctuation) {
        end_word(next);
        begin = next;
      }
    }
    at = next;
  }
  end_word(text.size());
}

}  // namespace plumb
