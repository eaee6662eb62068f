// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
  /// Nodes [begin, end) of the trie: whole subtrees below one node.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  std::vector<TokenId> inside;      ///< tokens that stay inside the terminal, if they are few
  std::vector<std::uint32_t> mask;  ///< the same as a bit set, if they are many
  /// Rising; at their first bytes the automaton dies after it accepted on the way: what becomes of
  /// the subtrees depends on what follows the terminal.
  std::vector<Range> exits;
};

/// A token as it looks to a grammar that speaks of tokens: its bytes between two marks; a control
/// token has bytes of its own, which no text has. Empty for tokens that end a text or never come.
std::string marked_token(const Tokenizer& tokenizer, TokenId token);

/// The vocabulary as grammars see it: the bytes of each token, which tokens end a text, and what is
/// known about automata that grammars share.
/// Thread  any.
class GrammarVocab {
 public:
  static constexpr std::int64_t kDefaultCacheBytes = std::int64_t{64} << 20;
  /// The tokens that a model would write for a text.
  using Encode = std::function<std::vector<TokenId>(std::string_view)>;

  /// vocab_size: that of the model, which may have more tokens than the tokenizer.
  /// Requires the tokenizer outlives the result.
  static std::unique_ptr<const GrammarVocab> from_tokenizer(
      const Tokenizer& tokenizer, std::int32_t vocab_size,
      std::int64_t cache_bytes = kDefaultCacheBytes);

  /// The vocabulary of grammars that speak of tokens: marked_token() of each, and no way to encode.
  static std::unique_ptr<const GrammarVocab> with_marks(
      const Tokenizer& tokenizer, std::int32_t vocab_size,
      std::int64_t cache_bytes = kDefaultCacheBytes);

  /// token_bytes[id], empty for tokens that never may come (control tokens); end tokens count as
  /// such, whatever their bytes. Without encode there are no tokens to jump forward by.
  GrammarVocab(std::vector<std::string> token_bytes, std::vector<TokenId> end_tokens,
               Encode encode = {}, std::int64_t cache_bytes = kDefaultCacheBytes);

  std::int32_t vocab_size() const { return static_cast<std::int32_t>(token_bytes_.size()); }

  /// Words of a mask: 32 tokens each.
  std::int64_t num_mask_words() const { return (vocab_size() + 31) / 32; }

  /// Empty for end tokens, tokens that never may come, and ids outside the vocabulary.
  std::string_view token_bytes(TokenId token) const;

  bool is_end(TokenId token) const;

  /// The tokens that end a text, rising.
  const std::vector<TokenId>& end_tokens() const { return end_tokens_; }

  const TokenTrie& trie() const { return trie_; }

  /// Empty if the vocabulary was made without.
  std::vector<TokenId> encode(std::string_view text) const;

  /// How tokens fare in a live state: those of up to TokenTrie::kDeep bytes, which the states of a
  /// horizon class share, and the longer ones; the latter is nullptr if the first has them all.
  /// Cost: the first time a walk over the trie, whose nodes are added to *num_nodes.
  std::array<std::shared_ptr<const TokenClass>, 2> classify(const Dfa& dfa, std::int32_t state,
                                                            std::int64_t* num_nodes) const;

 private:
  struct StateKey {
    Digest256 dfa{};
    bool is_deep = false;
    std::int32_t state = 0;  ///< or the horizon class, if it is not deep
    bool operator==(const StateKey&) const = default;
  };

  struct StateKeyHash {
    std::size_t operator()(const StateKey& key) const;
  };

  struct Walk;

  void walk_all(Walk* walk, std::uint32_t max_depth) const;
  void walk_deep(Walk* walk) const;
  std::shared_ptr<const TokenClass> finish(Walk walk) const;

  std::vector<TokenId> end_tokens_;
  std::vector<std::string> token_bytes_;
  TokenTrie trie_;
  Encode encode_;
  GenerationCache<StateKey, TokenClass, StateKeyHash> classes_;
};

}  // namespace plumb
