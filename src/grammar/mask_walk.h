// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/grammar_vocab.h"
#include "grammar/row_store.h"

namespace plumb {

/// Finds the tokens that may come at a parse position.
///
/// A token that stays inside one terminal is allowed without asking the parser, and which ones do
/// is known for each state of each automaton. The others leave a terminal on their way; the trie is
/// walked below the points where they do, with the parser.
/// Thread  one at a time.
class MaskWalk {
 public:
  /// Requires both outlive the walk.
  MaskWalk(const GrammarVocab& vocab, RowStore* store) : vocab_(vocab), store_(*store) {}

  /// Sets the bits of the allowed tokens, end tokens included. False if a limit of the store was
  /// exceeded. Requires a mask of num_mask_words() zeros.
  bool fill(RowId row, std::span<std::uint32_t> mask);

  /// Whether some token that begins with those bytes and is longer may come, given the row after
  /// them. Requires they are not empty.
  bool has_longer_token(std::string_view bytes, RowId after);

 private:
  void add_inside(RowId row, std::span<std::uint32_t> mask);
  RowId row_before(std::uint32_t node);
  bool walk_range(TokenClass::Range range, std::span<std::uint32_t> mask);

  const GrammarVocab& vocab_;
  RowStore& store_;
  std::vector<TokenClass::Range> exits_;
  std::vector<RowId> path_rows_;  // the rows along path_; [0] is the position itself
  std::string_view path_;         // the bytes for which path_rows_ is valid
};

}  // namespace plumb
