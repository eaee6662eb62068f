// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_syntax.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "grammar/notation_reader.h"

namespace plumb {
namespace {

class SyntaxParser {
 public:
  SyntaxParser(std::string_view text, const NotationOptions& options, RegexSet* set,
               CompileBudget* budget)
      : options_(options),
        set_(*set),
        budget_(*budget),
        reader_({.name = "ebnf", .name_marks = "-_"}, text) {}

  Result<EbnfText> parse() {
    PLUMB_RETURN_IF_ERROR(reader_.check_text(options_.max_text_bytes));
    for (reader_.skip_blank(); !reader_.at_end(); reader_.skip_blank()) {
      PLUMB_RETURN_IF_ERROR(parse_rule());
    }
    return finish();
  }

 private:
  // A name is the head of the next rule if "::=" follows.
  bool at_rule_head() {
    const std::size_t begin = reader_.pos();
    reader_.take_name();
    reader_.skip_blank();
    const bool is_head = reader_.pos() > begin && reader_.looking_at("::=");
    reader_.go_back(begin);
    return is_head;
  }

  Status parse_rule() {
    const std::size_t begin = reader_.pos();
    const std::string_view name = reader_.take_name();
    if (name.empty()) {
      return reader_.error("a rule name is expected", begin);
    }
    reader_.skip_blank();
    if (!reader_.take("::=")) {
      return reader_.error("'::=' is expected after rule name " + std::string(name), reader_.pos());
    }
    const std::uint32_t rule = builder_.rule_of(name, begin);
    if (builder_.text().rules[rule].is_defined) {
      return reader_.error("rule " + std::string(name) + " is defined twice", begin);
    }
    PLUMB_ASSIGN(const std::uint32_t body, parse_choice(0));
    if (!reader_.at_end() && !at_rule_head()) {
      return reader_.error("'" + std::string(1, reader_.peek()) + "' is not expected here",
                           reader_.pos());
    }
    builder_.define(rule, body);
    return {};
  }

  Result<std::uint32_t> parse_choice(int depth) {
    if (depth > options_.max_depth) {
      return reader_.error("groups nest deeper than " + std::to_string(options_.max_depth),
                           reader_.pos());
    }
    std::vector<std::uint32_t> choices;
    do {
      PLUMB_ASSIGN(const std::uint32_t sequence, parse_sequence(depth));
      choices.push_back(sequence);
    } while (reader_.take("|"));
    return builder_.add_joined(EbnfNode::Kind::kChoice, std::move(choices));
  }

  Result<std::uint32_t> parse_sequence(int depth) {
    std::vector<std::uint32_t> items;
    for (reader_.skip_blank(); !reader_.at_end() && reader_.peek() != '|' && reader_.peek() != ')';
         reader_.skip_blank()) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      PLUMB_RETURN_IF_ERROR(
          budget_.check_expressions(set_.size() + std::ssize(builder_.text().nodes)));
      if (reader_.at_name() && at_rule_head()) {
        break;
      }
      PLUMB_ASSIGN(std::uint32_t item, parse_item(depth));
      PLUMB_ASSIGN(item, parse_quantifiers(item));
      items.push_back(item);
    }
    return builder_.add_joined(EbnfNode::Kind::kSequence, std::move(items));
  }

  Result<std::uint32_t> parse_item(int depth) {
    const std::size_t begin = reader_.pos();
    if (reader_.at_name()) {
      const std::string_view name = reader_.take_name();
      return builder_.add({.kind = EbnfNode::Kind::kRule, .rule = builder_.rule_of(name, begin)});
    }
    if (reader_.take("\"")) {
      return parse_literal(begin);
    }
    if (reader_.take("[")) {
      return parse_class(begin);
    }
    if (reader_.take(".")) {
      return builder_.add({.kind = EbnfNode::Kind::kRegex, .regex = set_.other_char({})});
    }
    if (reader_.take("(")) {
      PLUMB_ASSIGN(const std::uint32_t inner, parse_choice(depth + 1));
      if (!reader_.take(")")) {
        return reader_.error("group is not closed", begin);
      }
      return inner;
    }
    return reader_.error("'" + std::string(1, reader_.peek()) + "' is not expected here", begin);
  }

  Result<std::uint32_t> parse_literal(std::size_t begin) {
    std::string bytes;
    while (!reader_.take("\"")) {
      if (reader_.at_end() || reader_.peek() == '\n') {
        return reader_.error("literal is not closed", begin);
      }
      PLUMB_ASSIGN(const char32_t c, parse_char());
      append_utf8(&bytes, c);
    }
    return builder_.add({.kind = EbnfNode::Kind::kRegex, .regex = set_.literal(bytes)});
  }

  Result<std::uint32_t> parse_class(std::size_t begin) {
    const bool is_negated = reader_.take("^");
    std::vector<CodePointRange> ranges;
    while (!reader_.take("]")) {
      if (reader_.at_end() || reader_.peek() == '\n') {
        return reader_.error("class is not closed", begin);
      }
      const std::size_t item = reader_.pos();
      PLUMB_ASSIGN(const char32_t first, parse_char());
      char32_t last = first;
      if (reader_.peek() == '-' && reader_.rest().size() > 1 && reader_.rest()[1] != ']') {
        reader_.advance(1);
        PLUMB_ASSIGN(last, parse_char());
        if (last < first) {
          return reader_.error("range has its bounds in the wrong order", item);
        }
      }
      ranges.push_back({first, last});
    }
    if (ranges.empty() && !is_negated) {
      return reader_.error("class is empty", begin);
    }
    return builder_.add({.kind = EbnfNode::Kind::kRegex,
                         .regex = is_negated ? set_.other_char(ranges) : set_.char_class(ranges)});
  }

  Result<char32_t> parse_char() {
    const std::size_t begin = reader_.pos();
    if (!reader_.take("\\")) {
      return decode_utf8(reader_.take_char()).code_point;
    }
    if (reader_.at_end()) {
      return reader_.error("backslash escapes nothing", begin);
    }
    const char letter = reader_.peek();
    reader_.advance(1);
    switch (letter) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'x':
        return reader_.take_hex(2, begin);
      case 'u':
        return reader_.take_hex(4, begin);
      case 'U':
        return reader_.take_hex(8, begin);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(letter);
      default:
        return reader_.error("escape \\" + std::string(1, letter) + " is not known", begin);
    }
  }

  // Quantifiers may stand apart from their item, as GBNF allows, but only on its line.
  Result<std::uint32_t> parse_quantifiers(std::uint32_t item) {
    for (int num = 1;; ++num) {
      reader_.skip_inline_blank();
      const std::size_t begin = reader_.pos();
      EbnfNode node{.kind = EbnfNode::Kind::kRepeat, .children = {item}};
      if (!reader_.take_quantifier(&node.min, &node.max)) {
        if (!reader_.take("{")) {
          return item;
        }
        PLUMB_RETURN_IF_ERROR(parse_counts(begin, &node));
      }
      if (num > options_.max_depth) {
        return reader_.error(
            "more than " + std::to_string(options_.max_depth) + " quantifiers in a row", begin);
      }
      item = builder_.add(std::move(node));
    }
  }

  Status parse_counts(std::size_t begin, EbnfNode* node) {
    PLUMB_ASSIGN(const std::optional<std::int64_t> min, take_count());
    if (!min.has_value()) {
      return reader_.error("a count is expected", reader_.pos());
    }
    node->min = *min;
    node->max = *min;
    reader_.skip_inline_blank();
    if (reader_.take(",")) {
      PLUMB_ASSIGN(const std::optional<std::int64_t> max, take_count());
      node->max = max.value_or(kUnbounded);
    }
    reader_.skip_inline_blank();
    if (!reader_.take("}")) {
      return reader_.error("'}' is expected", reader_.pos());
    }
    if (node->max != kUnbounded && node->max < node->min) {
      return reader_.error("quantifier has its bounds in the wrong order", begin);
    }
    return {};
  }

  Result<std::optional<std::int64_t>> take_count() {
    constexpr std::int64_t kMaxCount = 1'000'000;
    reader_.skip_inline_blank();
    const std::size_t begin = reader_.pos();
    std::int64_t value = 0;
    for (; reader_.peek() >= '0' && reader_.peek() <= '9'; reader_.advance(1)) {
      value = std::min(value * 10 + (reader_.peek() - '0'), kMaxCount + 1);
    }
    if (value > kMaxCount) {
      return reader_.error("count exceeds the limit " + std::to_string(kMaxCount), begin);
    }
    return reader_.pos() == begin ? std::optional<std::int64_t>() : std::optional(value);
  }

  Result<EbnfText> finish() {
    if (const EbnfText::Rule* const rule = builder_.find_undefined()) {
      return reader_.error("rule " + rule->name + " is not defined", rule->first_use);
    }
    if (!builder_.set_root("root")) {
      return Status{Code::kInvalidArgument, "ebnf: there is no rule root"};
    }
    return std::move(builder_.text());
  }

  const NotationOptions& options_;
  RegexSet& set_;
  CompileBudget& budget_;
  NotationReader reader_;
  EbnfTextBuilder builder_;
};

}  // namespace

Result<EbnfText> parse_ebnf_syntax(std::string_view text, const NotationOptions& options,
                                   RegexSet* set, CompileBudget* budget) {
  return SyntaxParser(text, options, set, budget).parse();
}

}  // namespace plumb
