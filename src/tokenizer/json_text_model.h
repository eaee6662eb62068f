// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tokenizer/added_token_splitter.h"
#include "tokenizer/json_pre_tokenizer.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/text_model.h"
#include "tokenizer/wordpiece_model.h"

namespace plumb {

/// The kinds of `model` that a tokenizer.json may have.
using JsonModel = std::variant<BpeModel, UnigramModel, WordPieceModel>;

/// The pipeline of a tokenizer.json: normalizer, added tokens of the normalised text,
/// pre-tokenizer, model.
class JsonTextModel final : public TextModel {
 public:
  struct Stages {
    Normalizer normalizer;
    JsonPreTokenizer pre_tokenizer;
    JsonModel model;
    std::vector<AddedToken> normalized_tokens;  ///< content is normalised already
    std::vector<std::string> raw_specials;      ///< special ones of these as the file writes them
  };

  explicit JsonTextModel(Stages stages)
      : normalizer_(std::move(stages.normalizer)),
        splitter_(stages.normalized_tokens),
        pre_tokenizer_(std::move(stages.pre_tokenizer)),
        model_(std::move(stages.model)),
        raw_specials_(std::move(stages.raw_specials)) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

  bool can_make_special(std::string_view text, const ByteRange& data) const override;

 private:
  void encode_piece(std::string_view piece, EncodeScratch* scratch,
                    std::vector<TokenId>* out) const;

  Normalizer normalizer_;
  AddedTokenSplitter splitter_;
  JsonPreTokenizer pre_tokenizer_;
  JsonModel model_;
  std::vector<std::string> raw_specials_;
};

}  // namespace plumb
