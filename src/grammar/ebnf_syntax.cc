// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_syntax.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "grammar/code_points.h"

namespace plumb {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class SyntaxParser {
 public:
  SyntaxParser(std::string_view text, const EbnfOptions& options, RegexSet* set,
               CompileBudget* budget)
      : text_(text), options_(options), set_(*set), budget_(*budget) {}

  Result<EbnfText> parse() {
    if (std::ssize(text_) > options_.max_text_bytes) {
      return Status{Code::kInvalidArgument, "ebnf: its " + std::to_string(text_.size()) +
                                                " bytes exceed the limit " +
                                                std::to_string(options_.max_text_bytes)};
    }
    if (!is_valid_utf8(text_)) {
      return Status{Code::kInvalidArgument, "ebnf: it is not well-formed UTF-8"};
    }
    for (skip_blank(); !at_end(); skip_blank()) {
      PLUMB_RETURN_IF_ERROR(parse_rule());
    }
    return finish();
  }

 private:
  bool at_end() const { return pos_ >= text_.size(); }

  char peek() const { return at_end() ? '\0' : text_[pos_]; }

  bool take(std::string_view token) {
    const bool found = text_.substr(pos_).starts_with(token);
    pos_ += found ? token.size() : 0;
    return found;
  }

  Status error(const std::string& what, std::size_t offset) const {
    const std::string_view before = text_.substr(0, offset);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 = 0
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    return {Code::kInvalidArgument, "ebnf: line " + std::to_string(line) + ", column " +
                                        std::to_string(offset - line_begin + 1) + ": " + what};
  }

  void skip_blank() {
    for (; !at_end(); ++pos_) {
      if (peek() == '#') {
        pos_ = std::min(text_.find('\n', pos_), text_.size());
      }
      if (at_end() || (peek() != ' ' && peek() != '\t' && peek() != '\n' && peek() != '\r')) {
        return;
      }
    }
  }

  std::string_view take_name() {
    const std::size_t begin = pos_;
    while (!at_end() && is_name_char(peek())) {
      ++pos_;
    }
    return text_.substr(begin, pos_ - begin);
  }

  // A name is the head of the next rule if "::=" follows.
  bool at_rule_head() {
    const std::size_t begin = pos_;
    take_name();
    skip_blank();
    const bool is_head = pos_ > begin && text_.substr(pos_).starts_with("::=");
    pos_ = begin;
    return is_head;
  }

  std::uint32_t rule_of(std::string_view name, std::size_t offset) {
    const auto [it, is_new] =
        rule_index_.try_emplace(std::string(name), static_cast<std::uint32_t>(out_.rules.size()));
    if (is_new) {
      out_.rules.push_back({std::string(name), 0, false, offset});
    }
    return it->second;
  }

  std::uint32_t add(EbnfNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(out_.nodes.size() - 1);
  }

  Status parse_rule() {
    const std::size_t begin = pos_;
    const std::string_view name = take_name();
    if (name.empty()) {
      return error("a rule name is expected", begin);
    }
    skip_blank();
    if (!take("::=")) {
      return error("'::=' is expected after rule name " + std::string(name), pos_);
    }
    const std::uint32_t rule = rule_of(name, begin);
    if (out_.rules[rule].is_defined) {
      return error("rule " + std::string(name) + " is defined twice", begin);
    }
    PLUMB_ASSIGN(const std::uint32_t body, parse_choice(0));
    if (!at_end() && !at_rule_head()) {
      return error("'" + std::string(1, peek()) + "' is not expected here", pos_);
    }
    out_.rules[rule].body = body;
    out_.rules[rule].is_defined = true;
    return {};
  }

  Result<std::uint32_t> parse_choice(int depth) {
    if (depth > options_.max_depth) {
      return error("groups nest deeper than " + std::to_string(options_.max_depth), pos_);
    }
    EbnfNode choice{.kind = EbnfNode::Kind::kChoice};
    do {
      PLUMB_ASSIGN(const std::uint32_t sequence, parse_sequence(depth));
      choice.children.push_back(sequence);
    } while (take("|"));
    return choice.children.size() == 1 ? choice.children[0] : add(std::move(choice));
  }

  Result<std::uint32_t> parse_sequence(int depth) {
    EbnfNode sequence{.kind = EbnfNode::Kind::kSequence};
    for (skip_blank(); !at_end() && peek() != '|' && peek() != ')'; skip_blank()) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      PLUMB_RETURN_IF_ERROR(budget_.check_expressions(set_.size() + std::ssize(out_.nodes)));
      if (is_name_char(peek()) && at_rule_head()) {
        break;
      }
      PLUMB_ASSIGN(std::uint32_t item, parse_item(depth));
      PLUMB_ASSIGN(item, parse_quantifiers(item));
      sequence.children.push_back(item);
    }
    return sequence.children.size() == 1 ? sequence.children[0] : add(std::move(sequence));
  }

  Result<std::uint32_t> parse_item(int depth) {
    const std::size_t begin = pos_;
    if (is_name_char(peek())) {
      const std::string_view name = take_name();
      return add({.kind = EbnfNode::Kind::kRule, .rule = rule_of(name, begin)});
    }
    if (take("\"")) {
      return parse_literal(begin);
    }
    if (take("[")) {
      return parse_class(begin);
    }
    if (take(".")) {
      return add({.kind = EbnfNode::Kind::kRegex, .regex = set_.other_char({})});
    }
    if (take("(")) {
      PLUMB_ASSIGN(const std::uint32_t inner, parse_choice(depth + 1));
      if (!take(")")) {
        return error("group is not closed", begin);
      }
      return inner;
    }
    return error("'" + std::string(1, peek()) + "' is not expected here", begin);
  }

  Result<std::uint32_t> parse_literal(std::size_t begin) {
    std::string bytes;
    while (!take("\"")) {
      if (at_end() || peek() == '\n') {
        return error("literal is not closed", begin);
      }
      PLUMB_ASSIGN(const char32_t c, parse_char());
      append_utf8(&bytes, c);
    }
    return add({.kind = EbnfNode::Kind::kRegex, .regex = set_.literal(bytes)});
  }

  Result<std::uint32_t> parse_class(std::size_t begin) {
    const bool is_negated = take("^");
    std::vector<CodePointRange> ranges;
    while (!take("]")) {
      if (at_end() || peek() == '\n') {
        return error("class is not closed", begin);
      }
      const std::size_t item = pos_;
      PLUMB_ASSIGN(const char32_t first, parse_char());
      char32_t last = first;
      if (peek() == '-' && pos_ + 1 < text_.size() && text_[pos_ + 1] != ']') {
        ++pos_;
        PLUMB_ASSIGN(last, parse_char());
        if (last < first) {
          return error("range has its bounds in the wrong order", item);
        }
      }
      ranges.push_back({first, last});
    }
    if (ranges.empty() && !is_negated) {
      return error("class is empty", begin);
    }
    return add({.kind = EbnfNode::Kind::kRegex,
                .regex = is_negated ? set_.other_char(ranges) : set_.char_class(ranges)});
  }

  Result<char32_t> parse_char() {
    const std::size_t begin = pos_;
    if (!take("\\")) {
      const Utf8Char c = decode_utf8(text_.substr(pos_));
      pos_ += static_cast<std::size_t>(c.num_bytes);
      return c.code_point;
    }
    if (at_end()) {
      return error("backslash escapes nothing", begin);
    }
    const char letter = text_[pos_++];
    switch (letter) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'x':
        return parse_hex(2, begin);
      case 'u':
        return parse_hex(4, begin);
      case 'U':
        return parse_hex(8, begin);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(letter);
      default:
        return error("escape \\" + std::string(1, letter) + " is not known", begin);
    }
  }

  Result<char32_t> parse_hex(int num_digits, std::size_t begin) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    char32_t value = 0;
    for (int i = 0; i < num_digits; ++i, ++pos_) {
      const char c = peek() >= 'A' && peek() <= 'F' ? static_cast<char>(peek() + 32) : peek();
      const std::size_t digit = kDigits.find(c);
      if (at_end() || digit == std::string_view::npos) {
        return error("escape needs " + std::to_string(num_digits) + " hexadecimal digits", begin);
      }
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
      return error("escape names no character", begin);
    }
    return value;
  }

  Result<std::uint32_t> parse_quantifiers(std::uint32_t item) {
    for (int num = 1;; ++num) {
      skip_inline_blank();
      const std::size_t begin = pos_;
      EbnfNode node{.kind = EbnfNode::Kind::kRepeat, .children = {item}};
      if (take("*")) {
        node.max = kUnbounded;
      } else if (take("+")) {
        node.min = 1;
        node.max = kUnbounded;
      } else if (take("?")) {
        node.max = 1;
      } else if (take("{")) {
        PLUMB_RETURN_IF_ERROR(parse_counts(begin, &node));
      } else {
        return item;
      }
      if (num > options_.max_depth) {
        return error("more than " + std::to_string(options_.max_depth) + " quantifiers in a row",
                     begin);
      }
      item = add(std::move(node));
    }
  }

  // Quantifiers may stand apart from their item, as GBNF allows, but only on its line.
  void skip_inline_blank() {
    while (peek() == ' ' || peek() == '\t') {
      ++pos_;
    }
  }

  Status parse_counts(std::size_t begin, EbnfNode* node) {
    PLUMB_ASSIGN(const std::optional<std::int64_t> min, take_count());
    if (!min.has_value()) {
      return error("a count is expected", pos_);
    }
    node->min = *min;
    node->max = *min;
    skip_inline_blank();
    if (take(",")) {
      PLUMB_ASSIGN(const std::optional<std::int64_t> max, take_count());
      node->max = max.value_or(kUnbounded);
    }
    skip_inline_blank();
    if (!take("}")) {
      return error("'}' is expected", pos_);
    }
    if (node->max != kUnbounded && node->max < node->min) {
      return error("quantifier has its bounds in the wrong order", begin);
    }
    return {};
  }

  Result<std::optional<std::int64_t>> take_count() {
    constexpr std::int64_t kMaxCount = 1'000'000;
    skip_inline_blank();
    const std::size_t begin = pos_;
    std::int64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++pos_) {
      value = std::min(value * 10 + (peek() - '0'), kMaxCount + 1);
    }
    if (value > kMaxCount) {
      return error("count exceeds the limit " + std::to_string(kMaxCount), begin);
    }
    return pos_ == begin ? std::optional<std::int64_t>() : std::optional(value);
  }

  Result<EbnfText> finish() {
    for (const EbnfText::Rule& rule : out_.rules) {
      if (!rule.is_defined) {
        return error("rule " + rule.name + " is not defined", rule.first_use);
      }
    }
    const auto root = rule_index_.find("root");
    if (root == rule_index_.end()) {
      return Status{Code::kInvalidArgument, "ebnf: there is no rule root"};
    }
    out_.root = root->second;
    return std::move(out_);
  }

  std::string_view text_;
  const EbnfOptions& options_;
  RegexSet& set_;
  CompileBudget& budget_;
  EbnfText out_;
  std::unordered_map<std::string, std::uint32_t> rule_index_;
  std::size_t pos_ = 0;
};

}  // namespace

Result<EbnfText> parse_ebnf_syntax(std::string_view text, const EbnfOptions& options, RegexSet* set,
                                   CompileBudget* budget) {
  return SyntaxParser(text, options, set, budget).parse();
}

}  // namespace plumb
