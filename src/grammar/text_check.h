// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/grammar_tables.h"

namespace plumb {

/// Says whether a whole text matches a grammar, for texts that were written without it.
/// Thread  any (immutable).
class TextCheck {
 public:
  /// Of a pattern for parse_regex(). Errors: those of parse_regex() and of the budget.
  static Result<std::unique_ptr<const TextCheck>> of_regex(std::string_view pattern,
                                                           CompileBudget* budget);
  /// Of a grammar for parse_lark(). Errors: those of parse_lark() and of the budget;
  /// kInvalidArgument if no text matches.
  static Result<std::unique_ptr<const TextCheck>> of_lark(std::string_view text,
                                                          CompileBudget* budget);

  /// Errors: kInvalidArgument with line and column of the first character that may not stand there,
  /// or of the end that comes too early; kResourceExhausted for a text that can be read in too many
  /// ways. Cost: a table look-up a byte where the text stays in one place of the grammar; at most
  /// some ten milliseconds and what its bytes grant.
  Status check(std::string_view text) const;

 private:
  explicit TextCheck(GrammarTables tables) : tables_(std::move(tables)) {}

  static Result<std::unique_ptr<const TextCheck>> of(Cfg cfg, CompileBudget* budget);

  GrammarTables tables_;
};

}  // namespace plumb
