// SPDX-License-Identifier: Apache-2.0
#include "frontend/constraint_compiler.h"

#include <algorithm>
#include <utility>

#include "grammar/compile_budget.h"
#include "grammar/json_schema.h"
#include "grammar/mask_warming.h"

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;

GrammarSpec grammar_spec(const ConstraintSpec& spec) {
  GrammarSpec out;
  out.text = spec.text;
  out.form = std::string(spec.strict ? "strict " : "") + (spec.lenient ? "lenient " : "") +
             (spec.any_order ? "any_order " : "") + (spec.compact ? "compact" : "");
  switch (spec.kind) {
    case Kind::kNone:
    case Kind::kJsonObject:  // written like any other JSON: with or without white space
      out.kind = GrammarKind::kJsonSchema;
      out.text = R"({"type":"object"})";
      break;
    case Kind::kJsonSchema:
      out.kind = GrammarKind::kJsonSchema;
      break;
    case Kind::kRegex:
      out.kind = GrammarKind::kRegex;
      break;
    case Kind::kGrammar:
      out.kind = GrammarKind::kEbnf;
      break;
    case Kind::kChoice:
      out.kind = GrammarKind::kChoice;
      out.choices = spec.choices;
      break;
    case Kind::kStructuralTag:
      out.kind = GrammarKind::kStructuralTag;
      break;
  }
  return out;
}

}  // namespace

ConstraintCompiler::ConstraintCompiler(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                       const GrammarOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      tokenizer_(tokenizer),
      vocab_(GrammarVocab::from_tokenizer(tokenizer, static_cast<std::int32_t>(vocab_size),
                                          cache_shares(options.cache_bytes).vocab)),
      cache_(cache_shares(options.cache_bytes).grammars) {}

ConstraintCompiler::CacheShares ConstraintCompiler::cache_shares(std::int64_t cache_bytes) {
  const std::int64_t part = cache_bytes / 12;
  return {.grammars = 8 * part, .vocab = 3 * part, .vocab_with_marks = part};
}

ConstraintCompiler::Grammar ConstraintCompiler::find(const ConstraintSpec& spec) {
  return find(grammar_spec(spec));
}

ConstraintCompiler::Grammar ConstraintCompiler::find(const GrammarSpec& spec) {
  Grammar grammar = cache_.find(spec);
  num_cache_hits_ += grammar != nullptr ? 1 : 0;
  return grammar;
}

ConstraintCompiler::Outcome ConstraintCompiler::compile(const ConstraintSpec& constraint,
                                                        const std::function<bool()>& is_cancelled) {
  const GrammarSpec spec = grammar_spec(constraint);
  if (Grammar known = find(spec)) {  // compiled for another request meanwhile
    return known;
  }
  const Clock::TimePoint begin = clock_.now();
  const Clock::TimePoint deadline = begin + options_.compile_timeout;
  CompileBudget budget(CompileBudget::Limits(),
                       [&] { return clock_.now() > deadline || is_cancelled(); });
  Result<Grammar> grammar = build(spec, constraint, &budget);
  const std::chrono::nanoseconds time = clock_.now() - begin;
  compile_ns_ += time.count();
  on_compiled_(time);
  if (!grammar.ok() && is_cancelled()) {
    ++num_cancelled_;
    return ApiError::from_status(grammar.status());  // nobody reads it
  }
  if (!grammar.ok()) {
    return refuse(constraint, grammar.status());
  }
  ++num_compiled_;
  cache_.insert(spec, grammar.value());
  return std::move(grammar).value();
}

Result<ConstraintCompiler::Grammar> ConstraintCompiler::build(const GrammarSpec& spec,
                                                              const ConstraintSpec& constraint,
                                                              CompileBudget* budget) {
  GrammarLimits limits;
  limits.mask_cache_bytes = std::min(limits.mask_cache_bytes, options_.cache_bytes / 48);
  JsonSchemaOptions json;
  json.strict = constraint.strict;
  json.lenient = constraint.lenient;
  json.any_order = constraint.any_order;
  json.compact = constraint.compact || options_.whitespace == JsonWhitespace::kCompact;
  if (spec.kind == GrammarKind::kStructuralTag) {
    StructuralTagOptions tag;
    tag.json = json;
    tag.tokenizer = &tokenizer_;
    return compile_structural_tag(
        spec.text, tag, vocab_, [this] { return vocab_with_marks(); }, limits, budget);
  }
  if (spec.kind != GrammarKind::kJsonSchema) {
    return compile_grammar(spec, vocab_, limits, budget);
  }
  PLUMB_ASSIGN(JsonSchemaGrammar schema, compile_json_schema(spec.text, json, budget));
  return compile_grammar(std::move(schema.cfg), vocab_, limits, budget, std::move(schema.ignored));
}

std::shared_ptr<const GrammarVocab> ConstraintCompiler::vocab_with_marks() {
  const MutexLock lock(mutex_);
  if (vocab_with_marks_ == nullptr) {
    vocab_with_marks_ = GrammarVocab::with_marks(
        tokenizer_, vocab_->vocab_size(), cache_shares(options_.cache_bytes).vocab_with_marks);
  }
  return vocab_with_marks_;
}

void ConstraintCompiler::warm(const CompiledGrammar& grammar,
                              const std::function<bool()>& is_cancelled) {
  const Clock::TimePoint deadline = clock_.now() + kWarmTime;
  num_warmed_masks_ +=
      warm_masks(grammar, [&] { return is_cancelled() || clock_.now() > deadline; });
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
  for (const ConstraintSpec::NamedSchema& schema : spec.schemas) {
    const std::string begin = schema.name + ": ";
    if (status.message().starts_with(begin)) {
      return ApiError::invalid("invalid_schema", schema.param,
                               "'" + schema.param + "' of the tool '" + schema.name +
                                   "': " + status.message().substr(begin.size()));
    }
  }
  return ApiError::invalid("invalid_schema", spec.param,
                           "'" + spec.param + "': " + status.message());
}

ConstraintStats ConstraintCompiler::stats() const {
  ConstraintStats stats;
  stats.num_compiled = num_compiled_.load();
  stats.num_failed = num_failed_.load();
  stats.num_timeouts = num_timeouts_.load();
  stats.num_cancelled = num_cancelled_.load();
  stats.num_cache_hits = num_cache_hits_.load();
  stats.num_warmed_masks = num_warmed_masks_.load();
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
