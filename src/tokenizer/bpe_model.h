// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/merge_table.h"
#include "tokenizer/symbol_merge.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cutter.h"

namespace plumb {

/// The two sides of a merge, as text of the vocabulary.
struct MergePair {
  std::string_view left;
  std::string_view right;
};

struct BpeOptions {
  bool byte_level = true;      ///< symbols are bytes, written with byte_map.h; else characters
  bool ignore_merges = false;  ///< a piece that is a token is taken whole
  bool byte_fallback = false;  ///< a character without token becomes its <0xNN> tokens
  TokenId unknown = kNoToken;  ///< for what remains; kNoToken = dropped before merging
  bool fuse_unknown = false;   ///< neighbouring unknown symbols give one token
};

/// Byte-pair encoding by ranked merges. Thread: any (immutable).
///
/// A merge that would give a control token is left out, so that no text spells one.
class BpeModel {
 public:
  /// rank of a merge = its position; of equal pairs the first counts.
  BpeModel(const Vocab& vocab, const std::vector<MergePair>& merges, const BpeOptions& options);

  /// Appends the tokens of one piece. Cost: O(n log n).
  void encode_piece(std::string_view piece, MergeScratch* scratch, std::vector<TokenId>* out) const;

  /// The token whose text is exactly the piece, if the model could produce it; else kNoToken.
  TokenId whole_piece(std::string_view piece) const;

 private:
  std::int32_t add_symbol(std::string_view vocab_text);
  void fill_symbols(std::string_view piece, std::vector<Symbol>* symbols) const;
  void encode_part(std::string_view part, MergeScratch* scratch, bool* after_unknown,
                   std::vector<TokenId>* out) const;
  void emit(std::string_view piece, const Symbol& symbol, bool* after_unknown,
            std::vector<TokenId>* out) const;

  BpeOptions options_;
  StringTable symbols_;              // raw bytes if byte_level
  std::vector<TokenId> tokens_;      // by symbol; kNoToken = none
  std::vector<bool> is_text_token_;  // by symbol: a token that is not control or unknown
  MergeTable merges_;
  WordCutter cutter_;                       // for symbols that are characters
  std::vector<std::int32_t> byte_symbols_;  // 256: symbol of a byte (or ASCII character), or -1
  std::vector<TokenId> byte_tokens_;        // 256 if byte_fallback
};

}  // namespace plumb
