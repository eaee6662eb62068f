// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/json_text_model.h"

#include <algorithm>

namespace plumb {

void JsonTextModel::encode_piece(std::string_view piece, EncodeScratch* scratch,
                                 std::vector<TokenId>* out) const {
  if (const auto* bpe = std::get_if<BpeModel>(&model_)) {
    bpe->encode_piece(piece, &scratch->merge, out);
  } else if (const auto* words = std::get_if<WordPieceModel>(&model_)) {
    words->encode_word(piece, out);
  } else {
    std::get<UnigramModel>(model_).encode(piece, out);
  }
}

bool JsonTextModel::can_make_special(std::string_view text, const ByteRange& data) const {
  if (raw_specials_.empty()) {
    return false;
  }
  std::string normalized(text.substr(data.begin, data.end - data.begin));
  RegexScratch scratch;
  normalizer_.apply(&normalized, &scratch);
  return splitter_.has_special(normalized) ||
         std::any_of(raw_specials_.begin(), raw_specials_.end(), [&](const std::string& special) {
           // All places at which an occurrence would touch the data.
           const std::size_t reach = special.size() - 1;
           const std::size_t begin = data.begin - std::min(data.begin, reach);
           const std::string_view window = text.substr(begin, data.end + reach - begin);
           return window.find(special) != std::string_view::npos ||
                  normalized.find(special) != std::string::npos;
         });
}

void JsonTextModel::encode(std::string_view text, const FragmentContext& context,
                           EncodeScratch* scratch, std::vector<TokenId>* out) const {
  PieceList& list = scratch->pieces;
  if (!normalizer_.empty()) {
    scratch->text.assign(text);
    normalizer_.apply(&scratch->text, &list.regex);
    text = scratch->text;
  }
  std::vector<Fragment> fragments;
  splitter_.split(text, {.parse_special = context.allow_special}, &fragments);
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    if (fragments[i].token != kNoToken) {
      out->push_back(fragments[i].token);
      continue;
    }
    pre_tokenizer_.split(fragments[i].text, context.is_first && i == 0, &list);
    for (const std::string_view piece : list.pieces) {
      encode_piece(piece, scratch, out);
    }
  }
}

}  // namespace plumb
