// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/structural_tag.h"

namespace plumb {

/// The grammar in a format of the kind kGrammar. join_regular: as NotationOptions::join_regular.
/// Errors  those of parse_ebnf() and parse_lark().
Result<Cfg> read_tag_grammar(const TagFormat& format, bool join_regular, CompileBudget* budget);

}  // namespace plumb
