// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/aho_corasick.h"

namespace plumb {

/// Cuts a stream of text before the first stop string.
///
/// Held back is exactly the longest suffix of the text that could still become a stop string.
/// The stop string that ends first wins, of several the longest. Text pushed in whole characters
/// is released in whole characters. Thread: one. Cost: amortised O(1) per byte.
class StopMatcher {
 public:
  static constexpr std::int64_t kNone = -1;

  /// Empty stop strings never match.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Appends to *out what may be emitted. True once a stop string ended; the text from its start
  /// on, and all text pushed later, is dropped.
  bool push(std::string_view text, std::string* out);

  /// Appends to *out what was held back: the text ends here.
  void flush(std::string* out);

  /// Position in the constructor's list of the stop string found; kNone before.
  std::int64_t matched() const { return matched_; }

  std::string_view held() const { return held_; }

 private:
  AhoCorasick automaton_;
  std::int32_t state_ = AhoCorasick::kRoot;
  std::string held_;
  std::int64_t matched_ = kNone;
};

}  // namespace plumb
