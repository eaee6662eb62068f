// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

/// A parsed text, of EBNF or of a notation that says the same.
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

/// Makes an EbnfText, whose rules may be used before they are defined.
/// Thread  one at a time.
class EbnfTextBuilder {
 public:
  EbnfText& text() { return text_; }

  const EbnfText& text() const { return text_; }

  /// The node's index.
  std::uint32_t add(EbnfNode node);
  /// The only child, or else a node of that kind with all of them.
  std::uint32_t add_joined(EbnfNode::Kind kind, std::vector<std::uint32_t> children);
  /// The rule of that name, used or defined at `offset`.
  std::uint32_t rule_of(std::string_view name, std::size_t offset);
  /// False: it is defined already, and stays as it is.
  bool define(std::uint32_t rule, std::uint32_t body);
  /// The first rule that is used and not defined; null if there is none.
  const EbnfText::Rule* find_undefined() const;
  /// Lets the text begin with that rule; false: there is none of that name.
  bool set_root(const std::string& name);

 private:
  EbnfText text_;
  std::unordered_map<std::string, std::uint32_t> rule_index_;
};

}  // namespace plumb
