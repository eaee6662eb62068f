// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/notation_options.h"

namespace plumb {

/// The grammar of a text in EBNF as GBNF writes it, from the rule `root` on.
///
/// name ::= expression, with "literals", [classes], . for any character, (groups), |, and the
/// quantifiers ? * + {m} {m,} {m,n}; # begins a comment. Escapes: \n \r \t \" \\ \[ \] \- \^ \xHH
/// \uXXXX \UXXXXXXXX, all of code points. Rules may recur in any way.
/// Errors  kInvalidArgument with line and column; kResourceExhausted, kDeadlineExceeded from the
///         budget.
Result<Cfg> parse_ebnf(std::string_view text, const NotationOptions& options,
                       CompileBudget* budget);

}  // namespace plumb
