// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram_model.h"

#include <algorithm>

#include "base/text.h"

namespace plumb {
namespace {

constexpr double kUnknownPenalty = 10.0;

}  // namespace

UnigramModel::UnigramModel(const Vocab& vocab, const UnigramOptions& options)
    : unknown_(options.unknown) {
  std::vector<std::string_view> patterns;
  double lowest = 0;
  bool any_normal = false;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const TokenType type = vocab.type(id);
    const auto at = static_cast<std::size_t>(id);
    const double score = at < options.exact_scores.size() ? options.exact_scores[at]
                                                          : static_cast<double>(vocab.score(id));
    if (type == TokenType::kNormal) {
      lowest = any_normal ? std::min(lowest, score) : score;
      any_normal = true;
    }
    const bool is_user_defined = type == TokenType::kUserDefined;
    if (type == TokenType::kNormal || type == TokenType::kUnused || is_user_defined ||
        (type == TokenType::kByte && options.match_byte_tokens)) {
      patterns.push_back(vocab.text(id));
      pieces_.push_back({id, is_user_defined ? 0.0 : score});
    }
  }
  trie_ = AhoCorasick(patterns);
  unknown_score_ = lowest - kUnknownPenalty;
  if (options.byte_fallback) {
    byte_tokens_ = vocab.byte_tokens();
  }
}

void UnigramModel::extend(std::string_view text, std::size_t begin,
                          std::vector<Step>* steps) const {
  const double score = (*steps)[begin].score;
  const auto offer = [&](std::size_t end, double total, TokenId token) {
    Step& step = (*steps)[end];
    if (!step.reached || total > step.score) {
      step = {total, begin, token, true};
    }
  };
  const auto char_len = static_cast<std::size_t>(decode_utf8(text.substr(begin)).num_bytes);
  bool has_own_token = false;
  std::int32_t state = AhoCorasick::kRoot;
  for (std::size_t end = begin; end < text.size();) {
    state = trie_.child(state, static_cast<unsigned char>(text[end]));
    if (state == AhoCorasick::kNone) {
      break;
    }
    ++end;
    if (const std::int32_t pattern = trie_.pattern(state); pattern != AhoCorasick::kNone) {
      const Piece& piece = pieces_[static_cast<std::size_t>(pattern)];
      offer(end, score + piece.score, piece.id);
      has_own_token = has_own_token || end == begin + char_len;
    }
  }
  if (!has_own_token) {
    offer(begin + char_len, score + unknown_score_, kNoToken);
  }
}

void UnigramModel::emit_unknown(std::string_view text, std::vector<TokenId>* out) const {
  const auto has_token = [&](char c) {
    return byte_tokens_[static_cast<unsigned char>(c)] != kNoToken;
  };
  if (!byte_tokens_.empty() && std::all_of(text.begin(), text.end(), has_token)) {
    for (const char c : text) {
      out->push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    }
  } else if (unknown_ != kNoToken) {
    out->push_back(unknown_);
  }
}

void UnigramModel::encode(std::string_view text, std::vector<TokenId>* out) const {
  std::vector<Step> steps(text.size() + 1, Step{0, 0, kNoToken, false});
  steps[0].reached = true;
  for (std::size_t at = 0; at < text.size();) {
    if (steps[at].reached) {
      extend(text, at, &steps);
    }
    at += static_cast<std::size_t>(decode_utf8(text.substr(at)).num_bytes);
  }
  std::vector<std::size_t> ends;  // of the chosen tokens, last first
  for (std::size_t at = text.size(); at > 0; at = steps[at].begin) {
    ends.push_back(at);
  }
  for (std::size_t i = ends.size(); i-- > 0;) {
    const Step& step = steps[ends[i]];
    if (step.token != kNoToken) {
      out->push_back(step.token);
      continue;
    }
    while (i > 0 && steps[ends[i - 1]].token == kNoToken) {
      --i;
    }
    emit_unknown(text.substr(step.begin, ends[i] - step.begin), out);
  }
}

}  // namespace plumb
