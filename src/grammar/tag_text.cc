// SPDX-License-Identifier: Apache-2.0
#include "grammar/tag_text.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/cfg.h"

namespace plumb {
namespace {

using State = RegexSet::AutomatonState;

ByteSet mark_only() {
  ByteSet mark;
  mark.insert(Cfg::kTokenMark);
  return mark;
}

// State 2n is after n tokens, 2n - 1 inside the n-th.
std::size_t num_counted_states(std::int64_t max_tokens) {
  return 2 * static_cast<std::size_t>(max_tokens) + 1;
}

}  // namespace

std::int64_t TagText::max_size(std::span<const std::string> excludes,
                               std::span<const std::string> stops, std::int64_t max_tokens) {
  const std::size_t num_counted = max_tokens == kUnbounded ? 0 : num_counted_states(max_tokens);
  return StringFinder(excludes).max_size() + 2 * StringFinder(stops).max_size() +
         RegexSet::automaton_size(num_counted, 2 * num_counted);
}

TagText::TagText(std::span<const std::string> excludes, std::span<const std::string> stops,
                 std::int64_t max_tokens, RegexSet* set)
    : max_tokens_(max_tokens), set_(*set) {
  const std::optional<std::uint8_t> ignored =
      has_marks() ? std::optional(Cfg::kTokenMark) : std::nullopt;
  std::vector<RegexId> parts{has_marks() ? utf8_with_marks() : set->text()};
  if (has_marks()) {
    parts.push_back(counted());
  }
  if (!excludes.empty()) {
    parts.push_back(StringFinder(excludes, ignored).without(set));
  }
  text_ = set->all_of(parts);
  without_ = text_;
  up_to_first_ = set->none();
  if (!stops.empty()) {
    const StringFinder finder(stops, ignored);
    without_ = set->all_of(std::array{text_, finder.without(set)});
    up_to_first_ = finder.up_to_first(set);
  }
}

RegexId TagText::alone() const {
  return without_;
}

RegexId TagText::up_to(std::string_view stop) const {
  return set_.all_of(std::array{set_.concat(std::array{text_, literal(stop)}), up_to_first_});
}

RegexId TagText::literal(std::string_view text) const {
  if (!has_marks()) {
    return set_.literal(text);
  }
  const RegexId marks = set_.repeat(set_.byte_set(mark_only()), 0, kUnbounded);
  std::vector<RegexId> parts;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    parts.push_back(marks);
    parts.push_back(set_.byte_range(byte, byte));
  }
  parts.push_back(marks);
  return set_.concat(parts);
}

// RFC 3629, with marks anywhere.
RegexId TagText::utf8_with_marks() const {
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
    std::uint8_t first;
    std::uint8_t last;
  };

  constexpr std::array<Edge, 14> kEdges = {{{0, 0, 0x00, 0x7F},
                                            {0, 1, 0xC2, 0xDF},
                                            {0, 2, 0xE0, 0xE0},
                                            {0, 3, 0xE1, 0xEC},
                                            {0, 3, 0xEE, 0xEF},
                                            {0, 4, 0xED, 0xED},
                                            {0, 5, 0xF0, 0xF0},
                                            {0, 6, 0xF1, 0xF3},
                                            {0, 7, 0xF4, 0xF4},
                                            {1, 0, 0x80, 0xBF},
                                            {2, 1, 0xA0, 0xBF},
                                            {3, 1, 0x80, 0xBF},
                                            {4, 1, 0x80, 0x9F},
                                            {5, 3, 0x90, 0xBF}}};
  std::vector<State> states(8);
  const auto add = [&](std::uint32_t from, std::uint32_t to, const ByteSet& bytes) {
    states[from].next.emplace_back(to, bytes);
  };
  for (const Edge& edge : kEdges) {
    add(edge.from, edge.to, ByteSet::range(edge.first, edge.last));
  }
  add(6, 3, ByteSet::range(0x80, 0xBF));
  add(7, 3, ByteSet::range(0x80, 0x8F));
  for (std::uint32_t s = 0; s < states.size(); ++s) {
    add(s, s, mark_only());
  }
  states[0].accepting = true;
  return set_.automaton(std::move(states), 0);
}

// At most so many tokens, whole or in part.
RegexId TagText::counted() const {
  const ByteSet mark = mark_only();
  ByteSet others = ByteSet::all();
  others.erase(Cfg::kTokenMark);
  std::vector<State> states(num_counted_states(max_tokens_));
  for (std::uint32_t s = 0; s < states.size(); ++s) {
    const bool is_inside = s % 2 != 0;
    states[s].accepting = true;
    states[s].next.emplace_back(is_inside ? s + 1 : s, mark);
    if (is_inside || s + 1 < states.size()) {
      states[s].next.emplace_back(is_inside ? s : s + 1, others);
    }
  }
  return set_.automaton(std::move(states), 0);
}

}  // namespace plumb
