// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece_model.h"

#include <algorithm>

namespace plumb {
namespace {

std::vector<std::string_view> texts_of(const std::vector<WordPieceModel::Piece>& pieces) {
  std::vector<std::string_view> texts;
  texts.reserve(pieces.size());
  for (const WordPieceModel::Piece& piece : pieces) {
    texts.push_back(piece.text);
  }
  return texts;
}

std::int64_t num_chars(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

WordPieceModel::Lexicon::Lexicon(const std::vector<Piece>& pieces) : trie_(texts_of(pieces)) {
  ids_.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    ids_.push_back(piece.id);
  }
}

TokenId WordPieceModel::Lexicon::longest_prefix(std::string_view text,
                                                std::size_t* num_bytes) const {
  TokenId found = kNoToken;
  std::int32_t state = AhoCorasick::kRoot;
  for (std::size_t end = 0; end < text.size();) {
    state = trie_.child(state, static_cast<unsigned char>(text[end]));
    if (state == AhoCorasick::kNone) {
      break;
    }
    ++end;
    if (const std::int32_t pattern = trie_.pattern(state); pattern != AhoCorasick::kNone) {
      found = ids_[static_cast<std::size_t>(pattern)];
      *num_bytes = end;
    }
  }
  return found;
}

WordPieceModel::WordPieceModel(const std::vector<Piece>& initial,
                               const std::vector<Piece>& continuing,
                               const WordPieceOptions& options)
    : initial_(initial), continuing_(continuing), options_(options) {}

void WordPieceModel::encode_word(std::string_view word, std::vector<TokenId>* out) const {
  const std::size_t num_before = out->size();
  bool is_known = num_chars(word) <= options_.max_word_chars;
  for (std::size_t at = 0; is_known && at < word.size();) {
    std::size_t len = 0;
    const TokenId id = (at == 0 ? initial_ : continuing_).longest_prefix(word.substr(at), &len);
    is_known = id != kNoToken;
    out->push_back(id);
    at += len;
  }
  if (!is_known) {
    out->resize(num_before);
    if (options_.unknown != kNoToken) {
      out->push_back(options_.unknown);
    }
  }
}

WordPieceModel wordpiece_with_prefix(const Vocab& vocab, std::string_view prefix,
                                     const WordPieceOptions& options) {
  std::vector<WordPieceModel::Piece> initial;
  std::vector<WordPieceModel::Piece> continuing;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view text = vocab.text(id);
    if (vocab.type(id) == TokenType::kUnused) {
      continue;  // a hole in the numbering
    }
    initial.push_back({text, id});
    if (text.starts_with(prefix)) {
      continuing.push_back({text.substr(prefix.size()), id});
    }
  }
  return {initial, continuing, options};
}

WordPieceModel wordpiece_with_mark(const Vocab& vocab, const WordPieceOptions& options) {
  constexpr std::string_view kMark = "\xE2\x96\x81";
  std::vector<WordPieceModel::Piece> initial;
  std::vector<WordPieceModel::Piece> continuing;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view text = vocab.text(id);
    const TokenType type = vocab.type(id);
    if (type == TokenType::kControl || type == TokenType::kUnknown || type == TokenType::kUnused) {
      continue;
    }
    if (text.starts_with(kMark)) {
      initial.push_back({text.substr(kMark.size()), id});
    } else {
      continuing.push_back({text, id});
    }
  }
  return {initial, continuing, options};
}

}  // namespace plumb
