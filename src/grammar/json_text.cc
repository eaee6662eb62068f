// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/json.h"

namespace plumb {

namespace {

/// White space between two tokens: without a bound a model may loop in it.
constexpr std::int64_t kMaxGap = 2;

/// A character as it stands or in any of its escapes; no lone surrogate.
RegexId escaped_or_raw(RegexSet* regexes) {
  constexpr std::array<CodePointRange, 3> kNeedEscape = {{{0, 0x1F}, {U'"', U'"'}, {U'\\', U'\\'}}};
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  const RegexId hex = regexes->byte_set(ByteSet::of(kHex));
  const RegexId hex2 = regexes->repeat(hex, 2, 2);
  const RegexId not_d = regexes->byte_set(ByteSet::of("0123456789abcefABCEF"));
  const RegexId d = regexes->byte_set(ByteSet::of("dD"));
  const auto seq = [&](std::initializer_list<RegexId> parts) {
    return regexes->concat(std::span(parts.begin(), parts.size()));
  };
  const RegexId basic = regexes->any_of(
      std::array{seq({not_d, hex, hex2}), seq({d, regexes->byte_range('0', '7'), hex2})});
  const RegexId pair =
      seq({d, regexes->byte_set(ByteSet::of("89abAB")), hex2, regexes->literal("\\u"), d,
           regexes->byte_set(ByteSet::of("cdefCDEF")), hex2});
  const RegexId code = regexes->any_of(std::array{basic, pair});
  return regexes->any_of(
      std::array{regexes->other_char(kNeedEscape),
                 seq({regexes->literal("\\"), regexes->byte_set(ByteSet::of("\"\\/bfnrt"))}),
                 seq({regexes->literal("\\u"), code})});
}

bool is_infinite(const NumberAutomaton& states) {
  // Depth first for a cycle; the minimal automaton has no dead states but 0.
  std::vector<int> color(states.size(), 0);
  std::vector<std::pair<std::uint32_t, std::size_t>> path{{1, 0}};
  color[1] = 1;
  while (!path.empty()) {
    auto& [state, symbol] = path.back();
    if (symbol == states[state].next.size()) {
      color[state] = 2;
      path.pop_back();
      continue;
    }
    const std::uint32_t next = states[state].next[symbol++];
    if (next != 0 && color[next] == 1) {
      return true;
    }
    if (next != 0 && color[next] == 0) {
      color[next] = 1;
      path.emplace_back(next, 0);
    }
  }
  return false;
}

}  // namespace

JsonText::JsonText(RegexSet* regexes, bool compact)
    : regexes_(regexes),
      gap_(compact ? regexes->empty()
                   : regexes->repeat(regexes->byte_set(ByteSet::of(" \t\n\r")), 0, kMaxGap)),
      any_char_(escaped_or_raw(regexes)) {}

RegexId JsonText::open(char bracket) const {
  return regexes_->concat(std::array{regexes_->literal(std::string(1, bracket)), gap_});
}

RegexId JsonText::close(char bracket, bool is_empty) const {
  const RegexId end = regexes_->literal(std::string(1, bracket));
  return is_empty ? end : regexes_->concat(std::array{gap_, end});
}

RegexId JsonText::empty(char open, char close) const {
  return regexes_->concat(std::array{regexes_->literal(std::string(1, open)), gap_,
                                     regexes_->literal(std::string(1, close))});
}

RegexId JsonText::comma() const {
  return regexes_->concat(std::array{gap_, regexes_->literal(","), gap_});
}

RegexId JsonText::around_key(RegexId quoted, bool is_first) const {
  return regexes_->concat(std::array{is_first ? regexes_->empty() : comma(), quoted, gap_,
                                     regexes_->literal(":"), gap_});
}

RegexId JsonText::key(RegexId keys, bool is_first) const {
  return around_key(regexes_->concat(std::array{quote(), regexes_->json_text(keys), quote()}),
                    is_first);
}

RegexId JsonText::key(std::string_view name, bool is_first) const {
  std::string quoted;
  append_json_string(&quoted, name);
  return around_key(regexes_->literal(quoted), is_first);
}

RegexId JsonText::quote() const {
  return regexes_->literal("\"");
}

RegexId JsonText::characters(std::int64_t min, std::int64_t max) const {
  return regexes_->repeat(any_char_, min, max);
}

RegexId JsonText::string(const JsonStringSet& strings) const {
  const RegexId content =
      strings.is_plain ? characters(strings.min, strings.max) : regexes_->json_text(strings.regex);
  return regexes_->concat(std::array{quote(), content, quote()});
}

RegexId JsonText::number(const JsonNumberSets& sets, NumberSetId numbers) const {
  const NumberAutomaton& states = sets.states(numbers);
  std::vector<RegexSet::AutomatonState> automaton(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    automaton[i].accepting = states[i].accepting;
    std::map<std::uint32_t, ByteSet> targets;
    for (std::size_t symbol = 0; symbol < states[i].next.size(); ++symbol) {
      if (states[i].next[symbol] != 0) {
        targets[states[i].next[symbol]].insert(
            static_cast<std::uint8_t>(std::string_view("0123456789-.")[symbol]));
      }
    }
    automaton[i].next.assign(targets.begin(), targets.end());
  }
  const RegexId regex = regexes_->automaton(std::move(automaton), 1);
  if (!is_infinite(states)) {
    return regex;
  }
  return regexes_->all_of(std::array{
      regex, regexes_->repeat(regexes_->byte_range('-', '9'), 1, sets.max_chars(numbers))});
}

}  // namespace plumb
