// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "api/constraint.h"
#include "api/error.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/option_field.h"
#include "frontend/generation.h"
#include "grammar/grammar.h"
#include "grammar/grammar_cache.h"
#include "grammar/grammar_vocab.h"

namespace plumb {

class CompileBudget;

/// Blanks between the tokens of JSON that a schema asks for.
enum class JsonWhitespace : unsigned char {
  kFlexible,  ///< up to two characters in each gap
  kCompact,   ///< none
};

/// How grammars are compiled.
struct GrammarOptions {
  JsonWhitespace whitespace = JsonWhitespace::kFlexible;
  std::chrono::milliseconds compile_timeout{5000};
  std::int64_t cache_bytes = std::int64_t{192} << 20;

  static constexpr auto fields() {
    using S = GrammarOptions;
    return std::tuple{
        choice_field(&S::whitespace, "grammar-whitespace",
                     "blanks in JSON under a schema: at most two in each gap, or none",
                     std::array{Choice<JsonWhitespace>{"flexible", JsonWhitespace::kFlexible},
                                Choice<JsonWhitespace>{"compact", JsonWhitespace::kCompact}}),
        field(&S::compile_timeout, "grammar-compile-timeout",
              "processor time to compile one schema or grammar, longer is an error 400; and time "
              "that one may wait to begin, longer is an error 503",
              0.001, 600),
        bytes_field(&S::cache_bytes, "grammar-cache-bytes",
                    "memory for compiled grammars and what is known of the tokens in them", 0x1p20),
    };
  }
};

/// What was compiled since the start.
struct ConstraintStats {
  std::int64_t num_compiled = 0;
  std::int64_t num_failed = 0;  ///< refused schemas and grammars, time-outs included
  std::int64_t num_timeouts = 0;
  std::int64_t num_cancelled = 0;  ///< given up because nobody waited any more
  std::int64_t num_cache_hits = 0;
  std::int64_t num_warmed_masks = 0;  ///< made before a request wanted them
  std::int64_t cache_bytes = 0;
  std::chrono::nanoseconds compile_time{};  ///< of all compilations, failures included
};

/// Turns constraints of requests into grammars, and remembers them.
/// Thread  any; compile() takes as long as the options allow.
class ConstraintCompiler {
 public:
  using Grammar = std::shared_ptr<const CompiledGrammar>;
  using Outcome = std::variant<Grammar, ApiError>;

  /// vocab_size is the model's. `tokenizer` outlives it, and so does `clock`, which measures what
  /// compiling takes.
  ConstraintCompiler(const Tokenizer& tokenizer, std::int64_t vocab_size,
                     const GrammarOptions& options, const Clock& clock);

  const GrammarOptions& options() const { return options_; }

  /// The grammar if it is known already, else null.
  Grammar find(const ConstraintSpec& spec);

  /// As find(), or compiles it. Errors: 400 invalid_schema with the place in the schema or grammar,
  /// 400 grammar_compile_timeout; once is_cancelled() it may stop with any of them.
  Outcome compile(const ConstraintSpec& spec, const std::function<bool()>& is_cancelled);

  /// Makes the masks with which texts of the grammar are likely to begin, for so long as nothing
  /// else is to be done: stops at is_cancelled(), or after kWarmTime.
  void warm(const CompiledGrammar& grammar, const std::function<bool()>& is_cancelled);

  static constexpr std::chrono::milliseconds kWarmTime{20};

  /// Lets on_compiled take the time of each compilation, as compile_time of the stats adds it up,
  /// on the thread that compiled. Requires no compile() runs, and on_compiled outlives all of them.
  void set_on_compiled(std::function<void(std::chrono::nanoseconds)> on_compiled) {
    on_compiled_ = std::move(on_compiled);
  }

  /// How the bytes of the options are divided.
  struct CacheShares {
    std::int64_t grammars = 0;  ///< compiled ones, with their masks
    std::int64_t vocab = 0;     ///< what is known of its tokens
    std::int64_t vocab_with_marks = 0;
  };

  static CacheShares cache_shares(std::int64_t cache_bytes);

  ConstraintStats stats() const;

 private:
  Grammar find(const GrammarSpec& spec);
  Result<Grammar> build(const GrammarSpec& spec, const ConstraintSpec& constraint,
                        CompileBudget* budget);
  std::shared_ptr<const GrammarVocab> vocab_with_marks();
  ApiError refuse(const ConstraintSpec& spec, const Status& status);

  const GrammarOptions options_;
  const Clock& clock_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<const GrammarVocab> vocab_;  // of all its grammars but those with marks
  Mutex mutex_;
  // Made for the first grammar that speaks of tokens.
  std::shared_ptr<const GrammarVocab> vocab_with_marks_ PLUMB_GUARDED_BY(mutex_);
  GrammarCache cache_;
  std::atomic<std::int64_t> num_compiled_{0};
  std::atomic<std::int64_t> num_failed_{0};
  std::atomic<std::int64_t> num_timeouts_{0};
  std::atomic<std::int64_t> num_cancelled_{0};
  std::atomic<std::int64_t> num_cache_hits_{0};
  std::atomic<std::int64_t> num_warmed_masks_{0};
  std::atomic<std::int64_t> compile_ns_{0};
  std::function<void(std::chrono::nanoseconds)> on_compiled_ = [](std::chrono::nanoseconds) {};
};

/// Lets all choices of a request follow one grammar.
void attach_grammar(const std::shared_ptr<const CompiledGrammar>& grammar,
                    std::vector<ChoiceRequest>* choices);

}  // namespace plumb
