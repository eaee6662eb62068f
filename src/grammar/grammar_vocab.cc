// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_vocab.h"

#include <algorithm>
#include <cstring>

#include "grammar/cfg.h"
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

std::string marked_token(const Tokenizer& tokenizer, TokenId token) {
  constexpr char kMark = static_cast<char>(Cfg::kTokenMark);
  constexpr int kNumDigits = 5;  // of seven bits: 32 bits of an id
  const TokenType type = tokenizer.token_type(token);
  if (type == TokenType::kUnused || type == TokenType::kUnknown ||
      tokenizer.is_end_of_generation(token)) {
    return {};
  }
  std::string inside(tokenizer.token_bytes(token));
  if (inside.find_first_of("\xFE\xFF") != std::string::npos) {
    return {};  // no part of any text, and not to be taken for marks
  }
  if (type == TokenType::kControl) {
    inside = "\xFF";
    for (int i = 0; i < kNumDigits; ++i) {
      inside += static_cast<char>((static_cast<std::uint32_t>(token) >> (7 * i)) & 0x7FU);
    }
  }
  return inside.empty() ? inside : kMark + inside + kMark;
}

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
  Encode encode = [&tokenizer](std::string_view text) {
    return tokenizer.encode(text, {.add_special = false, .parse_special = false});
  };
  return std::make_unique<const GrammarVocab>(std::move(bytes), tokenizer.end_of_generation(),
                                              std::move(encode), cache_bytes);
}

std::unique_ptr<const GrammarVocab> GrammarVocab::with_marks(const Tokenizer& tokenizer,
                                                             std::int32_t vocab_size,
                                                             std::int64_t cache_bytes) {
  std::vector<std::string> bytes(static_cast<std::size_t>(vocab_size));
  for (TokenId id = 0; id < std::min(vocab_size, tokenizer.vocab_size()); ++id) {
    bytes[static_cast<std::size_t>(id)] = marked_token(tokenizer, id);
  }
  return std::make_unique<const GrammarVocab>(std::move(bytes), tokenizer.end_of_generation(),
                                              Encode(), cache_bytes);
}

GrammarVocab::GrammarVocab(std::vector<std::string> token_bytes, std::vector<TokenId> end_tokens,
                           Encode encode, std::int64_t cache_bytes)
    : end_tokens_(inside_vocab(std::move(end_tokens), token_bytes.size())),
      token_bytes_(without(std::move(token_bytes), end_tokens_)),
      trie_(token_bytes_),
      encode_(std::move(encode)),
      classes_(cache_bytes) {}

std::string_view GrammarVocab::token_bytes(TokenId token) const {
  return token >= 0 && token < vocab_size()
             ? std::string_view(token_bytes_[static_cast<std::size_t>(token)])
             : std::string_view();
}

std::vector<TokenId> GrammarVocab::encode(std::string_view text) const {
  return encode_ ? encode_(text) : std::vector<TokenId>();
}

bool GrammarVocab::is_end(TokenId token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

// The automaton's way along the path to the current node.
struct GrammarVocab::Walk {
  Walk(const Dfa& automaton, std::int32_t state, std::uint32_t max_depth)
      : dfa(automaton), path(max_depth + 1) {
    path[0].state = state;
  }

  // Goes on to the node; false if nothing of its subtree is inside.
  bool enter(const TokenTrie::Node& node, std::uint32_t index) {
    ++num_nodes;
    const Step& before = path[node.depth - 1];
    const std::int32_t next = dfa.next(before.state, static_cast<std::uint8_t>(node.byte));
    if (next == Dfa::kDead) {
      if (before.has_accepted) {
        add_exit(index, node.end, node.depth);
      }
      return false;
    }
    path[node.depth] = {next, before.has_accepted || dfa.is_accepting(next)};
    return true;
  }

  // Neighbours below one node become one range.
  void add_exit(std::uint32_t begin, std::uint32_t end, std::uint32_t depth) {
    if (!exits.empty() && exits.back().end == begin && exit_depth == depth) {
      exits.back().end = end;
    } else if (begin < end) {
      exits.push_back({begin, end});
    }
    exit_depth = depth;
  }

  struct Step {
    std::int32_t state = 0;
    bool has_accepted = false;  ///< after at least one byte
  };

  const Dfa& dfa;
  std::vector<Step> path;
  std::vector<std::uint32_t> entries;
  std::vector<TokenClass::Range> exits;
  std::uint32_t exit_depth = 0;  ///< of the latest exit
  std::int64_t num_nodes = 0;    ///< visited
};

std::array<std::shared_ptr<const TokenClass>, 2> GrammarVocab::classify(
    const Dfa& dfa, std::int32_t state, std::int64_t* num_nodes) const {
  static_assert(Dfa::kHorizon == TokenTrie::kDeep);
  std::array<std::shared_ptr<const TokenClass>, 2> out;
  for (const bool is_deep : {false, true}) {
    if (is_deep && (dfa.is_horizon_exact() || trie_.deep_nodes().empty())) {
      break;
    }
    const StateKey key{dfa.digest(), is_deep, is_deep ? state : dfa.horizon_class(state)};
    std::shared_ptr<const TokenClass> known = classes_.find(key);
    if (known == nullptr) {
      Walk walk(dfa, state, trie_.max_depth());
      if (is_deep) {
        walk_deep(&walk);
      } else {
        walk_all(&walk, dfa.is_horizon_exact() ? trie_.max_depth() : TokenTrie::kDeep);
      }
      *num_nodes += walk.num_nodes;
      known = finish(std::move(walk));
      const std::size_t num_words =
          known->inside.size() + known->mask.size() + 2 * known->exits.size();
      classes_.insert(key, known, static_cast<std::int64_t>(sizeof(TokenClass) + 4 * num_words));
    }
    out[is_deep ? 1 : 0] = std::move(known);
  }
  return out;
}

void GrammarVocab::walk_all(Walk* walk, std::uint32_t max_depth) const {
  const std::span<const TokenTrie::Node> nodes = trie_.nodes();
  for (std::uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    if (!walk->enter(node, i)) {
      i = node.end;
      continue;
    }
    if (trie_.is_token(i)) {
      walk->entries.push_back(node.first_entry);
    }
    if (walk->dfa.only_byte(walk->path[node.depth].state) == Dfa::kNoByte) {
      walk->add_exit(i + 1, node.end, node.depth + 1);  // the terminal is over here
      i = node.end;
    } else {
      i = node.depth < max_depth ? i + 1 : node.end;
    }
  }
}

void GrammarVocab::walk_deep(Walk* walk) const {
  const std::span<const TokenTrie::DeepNode> deep = trie_.deep_nodes();
  for (std::uint32_t d = 0; d < deep.size();) {
    const std::uint32_t index = deep[d].node;
    const TokenTrie::Node& node = trie_.nodes()[index];
    if (!walk->enter(node, index)) {
      d = deep[d].end;
      continue;
    }
    if (node.depth > TokenTrie::kDeep && trie_.is_token(index)) {
      walk->entries.push_back(node.first_entry);
    }
    ++d;
  }
}

std::shared_ptr<const TokenClass> GrammarVocab::finish(Walk walk) const {
  auto out = std::make_shared<TokenClass>();
  out->exits = std::move(walk.exits);
  const bool is_list = walk.entries.size() < static_cast<std::size_t>(vocab_size()) / kListShare;
  out->mask.resize(is_list ? 0 : static_cast<std::size_t>(num_mask_words()), 0);
  for (const std::uint32_t entry : walk.entries) {
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
