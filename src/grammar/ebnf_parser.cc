// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_parser.h"

#include <utility>

#include "grammar/ebnf_cfg.h"
#include "grammar/ebnf_syntax.h"

namespace plumb {

Result<Cfg> parse_ebnf(std::string_view text, const NotationOptions& options,
                       CompileBudget* budget) {
  Cfg cfg;
  PLUMB_ASSIGN(EbnfText parsed, parse_ebnf_syntax(text, options, &cfg.regexes(), budget));
  return build_ebnf_cfg(std::move(cfg), std::move(parsed), options, budget);
}

}  // namespace plumb
