// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>
#include <string_view>

#include "base/check.h"
#include "grammar/regex_leaf_sets.h"
#include "grammar/regex_set.h"

namespace plumb {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

constexpr ByteSet control_bytes() {
  return ByteSet::range(0, 0x1F);
}

/// Bytes that stand for themselves: not '"' (0x22), not '\' (0x5C), no control.
constexpr ByteSet plain_bytes() {
  ByteSet set = ByteSet::range(0x20, 0x21);
  set |= ByteSet::range(0x23, 0x5B);
  set |= ByteSet::range(0x5D, 0xFF);
  return set;
}

/// The byte after a backslash and what the two stand for.
constexpr std::array<std::pair<char, char>, 7> kShortEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}}};

constexpr unsigned nibble_of(std::uint8_t digit) {
  return digit <= '9' ? digit - '0' : (digit | 0x20U) - 'a' + 10U;
}

}  // namespace

void add_json_text_sets(std::vector<ByteSet>* sets) {
  for (const char c : std::string_view("\"\\nrtu")) {
    sets->push_back(ByteSet::of(std::string_view(&c, 1)));
  }
  for (const char c : kHexDigits) {
    sets->push_back(ByteSet::of(std::string_view(&c, 1)));
  }
  sets->push_back(control_bytes());
}

RegexId RegexSet::automaton(std::vector<AutomatonState> states, std::uint32_t start) {
  PLUMB_CHECK(start < states.size(), "automaton: no such start state");
  std::set<ByteSet> sets;
  std::size_t num_edges = 0;
  for (const AutomatonState& state : states) {
    num_edges += state.next.size();
    for (const auto& [next, bytes] : state.next) {
      sets.insert(bytes);
    }
  }
  automata_size_ += automaton_size(states.size(), num_edges);
  automata_.push_back({std::move(states), {sets.begin(), sets.end()}});
  return automaton_state(static_cast<std::int64_t>(automata_.size()) - 1, start);
}

RegexId RegexSet::automaton_state(std::int64_t automaton, std::uint32_t state) {
  const AutomatonState& at = automata_[static_cast<std::size_t>(automaton)].states[state];
  Node added{.kind = Kind::kAutomaton,
             .nullable = at.accepting,
             .min = automaton,
             .max = state,
             .first = {}};
  for (const auto& [next, bytes] : at.next) {
    added.first |= bytes;
  }
  if (added.first.empty()) {
    return at.accepting ? empty_ : none_;
  }
  return intern(added, {});
}

RegexId RegexSet::derive_automaton(RegexId regex, std::uint8_t byte) {
  const std::int64_t automaton = node(regex).min;
  const auto& states = automata_[static_cast<std::size_t>(automaton)].states;
  for (const auto& [next, bytes] : states[static_cast<std::size_t>(node(regex).max)].next) {
    if (bytes.contains(byte)) {
      return automaton_state(automaton, next);
    }
  }
  return none_;
}

RegexId RegexSet::json_text(RegexId decoded, JsonStage stage) {
  if (decoded == none_ || (decoded == empty_ && stage == JsonStage::kPlain)) {
    return decoded;
  }
  Node added{.kind = Kind::kJsonText,
             .nullable = stage == JsonStage::kPlain && node(decoded).nullable,
             .depth = node(decoded).depth + 1,
             .min = static_cast<std::int64_t>(stage),
             .first = {}};
  switch (stage) {
    case JsonStage::kPlain: {
      ByteSet escaped = node(decoded).first;
      added.first = escaped;
      added.first &= plain_bytes();
      ByteSet must_escape = control_bytes();
      must_escape |= ByteSet::of("\"\\");
      escaped &= must_escape;
      if (!escaped.empty()) {
        added.first.insert('\\');
      }
      break;
    }
    case JsonStage::kBackslash:
      added.first = ByteSet::of("\"\\bfnrtu");
      break;
    case JsonStage::kU:
    case JsonStage::kU0:
      added.first = ByteSet::of("0");
      break;
    case JsonStage::kU00:
      added.first = ByteSet::of("01");
      break;
    case JsonStage::kU000:
    case JsonStage::kU001:
      added.first = ByteSet::of(kHexDigits);
      break;
  }
  if (added.first.empty()) {
    return added.nullable ? empty_ : none_;
  }
  return intern(added, std::array{decoded});
}

RegexId RegexSet::derive_json_text(RegexId regex, std::uint8_t byte) {
  const RegexId decoded = children(regex)[0];
  const auto after = [&](unsigned char decoded_byte) {
    return json_text(derive(decoded, decoded_byte), JsonStage::kPlain);
  };
  switch (static_cast<JsonStage>(node(regex).min)) {
    case JsonStage::kPlain:
      return byte == '\\' ? json_text(decoded, JsonStage::kBackslash) : after(byte);
    case JsonStage::kBackslash:
      for (const auto& [letter, meaning] : kShortEscapes) {
        if (byte == static_cast<std::uint8_t>(letter)) {
          return after(static_cast<unsigned char>(meaning));
        }
      }
      return json_text(decoded, JsonStage::kU);
    case JsonStage::kU:
      return json_text(decoded, JsonStage::kU0);
    case JsonStage::kU0:
      return json_text(decoded, JsonStage::kU00);
    case JsonStage::kU00:
      return json_text(decoded, byte == '0' ? JsonStage::kU000 : JsonStage::kU001);
    case JsonStage::kU000:
      return after(static_cast<unsigned char>(nibble_of(byte)));
    case JsonStage::kU001:
      return after(static_cast<unsigned char>(nibble_of(byte) + 16U));
  }
  return none_;
}

}  // namespace plumb
