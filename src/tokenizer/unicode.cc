// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>
#include <utility>
#include <vector>

#include "base/text.h"

namespace plumb {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

int combining_class(utf8proc_int32_t c) {
  return utf8proc_get_property(c)->combining_class;
}

// utf8proc's own ordering is quadratic in the length of a run of marks.
void order_marks(std::vector<utf8proc_int32_t>* chars) {
  for (auto begin = chars->begin(); begin != chars->end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, chars->end(),
                                  [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

std::vector<utf8proc_int32_t> decompose(std::string_view text, int options) {
  constexpr std::size_t kMaxExpansion = 32;  // the longest of Unicode is 18
  std::vector<utf8proc_int32_t> chars;
  std::array<utf8proc_int32_t, kMaxExpansion> buffer{};
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    int boundary = 0;
    const auto num =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code_point), buffer.data(),
                                kMaxExpansion, static_cast<utf8proc_option_t>(options), &boundary);
    if (num > 0 && num <= static_cast<utf8proc_ssize_t>(kMaxExpansion)) {
      chars.insert(chars.end(), buffer.begin(), buffer.begin() + num);
    } else {
      chars.push_back(static_cast<utf8proc_int32_t>(c.code_point));
    }
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return chars;
}

}  // namespace

std::string to_unicode_form(std::string_view text, UnicodeForm form) {
  if (is_ascii(text)) {
    return std::string(text);
  }
  const bool compat = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  const bool compose = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const int options =
      UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE);
  std::vector<utf8proc_int32_t> chars = decompose(text, options);
  order_marks(&chars);
  if (compose) {
    const auto num = utf8proc_normalize_utf32(
        chars.data(), static_cast<utf8proc_ssize_t>(chars.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    chars.resize(num < 0 ? chars.size() : static_cast<std::size_t>(num));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : chars) {
    append_utf8(&out, static_cast<char32_t>(c));
  }
  return out;
}

std::string to_lower_unicode(std::string_view text) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  constexpr char32_t kDotAbove = 0x307;
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.code_point == kCapitalIWithDot) {
      out.push_back('i');
      append_utf8(&out, kDotAbove);
    } else {
      append_utf8(&out, static_cast<char32_t>(
                            utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code_point))));
    }
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return out;
}

std::string drop_marks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const auto len = static_cast<std::size_t>(c.num_bytes);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.code_point));
    if (category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC &&
        category != UTF8PROC_CATEGORY_ME) {
      out.append(text.substr(0, len));
    }
    text.remove_prefix(len);
  }
  return out;
}

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_word_char(char32_t c) {
  // Alphabetic symbols (circled and squared letters) and the two joiners.
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189) || c == 0x200C ||
      c == 0x200D) {
    return true;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

std::string_view unicode_category(char32_t c) {
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
}

char32_t fold_case(char32_t c) {
  return static_cast<char32_t>(
      utf8proc_tolower(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

std::size_t grapheme_len(std::string_view text) {
  Utf8Char c = decode_utf8(text);
  auto len = static_cast<std::size_t>(c.num_bytes);
  utf8proc_int32_t state = 0;
  while (len < text.size()) {
    const Utf8Char next = decode_utf8(text.substr(len));
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code_point),
                                         static_cast<utf8proc_int32_t>(next.code_point), &state)) {
      break;
    }
    len += static_cast<std::size_t>(next.num_bytes);
    c = next;
  }
  return len;
}

}  // namespace plumb
