// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/notation_options.h"

namespace plumb {

/// The grammar of a text in the notation of Lark, from the rule `start` on.
///
/// rule: expression and TERMINAL: expression, with "literals", /expressions/, "a".."z", (groups),
/// [optional parts], |, ? * + ~n ~n..m, aliases `-> name`, comments // and #; literals take the
/// flag i, expressions i, s and u, and their dialect is that of parse_regex() but that `.` excludes
/// line feeds only. %import takes terminals of `common`, %ignore lets something stand before,
/// between and behind the terminals of rules. Priorities, `?` and `!` before a rule, and aliases
/// shape a tree, which nobody asks for here. A terminal may end wherever its language allows: every
/// derivation counts, not the longest match.
///
/// Errors  kInvalidArgument with line and column; kUnsupported likewise: templates, %declare,
///         %extend, %override, imports from elsewhere, other flags, look-around and what else
///         parse_regex() does not take; kResourceExhausted, kDeadlineExceeded from the budget.
/// Source  the public documentation of Lark, "Grammar Reference".
Result<Cfg> parse_lark(std::string_view text, const NotationOptions& options,
                       CompileBudget* budget);

}  // namespace plumb
