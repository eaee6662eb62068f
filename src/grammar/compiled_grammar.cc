// SPDX-License-Identifier: Apache-2.0
#include "grammar/compiled_grammar.h"

#include <utility>

namespace plumb {

Result<std::unique_ptr<const CompiledGrammar>> CompiledGrammar::compile(
    Cfg cfg, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
    CompileBudget* budget, std::vector<std::string> ignored) {
  PLUMB_ASSIGN(GrammarTables tables, GrammarTables::build(&cfg, budget));
  return std::make_unique<const CompiledGrammar>(std::move(tables), std::move(vocab), limits,
                                                 std::move(ignored));
}

CompiledGrammar::CompiledGrammar(GrammarTables tables, std::shared_ptr<const GrammarVocab> vocab,
                                 const GrammarLimits& limits, std::vector<std::string> ignored)
    : tables_(std::move(tables)),
      vocab_(std::move(vocab)),
      limits_(limits),
      ignored_(std::move(ignored)),
      masks_(limits.mask_cache_bytes) {}

void CompiledGrammar::keep_mask(const RowStore::Key& key, std::shared_ptr<const Mask> mask) const {
  masks_.insert(key, std::move(mask), mask_bytes());
}

std::int64_t CompiledGrammar::mask_bytes() const {
  return static_cast<std::int64_t>(sizeof(Mask)) +
         vocab_->num_mask_words() * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

std::int64_t CompiledGrammar::max_masks() const {
  return limits_.mask_cache_bytes / mask_bytes();
}

std::int64_t CompiledGrammar::num_bytes() const {
  return tables_.num_bytes() + limits_.mask_cache_bytes;
}

}  // namespace plumb
