// SPDX-License-Identifier: Apache-2.0
#include "grammar/row_store.h"

#include <algorithm>
#include <string>

#include "base/rng.h"

namespace plumb {

RowStore::RowStore(const GrammarTables& tables, const MatcherLimits& limits)
    : tables_(tables),
      limits_(limits),
      collect_above_(limits.max_bytes / 4),
      work_left_(limits.max_work) {
  draft_.nonterminal_state.assign(tables.nonterminals.size(), kNotPredicted);
  draft_.tails.resize(tables.nonterminals.size());
  draft_.item_slots.assign(64, 0);
}

RowId RowStore::start() {
  if (start_ == kUnknown) {
    begin_row();
    const Return root{kRoot, tables_.start};
    for (const std::uint32_t place : tables_.rules_of(tables_.start)) {
      add_item(place, root);
    }
    draft_.is_complete = tables_.nonterminals[tables_.start].is_nullable;
    close_row();
    start_ = finish_row();
  }
  return start_;
}

void RowStore::spend(std::int64_t work) {
  work_ += work;
  work_left_ -= work;
  if (work_left_ < 0 && status_.ok()) {
    status_ = {Code::kResourceExhausted,
               "grammar: there are too many ways to read the text, and following them takes too "
               "long; make the grammar less ambiguous"};
  }
}

void RowStore::grant_token() {
  work_left_ = std::min(work_left_ + limits_.work_per_token, limits_.max_work);
}

RowId RowStore::find_next(RowId row, std::uint8_t byte, std::size_t edge) {
  if (!status_.ok()) {
    return kFailed;
  }
  begin_row();
  const Row from = row_of(row);
  spend(from.num_scans);
  for (std::uint32_t i = from.first_scan; i < from.first_scan + from.num_scans; ++i) {
    const Scan scan = scans_[i];
    const Dfa& dfa = terminal(scan);
    const std::int32_t state = dfa.next(scan.state, byte);
    if (state == Dfa::kDead) {
      continue;
    }
    Return back = scan.back;
    if (back.row == kSelf) {
      back.row = row;
    }
    add_scan(scan.place, state, back);
    if (dfa.is_accepting(state)) {
      add_item(scan.place + 1, back);
    }
  }
  close_row();
  const RowId to = finish_row();
  if (to != kFailed) {
    edges_[edge] = to;
  }
  return to;
}

void RowStore::begin_row() {
  constexpr std::size_t kFewSlots = 64;
  if (draft_.item_slots.size() > kFewSlots + 16 * draft_.items.size()) {
    draft_.item_slots.resize(kFewSlots);  // a past large row shall not make small ones slow
  }
  draft_.items.clear();
  draft_.scans.clear();
  draft_.waits.clear();
  for (const std::uint32_t nonterminal : draft_.predicted) {
    draft_.nonterminal_state[nonterminal] = kNotPredicted;
  }
  draft_.predicted.clear();
  std::fill(draft_.item_slots.begin(), draft_.item_slots.end(), 0);
  draft_.is_complete = false;
}

// A scan that no byte continues is over: what follows it is an item.
void RowStore::add_scan(std::uint32_t place, std::int32_t state, Return back) {
  const Dfa& dfa = tables_.terminals[tables_.places[place].index];
  if (dfa.only_byte(state) != Dfa::kNoByte) {
    draft_.scans.push_back({place, state, back});
  }
}

void RowStore::add_item(std::uint32_t place, Return back) {
  spend(1);
  place = tables_.shared_place[place];
  std::vector<std::uint32_t>& slots = draft_.item_slots;
  const auto slot_of = [&](const Item& item) {
    const std::uint64_t row = static_cast<std::uint32_t>(item.back.row);
    return static_cast<std::size_t>(mix64((row << 32 | item.back.nonterminal) ^ mix64(item.place)));
  };
  const auto find_free = [&](const Item& item) {
    std::size_t slot = slot_of(item) & (slots.size() - 1);
    while (slots[slot] != 0) {
      const Item& other = draft_.items[slots[slot] - 1];
      if (other.place == item.place && other.back == item.back) {
        return slots.size();
      }
      slot = (slot + 1) & (slots.size() - 1);
    }
    return slot;
  };
  const std::size_t slot = find_free({place, back});
  if (slot == slots.size()) {
    return;
  }
  draft_.items.push_back({place, back});
  slots[slot] = static_cast<std::uint32_t>(draft_.items.size());
  if (draft_.items.size() * 2 > slots.size()) {
    slots.assign(slots.size() * 2, 0);
    for (std::size_t i = 0; i < draft_.items.size(); ++i) {
      slots[find_free(draft_.items[i])] = static_cast<std::uint32_t>(i + 1);
    }
  }
}

void RowStore::close_row() {
  using PlaceKind = GrammarTables::PlaceKind;
  for (std::size_t i = 0; i < draft_.items.size() && status_.ok(); ++i) {
    if (std::ssize(draft_.items) > limits_.max_row_items) {
      status_ = {Code::kResourceExhausted,
                 "grammar: more than " + std::to_string(limits_.max_row_items) +
                     " ways to read the text at one position; make the grammar less ambiguous"};
      return;
    }
    const Item item = draft_.items[i];
    const GrammarTables::Place place = tables_.places[item.place];
    if (place.kind == PlaceKind::kEnd) {
      complete(item.back);
    } else if (place.kind == PlaceKind::kTerminal) {
      add_scan(item.place, 0, item.back);
      if (tables_.terminals[place.index].is_accepting(0)) {
        add_item(item.place + 1, item.back);
      }
    } else {
      draft_.waits.push_back({place.index, item.place, item.back});
      predict(place.index);
      if (tables_.nonterminals[place.index].is_nullable) {
        add_item(item.place + 1, item.back);
      }
    }
  }
}

void RowStore::predict(std::uint32_t nonterminal) {
  if (draft_.nonterminal_state[nonterminal] != kNotPredicted) {
    return;
  }
  draft_.nonterminal_state[nonterminal] = kPredicted;
  draft_.predicted.push_back(nonterminal);
  for (const std::uint32_t place : tables_.rules_of(nonterminal)) {
    add_item(place, {kSelf, nonterminal});
  }
}

void RowStore::complete(Return back) {
  if (back.row == kRoot) {
    draft_.is_complete = true;
    return;
  }
  if (back.row == kSelf) {
    return;  // it derived the empty text: what waits for it went on when it was predicted
  }
  const Row& row = row_of(back.row);
  const auto begin = waits_.begin() + row.first_wait;
  const auto end = begin + row.num_waits;
  auto wait = std::lower_bound(begin, end, back.nonterminal,
                               [](const Wait& w, std::uint32_t n) { return w.nonterminal < n; });
  for (; wait != end && wait->nonterminal == back.nonterminal; ++wait) {
    Return outer = wait->back;
    if (outer.row == kSelf) {
      outer.row = back.row;
    }
    add_item(wait->place + 1, outer);
  }
}

// Where a nonterminal predicted here returns to: if everything that waits for it ends with it and
// returns to one place, to that place at once.
RowStore::Return RowStore::tail_of(std::uint32_t nonterminal, int depth) {
  constexpr int kMaxDepth = 256;  // a longer chain of unit rules just keeps its steps
  std::uint8_t& state = draft_.nonterminal_state[nonterminal];
  if (state == kTailInWork || (state == kPredicted && depth > kMaxDepth)) {
    return {kSelf, nonterminal};
  }
  if (state == kPredicted) {
    state = kTailInWork;
    draft_.tails[nonterminal] = own_tail(nonterminal, depth);
    state = kTailKnown;
  }
  return draft_.tails[nonterminal];
}

RowStore::Return RowStore::own_tail(std::uint32_t nonterminal, int depth) {
  const Return self{kSelf, nonterminal};
  auto wait = std::lower_bound(draft_.waits.begin(), draft_.waits.end(), nonterminal,
                               [](const Wait& w, std::uint32_t n) { return w.nonterminal < n; });
  bool is_first = true;
  Return common = self;
  for (; wait != draft_.waits.end() && wait->nonterminal == nonterminal; ++wait) {
    if (tables_.places[wait->place + 1].kind != GrammarTables::PlaceKind::kEnd) {
      return self;
    }
    const Return back =
        wait->back.row == kSelf ? tail_of(wait->back.nonterminal, depth + 1) : wait->back;
    if (!is_first && back != common) {
      return self;
    }
    common = back;
    is_first = false;
  }
  return common;
}

RowStore::Return RowStore::settle(Return back) {
  constexpr int kMaxSteps = 1000;
  for (int step = 0; step < kMaxSteps && back.row == kSelf; ++step) {
    const Return tail = tail_of(back.nonterminal, 0);
    if (tail == back) {
      break;
    }
    back = tail;
  }
  return back;
}

// Keeps what the scans return to, and what that returns to.
void RowStore::drop_unused_waits() {
  std::vector<std::uint32_t> todo;
  const auto use = [&](Return back) {
    if (back.row == kSelf && draft_.nonterminal_state[back.nonterminal] != kUsed) {
      draft_.nonterminal_state[back.nonterminal] = kUsed;
      todo.push_back(back.nonterminal);
    }
  };
  for (const Scan& scan : draft_.scans) {
    use(scan.back);
  }
  while (!todo.empty()) {
    const std::uint32_t nonterminal = todo.back();
    todo.pop_back();
    auto wait = std::lower_bound(draft_.waits.begin(), draft_.waits.end(), nonterminal,
                                 [](const Wait& w, std::uint32_t n) { return w.nonterminal < n; });
    for (; wait != draft_.waits.end() && wait->nonterminal == nonterminal; ++wait) {
      use(wait->back);
    }
  }
  std::erase_if(draft_.waits, [&](const Wait& wait) {
    return draft_.nonterminal_state[wait.nonterminal] != kUsed;
  });
}

RowId RowStore::finish_row() {
  if (!status_.ok()) {
    return kFailed;
  }
  std::vector<Scan>& scans = draft_.scans;
  std::vector<Wait>& waits = draft_.waits;
  if (scans.empty() && !draft_.is_complete) {
    return kDead;
  }
  std::sort(waits.begin(), waits.end());
  for (Scan& scan : scans) {
    scan.back = settle(scan.back);
  }
  std::vector<Wait> settled = waits;
  for (Wait& wait : settled) {
    wait.back = settle(wait.back);
  }
  waits = std::move(settled);
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  drop_unused_waits();
  std::sort(scans.begin(), scans.end());
  scans.erase(std::unique(scans.begin(), scans.end()), scans.end());
  if (num_bytes() > limits_.max_bytes) {
    status_ = {Code::kResourceExhausted, "grammar: the text nests too deep to be followed within " +
                                             std::to_string(limits_.max_bytes >> 20) + " MiB"};
    return kFailed;
  }
  return intern(hash_row());
}

std::uint64_t RowStore::hash_return(Return back, std::uint64_t seed) const {
  std::uint64_t row = static_cast<std::uint32_t>(back.row);
  if (back.row >= 0) {
    const Key& key = row_of(back.row).key;
    row = seed == 1 ? key.low : key.high;
  }
  return mix64(row + mix64(back.nonterminal + seed));
}

// A sum over scans and waits, for their order depends on the names of rows in this store.
RowStore::Key RowStore::hash_row() const {
  Key key;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0x51ED270B}}) {
    std::uint64_t sum = draft_.is_complete ? seed : 0;
    for (const Scan& scan : draft_.scans) {
      const std::uint64_t head =
          std::uint64_t{scan.place} << 32 | static_cast<std::uint32_t>(scan.state);
      sum += mix64(mix64(head + seed) ^ hash_return(scan.back, seed));
    }
    for (const Wait& wait : draft_.waits) {
      const std::uint64_t head = std::uint64_t{wait.place} << 32 | wait.nonterminal;
      sum += mix64(mix64(head - seed) ^ hash_return(wait.back, seed));
    }
    (seed == 1 ? key.low : key.high) = mix64(sum);
  }
  return key;
}

RowId RowStore::intern(const Key& key) {
  const auto [begin, end] = by_hash_.equal_range(key.low);
  for (auto it = begin; it != end; ++it) {
    const Row& row = row_of(it->second);
    const auto first_scan = scans_.begin() + row.first_scan;
    const auto first_wait = waits_.begin() + row.first_wait;
    if (row.key == key && row.is_complete == draft_.is_complete &&
        std::equal(first_scan, first_scan + row.num_scans, draft_.scans.begin(),
                   draft_.scans.end()) &&
        std::equal(first_wait, first_wait + row.num_waits, draft_.waits.begin(),
                   draft_.waits.end())) {
      return it->second;
    }
  }
  const auto id = static_cast<RowId>(rows_.size());
  rows_.push_back({static_cast<std::uint32_t>(scans_.size()),
                   static_cast<std::uint32_t>(draft_.scans.size()),
                   static_cast<std::uint32_t>(waits_.size()),
                   static_cast<std::uint32_t>(draft_.waits.size()), draft_.is_complete, key});
  scans_.insert(scans_.end(), draft_.scans.begin(), draft_.scans.end());
  waits_.insert(waits_.end(), draft_.waits.begin(), draft_.waits.end());
  edges_.resize(edges_.size() + static_cast<std::size_t>(tables_.num_classes), kUnknown);
  by_hash_.emplace(key.low, id);
  return id;
}

std::int64_t RowStore::num_bytes() const {
  constexpr std::size_t kIndexBytes = 48;  // a node of the hash map
  return static_cast<std::int64_t>(rows_.size() * (sizeof(Row) + kIndexBytes) +
                                   scans_.size() * sizeof(Scan) + waits_.size() * sizeof(Wait) +
                                   edges_.size() * sizeof(RowId));
}

// The new name of each row that the roots need, kDead for the others. A row refers to older rows
// only, so names keep their order.
std::vector<RowId> RowStore::mark(std::span<RowId* const> roots) const {
  std::vector<bool> is_needed(rows_.size(), false);
  const auto need = [&](RowId row) {
    if (row >= 0) {
      is_needed[static_cast<std::size_t>(row)] = true;
    }
  };
  for (const RowId* const root : roots) {
    need(*root);
  }
  for (std::size_t r = rows_.size(); r-- > 0;) {
    if (!is_needed[r]) {
      continue;
    }
    const Row& row = rows_[r];
    for (std::uint32_t i = 0; i < row.num_scans; ++i) {
      need(scans_[row.first_scan + i].back.row);
    }
    for (std::uint32_t i = 0; i < row.num_waits; ++i) {
      need(waits_[row.first_wait + i].back.row);
    }
  }
  std::vector<RowId> names(rows_.size(), kDead);
  RowId num = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (is_needed[r]) {
      names[r] = num++;
    }
  }
  return names;
}

void RowStore::collect(std::span<RowId* const> roots) {
  const std::vector<RowId> names = mark(roots);
  const auto rename = [&](RowId row) {
    return row >= 0 ? names[static_cast<std::size_t>(row)] : row;
  };
  RowStore kept(tables_, limits_);
  const auto num_classes = static_cast<std::size_t>(tables_.num_classes);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (names[r] == kDead) {
      continue;
    }
    Row row = rows_[r];
    const auto scan = scans_.begin() + row.first_scan;
    const auto wait = waits_.begin() + row.first_wait;
    row.first_scan = static_cast<std::uint32_t>(kept.scans_.size());
    row.first_wait = static_cast<std::uint32_t>(kept.waits_.size());
    kept.scans_.insert(kept.scans_.end(), scan, scan + row.num_scans);
    kept.waits_.insert(kept.waits_.end(), wait, wait + row.num_waits);
    kept.rows_.push_back(row);
    kept.by_hash_.emplace(row.key.low, names[r]);
    for (std::size_t c = 0; c < num_classes; ++c) {
      const RowId to = edges_[r * num_classes + c];
      const bool is_lost = to >= 0 && names[static_cast<std::size_t>(to)] == kDead;
      kept.edges_.push_back(is_lost ? kUnknown : rename(to));
    }
  }
  for (Scan& scan : kept.scans_) {
    scan.back.row = rename(scan.back.row);
  }
  for (Wait& wait : kept.waits_) {
    wait.back.row = rename(wait.back.row);
  }
  for (RowId* const root : roots) {
    *root = rename(*root);
  }
  rows_ = std::move(kept.rows_);
  scans_ = std::move(kept.scans_);
  waits_ = std::move(kept.waits_);
  edges_ = std::move(kept.edges_);
  by_hash_ = std::move(kept.by_hash_);
  collect_above_ = std::max(limits_.max_bytes / 4, 2 * num_bytes());
  start_ =
      start_ >= 0 && names[static_cast<std::size_t>(start_)] != kDead ? rename(start_) : kUnknown;
}

}  // namespace plumb
