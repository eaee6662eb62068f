// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/token_id.h"

namespace plumb {

class Tokenizer;

/// Turns a byte stream into well-formed UTF-8 as it arrives.
///
/// Held back is only a tail of at most 3 bytes that a further byte could still complete; each
/// maximal ill-formed subsequence becomes one U+FFFD. Thread: one. Cost: linear.
class Utf8Stream {
 public:
  void push(std::string_view bytes, std::string* out);

  /// The stream ends: what is held becomes U+FFFD.
  void flush(std::string* out);

  std::string_view held() const { return held_; }

 private:
  std::string held_;
};

/// Text of a growing list of tokens, exact and never ending inside a character.
/// Thread: one. Cost: O(bytes of the token) per token.
class Detokenizer {
 public:
  struct Options {
    bool skip_special = true;    ///< control and unknown tokens give no text
    bool at_text_start = false;  ///< the first token begins a text, not a continuation of a prompt
  };

  /// The tokenizer must outlive it.
  Detokenizer(const Tokenizer& tokenizer, const Options& options);

  /// Appends to *out the text that is certain after this token. An id outside the vocabulary gives
  /// nothing.
  void push(TokenId id, std::string* out);

  /// The text ends: appends what is held back.
  void flush(std::string* out) { utf8_.flush(out); }

  std::string_view held() const { return utf8_.held(); }

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool strip_space_;  // the next byte of text is dropped if it is a space
  Utf8Stream utf8_;
};

}  // namespace plumb
