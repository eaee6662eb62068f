// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/spm_model.h"

#include <algorithm>
#include <functional>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";

bool takes_part(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined ||
         type == TokenType::kUnused;
}

// Position after `from` of a U+2581 that follows another character; size() if none.
std::size_t next_word(std::string_view text, std::size_t from) {
  const auto is_mark = [&](std::size_t at) { return text.substr(at, kSpace.size()) == kSpace; };
  std::size_t at = text.find(kSpace, from + 1);
  while (at != std::string_view::npos) {
    if (at < kSpace.size() || !is_mark(at - kSpace.size())) {
      return at;
    }
    at = text.find(kSpace, at + kSpace.size());
  }
  return text.size();
}

}  // namespace

SpmModel::SpmModel(const Vocab& vocab, TokenId unknown)
    : vocab_(vocab),
      unknown_(unknown),
      byte_tokens_(vocab.byte_tokens()),
      joins_words_(256, false) {
  std::vector<float> scores;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    scores.push_back(vocab.score(id));
    const std::string_view text = vocab.text(id);
    for (std::size_t at = 0; takes_part(vocab.type(id)) && at < text.size();) {
      at = next_word(text, at);
      if (at < text.size()) {
        joins_words_[static_cast<unsigned char>(text[at - 1])] = true;
      }
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

std::size_t SpmModel::word_end(std::string_view text, std::size_t begin) const {
  std::size_t end = next_word(text, begin);
  while (end < text.size() && joins_words_[static_cast<unsigned char>(text[end - 1])]) {
    end = next_word(text, end);
  }
  return end;
}

void SpmModel::encode(std::string_view text, MergeScratch* scratch,
                      std::vector<TokenId>* out) const {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(text, begin);
    encode_piece(text.substr(begin, end - begin), scratch, out);
    begin = end;
  }
}

}  // namespace plumb
