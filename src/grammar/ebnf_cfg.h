// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "grammar/cfg.h"
#include "grammar/compile_budget.h"
#include "grammar/ebnf_syntax.h"

namespace plumb {

struct EbnfCfgOptions {
  /// As EbnfOptions::join_regular.
  bool join_regular = true;
  /// Each text of the grammar as it stands between the quotes of a JSON string. Escapes belong to
  /// single bytes, so the terminals are escaped and the rules stay as they are.
  bool in_json_text = false;
};

/// The grammar of a parsed text. Its expressions are those of the set of `cfg`, which has no rules.
/// Errors  those of the budget.
Result<Cfg> build_ebnf_cfg(Cfg cfg, EbnfText text, const EbnfCfgOptions& options,
                           CompileBudget* budget);

}  // namespace plumb
