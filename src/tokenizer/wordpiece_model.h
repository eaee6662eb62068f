// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/aho_corasick.h"
#include "tokenizer/vocab.h"

namespace plumb {

struct WordPieceOptions {
  TokenId unknown = kNoToken;
  std::int64_t max_word_chars = 100;  ///< a longer word is unknown
};

/// Cuts a word from the left into the longest tokens there are; a word that cannot be cut whole is
/// one unknown token. Thread: any (immutable).
class WordPieceModel {
 public:
  /// A token as it is matched: without mark of its place.
  struct Piece {
    std::string_view text;
    TokenId id = kNoToken;
  };

  /// `initial` begin a word, `continuing` go on inside one.
  WordPieceModel(const std::vector<Piece>& initial, const std::vector<Piece>& continuing,
                 const WordPieceOptions& options);

  /// Requires text is valid UTF-8. Cost: O(bytes * longest token).
  void encode_word(std::string_view word, std::vector<TokenId>* out) const;

 private:
  class Lexicon {
   public:
    explicit Lexicon(const std::vector<Piece>& pieces);

    /// The longest token at the front of text; kNoToken if there is none.
    TokenId longest_prefix(std::string_view text, std::size_t* num_bytes) const;

   private:
    AhoCorasick trie_;
    std::vector<TokenId> ids_;  // by pattern of the trie
  };

  Lexicon initial_;
  Lexicon continuing_;
  WordPieceOptions options_;
};

/// The model of a vocabulary that writes "##x" for what goes on inside a word.
WordPieceModel wordpiece_with_prefix(const Vocab& vocab, std::string_view prefix,
                                     const WordPieceOptions& options);

/// The model of a vocabulary that writes U+2581 before what begins a word. Control tokens are of
/// neither kind.
WordPieceModel wordpiece_with_mark(const Vocab& vocab, const WordPieceOptions& options);

}  // namespace plumb
