// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/aho_corasick.h"
#include "tokenizer/stop_regex.h"

namespace plumb {

/// Cuts a stream of text before the first stop string or match of a stop expression.
///
/// Held back is exactly the longest suffix of the text that could still become a stop string, and
/// what could still be or become part of a match of the expressions. What ends first wins: of
/// several stop strings the longest, and a stop string before a match that ends with it. However
/// the text is cut into pieces, the outcome is that of a search in the text up to there.
/// Text pushed in whole characters is released in whole characters.
/// Thread  one.
/// Cost    amortised O(1) per byte for strings; one search of the held text per push for
///         expressions.
class StopMatcher {
 public:
  /// Empty stop strings never match. `regex` may be null.
  explicit StopMatcher(std::vector<std::string> stops,
                       std::shared_ptr<const StopRegex> regex = nullptr);
  ~StopMatcher();
  StopMatcher(StopMatcher&&) noexcept;
  StopMatcher& operator=(StopMatcher&&) = delete;

  /// Appends to *out what may be emitted. True once a stop ended; the text from its start on, and
  /// all text pushed later, is dropped.
  bool push(std::string_view text, std::string* out);

  /// The text ends here: appends to *out what was held back, up to a match that only the end of the
  /// text made one. True as push().
  bool flush(std::string* out);

  bool has_matched() const { return has_matched_; }

  /// The stop string, or the pattern, that matched. Requires has_matched().
  const std::string& stop() const { return stop_; }

  /// The text that matched: that of the stop string, or what the pattern stands for.
  const std::string& matched_text() const { return matched_text_; }

  /// kInvalidArgument once a search was given up: the text must not go on.
  const Status& status() const { return status_; }

  std::string_view held() const { return std::string_view(buffer_).substr(num_released_); }

 private:
  std::size_t find_string(std::string_view text, std::size_t* num_bytes);
  bool search(bool is_end, std::size_t last_end, std::string* out);
  void release(std::size_t end, std::string* out);
  bool stop_at(std::size_t begin, std::size_t end, std::string stop, std::string* out);

  std::vector<std::string> stops_;
  AhoCorasick automaton_;
  std::int32_t state_ = AhoCorasick::kRoot;
  std::shared_ptr<const StopRegex> regex_;
  std::unique_ptr<StopRegexSearch> search_;
  std::string buffer_;            // some released text (the expressions may look back), then held
  std::size_t num_released_ = 0;  // bytes of buffer_
  std::size_t search_from_ = 0;   // no match begins before that byte of buffer_
  bool has_matched_ = false;
  std::string stop_;
  std::string matched_text_;
  Status status_;
};

}  // namespace plumb
