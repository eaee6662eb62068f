// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/aho_corasick.h"
#include "tokenizer/vocab.h"

namespace plumb {

struct UnigramOptions {
  TokenId unknown = kNoToken;
  bool byte_fallback = false;      ///< an unknown stretch becomes its <0xNN> tokens if all exist
  bool match_byte_tokens = false;  ///< the text "<0x41>" is that token, as in `tokenizers`
  std::vector<double> exact_scores{};  ///< by token, where the file has more digits than Vocab
};

/// The segmentation of highest total score (Viterbi over character boundaries, in double).
///
/// A character without a token of its own costs the lowest score minus 10 and becomes the unknown
/// token; neighbours share one. Of equal scores the longer last token wins. Thread: any.
class UnigramModel {
 public:
  UnigramModel(const Vocab& vocab, const UnigramOptions& options);

  /// Cost: O(bytes * longest token). Requires text is valid UTF-8.
  void encode(std::string_view text, std::vector<TokenId>* out) const;

 private:
  struct Step {  // the best way to reach a position
    double score;
    std::size_t begin;  // of the last token
    TokenId token;
    bool reached;
  };

  void extend(std::string_view text, std::size_t begin, std::vector<Step>* steps) const;
  void emit_unknown(std::string_view text, std::vector<TokenId>* out) const;

  struct Piece {
    TokenId id;
    double score;
  };

  AhoCorasick trie_;
  std::vector<Piece> pieces_;  // by pattern of the trie
  TokenId unknown_;
  double unknown_score_ = 0;
  std::vector<TokenId> byte_tokens_;
};

}  // namespace plumb
