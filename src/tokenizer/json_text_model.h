// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tokenizer/added_token_splitter.h"
#include "tokenizer/json_pre_tokenizer.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/text_model.h"

namespace plumb {

/// The pipeline of a tokenizer.json: normalizer, added tokens of the normalised text,
/// pre-tokenizer, model.
class JsonTextModel final : public TextModel {
 public:
  struct Stages {
    Normalizer normalizer;
    JsonPreTokenizer pre_tokenizer;
    std::variant<BpeModel, UnigramModel> model;
    std::vector<AddedToken> normalized_tokens;  ///< content is normalised already
  };

  explicit JsonTextModel(Stages stages)
      : normalizer_(std::move(stages.normalizer)),
        splitter_(stages.normalized_tokens),
        pre_tokenizer_(std::move(stages.pre_tokenizer)),
        model_(std::move(stages.model)) {}

  void encode(std::string_view text, const FragmentContext& context, EncodeScratch* scratch,
              std::vector<TokenId>* out) const override;

 private:
  void encode_piece(std::string_view piece, EncodeScratch* scratch,
                    std::vector<TokenId>* out) const;

  Normalizer normalizer_;
  AddedTokenSplitter splitter_;
  JsonPreTokenizer pre_tokenizer_;
  std::variant<BpeModel, UnigramModel> model_;
};

}  // namespace plumb
