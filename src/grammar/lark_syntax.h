// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/ebnf_text.h"
#include "grammar/notation_options.h"
#include "grammar/regex_set.h"

namespace plumb {

/// Reads the notation of Lark into the form that EBNF has; literals and expressions become
/// expressions of the set, terminals become rules, and what %ignore names stands behind each
/// terminal of a rule, and before the first one.
/// Errors  as parse_lark.
Result<EbnfText> parse_lark_syntax(std::string_view text, const NotationOptions& options,
                                   RegexSet* set, CompileBudget* budget);

}  // namespace plumb
