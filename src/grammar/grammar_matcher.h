// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/token_id.h"
#include "grammar/compiled_grammar.h"
#include "grammar/row_store.h"

namespace plumb {

/// Follows the text of one request through its grammar.
///
/// Bounded in memory and work: a text that would exceed the limits of the grammar fails this
/// matcher, which from then on allows and accepts nothing and says why in status().
/// Thread  one at a time.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(std::shared_ptr<const CompiledGrammar> grammar);
  ~GrammarMatcher();
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;

  /// A copy that goes its own way.
  GrammarMatcher fork() const;

  /// Takes one step by a token. An end token is accepted where the text is complete, and nothing
  /// after it. False, with nothing changed, if the token may not come.
  bool accept(TokenId token);

  /// Takes one step by bytes; the empty string is a step that changes nothing.
  bool accept_bytes(std::string_view bytes);

  /// Writes which tokens may come next: token t is bit t % 32 of word t / 32; bits beyond the
  /// vocabulary are 0. False if none may, because the vocabulary cannot write what the grammar
  /// wants, the text has ended, or the matcher failed.
  /// Requires at least num_mask_words() words.
  bool fill_mask(std::span<std::uint32_t> mask);

  /// Takes back the last steps. Requires 0 <= num_steps <= num_steps().
  void rollback(std::int64_t num_steps);

  std::int64_t num_steps() const { return static_cast<std::int64_t>(rows_.size()) - 1; }

  /// The bytes that must come next, up to a limit, because nothing else may: not even the end.
  std::string jump_forward(std::int64_t max_bytes = 256);

  /// The forced bytes as tokens, for a model to take as if it had written them. The model might
  /// prefer a token that reaches beyond the forced bytes; the last tokens, up to four, are left to
  /// it if there is such a token. Empty if the vocabulary cannot encode.
  std::vector<TokenId> jump_forward_tokens(std::int64_t max_bytes = 256);

  /// Whether the text is a whole text of the grammar, so that an end token may come.
  bool is_complete() const;

  /// Whether an end token came.
  bool is_terminated() const { return is_terminated_; }

  /// Starts anew, as if just made.
  void reset();

  /// Why the matcher failed; ok while it did not.
  const Status& status() const;

  /// Work done so far, in the units of MatcherLimits.
  std::int64_t work() const { return store_->work(); }

  const CompiledGrammar& grammar() const { return *grammar_; }

 private:
  RowId walk(RowId row, std::string_view bytes);
  void collect();

  std::shared_ptr<const CompiledGrammar> grammar_;  // requests of one grammar share it
  std::unique_ptr<RowStore> store_;
  std::vector<RowId> rows_;  // after each step; [0] is the start
  bool is_terminated_ = false;
};

}  // namespace plumb
