// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/symbol_merge.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cutter.h"

namespace plumb {

/// SentencePiece's BPE: neighbours join if their text is a token, the best score first.
///
/// Only normal, user-defined and unused tokens take part, so no text spells a control token.
/// A character without token becomes its <0xNN> tokens; in a vocabulary without those, the unknown
/// token. Thread: any (immutable; the vocabulary must outlive it).
class SpmModel {
 public:
  SpmModel(const Vocab& vocab, TokenId unknown);

  /// Appends the tokens of a text in which spaces are U+2581 already. Cost: O(n log n).
  void encode(std::string_view text, MergeScratch* scratch, std::vector<TokenId>* out) const;

 private:
  TokenId find(std::string_view text) const;
  void encode_piece(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const;
  void emit(std::string_view text, TokenId token, std::vector<TokenId>* out) const;

  const Vocab& vocab_;
  TokenId unknown_;
  std::vector<std::int32_t> ranks_;   // by token: position of its score among all, best first
  std::vector<TokenId> byte_tokens_;  // 256
  WordCutter cutter_;
};

}  // namespace plumb
