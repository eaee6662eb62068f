// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_parser.h"

#include <utility>

#include "grammar/ebnf_cfg.h"
#include "grammar/lark_syntax.h"

namespace plumb {

Result<Cfg> parse_lark(std::string_view text, const LarkOptions& options, CompileBudget* budget) {
  Cfg cfg;
  PLUMB_ASSIGN(EbnfText parsed, parse_lark_syntax(text, options, &cfg.regexes(), budget));
  return build_ebnf_cfg(
      std::move(cfg), std::move(parsed),
      {.join_regular = options.join_regular, .in_json_text = options.in_json_text}, budget);
}

}  // namespace plumb
