// SPDX-License-Identifier: Apache-2.0
#include "grammar/ebnf_text.h"

#include <algorithm>
#include <utility>

namespace plumb {

std::uint32_t EbnfTextBuilder::add(EbnfNode node) {
  text_.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(text_.nodes.size() - 1);
}

std::uint32_t EbnfTextBuilder::add_joined(EbnfNode::Kind kind,
                                          std::vector<std::uint32_t> children) {
  return children.size() == 1 ? children[0] : add({.kind = kind, .children = std::move(children)});
}

std::uint32_t EbnfTextBuilder::rule_of(std::string_view name, std::size_t offset) {
  const auto [it, is_new] =
      rule_index_.try_emplace(std::string(name), static_cast<std::uint32_t>(text_.rules.size()));
  if (is_new) {
    text_.rules.push_back({std::string(name), 0, false, offset});
  }
  return it->second;
}

bool EbnfTextBuilder::define(std::uint32_t rule, std::uint32_t body) {
  if (text_.rules[rule].is_defined) {
    return false;
  }
  text_.rules[rule].body = body;
  text_.rules[rule].is_defined = true;
  return true;
}

const EbnfText::Rule* EbnfTextBuilder::find_undefined() const {
  const auto it = std::find_if(text_.rules.begin(), text_.rules.end(),
                               [](const EbnfText::Rule& rule) { return !rule.is_defined; });
  return it == text_.rules.end() ? nullptr : &*it;
}

bool EbnfTextBuilder::set_root(const std::string& name) {
  const auto it = rule_index_.find(name);
  if (it == rule_index_.end()) {
    return false;
  }
  text_.root = it->second;
  return true;
}

}  // namespace plumb
