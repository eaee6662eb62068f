// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace plumb {

/// Finds where a text in which spaces are U+2581 can be cut without changing its tokens: before a
/// U+2581 that no token has after such a character. Thread: any after the last learn().
class WordCutter {
 public:
  /// Takes note of a text that merging may produce.
  void learn(std::string_view token_text);

  /// End of the part that begins at `begin`. Requires begin < text.size().
  std::size_t part_end(std::string_view text, std::size_t begin) const;

 private:
  // By the last byte of a character: some token has U+2581 after it.
  std::array<bool, 256> joins_{};
};

}  // namespace plumb
