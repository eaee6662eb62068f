// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/compiled_grammar.h"
#include "grammar/grammar_vocab.h"
#include "grammar/structural_tag_writer.h"

namespace plumb {

enum class GrammarKind : std::uint8_t {
  kJsonSchema,
  kJsonObject,
  kRegex,
  kEbnf,
  kChoice,
  kStructuralTag,
};

/// What a request asks its output to match.
struct GrammarSpec {
  GrammarKind kind = GrammarKind::kJsonObject;
  std::string text;                  ///< of all but kJsonObject and kChoice
  std::vector<std::string> choices;  ///< of kChoice
  std::string form{};                ///< what else decides the grammar, as the caller spells it
  bool operator==(const GrammarSpec&) const = default;
};

/// Equal for equal specs only.
Digest256 digest_of(const GrammarSpec& spec);

/// Limits on the text of one spec.
inline constexpr std::int64_t kMaxGrammarBytes = 1 << 20;
inline constexpr std::int64_t kMaxGrammarChoices = 100'000;

/// Compiles a grammar that a front end built; `ignored` is what that one dropped.
/// Errors  those of CompiledGrammar::compile.
/// Cost    up to the budget: keep it off the engine's thread.
Result<std::shared_ptr<const CompiledGrammar>> compile_grammar(
    Cfg cfg, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
    CompileBudget* budget, std::vector<std::string> ignored = {});

/// Compiles every kind but kJsonSchema and kStructuralTag, which take more than a spec says.
/// Errors  kInvalidArgument, kUnsupported naming the place; those of CompiledGrammar::compile.
Result<std::shared_ptr<const CompiledGrammar>> compile_grammar(
    const GrammarSpec& spec, std::shared_ptr<const GrammarVocab> vocab, const GrammarLimits& limits,
    CompileBudget* budget);

/// Compiles a structural tag. `vocab_with_marks` gives the vocabulary for one that speaks of
/// tokens. Errors  those of parse_structural_tag(), write_structural_tag() and
/// CompiledGrammar::compile.
Result<std::shared_ptr<const CompiledGrammar>> compile_structural_tag(
    std::string_view text, const StructuralTagOptions& options,
    std::shared_ptr<const GrammarVocab> vocab,
    const std::function<std::shared_ptr<const GrammarVocab>()>& vocab_with_marks,
    const GrammarLimits& limits, CompileBudget* budget);

}  // namespace plumb
