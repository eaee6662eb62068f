// SPDX-License-Identifier: Apache-2.0
#include "frontend/constraint_compiler.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/compiled_grammar.h"

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;

// Lengths before the parts, so that no two constraints have the same digest.
Digest256 key_of(const ConstraintSpec& spec) {
  Sha256 digest;
  const auto add = [&digest](std::string_view part) {
    digest.update(std::to_string(part.size()) + ":");
    digest.update(part);
  };
  add(std::to_string(static_cast<int>(spec.kind)) + (spec.strict ? "s" : ""));
  add(spec.text);
  for (const std::string& choice : spec.choices) {
    add(choice);
  }
  return digest.finish();
}

Result<Cfg> choice_cfg(const std::vector<std::string>& choices) {
  Cfg cfg;
  std::vector<RegexId> literals;
  for (const std::string& choice : choices) {
    literals.push_back(cfg.regexes().literal(choice));
  }
  cfg.set_start(cfg.terminal(cfg.regexes().any_of(literals)));
  return cfg;
}

Result<Cfg> cfg_of(const ConstraintSpec& spec) {
  if (spec.kind == Kind::kChoice) {
    return choice_cfg(spec.choices);
  }
  return Status{Code::kUnsupported, "this server offers lists of choices only"};
}

}  // namespace

ConstraintCompiler::ConstraintCompiler(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                       const GrammarOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      vocab_(GrammarVocab::from_tokenizer(tokenizer, static_cast<std::int32_t>(vocab_size),
                                          options.cache_bytes / 3)),
      cache_(options.cache_bytes / 3 * 2) {}

ConstraintCompiler::Grammar ConstraintCompiler::find(const ConstraintSpec& spec) {
  Grammar grammar = cache_.find(key_of(spec));
  num_cache_hits_ += grammar != nullptr ? 1 : 0;
  return grammar;
}

ConstraintCompiler::Outcome ConstraintCompiler::compile(const ConstraintSpec& spec,
                                                        const std::function<bool()>& is_cancelled) {
  if (Grammar known = find(spec)) {  // compiled for another request meanwhile
    return known;
  }
  const Clock::TimePoint begin = clock_.now();
  const Clock::TimePoint deadline = begin + options_.compile_timeout;
  CompileBudget budget(CompileBudget::Limits(),
                       [&] { return clock_.now() > deadline || is_cancelled(); });
  Result<Grammar> grammar = build(spec, &budget);
  compile_ns_ += (clock_.now() - begin).count();
  if (!grammar.ok()) {
    return refuse(spec, grammar.status());
  }
  ++num_compiled_;
  cache_.put(key_of(spec), grammar.value(), grammar.value()->num_bytes());
  return std::move(grammar).value();
}

Result<ConstraintCompiler::Grammar> ConstraintCompiler::build(const ConstraintSpec& spec,
                                                              CompileBudget* budget) const {
  PLUMB_ASSIGN(Cfg cfg, cfg_of(spec));
  GrammarLimits limits;
  limits.mask_cache_bytes = std::min(limits.mask_cache_bytes, options_.cache_bytes / 48);
  PLUMB_ASSIGN(std::unique_ptr<const CompiledGrammar> grammar,
               CompiledGrammar::compile(std::move(cfg), vocab_, limits, budget));
  return Grammar(std::move(grammar));
}

ApiError ConstraintCompiler::refuse(const ConstraintSpec& spec, const Status& status) {
  ++num_failed_;
  if (status.code() == Code::kDeadlineExceeded) {
    ++num_timeouts_;
    return ApiError::invalid(
        "grammar_compile_timeout", spec.param,
        "'" + spec.param + "' took longer than " +
            std::to_string(options_.compile_timeout.count()) +
            " ms to compile; send a simpler one or raise --grammar-compile-timeout");
  }
  return ApiError::invalid("invalid_schema", spec.param,
                           "'" + spec.param + "': " + status.message());
}

ConstraintStats ConstraintCompiler::stats() const {
  ConstraintStats stats;
  stats.num_compiled = num_compiled_.load();
  stats.num_failed = num_failed_.load();
  stats.num_timeouts = num_timeouts_.load();
  stats.num_cache_hits = num_cache_hits_.load();
  stats.cache_bytes = cache_.num_bytes();
  stats.compile_time = std::chrono::nanoseconds(compile_ns_.load());
  return stats;
}

void attach_grammar(const std::shared_ptr<const CompiledGrammar>& grammar,
                    std::vector<ChoiceRequest>* choices) {
  for (ChoiceRequest& choice : *choices) {
    choice.request.grammar = grammar;
  }
}

}  // namespace plumb
