// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/ebnf_text.h"
#include "grammar/notation_options.h"

namespace plumb {

/// The grammar of a parsed text. Its expressions are those of the set of `cfg`, which has no rules.
/// Errors  those of the budget.
Result<Cfg> build_ebnf_cfg(Cfg cfg, EbnfText text, const NotationOptions& options,
                           CompileBudget* budget);

}  // namespace plumb
