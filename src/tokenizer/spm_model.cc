// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/spm_model.h"

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace plumb {
namespace {

bool takes_part(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined ||
         type == TokenType::kUnused;
}

}  // namespace

SpmModel::SpmModel(const Vocab& vocab, TokenId unknown)
    : vocab_(vocab), unknown_(unknown), byte_tokens_(vocab.byte_tokens()) {
  std::vector<float> scores;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    scores.push_back(vocab.score(id));
    if (takes_part(vocab.type(id))) {
      cutter_.learn(vocab.text(id));
    }
  }
  std::vector<float> levels = scores;
  std::sort(levels.begin(), levels.end(), std::greater<>());
  for (const float score : scores) {
    const auto level = std::lower_bound(levels.begin(), levels.end(), score, std::greater<>());
    ranks_.push_back(static_cast<std::int32_t>(level - levels.begin()));
  }
}

TokenId SpmModel::find(std::string_view text) const {
  const TokenId id = vocab_.find(text);
  return id != kNoToken && takes_part(vocab_.type(id)) ? id : kNoToken;
}

void SpmModel::emit(std::string_view text, TokenId token, std::vector<TokenId>* out) const {
  if (token != kNoToken) {
    out->push_back(token);
    return;
  }
  for (const char c : text) {
    TokenId byte = byte_tokens_[static_cast<unsigned char>(c)];
    byte = byte != kNoToken ? byte : find(std::string_view(&c, 1));
    if (byte != kNoToken) {
      out->push_back(byte);
    } else if (unknown_ != kNoToken) {
      out->push_back(unknown_);
      return;
    }
  }
}

void SpmModel::encode_piece(std::string_view piece, MergeScratch* scratch,
                            std::vector<TokenId>* out) const {
  std::vector<Symbol>& symbols = scratch->symbols;
  symbols.clear();
  for (std::size_t at = 0; at < piece.size();) {
    const auto len = static_cast<std::size_t>(decode_utf8(piece.substr(at)).num_bytes);
    symbols.push_back({find(piece.substr(at, len)), static_cast<std::uint32_t>(at),
                       static_cast<std::uint32_t>(at + len)});
    at += len;
  }
  merge_symbols(scratch, [&](const Symbol& left, const Symbol& right) {
    const TokenId joined = find(piece.substr(left.begin, right.end - left.begin));
    return joined == kNoToken ? Merge{} : Merge{ranks_[static_cast<std::size_t>(joined)], joined};
  });
  for (const Symbol& symbol : symbols) {
    emit(piece.substr(symbol.begin, symbol.end - symbol.begin), symbol.id, out);
  }
}

void SpmModel::encode(std::string_view text, MergeScratch* scratch,
                      std::vector<TokenId>* out) const {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = cutter_.part_end(text, begin);
    encode_piece(text.substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

}  // namespace plumb
