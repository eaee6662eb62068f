// SPDX-License-Identifier: Apache-2.0
#include "grammar/anchored_regex.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace plumb {
namespace {

bool is_plain(const AnchoredRegex& r, const RegexSet& set) {
  return r.begin == set.none() && r.end == set.none() && r.both == set.none();
}

// The empty match of a language, if it has one.
RegexId empty_part(RegexId regex, const RegexSet& set) {
  return set.is_nullable(regex) ? set.empty() : set.none();
}

RegexId cat(RegexId a, RegexId b, RegexSet* set) {
  return set->concat(std::array{a, b});
}

// Nothing but the empty match may precede ^ or follow $.
AnchoredRegex concat2(const AnchoredRegex& a, const AnchoredRegex& b, RegexSet* set) {
  if (is_plain(a, *set) && is_plain(b, *set)) {
    return plain(cat(a.free, b.free, set), *set);
  }
  const RegexId a_free = empty_part(a.free, *set);
  const RegexId a_begin = empty_part(a.begin, *set);
  const RegexId a_end = empty_part(a.end, *set);
  const RegexId a_both = empty_part(a.both, *set);
  const RegexId b_free = empty_part(b.free, *set);
  const RegexId b_begin = empty_part(b.begin, *set);
  const RegexId b_end = empty_part(b.end, *set);
  const RegexId b_both = empty_part(b.both, *set);
  const auto sum = [&](std::initializer_list<RegexId> parts) { return set->any_of(parts); };
  AnchoredRegex out;
  out.free = cat(a.free, b.free, set);
  out.begin =
      sum({cat(a.begin, b.free, set), cat(a_free, b.begin, set), cat(a_begin, b.begin, set)});
  out.end = sum({cat(a.free, b.end, set), cat(a.end, b_free, set), cat(a.end, b_end, set)});
  out.both = sum({cat(a.begin, b.end, set), cat(a.both, b_free, set), cat(a.both, b_end, set),
                  cat(a_free, b.both, set), cat(a_begin, b.both, set), cat(a_end, b_begin, set),
                  cat(a_end, b_both, set), cat(a_both, b_begin, set), cat(a_both, b_both, set)});
  return out;
}

}  // namespace

AnchoredRegex plain(RegexId regex, const RegexSet& set) {
  return {regex, set.none(), set.none(), set.none()};
}

AnchoredRegex at_begin(const RegexSet& set) {
  return {set.none(), set.empty(), set.none(), set.none()};
}

AnchoredRegex at_text_end(const RegexSet& set) {
  return {set.none(), set.none(), set.empty(), set.none()};
}

AnchoredRegex any_of(std::span<const AnchoredRegex> parts, RegexSet* set) {
  if (parts.size() == 1) {
    return parts[0];
  }
  const auto unite = [&](RegexId AnchoredRegex::*member) {
    std::vector<RegexId> members;
    members.reserve(parts.size());
    for (const AnchoredRegex& part : parts) {
      members.push_back(part.*member);
    }
    return set->any_of(members);
  };
  return {unite(&AnchoredRegex::free), unite(&AnchoredRegex::begin), unite(&AnchoredRegex::end),
          unite(&AnchoredRegex::both)};
}

AnchoredRegex concat(std::span<const AnchoredRegex> parts, RegexSet* set) {
  AnchoredRegex out = plain(set->empty(), *set);
  for (std::size_t i = parts.size(); i-- > 0;) {
    out = concat2(parts[i], out, set);
  }
  return out;
}

// Of several rounds, those before a ^ and after a $ match the empty text, so a match is at most one
// round that passed ^, free rounds, and one round that passed $. Rounds that are missing to min can
// be filled with empty matches, if there is an anchored one.
AnchoredRegex repeat(const AnchoredRegex& r, std::int64_t min, std::int64_t max, RegexSet* set) {
  if (is_plain(r, *set)) {
    return plain(set->repeat(r.free, min, max), *set);
  }
  if (max == 0) {
    return plain(set->empty(), *set);
  }
  const bool fills_begin = set->is_nullable(r.begin);
  const bool fills_end = set->is_nullable(r.end);
  const bool fills_free = set->is_nullable(r.free);
  const bool fills_both = set->is_nullable(r.both);
  // Free rounds beside `used` others.
  const auto rounds = [&](std::int64_t used, bool fills) {
    if (max != kUnbounded && max < used) {
      return set->none();
    }
    return set->repeat(r.free, fills ? 0 : std::max<std::int64_t>(min - used, 0),
                       max == kUnbounded ? kUnbounded : max - used);
  };
  AnchoredRegex out;
  out.free = set->repeat(r.free, min, max);
  out.begin = cat(r.begin, rounds(1, fills_begin), set);
  out.end = cat(rounds(1, fills_end), r.end, set);
  const bool fills = fills_begin || fills_end;
  out.both = set->any_of(std::array{set->concat(std::array{r.begin, rounds(2, fills), r.end}),
                                    min <= 1 || fills_free || fills ? r.both : set->none(),
                                    fills_both ? set->empty() : set->none()});
  return out;
}

RegexId whole_match(const AnchoredRegex& r, RegexSet* set) {
  return set->any_of(std::array{r.free, r.begin, r.end, r.both});
}

RegexId search_match(const AnchoredRegex& r, RegexSet* set) {
  const RegexId text = set->text();
  return set->any_of(std::array{set->concat(std::array{text, r.free, text}),
                                cat(r.begin, text, set), cat(text, r.end, set), r.both});
}

}  // namespace plumb
