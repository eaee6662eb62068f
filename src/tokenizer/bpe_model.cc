// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_model.h"

#include <string>

#include "base/text.h"
#include "tokenizer/byte_map.h"

namespace plumb {

BpeModel::BpeModel(const Vocab& vocab, const std::vector<MergePair>& merges,
                   const BpeOptions& options)
    : options_(options) {
  symbols_.reserve(vocab.size());
  merges_.reserve(static_cast<std::int64_t>(merges.size()));
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::int32_t symbol = add_symbol(vocab.text(id));
    if (symbol < 0) {
      continue;
    }
    const TokenType type = vocab.type(id);
    tokens_[static_cast<std::size_t>(symbol)] = id;
    is_text_token_[static_cast<std::size_t>(symbol)] =
        type != TokenType::kControl && type != TokenType::kUnknown;
  }
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::int32_t left = add_symbol(merges[i].left);
    const std::int32_t right = add_symbol(merges[i].right);
    joined.assign(merges[i].left).append(merges[i].right);
    const std::int32_t result = add_symbol(joined);
    if (left < 0 || right < 0 || result < 0) {
      continue;
    }
    const TokenId token = tokens_[static_cast<std::size_t>(result)];
    if (token == kNoToken || vocab.type(token) != TokenType::kControl) {
      merges_.insert(left, right, {static_cast<std::int32_t>(i), result});
      cutter_.learn(joined);
    }
  }
  byte_symbols_.assign(256, -1);
  for (std::size_t byte = 0; byte < (options_.byte_level ? 256U : 128U); ++byte) {
    const char c = static_cast<char>(static_cast<unsigned char>(byte));
    byte_symbols_[byte] = symbols_.find(std::string_view(&c, 1));
  }
  if (options_.byte_fallback) {
    byte_tokens_ = vocab.byte_tokens();
  }
}

std::int32_t BpeModel::add_symbol(std::string_view vocab_text) {
  std::string bytes;
  if (options_.byte_level) {
    if (!from_byte_chars(vocab_text, &bytes)) {
      return -1;
    }
    vocab_text = bytes;
  }
  const std::int32_t symbol = symbols_.intern(vocab_text);
  if (static_cast<std::size_t>(symbol) == tokens_.size()) {
    tokens_.push_back(kNoToken);
    is_text_token_.push_back(false);
  }
  return symbol;
}

TokenId BpeModel::whole_piece(std::string_view piece) const {
  const std::int32_t symbol = symbols_.find(piece);
  return symbol >= 0 && is_text_token_[static_cast<std::size_t>(symbol)]
             ? tokens_[static_cast<std::size_t>(symbol)]
             : kNoToken;
}

void BpeModel::fill_symbols(std::string_view piece, std::vector<Symbol>* symbols) const {
  symbols->clear();
  std::size_t at = 0;
  while (at < piece.size()) {
    const auto lead = static_cast<unsigned char>(piece[at]);
    std::size_t len = 1;
    std::int32_t id = byte_symbols_[lead];
    if (!options_.byte_level && lead >= 0x80) {
      len = static_cast<std::size_t>(decode_utf8(piece.substr(at)).num_bytes);
      id = symbols_.find(piece.substr(at, len));
    }
    if (id < 0 && !options_.byte_fallback && options_.unknown == kNoToken) {
      at += len;  // neighbours of a dropped symbol may still merge
      continue;
    }
    symbols->push_back({id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + len)});
    at += len;
  }
}

void BpeModel::emit(std::string_view piece, const Symbol& symbol, bool* after_unknown,
                    std::vector<TokenId>* out) const {
  const TokenId token = symbol.id < 0 ? kNoToken : tokens_[static_cast<std::size_t>(symbol.id)];
  const bool was_unknown = std::exchange(*after_unknown, false);
  if (token != kNoToken) {
    out->push_back(token);
    return;
  }
  if (options_.byte_fallback) {
    const std::size_t old_size = out->size();
    for (std::uint32_t i = symbol.begin; i < symbol.end; ++i) {
      out->push_back(byte_tokens_[static_cast<unsigned char>(piece[i])]);
      if (out->back() == kNoToken) {
        break;
      }
    }
    if (out->back() != kNoToken) {
      return;
    }
    out->resize(old_size);
  }
  if (options_.unknown != kNoToken) {
    if (!options_.fuse_unknown || !was_unknown) {
      out->push_back(options_.unknown);
    }
    *after_unknown = true;
  }
}

void BpeModel::encode_piece(std::string_view piece, MergeScratch* scratch,
                            std::vector<TokenId>* out) const {
  if (options_.ignore_merges) {
    if (const TokenId token = whole_piece(piece); token != kNoToken) {
      out->push_back(token);
      return;
    }
  }
  bool after_unknown = false;
  if (options_.byte_level) {
    encode_part(piece, scratch, &after_unknown, out);
    return;
  }
  for (std::size_t begin = 0; begin < piece.size();) {
    const std::size_t end = cutter_.part_end(piece, begin);
    encode_part(piece.substr(begin, end - begin), scratch, &after_unknown, out);
    begin = end;
  }
}

void BpeModel::encode_part(std::string_view part, MergeScratch* scratch, bool* after_unknown,
                           std::vector<TokenId>* out) const {
  fill_symbols(part, &scratch->symbols);
  merge_symbols(scratch, [this](const Symbol& left, const Symbol& right) {
    return left.id < 0 || right.id < 0 ? Merge{} : merges_.find(left.id, right.id);
  });
  for (const Symbol& symbol : scratch->symbols) {
    emit(part, symbol, after_unknown, out);
  }
}

}  // namespace plumb
