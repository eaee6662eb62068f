// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_syntax.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "grammar/lark_common.h"
#include "grammar/lark_reader.h"
#include "grammar/regex_parser.h"

namespace plumb {
namespace {

using NodeKind = EbnfNode::Kind;

class LarkSyntaxParser {
 public:
  LarkSyntaxParser(std::string_view text, const NotationOptions& options, RegexSet* set,
                   CompileBudget* budget)
      : text_(text), options_(options), set_(*set), budget_(*budget), reader_(text) {}

  Result<EbnfText> parse() {
    PLUMB_RETURN_IF_ERROR(reader_.check_text(options_.max_text_bytes));
    for (reader_.skip_blank(); !reader_.at_end(); reader_.skip_blank()) {
      PLUMB_RETURN_IF_ERROR(reader_.peek() == '%' ? parse_directive() : parse_definition());
    }
    return finish();
  }

 private:
  // Where an expression stands: a terminal names no rules, and %ignore touches rules only.
  struct Place {
    std::string_view name;  // of the definition
    bool is_terminal = false;
    int depth = 0;
  };

  std::uint32_t add(EbnfNode node) { return builder_.add(std::move(node)); }

  std::uint32_t add_regex(RegexId regex) { return add({.kind = NodeKind::kRegex, .regex = regex}); }

  Status define(std::string_view name, std::uint32_t body, std::size_t offset) {
    if (!builder_.define(builder_.rule_of(name, offset), body)) {
      return reader_.error(std::string(name) + " is defined twice", offset);
    }
    return {};
  }

  Status check_budget() {
    PLUMB_RETURN_IF_ERROR(budget_.poll());
    return budget_.check_expressions(set_.size() + std::ssize(builder_.text().nodes));
  }

  // [?!]name.priority: expression
  Status parse_definition() {
    while (reader_.take("?") || reader_.take("!")) {
      // They shape the tree only.
    }
    const std::size_t begin = reader_.pos();
    PLUMB_ASSIGN(const std::string_view name, take_known_name("a rule or terminal"));
    if (reader_.peek() == '{') {
      return reader_.unsupported("the template " + std::string(name), begin);
    }
    if (reader_.take(".")) {
      PLUMB_RETURN_IF_ERROR(reader_.take_number(kMaxNumber).status());
    }
    reader_.skip_inline_blank();
    if (!reader_.take(":")) {
      return reader_.error("':' is expected after the name " + std::string(name), reader_.pos());
    }
    const Place place{name, is_lark_terminal(name), 0};
    PLUMB_ASSIGN(const std::uint32_t body, parse_choice(place));
    if (!is_at_end_of_definition()) {
      return not_expected();
    }
    return define(name, body, begin);
  }

  bool is_at_end_of_definition() {
    return reader_.at_end() || reader_.peek() == '%' || reader_.at_definition();
  }

  Status not_expected() {
    const std::size_t at = reader_.pos();
    return reader_.error("'" + std::string(reader_.take_char()) + "' is not expected here", at);
  }

  Result<std::string_view> take_known_name(const char* what) {
    const std::size_t begin = reader_.pos();
    const std::string_view name = reader_.take_name();
    if (name.empty()) {
      return reader_.error(std::string("the name of ") + what + " is expected", begin);
    }
    if (!is_lark_name(name)) {
      return reader_.error("'" + std::string(name.substr(0, 64)) +
                               "' is no name: rules are written in small letters, terminals in "
                               "capitals",
                           begin);
    }
    return name;
  }

  Status parse_directive() {
    const std::size_t begin = reader_.pos();
    reader_.take("%");
    const std::string_view name = reader_.take_name();
    reader_.skip_inline_blank();
    if (name == "import") {
      return parse_import();
    }
    if (name == "ignore") {
      PLUMB_ASSIGN(const std::uint32_t body, parse_choice({"%ignore", true, 0}));
      ignored_.push_back(body);
      return is_at_end_of_definition() ? Status() : not_expected();
    }
    for (const std::string_view known :
         {"declare", "extend", "override", "json", "lark", "regex"}) {
      if (name == known) {
        return reader_.unsupported("%" + std::string(name), begin);
      }
    }
    return reader_.error("%" + std::string(name.substr(0, 64)) + " is not known", begin);
  }

  // common.NAME, common.NAME -> OTHER, common (NAME, NAME)
  Status parse_import() {
    const std::size_t begin = reader_.pos();
    const std::string_view library = reader_.take_name();
    if (library != "common") {
      return reader_.unsupported("import from elsewhere than common", begin);
    }
    reader_.skip_inline_blank();
    if (reader_.take("(")) {
      do {
        reader_.skip_blank();
        const std::size_t at = reader_.pos();
        const std::string_view name = reader_.take_name();
        PLUMB_RETURN_IF_ERROR(import(name, name, at));
        reader_.skip_blank();
      } while (reader_.take(","));
      return reader_.take(")") ? Status() : reader_.error("')' is expected", reader_.pos());
    }
    if (!reader_.take(".")) {
      return reader_.error("'.' or '(' is expected after common", reader_.pos());
    }
    const std::size_t at = reader_.pos();
    const std::string_view name = reader_.take_name();
    reader_.skip_inline_blank();
    if (!reader_.take("->")) {
      return import(name, name, at);
    }
    reader_.skip_inline_blank();
    const std::size_t alias_at = reader_.pos();
    PLUMB_ASSIGN(const std::string_view alias, take_known_name("a terminal"));
    if (!is_lark_terminal(alias)) {
      return reader_.error("a terminal is imported under a name in capitals", alias_at);
    }
    return import(name, alias, at);
  }

  Status import(std::string_view name, std::string_view alias, std::size_t offset) {
    const std::optional<std::string_view> pattern = find_lark_common(name);
    if (!pattern.has_value()) {
      return reader_.unsupported("common." + std::string(name.substr(0, 64)), offset,
                                 ", expected one of " + list_lark_common());
    }
    PLUMB_ASSIGN(const RegexId regex, parse_regex(*pattern, regex_options(), &set_));
    return define(alias, add_regex(regex), offset);
  }

  RegexParseOptions regex_options() const {
    RegexParseOptions options;
    options.max_pattern_bytes = options_.max_text_bytes;
    options.max_depth = options_.max_depth;
    options.max_expressions = budget_.limits().max_expressions;
    options.dot_takes_returns = true;
    options.is_cancelled = budget_.is_cancelled();
    return options;
  }

  Result<std::uint32_t> parse_choice(const Place& place) {
    if (place.depth > options_.max_depth) {
      return reader_.error("groups nest deeper than " + std::to_string(options_.max_depth),
                           reader_.pos());
    }
    std::vector<std::uint32_t> choices;
    do {
      PLUMB_ASSIGN(const std::uint32_t sequence, parse_sequence(place));
      choices.push_back(sequence);
    } while (reader_.take("|"));
    return builder_.add_joined(NodeKind::kChoice, std::move(choices));
  }

  Result<std::uint32_t> parse_sequence(const Place& place) {
    std::vector<std::uint32_t> items;
    for (reader_.skip_blank(); is_at_item(); reader_.skip_blank()) {
      PLUMB_RETURN_IF_ERROR(check_budget());
      if (reader_.at_definition()) {
        break;
      }
      PLUMB_ASSIGN(std::uint32_t item, parse_item(place));
      PLUMB_ASSIGN(item, parse_quantifier(item));
      items.push_back(item);
    }
    PLUMB_RETURN_IF_ERROR(parse_alias(place));
    return builder_.add_joined(NodeKind::kSequence, std::move(items));
  }

  bool is_at_item() const {
    return !reader_.at_end() &&
           std::string_view("|)]%").find(reader_.peek()) == std::string::npos &&
           !reader_.looking_at("->");
  }

  Status parse_alias(const Place& place) {
    const std::size_t begin = reader_.pos();
    if (!reader_.take("->")) {
      return {};
    }
    if (place.is_terminal || place.depth > 0) {
      return reader_.error(
          place.is_terminal ? "an alias inside a terminal" : "an alias inside a group", begin);
    }
    reader_.skip_blank();
    PLUMB_RETURN_IF_ERROR(take_known_name("an alias").status());
    reader_.skip_blank();
    return {};
  }

  Result<std::uint32_t> parse_item(const Place& place) {
    const std::size_t begin = reader_.pos();
    if (reader_.take("\"")) {
      return parse_literal(begin, place);
    }
    if (reader_.take("/")) {
      return parse_pattern(begin, place);
    }
    if (reader_.take("(")) {
      return parse_group(begin, ")", place);
    }
    if (reader_.take("[")) {
      PLUMB_ASSIGN(const std::uint32_t inner, parse_group(begin, "]", place));
      return add({.kind = NodeKind::kRepeat, .children = {inner}, .min = 0, .max = 1});
    }
    return reader_.at_name() ? parse_reference(begin, place)
                             : Result<std::uint32_t>(not_expected());
  }

  Result<std::uint32_t> parse_reference(std::size_t begin, const Place& place) {
    PLUMB_ASSIGN(const std::string_view name, take_known_name("a rule or terminal"));
    if (reader_.peek() == '{') {
      return reader_.unsupported("the template " + std::string(name), begin);
    }
    if (place.is_terminal && !is_lark_terminal(name)) {
      return reader_.error(std::string(place.name) + " uses the rule " + std::string(name) +
                               "; terminals are made of terminals, literals and expressions",
                           begin);
    }
    const std::uint32_t node =
        add({.kind = NodeKind::kRule, .rule = builder_.rule_of(name, begin)});
    return is_lark_terminal(name) ? token(node, place) : node;
  }

  // What %ignore may stand behind.
  std::uint32_t token(std::uint32_t node, const Place& place) {
    if (!place.is_terminal) {
      tokens_.push_back(node);
    }
    return node;
  }

  Result<std::uint32_t> parse_group(std::size_t begin, std::string_view close, const Place& place) {
    PLUMB_ASSIGN(const std::uint32_t inner,
                 parse_choice({place.name, place.is_terminal, place.depth + 1}));
    if (!reader_.take(close)) {
      return reader_.error("group is not closed", begin);
    }
    return inner;
  }

  // "text", "text"i or "a".."z"
  Result<std::uint32_t> parse_literal(std::size_t begin, const Place& place) {
    PLUMB_ASSIGN(const LarkReader::Literal first, reader_.take_literal(begin));
    reader_.skip_inline_blank();
    if (!reader_.take("..")) {
      PLUMB_ASSIGN(const RegexId regex, literal_regex(first));
      return token(add_regex(regex), place);
    }
    reader_.skip_inline_blank();
    const std::size_t second = reader_.pos();
    if (!reader_.take("\"")) {
      return reader_.error("a character in quotes is expected", second);
    }
    PLUMB_ASSIGN(const LarkReader::Literal last, reader_.take_literal(second));
    if (first.num_chars != 1 || last.num_chars != 1 || first.ignores_case || last.ignores_case) {
      return reader_.error("a range goes from one character to another, without flags", begin);
    }
    const char32_t from = decode_utf8(first.bytes).code_point;
    const char32_t to = decode_utf8(last.bytes).code_point;
    if (to < from) {
      return reader_.error("range has its bounds in the wrong order", begin);
    }
    return token(add_regex(set_.char_class(std::array{CodePointRange{from, to}})), place);
  }

  Result<RegexId> literal_regex(const LarkReader::Literal& literal) {
    if (!literal.ignores_case) {
      return set_.literal(literal.bytes);
    }
    std::string pattern = "(?i)";
    for (const char c : literal.bytes) {
      const bool is_mark = static_cast<unsigned char>(c) < 0x80 &&
                           std::string_view(R"(\^$.*+?()[]{}|/-)").find(c) != std::string::npos;
      pattern += (is_mark ? "\\" : "") + std::string(1, c);
    }
    return parse_regex(pattern, regex_options(), &set_);
  }

  Result<std::uint32_t> parse_pattern(std::size_t begin, const Place& place) {
    PLUMB_ASSIGN(const LarkReader::Pattern pattern, reader_.take_pattern(begin));
    const Result<RegexId> regex = parse_regex(pattern.text, regex_options(), &set_);
    if (!regex.ok()) {
      return placed(regex.status(), pattern);
    }
    return token(add_regex(regex.value()), place);
  }

  // Its errors end with the offset in the pattern.
  Status placed(const Status& status, const LarkReader::Pattern& pattern) const {
    static constexpr std::string_view kOffset = " at offset ";
    const std::string& message = status.message();
    const std::size_t at = message.rfind(kOffset);
    std::int64_t offset = 0;
    if (at != std::string::npos) {
      parse_int64(message.substr(at + kOffset.size()), &offset);
    }
    const std::size_t from = pattern.begin + static_cast<std::size_t>(offset) -
                             std::min(pattern.prefix, static_cast<std::size_t>(offset));
    const Status placed = reader_.error(message.substr(0, at), std::min(from, text_.size()));
    return {status.code(), placed.message()};
  }

  // Quantifiers stand on the line of their item: a line may begin with the ? of a rule.
  Result<std::uint32_t> parse_quantifier(std::uint32_t item) {
    reader_.skip_inline_blank();
    const std::size_t begin = reader_.pos();
    EbnfNode node{.kind = NodeKind::kRepeat, .children = {item}};
    if (!reader_.take_quantifier(&node.min, &node.max)) {
      if (!reader_.take("~")) {
        return item;
      }
      PLUMB_RETURN_IF_ERROR(parse_counts(begin, &node));
    }
    reader_.skip_inline_blank();
    if (!reader_.at_end() && std::string_view("*+?~").find(reader_.peek()) != std::string::npos) {
      return reader_.error("a second quantifier; put the first one into a group", reader_.pos());
    }
    return add(std::move(node));
  }

  // n or n..m, behind the ~.
  Status parse_counts(std::size_t begin, EbnfNode* node) {
    reader_.skip_inline_blank();
    PLUMB_ASSIGN(node->min, reader_.take_number(kMaxNumber));
    node->max = node->min;
    reader_.skip_inline_blank();
    if (reader_.take("..")) {
      reader_.skip_inline_blank();
      PLUMB_ASSIGN(node->max, reader_.take_number(kMaxNumber));
    }
    if (node->min < 0 || node->max < node->min) {
      return reader_.error("quantifier has its bounds in the wrong order", begin);
    }
    return {};
  }

  Result<EbnfText> finish() {
    if (const EbnfText::Rule* const rule = builder_.find_undefined()) {
      return reader_.error(
          (is_lark_terminal(rule->name) ? "terminal " : "rule ") + rule->name + " is not defined",
          rule->first_use);
    }
    if (!builder_.set_root("start")) {
      return Status{Code::kInvalidArgument, "lark: there is no rule start"};
    }
    PLUMB_RETURN_IF_ERROR(check_terminals());
    if (!ignored_.empty()) {
      insert_ignored();
    }
    return std::move(builder_.text());
  }

  // Terminals must not recur: they are regular.
  Status check_terminals() const {
    const EbnfText& out = builder_.text();
    std::vector<std::vector<std::uint32_t>> users(out.rules.size());
    std::vector<std::size_t> num_missing(out.rules.size(), 0);
    std::vector<std::uint32_t> todo;
    std::size_t num_left = 0;
    for (std::uint32_t r = 0; r < out.rules.size(); ++r) {
      if (!is_lark_terminal(out.rules[r].name)) {
        continue;
      }
      ++num_left;
      std::vector<std::uint32_t> nodes{out.rules[r].body};
      while (!nodes.empty()) {
        const EbnfNode& node = out.nodes[nodes.back()];
        nodes.pop_back();
        if (node.kind == NodeKind::kRule) {
          users[node.rule].push_back(r);
          ++num_missing[r];
        }
        nodes.insert(nodes.end(), node.children.begin(), node.children.end());
      }
      if (num_missing[r] == 0) {
        todo.push_back(r);
      }
    }
    for (; !todo.empty(); --num_left) {
      const std::uint32_t done = todo.back();
      todo.pop_back();
      for (const std::uint32_t user : users[done]) {
        if (--num_missing[user] == 0) {
          todo.push_back(user);
        }
      }
    }
    if (num_left == 0) {
      return {};
    }
    const auto recurs = [&](const EbnfText::Rule& rule) {
      return num_missing[static_cast<std::size_t>(&rule - out.rules.data())] > 0;
    };
    const EbnfText::Rule& rule = *std::find_if(out.rules.begin(), out.rules.end(), recurs);
    return reader_.error("terminal " + rule.name + " recurs; terminals are regular, write a rule",
                         rule.first_use);
  }

  void insert_ignored() {
    EbnfText& out = builder_.text();
    const std::uint32_t any =
        ignored_.size() == 1 ? ignored_[0] : add({.kind = NodeKind::kChoice, .children = ignored_});
    const std::uint32_t gap =
        add({.kind = NodeKind::kRepeat, .children = {any}, .min = 0, .max = kUnbounded});
    const auto gap_rule = static_cast<std::uint32_t>(out.rules.size());
    out.rules.push_back({"%ignore", gap, true, 0});
    for (const std::uint32_t node : tokens_) {
      const std::uint32_t moved = add(EbnfNode(out.nodes[node]));
      const std::uint32_t behind = add({.kind = NodeKind::kRule, .rule = gap_rule});
      out.nodes[node] = {.kind = NodeKind::kSequence, .children = {moved, behind}};
    }
    const std::uint32_t before = add({.kind = NodeKind::kRule, .rule = gap_rule});
    const std::uint32_t start = add({.kind = NodeKind::kRule, .rule = out.root});
    const std::uint32_t whole = add({.kind = NodeKind::kSequence, .children = {before, start}});
    out.root = static_cast<std::uint32_t>(out.rules.size());
    out.rules.push_back({"%start", whole, true, 0});
  }

  static constexpr std::int64_t kMaxNumber = 1'000'000;

  std::string_view text_;
  const NotationOptions& options_;
  RegexSet& set_;
  CompileBudget& budget_;
  LarkReader reader_;
  EbnfTextBuilder builder_;
  std::vector<std::uint32_t> tokens_;   // nodes of rules that are terminals
  std::vector<std::uint32_t> ignored_;  // bodies of %ignore
};

}  // namespace

Result<EbnfText> parse_lark_syntax(std::string_view text, const NotationOptions& options,
                                   RegexSet* set, CompileBudget* budget) {
  return LarkSyntaxParser(text, options, set, budget).parse();
}

}  // namespace plumb
