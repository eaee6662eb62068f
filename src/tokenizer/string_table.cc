// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/string_table.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace plumb {
namespace {

std::uint32_t hash_of(std::string_view text) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(text));
}

}  // namespace

std::size_t StringTable::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].idx != kNone &&
         (slots_[at].hash != hash || this->text(slots_[at].idx) != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::int32_t StringTable::find(std::string_view text) const {
  if (slots_.empty() || text.size() > longest_) {
    return kNone;
  }
  return slots_[slot_of(text, hash_of(text))].idx;
}

void StringTable::grow(std::size_t num_slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(num_slots));
  const std::size_t mask = num_slots - 1;
  for (const Slot& slot : old) {
    if (slot.idx == kNone) {
      continue;
    }
    std::size_t at = slot.hash & mask;
    while (slots_[at].idx != kNone) {
      at = (at + 1) & mask;
    }
    slots_[at] = slot;
  }
}

void StringTable::reserve(std::int64_t num_strings) {
  const auto wanted = std::bit_ceil(static_cast<std::size_t>(num_strings) * 2 + 2);
  ends_.reserve(static_cast<std::size_t>(num_strings));
  if (wanted > slots_.size()) {
    grow(wanted);
  }
}

std::int32_t StringTable::append(std::string_view text) {
  if ((ends_.size() + 1) * 2 > slots_.size()) {
    grow(std::max<std::size_t>(16, slots_.size() * 2));
  }
  const std::int32_t idx = size();
  const std::uint32_t hash = hash_of(text);
  const std::size_t slot = slot_of(text, hash);
  arena_.append(text);
  ends_.push_back(arena_.size());
  slots_[slot] = {hash, idx};
  longest_ = std::max(longest_, text.size());
  return idx;
}

std::int32_t StringTable::intern(std::string_view text) {
  const std::int32_t idx = find(text);
  return idx != kNone ? idx : append(text);
}

}  // namespace plumb
