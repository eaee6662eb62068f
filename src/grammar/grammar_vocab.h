// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "grammar/dfa.h"
#include "grammar/generation_cache.h"
#include "grammar/token_trie.h"

namespace plumb {

class Tokenizer;

/// How the tokens of a vocabulary fare when they start in one state of a terminal's automaton.
struct TokenClass {
  std::vector<TokenId> inside;      ///< tokens that stay inside the terminal, if they are few
  std::vector<std::uint32_t> mask;  ///< the same as a bit set, if they are many
  /// Nodes of the trie, rising, at whose byte the automaton dies after it accepted on the way: what
  /// becomes of their subtrees depends on what follows the terminal.
  std::vector<std::uint32_t> exits;
};

/// The vocabulary as grammars see it: the bytes of each token, which tokens end a text, and what is
/// known about automata that grammars share.
/// Thread  any.
class GrammarVocab {
 public:
  static constexpr std::int64_t kDefaultCacheBytes = std::int64_t{64} << 20;

  /// vocab_size: that of the model, which may have more tokens than the tokenizer. The tokenizer
  /// outlives the vocabulary.
  static std::unique_ptr<const GrammarVocab> from_tokenizer(
      const Tokenizer& tokenizer, std::int32_t vocab_size,
      std::int64_t cache_bytes = kDefaultCacheBytes);

  /// token_bytes[id], empty for tokens that never may come (control tokens); end tokens count as
  /// such, whatever their bytes.
  GrammarVocab(std::vector<std::string> token_bytes, std::vector<TokenId> end_tokens,
               std::int64_t cache_bytes = kDefaultCacheBytes);

  std::int32_t vocab_size() const { return static_cast<std::int32_t>(token_bytes_.size()); }

  /// Words of a mask: 32 tokens each.
  std::int64_t num_mask_words() const { return (vocab_size() + 31) / 32; }

  /// Empty for end tokens, tokens that never may come, and ids outside the vocabulary.
  std::string_view token_bytes(TokenId token) const;

  bool is_end(TokenId token) const;

  /// The tokens that end a text, rising.
  const std::vector<TokenId>& end_tokens() const { return end_tokens_; }

  const TokenTrie& trie() const { return trie_; }

  /// How texts are spelled in tokens; null for a vocabulary that was made from bytes.
  const Tokenizer* tokenizer() const { return tokenizer_; }

  /// How tokens fare in a live state. Cost: the first time a walk over the trie.
  std::shared_ptr<const TokenClass> classify(const Dfa& dfa, std::int32_t state) const;

 private:
  struct StateKey {
    Digest256 dfa{};
    std::int32_t state = 0;
    bool operator==(const StateKey&) const = default;
  };

  struct StateKeyHash {
    std::size_t operator()(const StateKey& key) const;
  };

  std::shared_ptr<const TokenClass> walk(const Dfa& dfa, std::int32_t state) const;

  const Tokenizer* tokenizer_ = nullptr;
  std::vector<TokenId> end_tokens_;
  std::vector<std::string> token_bytes_;
  TokenTrie trie_;
  GenerationCache<StateKey, TokenClass, StateKeyHash> classes_;
};

}  // namespace plumb
