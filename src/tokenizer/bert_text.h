// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

struct BertTextOptions {
  bool clean_text = true;     ///< drops control characters, makes every white space a space
  bool space_cjk = true;      ///< a space on both sides of each CJK ideograph
  bool strip_accents = true;  ///< decomposes (NFD) and drops nonspacing marks
  bool lowercase = true;      ///< character by character, without context
};

/// Text as BERT vocabularies want it. Requires valid UTF-8. Cost: O(n log n), also for long runs of
/// combining marks.
/// Source  Devlin et al. 2018, the basic tokenizer of the published code.
std::string normalize_bert(std::string_view text, const BertTextOptions& options);

/// Appends the words of text: white space ends one and is dropped, each punctuation character
/// (ASCII symbols included) is one of its own. Requires valid UTF-8. Cost: linear.
void split_bert_words(std::string_view text, std::vector<std::string_view>* words);

}  // namespace plumb
