// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "grammar/grammar_matcher.h"

namespace plumb {

/// How far one sequence has come in its grammar; preemption does not touch it.
/// Thread  engine, or the worker that computes a step of it.
class SequenceGrammar {
 public:
  /// The sequence owns its share of the grammar, which requests with the same constraint have too.
  explicit SequenceGrammar(std::shared_ptr<const CompiledGrammar> grammar);

  /// Writes which tokens may come next; one of `ends` only where the text is complete.
  ///
  /// Shapes  mask [ceil(V / 32)]: bit t of word t / 32 is token t.
  /// Errors  kInvalidArgument: the vocabulary cannot write what the grammar wants, or following the
  ///         text needs more memory or work than the matcher's limits allow.
  Status fill_mask(std::span<const TokenId> ends, std::span<std::uint32_t> mask);

  /// Takes a token of the text; not one that ends the sequence. Errors as fill_mask().
  Status accept(TokenId token);

  /// The text is complete and nothing may follow. Uses `mask` as working memory.
  bool is_finished(std::span<std::uint32_t> mask);

  /// The tokens that must come next, at most `max_tokens`, as the tokenizer spells them; see
  /// GrammarMatcher::jump_forward_tokens().
  std::vector<TokenId> forced(std::int64_t max_tokens);

 private:
  void clear_ends(std::span<std::uint32_t> mask) const;

  GrammarMatcher matcher_;
};

}  // namespace plumb
