// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

enum class UnicodeForm : unsigned char { kNfc, kNfd, kNfkc, kNfkd };

/// Text in a Unicode normalisation form. Requires valid UTF-8. Cost: O(n log n), also for long runs
/// of combining marks.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

/// Lower case character by character, without context (U+0130 becomes i and U+0307).
std::string to_lower_unicode(std::string_view text);

/// Text without its combining marks (categories Mn, Mc, Me).
std::string drop_marks(std::string_view text);

bool is_white_space(char32_t c);  ///< the 25 characters of White_Space

/// A character of an identifier: alphabetic, mark, decimal digit, connector or joiner.
bool is_word_char(char32_t c);

/// The two letters of its general category, "Lu"; "Cn" for what is not assigned.
std::string_view unicode_category(char32_t c);

/// Equal for characters that differ in case only, one to one.
char32_t fold_case(char32_t c);

/// Bytes of the first extended grapheme cluster. Requires text is not empty and valid UTF-8.
std::size_t grapheme_len(std::string_view text);

}  // namespace plumb
