// SPDX-License-Identifier: Apache-2.0
#include "grammar/regex_set.h"

#include <algorithm>

#include "base/check.h"

namespace plumb {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

template <class Node>
std::uint64_t hash_of(const Node& node, std::span<const RegexId> children) {
  std::uint64_t hash = mix(0, static_cast<std::uint64_t>(node.kind));
  for (std::size_t i = 0; i < 4; ++i) {
    hash = mix(hash, node.first.word(i));
  }
  hash = mix(mix(hash, static_cast<std::uint64_t>(node.min)), static_cast<std::uint64_t>(node.max));
  for (const RegexId child : children) {
    hash = mix(hash, static_cast<std::uint64_t>(child));
  }
  return hash;
}

// Grammars can double a count as often as they have rules. kUnbounded adds nothing.
bool sum_fits(std::int64_t a, std::int64_t b) {
  return b <= 0 || a <= INT64_MAX - b;
}

}  // namespace

RegexSet::RegexSet() : table_(1024, 0) {
  none_ = intern({.kind = Kind::kNone}, {});
  empty_ = intern({.kind = Kind::kEmpty, .nullable = true}, {});
  const RegexId any_byte = byte_set(ByteSet::all());
  everything_ = repeat(any_byte, 0, kUnbounded);
}

std::span<const RegexId> RegexSet::children(RegexId id) const {
  return std::span(children_).subspan(node(id).first_child, node(id).num_children);
}

RegexSet::Counted RegexSet::counted(RegexId id) const {
  const Node& n = node(id);
  return n.kind == Kind::kRepeat ? Counted{children(id)[0], n.min, n.max} : Counted{id, 1, 1};
}

RegexSet::Split RegexSet::split(RegexId id) const {
  return kind(id) == Kind::kConcat ? Split{children(id)[1], children(id)[0]} : Split{empty_, id};
}

std::int64_t RegexSet::add_max(std::int64_t a, std::int64_t b) {
  return a == kUnbounded || b == kUnbounded ? kUnbounded : a + b;
}

RegexId RegexSet::intern(const Node& node, std::span<const RegexId> children) {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash_of(node, children)) & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    const auto id = static_cast<RegexId>(table_[slot] - 1);
    const Node& other = this->node(id);
    const std::span<const RegexId> theirs = this->children(id);
    if (other.kind == node.kind && other.first == node.first && other.min == node.min &&
        other.max == node.max &&
        std::equal(theirs.begin(), theirs.end(), children.begin(), children.end())) {
      return id;
    }
  }
  Node added = node;
  added.first_child = static_cast<std::uint32_t>(children_.size());
  added.num_children = static_cast<std::uint32_t>(children.size());
  children_.insert(children_.end(), children.begin(), children.end());
  nodes_.push_back(added);
  table_[slot] = static_cast<std::uint32_t>(nodes_.size());
  if (nodes_.size() * 2 > table_.size()) {
    grow_table();
  }
  return static_cast<RegexId>(nodes_.size() - 1);
}

void RegexSet::grow_table() {
  table_.assign(table_.size() * 2, 0);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::size_t slot =
        static_cast<std::size_t>(hash_of(nodes_[i], children(static_cast<RegexId>(i)))) & mask;
    while (table_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

RegexId RegexSet::byte_set(const ByteSet& bytes) {
  return bytes.empty() ? none_ : intern({.kind = Kind::kBytes, .first = bytes}, {});
}

RegexId RegexSet::byte_range(std::uint8_t first, std::uint8_t last) {
  return byte_set(ByteSet::range(first, last));
}

RegexId RegexSet::literal(std::string_view bytes) {
  RegexId out = empty_;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    out = concat2(byte_range(byte, byte), out);
  }
  return out;
}

RegexId RegexSet::concat(std::span<const RegexId> parts) {
  RegexId out = empty_;
  for (std::size_t i = parts.size(); i-- > 0;) {
    out = concat2(parts[i], out);
  }
  return out;
}

// Sequences lean to the right, so that a derivative walks them in a loop.
RegexId RegexSet::concat2(RegexId left, RegexId right) {
  if (left == none_ || right == none_) {
    return none_;
  }
  if (right == empty_) {
    return left;  // at once, however long it is
  }
  std::vector<RegexId> spine;
  for (; kind(left) == Kind::kConcat; left = children(left)[1]) {
    spine.push_back(children(left)[0]);
  }
  right = concat_once(left, right);
  for (std::size_t i = spine.size(); i-- > 0;) {
    right = concat_once(spine[i], right);
  }
  return right;
}

// x{a,b} x{c,d} = x{a+c,b+d}, which keeps counters from multiplying, as long as the sums fit.
RegexId RegexSet::concat_once(RegexId left, RegexId right) {
  if (left == empty_) {
    return right;
  }
  if (right == empty_) {
    return left;
  }
  const Split next = split(right);
  if (kind(left) == Kind::kRepeat || kind(next.head) == Kind::kRepeat) {
    const Counted a = counted(left);
    const Counted b = counted(next.head);
    if (a.base == b.base && sum_fits(a.min, b.min) && sum_fits(a.max, b.max)) {
      return concat_once(repeat(a.base, a.min + b.min, add_max(a.max, b.max)), next.tail);
    }
  }
  ByteSet first = node(left).first;
  if (node(left).nullable) {
    first |= node(right).first;
  }
  return intern({.kind = Kind::kConcat,
                 .nullable = node(left).nullable && node(right).nullable,
                 .depth = std::max(node(left).depth + 1, node(right).depth),
                 .first = first},
                std::array{left, right});
}

void RegexSet::flatten_alternatives(std::span<const RegexId> parts,
                                    std::vector<RegexId>* out) const {
  out->clear();
  for (const RegexId part : parts) {
    if (kind(part) == Kind::kAnyOf) {
      const auto inner = children(part);
      out->insert(out->end(), inner.begin(), inner.end());
    } else if (part != none_) {
      out->push_back(part);
    }
  }
  std::sort(out->begin(), out->end());
  out->erase(std::unique(out->begin(), out->end()), out->end());
}

// Unites heads of the same tail: byte sets, and repetitions of one expression whose counts touch.
bool RegexSet::merge_heads(std::vector<RegexId>* alternatives) {
  std::vector<Split> splits;
  splits.reserve(alternatives->size());
  for (const RegexId alternative : *alternatives) {
    splits.push_back(split(alternative));
  }
  std::sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
    return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
  });
  std::vector<RegexId> merged;
  std::vector<RegexId> heads;
  for (std::size_t begin = 0; begin < splits.size();) {
    std::size_t end = begin;
    ByteSet bytes;
    heads.clear();
    for (; end < splits.size() && splits[end].tail == splits[begin].tail; ++end) {
      if (kind(splits[end].head) == Kind::kBytes) {
        bytes |= node(splits[end].head).first;
      } else {
        heads.push_back(splits[end].head);
      }
    }
    if (!bytes.empty()) {
      heads.push_back(byte_set(bytes));
    }
    merge_counted(&heads);
    const RegexId tail = splits[begin].tail;
    for (const RegexId head : heads) {
      merged.push_back(concat2(head, tail));
    }
    begin = end;
  }
  std::sort(merged.begin(), merged.end());
  if (merged == *alternatives) {
    return false;
  }
  *alternatives = std::move(merged);
  return true;
}

void RegexSet::merge_counted(std::vector<RegexId>* heads) {
  const auto is_repeat = [&](RegexId id) { return kind(id) == Kind::kRepeat; };
  if (heads->size() < 2 || std::none_of(heads->begin(), heads->end(), is_repeat)) {
    return;
  }
  std::vector<Counted> counts;
  for (const RegexId head : *heads) {
    counts.push_back(counted(head));
  }
  std::sort(counts.begin(), counts.end(), [](const Counted& a, const Counted& b) {
    return std::pair(a.base, a.min) < std::pair(b.base, b.min);
  });
  heads->clear();
  for (std::size_t i = 0; i < counts.size();) {
    Counted all = counts[i++];
    while (i < counts.size() && counts[i].base == all.base &&
           (all.max == kUnbounded || counts[i].min - 1 <= all.max)) {
      const bool no_end = all.max == kUnbounded || counts[i].max == kUnbounded;
      all.max = no_end ? kUnbounded : std::max(all.max, counts[i].max);
      ++i;
    }
    heads->push_back(repeat(all.base, all.min, all.max));
  }
}

RegexId RegexSet::any_of(std::span<const RegexId> parts) {
  std::vector<RegexId> all;
  flatten_alternatives(parts, &all);
  while (all.size() > 1 && merge_heads(&all)) {
    const std::vector<RegexId> merged = std::move(all);
    flatten_alternatives(merged, &all);
  }
  const auto is_nullable_one = [&](RegexId id) { return id != empty_ && node(id).nullable; };
  if (std::any_of(all.begin(), all.end(), is_nullable_one)) {
    std::erase(all, empty_);
  }
  if (all.empty()) {
    return none_;
  }
  if (all.size() == 1) {
    return all[0];
  }
  Node added{.kind = Kind::kAnyOf};
  for (const RegexId id : all) {
    const bool is_opposite =
        kind(id) == Kind::kNot && std::binary_search(all.begin(), all.end(), children(id)[0]);
    if (id == everything_ || is_opposite) {
      return everything_;
    }
    added.nullable = added.nullable || node(id).nullable;
    added.depth = std::max(added.depth, node(id).depth + 1);
    added.first |= node(id).first;
  }
  if (all.size() == 2 && (all[0] == empty_ || all[1] == empty_)) {
    return repeat(all[0] == empty_ ? all[1] : all[0], 0, 1);
  }
  return intern(added, all);
}

RegexId RegexSet::all_of(std::span<const RegexId> parts) {
  std::vector<RegexId> all;
  for (const RegexId part : parts) {
    if (kind(part) == Kind::kAllOf) {
      const auto inner = children(part);
      all.insert(all.end(), inner.begin(), inner.end());
    } else if (part != everything_) {
      all.push_back(part);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() < 2) {
    return all.empty() ? everything_ : all[0];
  }
  Node added{.kind = Kind::kAllOf, .nullable = true, .first = ByteSet::all()};
  bool has_bytes = true;
  for (const RegexId id : all) {
    if (kind(id) == Kind::kNot && std::binary_search(all.begin(), all.end(), children(id)[0])) {
      return none_;
    }
    added.nullable = added.nullable && node(id).nullable;
    added.depth = std::max(added.depth, node(id).depth + 1);
    added.first &= node(id).first;
    has_bytes = has_bytes && kind(id) == Kind::kBytes;
  }
  if (has_bytes) {
    return byte_set(added.first);
  }
  if (added.first.empty()) {
    return added.nullable ? empty_ : none_;
  }
  return intern(added, all);
}

RegexId RegexSet::complement(RegexId regex) {
  if (kind(regex) == Kind::kNot) {
    return children(regex)[0];
  }
  if (regex == none_ || regex == everything_) {
    return regex == none_ ? everything_ : none_;
  }
  return intern({.kind = Kind::kNot,
                 .nullable = !node(regex).nullable,
                 .depth = node(regex).depth + 1,
                 .first = ByteSet::all()},
                std::array{regex});
}

RegexId RegexSet::repeat(RegexId regex, std::int64_t min, std::int64_t max) {
  PLUMB_CHECK(min >= 0 && (max == kUnbounded || max >= min), "repeat: bad counts");
  if (max == 0 || regex == empty_) {
    return empty_;
  }
  if (regex == none_) {
    return min == 0 ? empty_ : none_;
  }
  if (node(regex).nullable) {
    min = 0;  // the empty string fills any count
  }
  if (kind(regex) == Kind::kRepeat && node(regex).min <= 1 && min == 0) {
    const std::int64_t inner = node(regex).max;  // (x{0,b}){0,n} = (x{1,b}){0,n} = x{0,bn}
    const std::int64_t limit = INT64_MAX;
    const bool no_end = inner == kUnbounded || max == kUnbounded || inner > limit / max;
    return repeat(children(regex)[0], 0, no_end ? kUnbounded : inner * max);
  }
  if (max == 1 && (min == 1 || node(regex).nullable)) {
    return regex;
  }
  if (max == 1 && kind(regex) == Kind::kAnyOf) {
    std::vector<RegexId> all(children(regex).begin(), children(regex).end());
    all.insert(std::lower_bound(all.begin(), all.end(), empty_), empty_);
    Node added = node(regex);
    added.nullable = true;
    return intern(added, all);
  }
  return intern({.kind = Kind::kRepeat,
                 .nullable = min == 0,
                 .depth = node(regex).depth + 1,
                 .min = min,
                 .max = max,
                 .first = node(regex).first},
                std::array{regex});
}

}  // namespace plumb
