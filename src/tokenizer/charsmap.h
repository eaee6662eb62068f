// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plumb {

/// SentencePiece's compiled normalisation table: a double-array trie from text to replacement.
/// Thread: any (immutable).
class Charsmap {
 public:
  struct Match {
    std::size_t num_bytes = 0;  ///< of the text replaced; 0 = no match
    std::string_view replacement;
  };

  /// bytes: u32 size of the trie, the trie, NUL-ended replacements. An empty table maps nothing.
  /// Errors: kInvalidArgument if the size does not fit.
  static Result<Charsmap> create(std::string_view bytes);

  Charsmap() = default;

  /// The longest entry that is a prefix of the text.
  Match longest_match(std::string_view text) const;

  /// The shortest one.
  Match shortest_match(std::string_view text) const;

  bool empty() const { return units_.empty(); }

 private:
  Match match(std::string_view text, bool longest) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace plumb
