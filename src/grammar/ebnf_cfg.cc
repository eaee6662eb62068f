// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_cfg.h"

#include <optional>
#include <utility>
#include <vector>

namespace plumb {
namespace {

// Turns the parsed text into a Cfg whose terminals are as large as they can be: everything that
// involves no recursion.
class CfgBuilder {
 public:
  CfgBuilder(Cfg cfg, EbnfText text, const NotationOptions& options, CompileBudget* budget)
      : cfg_(std::move(cfg)),
        text_(std::move(text)),
        join_regular_(options.join_regular),
        in_json_text_(options.in_json_text),
        budget_(*budget) {}

  Result<Cfg> build() {
    regexes_.resize(text_.rules.size());
    if (join_regular_) {
      PLUMB_RETURN_IF_ERROR(find_regular_rules());
    }
    for (const EbnfText::Rule& rule : text_.rules) {
      symbols_.push_back(cfg_.nonterminal(rule.name));
    }
    for (std::size_t r = 0; r < text_.rules.size(); ++r) {
      PLUMB_RETURN_IF_ERROR(check_budget());
      const std::uint32_t body = text_.rules[r].body;
      if (text_.nodes[body].kind == EbnfNode::Kind::kSequence && !regex_of(body).has_value()) {
        cfg_.add_rule(symbols_[r], parts_of(body));
      } else {
        cfg_.add_rule(symbols_[r], {symbol_of(body)});
      }
    }
    cfg_.set_start(symbols_[text_.root]);
    return std::move(cfg_);
  }

 private:
  RegexSet& set() { return cfg_.regexes(); }

  SymbolId terminal(RegexId regex) {
    return cfg_.terminal(in_json_text_ ? set().json_text(regex) : regex);
  }

  Status check_budget() {
    PLUMB_RETURN_IF_ERROR(budget_.poll());
    return budget_.check_expressions(set().size());
  }

  // A rule is regular as soon as all rules that it names are; rules that recur never get there.
  Status find_regular_rules() {
    std::vector<std::vector<std::uint32_t>> users(text_.rules.size());
    std::vector<std::size_t> num_missing(text_.rules.size(), 0);
    std::vector<std::uint32_t> todo;
    for (std::uint32_t r = 0; r < text_.rules.size(); ++r) {
      for (const std::uint32_t used : rules_in(text_.rules[r].body)) {
        users[used].push_back(r);
        ++num_missing[r];
      }
      if (num_missing[r] == 0) {
        todo.push_back(r);
      }
    }
    while (!todo.empty()) {
      const std::uint32_t rule = todo.back();
      todo.pop_back();
      regexes_[rule] = regex_of(text_.rules[rule].body);
      PLUMB_RETURN_IF_ERROR(check_budget());
      for (const std::uint32_t user : users[rule]) {
        if (--num_missing[user] == 0) {
          todo.push_back(user);
        }
      }
    }
    return {};
  }

  std::vector<std::uint32_t> rules_in(std::uint32_t body) const {
    std::vector<std::uint32_t> out;
    std::vector<std::uint32_t> todo{body};
    while (!todo.empty()) {
      const EbnfNode& node = text_.nodes[todo.back()];
      todo.pop_back();
      if (node.kind == EbnfNode::Kind::kRule) {
        out.push_back(node.rule);
      }
      todo.insert(todo.end(), node.children.begin(), node.children.end());
    }
    return out;
  }

  // The language of an expression, if it is to be one terminal. The depth of nodes is that of the
  // text.
  std::optional<RegexId> regex_of(std::uint32_t id) {
    const EbnfNode& node = text_.nodes[id];
    if (node.kind == EbnfNode::Kind::kRegex) {
      return node.regex;
    }
    if (node.kind == EbnfNode::Kind::kRule) {
      return regexes_[node.rule];
    }
    if (!join_regular_) {
      return std::nullopt;
    }
    std::vector<RegexId> parts;
    for (const std::uint32_t child : node.children) {
      const std::optional<RegexId> part = regex_of(child);
      if (!part.has_value()) {
        return std::nullopt;
      }
      parts.push_back(*part);
    }
    switch (node.kind) {
      case EbnfNode::Kind::kSequence:
        return set().concat(parts);
      case EbnfNode::Kind::kChoice:
        return set().any_of(parts);
      default:
        return set().repeat(parts[0], node.min, node.max);
    }
  }

  SymbolId symbol_of(std::uint32_t id) {
    if (const std::optional<RegexId> regex = regex_of(id); regex.has_value()) {
      return terminal(*regex);
    }
    const EbnfNode& node = text_.nodes[id];
    switch (node.kind) {
      case EbnfNode::Kind::kRule:
        return symbols_[node.rule];
      case EbnfNode::Kind::kSequence:
        return cfg_.sequence(parts_of(id));
      case EbnfNode::Kind::kChoice:
        return choice(node);
      default:
        return cfg_.repeat(symbol_of(node.children[0]), node.min, node.max);
    }
  }

  // The symbols of a sequence; neighbours that are regular become one.
  std::vector<SymbolId> parts_of(std::uint32_t id) {
    std::vector<SymbolId> out;
    std::vector<RegexId> run;
    const auto end_run = [&] {
      if (!run.empty()) {
        out.push_back(terminal(set().concat(run)));
        run.clear();
      }
    };
    for (const std::uint32_t child : text_.nodes[id].children) {
      const std::optional<RegexId> regex = regex_of(child);
      if (regex.has_value()) {
        run.push_back(*regex);
        if (!join_regular_) {
          end_run();
        }
        continue;
      }
      end_run();
      out.push_back(symbol_of(child));
    }
    end_run();
    return out;
  }

  SymbolId choice(const EbnfNode& node) {
    std::vector<SymbolId> alternatives;
    std::vector<RegexId> regular;
    for (const std::uint32_t child : node.children) {
      const std::optional<RegexId> regex = regex_of(child);
      if (regex.has_value()) {
        regular.push_back(*regex);
      } else {
        alternatives.push_back(symbol_of(child));
      }
    }
    if (!regular.empty()) {
      alternatives.push_back(terminal(set().any_of(regular)));
    }
    return cfg_.any_of(alternatives);
  }

  Cfg cfg_;
  EbnfText text_;
  bool join_regular_;
  bool in_json_text_;
  CompileBudget& budget_;
  std::vector<std::optional<RegexId>> regexes_;  // of rules that are regular
  std::vector<SymbolId> symbols_;                // of rules
};

}  // namespace

Result<Cfg> build_ebnf_cfg(Cfg cfg, EbnfText text, const NotationOptions& options,
                           CompileBudget* budget) {
  return CfgBuilder(std::move(cfg), std::move(text), options, budget).build();
}

}  // namespace plumb
