// SPDX-License-Identifier: Apache-2.0
#include "grammar/tag_grammar.h"

#include "grammar/ebnf_parser.h"
#include "grammar/lark_parser.h"

namespace plumb {

Result<Cfg> read_tag_grammar(const TagFormat& format, bool join_regular, CompileBudget* budget) {
  const NotationOptions options{.join_regular = join_regular, .in_json_text = format.in_json_text};
  return format.is_lark ? parse_lark(format.text, options, budget)
                        : parse_ebnf(format.text, options, budget);
}

}  // namespace plumb
