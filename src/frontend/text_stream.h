// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/choice.h"
#include "request/request.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/stop_matcher.h"
#include "tokenizer/stop_regex.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

struct TextStreamOptions {
  std::vector<std::string> stops;
  std::shared_ptr<const StopRegex> stop_regex;  ///< compiled once for all choices; may be null
  std::int64_t min_tokens = 0;                  ///< the text of that many tokens is not tested
  bool include_stop_str = false;
  bool skip_special_tokens = true;
  bool at_text_start = false;  ///< the prompt is empty: the first token begins a text
};

/// Turns the token events of one sequence into text: detokenises, looks for stop strings, and
/// releases each token together with the text that it ended. A token of which a stop string cuts
/// off a part belongs to the text when any of its bytes do, so that every byte has its token.
///
/// Thread: any single one. Cost: amortised O(bytes).
class TextStream {
 public:
  /// The tokenizer must outlive it.
  TextStream(const Tokenizer& tokenizer, const TextStreamOptions& options);

  /// Takes an event; returns the text and tokens that are certain now. After a stop string has
  /// matched, later tokens are dropped.
  ChoiceDelta consume(const StreamEvent& event);

  /// The stop string or expression that ended the text, if one has matched.
  std::optional<std::string> matched_stop() const;

  /// Not ok once a stop expression took too long; the text must not go on.
  const Status& status() const { return matcher_.status(); }

  /// Tokens taken, up to the one that completed a stop string.
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  struct Pending {
    TokenText token;
    std::int64_t text_begin;  // bytes of text before the token
    std::int64_t text_end;    // bytes of text after which the token is complete
  };

  void take(const EmittedToken& token, std::string* text);
  TokenText describe(const EmittedToken& token) const;
  void release(bool is_last, ChoiceDelta* delta);

  const Tokenizer& tokenizer_;
  std::int64_t min_tokens_;
  bool include_stop_str_;
  Detokenizer detokenizer_;
  StopMatcher matcher_;
  std::deque<Pending> pending_;
  std::int64_t num_tokens_ = 0;
  std::int64_t decoded_bytes_ = 0;
  std::int64_t emitted_bytes_ = 0;
};

}  // namespace plumb
