// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_model.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/fragment.h"
#include "tokenizer/json_pre_tokenizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/spm_model.h"
#include "tokenizer/unigram_model.h"
#include "tokenizer/wordpiece_model.h"

namespace plumb {

/// Memory that one encode call reuses from fragment to fragment. Thread: one.
struct EncodeScratch {
  SplitScratch split;
  MergeScratch merge;
  PieceList pieces;
  std::string text;
};

/// What a model knows about the place of a fragment.
struct FragmentContext {
  bool is_first = false;       ///< the input begins with it
  bool allow_special = false;  ///< special tokens may be matched in its normalised text
};

/// Turns text without special tokens into ids. Thread: any (immutable).
class TextModel {
 public:
  TextModel() = default;
  TextModel(const TextModel&) = delete;
  TextModel& operator=(const TextModel&) = delete;
  virtual ~TextModel() = default;

  /// Appends the ids of one fragment. Requires text is valid UTF-8 and not empty.
  virtual void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
                      std::vector<TokenId>* out) const = 0;

  /// True if bytes of `data`, a range of the text, could become part of a special token that the
  /// model itself matches after normalisation.
  virtual bool can_make_special(std::string_view /*text*/, const ByteRange& /*data*/) const {
    return false;
  }
};

/// Byte-level BPE inside the pieces of a pre-tokenizer.
class ByteBpeTextModel final : public TextModel {
 public:
  ByteBpeTextModel(PreTokenizer splits, BpeModel model)
      : splits_(std::move(splits)), model_(std::move(model)) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  PreTokenizer splits_;
  BpeModel model_;
};

/// SentencePiece BPE: spaces are U+2581, each fragment may get one in front.
class SpmTextModel final : public TextModel {
 public:
  SpmTextModel(SpmModel model, bool add_space_prefix)
      : model_(std::move(model)), add_space_prefix_(add_space_prefix) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  SpmModel model_;
  bool add_space_prefix_;
};

/// Character BPE by ranked merges over lines, spaces as U+2581; a run of line breaks that is a
/// token is taken whole.
class LineBpeTextModel final : public TextModel {
 public:
  LineBpeTextModel(PreTokenizer splits, BpeModel model)
      : splits_(std::move(splits)), model_(std::move(model)) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  PreTokenizer splits_;
  BpeModel model_;
};

/// Unigram after SentencePiece's normalisation.
class UnigramTextModel final : public TextModel {
 public:
  struct Spaces {
    bool remove_extra = true;  ///< drop leading and trailing ones, collapse runs
    bool add_prefix = true;    ///< U+2581 before the first word
  };

  UnigramTextModel(UnigramModel model, Charsmap charsmap, Spaces spaces)
      : model_(std::move(model)), charsmap_(std::move(charsmap)), spaces_(spaces) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  UnigramModel model_;
  Charsmap charsmap_;
  Spaces spaces_;
};

/// WordPiece over the words of BERT's basic tokenizer.
class BertTextModel final : public TextModel {
 public:
  explicit BertTextModel(WordPieceModel model) : model_(std::move(model)) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  WordPieceModel model_;
};

/// Appends text with every space replaced by U+2581.
void append_with_marked_spaces(std::string_view text, std::string* out);

}  // namespace plumb
