// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "grammar/compile_budget.h"
#include "grammar/regex_leaf_sets.h"
#include "grammar/regex_set.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxDerivatives = 1'000'000;  // remembered at once

}  // namespace

RegexId RegexSet::derivative(RegexId regex, std::uint8_t byte) {
  return derive(regex, byte);
}

void RegexSet::set_budget(CompileBudget* budget) {
  if (!status_.ok()) {
    drop_derivatives();
  }
  budget_ = budget;
  status_ = Status();
}

bool RegexSet::may_go_on() {
  if (budget_ != nullptr && status_.ok()) {
    status_ = budget_->poll();
  }
  if (budget_ != nullptr && status_.ok()) {
    status_ = budget_->check_expressions(size());
  }
  return status_.ok();
}

RegexId RegexSet::derive(RegexId regex, std::uint8_t byte) {
  const Node& n = node(regex);
  if (!n.first.contains(byte)) {
    return none_;
  }
  if (n.kind == Kind::kBytes) {
    return empty_;
  }
  const std::uint64_t key = static_cast<std::uint64_t>(regex) * 256 + byte;
  if (const auto known = derivatives_.find(key); known != derivatives_.end()) {
    return known->second;
  }
  const RegexId out = may_go_on() ? derive_node(regex, byte) : none_;
  if (std::ssize(derivatives_) >= kMaxDerivatives) {
    drop_derivatives();
  }
  derivatives_.emplace(key, out);
  return out;
}

RegexId RegexSet::derive_node(RegexId regex, std::uint8_t byte) {
  switch (kind(regex)) {
    case Kind::kConcat:
      return derive_sequence(regex, byte);
    case Kind::kAnyOf:
      return derive_each(regex, byte, false);
    case Kind::kAllOf:
      return derive_each(regex, byte, true);
    case Kind::kNot:
      return complement(derive(children(regex)[0], byte));
    case Kind::kRepeat: {
      const Counted c = counted(regex);
      const RegexId rest = repeat(c.base, std::max<std::int64_t>(c.min - 1, 0),
                                  c.max == kUnbounded ? kUnbounded : c.max - 1);
      return concat2(derive(c.base, byte), rest);
    }
    case Kind::kAutomaton:
      return derive_automaton(regex, byte);
    case Kind::kJsonText:
      return derive_json_text(regex, byte);
    default:
      return none_;
  }
}

RegexId RegexSet::derive_sequence(RegexId regex, std::uint8_t byte) {
  std::vector<RegexId> alternatives;
  while (kind(regex) == Kind::kConcat && may_go_on()) {
    const RegexId head = children(regex)[0];
    const RegexId tail = children(regex)[1];
    alternatives.push_back(concat2(derive(head, byte), tail));
    if (!node(head).nullable) {
      return any_of(alternatives);
    }
    regex = tail;
  }
  alternatives.push_back(derive(regex, byte));
  return any_of(alternatives);
}

RegexId RegexSet::derive_each(RegexId regex, std::uint8_t byte, bool all) {
  std::vector<RegexId> parts;
  for (std::uint32_t i = 0; i < node(regex).num_children; ++i) {
    const RegexId child = children(regex)[i];
    if (all || node(child).first.contains(byte)) {
      parts.push_back(derive(child, byte));
    }
  }
  return all ? all_of(parts) : any_of(parts);
}

std::vector<ByteSet> RegexSet::leaf_sets(RegexId regex) const {
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<RegexId> todo{regex};
  seen[static_cast<std::size_t>(regex)] = true;
  std::vector<ByteSet> sets;
  while (!todo.empty()) {
    const RegexId id = todo.back();
    todo.pop_back();
    if (kind(id) == Kind::kBytes) {
      sets.push_back(node(id).first);
    } else if (kind(id) == Kind::kAutomaton) {
      const std::vector<ByteSet>& own = automata_[static_cast<std::size_t>(node(id).min)].sets;
      sets.insert(sets.end(), own.begin(), own.end());
    } else if (kind(id) == Kind::kJsonText) {
      add_json_text_sets(&sets);
    }
    for (const RegexId child : children(id)) {
      if (!seen[static_cast<std::size_t>(child)]) {
        seen[static_cast<std::size_t>(child)] = true;
        todo.push_back(child);
      }
    }
  }
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  return sets;
}

}  // namespace plumb
