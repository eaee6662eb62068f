// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_parser.h"

#include <utility>

#include "grammar/ebnf_cfg.h"
#include "grammar/lark_syntax.h"

namespace plumb {

Result<Cfg> parse_lark(std::string_view text, const NotationOptions& options,
                       CompileBudget* budget) {
  Cfg cfg;
  PLUMB_ASSIGN(EbnfText parsed, parse_lark_syntax(text, options, &cfg.regexes(), budget));
  return build_ebnf_cfg(std::move(cfg), std::move(parsed), options, budget);
}

}  // namespace plumb
