// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_vocab.h"

#include <algorithm>
#include <cstring>

#include "tokenizer/tokenizer.h"

namespace plumb {
namespace {

// Below this share of the vocabulary a list is smaller and faster than a bit set.
constexpr std::size_t kListShare = 64;

std::vector<std::string> without(std::vector<std::string> token_bytes,
                                 const std::vector<TokenId>& end_tokens) {
  for (const TokenId token : end_tokens) {
    token_bytes[static_cast<std::size_t>(token)].clear();
  }
  return token_bytes;
}

std::vector<TokenId> inside_vocab(std::vector<TokenId> tokens, std::size_t vocab_size) {
  std::erase_if(tokens,
                [&](TokenId t) { return t < 0 || static_cast<std::size_t>(t) >= vocab_size; });
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

}  // namespace

std::size_t GrammarVocab::StateKeyHash::operator()(const StateKey& key) const {
  std::uint64_t word = 0;  // the digest is as good as random
  std::memcpy(&word, key.dfa.data(), sizeof(word));
  return static_cast<std::size_t>(word ^
                                  (static_cast<std::uint64_t>(key.state) * 0x9E3779B97F4A7C15U));
}

std::unique_ptr<const GrammarVocab> GrammarVocab::from_tokenizer(const Tokenizer& tokenizer,
                                                                 std::int32_t vocab_size,
                                                                 std::int64_t cache_bytes) {
  std::vector<std::string> bytes(static_cast<std::size_t>(vocab_size));
  for (TokenId id = 0; id < std::min(vocab_size, tokenizer.vocab_size()); ++id) {
    const TokenType type = tokenizer.token_type(id);
    if (type != TokenType::kControl && type != TokenType::kUnknown && type != TokenType::kUnused) {
      bytes[static_cast<std::size_t>(id)] = tokenizer.token_bytes(id);
    }
  }
  auto vocab =
      std::make_unique<GrammarVocab>(std::move(bytes), tokenizer.end_of_generation(), cache_bytes);
  vocab->tokenizer_ = &tokenizer;
  return vocab;
}

GrammarVocab::GrammarVocab(std::vector<std::string> token_bytes, std::vector<TokenId> end_tokens,
                           std::int64_t cache_bytes)
    : end_tokens_(inside_vocab(std::move(end_tokens), token_bytes.size())),
      token_bytes_(without(std::move(token_bytes), end_tokens_)),
      trie_(token_bytes_),
      classes_(cache_bytes) {}

std::string_view GrammarVocab::token_bytes(TokenId token) const {
  return token >= 0 && token < vocab_size()
             ? std::string_view(token_bytes_[static_cast<std::size_t>(token)])
             : std::string_view();
}

bool GrammarVocab::is_end(TokenId token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

std::shared_ptr<const TokenClass> GrammarVocab::classify(const Dfa& dfa, std::int32_t state) const {
  const StateKey key{dfa.digest(), state};
  std::shared_ptr<const TokenClass> known = classes_.find(key);
  if (known == nullptr) {
    known = walk(dfa, state);
    const std::size_t num_words = known->inside.size() + known->mask.size() + known->exits.size();
    classes_.insert(key, known, static_cast<std::int64_t>(sizeof(TokenClass) + 4 * num_words));
  }
  return known;
}

std::shared_ptr<const TokenClass> GrammarVocab::walk(const Dfa& dfa, std::int32_t state) const {
  struct Step {
    std::int32_t state = 0;
    bool has_accepted = false;  ///< after at least one byte
  };

  auto out = std::make_shared<TokenClass>();
  std::vector<Step> path(trie_.max_depth() + 1);
  path[0].state = state;
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  std::vector<std::uint32_t> entries;
  for (std::uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const Step& before = path[node.depth - 1];
    const std::int32_t next = dfa.next(before.state, static_cast<std::uint8_t>(node.byte));
    if (next == Dfa::kDead) {
      if (before.has_accepted) {
        out->exits.push_back(i);
      }
      i = node.end;
      continue;
    }
    path[node.depth] = {next, before.has_accepted || dfa.is_accepting(next)};
    if (trie_.is_token(i)) {
      entries.push_back(node.first_entry);
    }
    ++i;
  }
  const bool is_list = entries.size() < static_cast<std::size_t>(vocab_size()) / kListShare;
  out->mask.resize(is_list ? 0 : static_cast<std::size_t>(num_mask_words()), 0);
  for (const std::uint32_t entry : entries) {
    for (const TokenId token : trie_.tokens(entry)) {
      if (is_list) {
        out->inside.push_back(token);
      } else {
        out->mask[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
      }
    }
  }
  return out;
}

}  // namespace plumb
