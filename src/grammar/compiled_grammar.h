// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/generation_cache.h"
#include "grammar/grammar_tables.h"
#include "grammar/grammar_vocab.h"
#include "grammar/row_store.h"

namespace plumb {

struct GrammarLimits {
  MatcherLimits matcher;
  std::int64_t mask_cache_bytes = std::int64_t{16} << 20;  ///< finished masks of one grammar
};

/// A grammar ready to constrain requests of one vocabulary. Finished masks are kept by parse
/// position and serve all requests that use the grammar.
/// Thread  any.
class CompiledGrammar {
 public:
  using Mask = std::vector<std::uint32_t>;

  /// Errors: kInvalidArgument if no text matches the grammar; kResourceExhausted,
  /// kDeadlineExceeded from the budget.
  static Result<std::unique_ptr<const CompiledGrammar>> compile(
      Cfg cfg, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
      CompileBudget* budget, std::vector<std::string> ignored = {});

  CompiledGrammar(GrammarTables tables, std::shared_ptr<const GrammarVocab> vocab,
                  const GrammarLimits& limits, std::vector<std::string> ignored = {});

  /// What its front end dropped instead of refusing it, for people.
  const std::vector<std::string>& ignored() const { return ignored_; }

  const GrammarTables& tables() const { return tables_; }

  const GrammarVocab& vocab() const { return *vocab_; }

  const MatcherLimits& matcher_limits() const { return limits_.matcher; }

  /// The finished mask of a position, or nullptr.
  std::shared_ptr<const Mask> find_mask(const RowStore::Key& key) const { return masks_.find(key); }

  void keep_mask(const RowStore::Key& key, std::shared_ptr<const Mask> mask) const;

  /// How many masks it keeps at most.
  std::int64_t max_masks() const;

  /// Memory that it holds, masks included at their limit.
  std::int64_t num_bytes() const;

 private:
  struct KeyHash {
    std::size_t operator()(const RowStore::Key& key) const {
      return static_cast<std::size_t>(key.low);
    }
  };

  std::int64_t mask_bytes() const;

  GrammarTables tables_;
  std::shared_ptr<const GrammarVocab> vocab_;  // shared by all grammars of a model
  GrammarLimits limits_;
  std::vector<std::string> ignored_;
  GenerationCache<RowStore::Key, Mask, KeyHash> masks_;
};

}  // namespace plumb
