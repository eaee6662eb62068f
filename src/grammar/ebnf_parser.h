// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"

namespace plumb {

struct EbnfOptions {
  std::int64_t max_text_bytes = 1 << 20;
  int max_depth = 64;  ///< of nested groups
  /// Rules that do not recur become one terminal with what stands around them. The automata are
  /// fast, but can be too large; then each literal and class is a terminal of its own.
  bool join_regular = true;
  /// The texts as they stand between the quotes of a JSON string.
  bool in_json_text = false;
};

/// The grammar of a text in EBNF as GBNF writes it, from the rule `root` on.
///
/// name ::= expression, with "literals", [classes], . for any character, (groups), |, and the
/// quantifiers ? * + {m} {m,} {m,n}; # begins a comment. Escapes: \n \r \t \" \\ \[ \] \- \^ \xHH
/// \uXXXX \UXXXXXXXX, all of code points. Rules may recur in any way.
/// Errors  kInvalidArgument with line and column; kResourceExhausted, kDeadlineExceeded from the
///         budget.
Result<Cfg> parse_ebnf(std::string_view text, const EbnfOptions& options, CompileBudget* budget);

}  // namespace plumb
