// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/ebnf_text.h"
#include "grammar/notation_options.h"
#include "grammar/regex_set.h"

namespace plumb {

/// Reads the syntax; literals and classes become expressions of the set.
/// Errors  as parse_ebnf.
Result<EbnfText> parse_ebnf_syntax(std::string_view text, const NotationOptions& options,
                                   RegexSet* set, CompileBudget* budget);

}  // namespace plumb
