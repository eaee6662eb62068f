// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_token_splitter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "tokenizer/unicode.h"

namespace plumb {
namespace {

AhoCorasick make_automaton(const std::vector<AddedToken>& tokens) {
  std::vector<std::string_view> patterns;
  patterns.reserve(tokens.size());
  for (const AddedToken& token : tokens) {
    patterns.push_back(token.content);
  }
  return AhoCorasick(patterns);
}

// Begin of the character that ends at `end`. Requires end > 0 and valid UTF-8.
std::size_t char_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) {
    --begin;
  }
  return begin;
}

char32_t char_at(std::string_view text, std::size_t begin) {
  return decode_utf8(text.substr(begin)).code_point;
}

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
  const bool joined_left = begin > 0 && is_word_char(char_at(text, char_before(text, begin)));
  const bool joined_right = end < text.size() && is_word_char(char_at(text, end));
  return !joined_left && !joined_right;
}

std::size_t skip_space_left(std::string_view text, std::size_t limit, std::size_t begin) {
  while (begin > limit) {
    const std::size_t before = char_before(text, begin);
    if (!is_white_space(char_at(text, before))) {
      break;
    }
    begin = before;
  }
  return std::max(begin, limit);
}

std::size_t skip_space_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(end));
    if (!is_white_space(c.code_point)) {
      break;
    }
    end += static_cast<std::size_t>(c.num_bytes);
  }
  return end;
}

std::vector<AddedToken> select(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> selected;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(selected),
               [&](const AddedToken& token) { return token.normalized == normalized; });
  return selected;
}

}  // namespace

AddedTokenSplitter::Pass::Pass(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), automaton_(make_automaton(tokens_)) {}

const AddedToken* AddedTokenSplitter::Pass::longest_at(std::string_view text,
                                                       std::size_t begin) const {
  std::int32_t best = AhoCorasick::kNone;
  std::int32_t state = AhoCorasick::kRoot;
  for (std::size_t at = begin; at < text.size(); ++at) {
    state = automaton_.child(state, static_cast<unsigned char>(text[at]));
    if (state == AhoCorasick::kNone) {
      break;
    }
    best = automaton_.pattern(state) != AhoCorasick::kNone ? automaton_.pattern(state) : best;
  }
  return best == AhoCorasick::kNone ? nullptr : &tokens_[static_cast<std::size_t>(best)];
}

bool AddedTokenSplitter::Pass::has_special(std::string_view text) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const AddedToken& token) {
    return token.special && !token.content.empty() &&
           text.find(token.content) != std::string_view::npos;
  });
}

void AddedTokenSplitter::Pass::split(std::string_view piece, std::size_t offset,
                                     const SpecialPolicy& policy,
                                     std::vector<Fragment>* out) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < piece.size() && !automaton_.empty();) {
    const AddedToken* token = longest_at(piece, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;
    const bool counts = (!token->special || allows_special(policy, offset + begin, offset + end)) &&
                        (!token->single_word || is_single_word(piece, begin, end));
    if (!counts || begin < done) {
      continue;
    }
    begin = token->lstrip ? skip_space_left(piece, done, begin) : begin;
    end = token->rstrip ? skip_space_right(piece, end) : end;
    if (done < begin) {
      out->push_back({piece.substr(done, begin - done)});
    }
    out->push_back({piece.substr(begin, end - begin), token->id});
    done = end;
  }
  if (done < piece.size()) {
    out->push_back({piece.substr(done)});
  }
}

AddedTokenSplitter::AddedTokenSplitter(const std::vector<AddedToken>& tokens)
    : first_(select(tokens, false)), second_(select(tokens, true)) {}

bool AddedTokenSplitter::has_special(std::string_view text) const {
  return first_.has_special(text) || second_.has_special(text);
}

void AddedTokenSplitter::split(std::string_view text, const SpecialPolicy& policy,
                               std::vector<Fragment>* out) const {
  std::vector<Fragment> fragments;
  first_.split(text, 0, policy, &fragments);
  for (const Fragment& fragment : fragments) {
    if (fragment.token != kNoToken) {
      out->push_back(fragment);
    } else {
      const auto offset = static_cast<std::size_t>(fragment.text.data() - text.data());
      second_.split(fragment.text, offset, policy, out);
    }
  }
}

}  // namespace plumb
