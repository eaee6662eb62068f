// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "grammar/ebnf_parser.h"
#include "grammar/regex_set.h"

namespace plumb {

/// One expression of an EBNF text; children are indices of other nodes.
struct EbnfNode {
  enum class Kind : std::uint8_t { kRegex, kRule, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  RegexId regex{};         ///< of kRegex: a literal or a class
  std::uint32_t rule = 0;  ///< of kRule
  std::vector<std::uint32_t> children;
  std::int64_t min = 0;  ///< of kRepeat
  std::int64_t max = 0;
};

/// A parsed EBNF text.
struct EbnfText {
  struct Rule {
    std::string name;
    std::uint32_t body = 0;  ///< a node
    bool is_defined = false;
    std::size_t first_use = 0;  ///< byte offset
  };

  std::vector<EbnfNode> nodes;
  std::vector<Rule> rules;
  std::uint32_t root = 0;  ///< a rule
};

/// Reads the syntax; literals and classes become expressions of the set.
/// Errors  as parse_ebnf.
Result<EbnfText> parse_ebnf_syntax(std::string_view text, const EbnfOptions& options, RegexSet* set,
                                   CompileBudget* budget);

}  // namespace plumb
