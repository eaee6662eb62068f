// SPDX-License-Identifier: Apache-2.0
#include "grammar/grammar_draft.h"

#include <algorithm>
#include <optional>

namespace plumb {

DraftId GrammarDraft::nonterminal(std::string name) {
  nonterminals_.push_back({std::move(name), {}, {}});
  return static_cast<DraftId>(nonterminals_.size() - 1);
}

void GrammarDraft::add_rule(DraftId lhs, std::vector<Item> rhs) {
  const auto rule = static_cast<std::uint32_t>(at(lhs).rules.size());
  for (const Item& item : rhs) {
    if (!item.is_terminal && item.min > 0) {
      at(item.nonterminal).users.emplace_back(lhs, rule);
    }
  }
  at(lhs).rules.push_back(std::move(rhs));
  productive_.clear();
}

bool GrammarDraft::rule_works(const std::vector<Item>& rule) const {
  return std::all_of(rule.begin(), rule.end(), [&](const Item& item) {
    return item.is_terminal || item.min == 0 ||
           productive_[static_cast<std::size_t>(item.nonterminal)];
  });
}

void GrammarDraft::find_productive() {
  productive_.assign(nonterminals_.size(), false);
  std::vector<DraftId> todo;
  const auto mark = [&](DraftId id) {
    if (!productive_[static_cast<std::size_t>(id)]) {
      productive_[static_cast<std::size_t>(id)] = true;
      todo.push_back(id);
    }
  };
  for (std::size_t i = 0; i < nonterminals_.size(); ++i) {
    const auto& rules = nonterminals_[i].rules;
    if (std::any_of(rules.begin(), rules.end(),
                    [&](const auto& rule) { return rule_works(rule); })) {
      mark(static_cast<DraftId>(i));
    }
  }
  while (!todo.empty()) {
    const DraftId id = todo.back();
    todo.pop_back();
    for (const auto& [lhs, rule] : at(id).users) {
      if (rule_works(at(lhs).rules[rule])) {
        mark(lhs);
      }
    }
  }
}

bool GrammarDraft::is_productive(DraftId id) {
  if (productive_.empty()) {
    find_productive();
  }
  return productive_[static_cast<std::size_t>(id)];
}

DraftId GrammarDraft::obstacle(DraftId from) {
  std::vector<bool> seen(nonterminals_.size(), false);
  std::vector<DraftId> todo{from};
  seen[static_cast<std::size_t>(from)] = true;
  while (!todo.empty()) {
    const DraftId id = todo.back();
    todo.pop_back();
    if (at(id).rules.empty()) {
      return id;
    }
    for (const auto& rule : at(id).rules) {
      for (const Item& item : rule) {
        const auto index = static_cast<std::size_t>(item.nonterminal);
        if (!item.is_terminal && item.min > 0 && !is_productive(item.nonterminal) && !seen[index]) {
          seen[index] = true;
          todo.push_back(item.nonterminal);
        }
      }
    }
  }
  return from;
}

void GrammarDraft::write(DraftId start, Cfg* cfg) {
  std::vector<std::optional<SymbolId>> symbols(nonterminals_.size());
  std::vector<DraftId> todo;
  const auto symbol = [&](DraftId id) {
    std::optional<SymbolId>& known = symbols[static_cast<std::size_t>(id)];
    if (!known) {
      known = cfg->nonterminal(at(id).name);
      todo.push_back(id);
    }
    return *known;
  };
  cfg->set_start(symbol(start));
  while (!todo.empty()) {
    const DraftId id = todo.back();
    todo.pop_back();
    for (const auto& rule : at(id).rules) {
      if (!rule_works(rule)) {
        continue;
      }
      std::vector<SymbolId> rhs;
      for (const Item& item : rule) {
        if (item.is_terminal) {
          rhs.push_back(cfg->terminal(item.regex));
        } else if (item.min == 1 && item.max == 1) {
          rhs.push_back(symbol(item.nonterminal));
        } else if (is_productive(item.nonterminal) && item.max != 0) {
          rhs.push_back(cfg->repeat(symbol(item.nonterminal), item.min, item.max));
        }
      }
      cfg->add_rule(*symbols[static_cast<std::size_t>(id)], std::move(rhs));
    }
  }
}

}  // namespace plumb
