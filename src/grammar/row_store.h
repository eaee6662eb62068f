// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "grammar/grammar_tables.h"

namespace plumb {

/// A parse position inside one RowStore; negative values are the constants of RowStore.
using RowId = std::int32_t;

/// What a matcher may use.
struct MatcherLimits {
  std::int64_t max_row_items = 50'000;              ///< parses of one position
  std::int64_t max_bytes = std::int64_t{64} << 20;  ///< of rows, after unused ones were dropped
  /// Work that one text may cause in excess of what each of its tokens is granted. A unit is an
  /// item tried, or four nodes of the vocabulary's trie visited for the first time: about 20 ns.
  std::int64_t max_work = 8'000'000;
  std::int64_t work_per_token = 200'000;
};

/// The rows of a scannerless Earley parser as the states of an automaton built on the way.
///
/// A row says all that matters about the text so far: the terminals that may be under way, each
/// with the state of its automaton and what waits for its end, and the items that wait for a
/// nonterminal that begins here. Equal rows are one row, and steps are remembered, so a text that
/// stays in one place of the grammar (within a string, at the next element of a list) costs a table
/// look-up a byte. An item names what it returns to by row and nonterminal, not by text position,
/// and an item that ends with a nonterminal lends it its own return (a tail call): right recursion
/// needs no longer rows than left recursion. Thread  one at a time. Source  Earley 1970; Aycock and
/// Horspool 2002 (empty rules); Leo 1991 (right recursion).
class RowStore {
 public:
  static constexpr RowId kDead = -1;    ///< no text continues here
  static constexpr RowId kFailed = -2;  ///< a limit was exceeded: see status()

  /// Where a rule returns to: the items of a row that wait for a nonterminal.
  struct Return {
    RowId row = 0;
    std::uint32_t nonterminal = 0;
    auto operator<=>(const Return&) const = default;
  };

  /// A terminal under way.
  struct Scan {
    std::uint32_t place = 0;
    std::int32_t state = 0;  ///< of the terminal's automaton; some byte leaves it
    Return back;
    auto operator<=>(const Scan&) const = default;
  };

  /// A content hash that is equal in all stores of one grammar.
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Key&) const = default;
  };

  /// Requires the tables outlive the store.
  RowStore(const GrammarTables& tables, const MatcherLimits& limits);

  /// The row of the empty text.
  RowId start();

  /// The row after one more byte. Requires a row that is neither dead nor failed.
  RowId next(RowId row, std::uint8_t byte) {
    const std::size_t edge = edge_of(row, byte);
    return edges_[edge] != kUnknown ? edges_[edge] : find_next(row, byte, edge);
  }

  /// Whether the text so far is a whole text of the grammar.
  bool is_complete(RowId row) const { return row_of(row).is_complete; }

  std::span<const Scan> scans(RowId row) const {
    return std::span(scans_).subspan(row_of(row).first_scan, row_of(row).num_scans);
  }

  const Dfa& terminal(const Scan& scan) const {
    return tables_.terminals[tables_.places[scan.place].index];
  }

  Key key(RowId row) const { return row_of(row).key; }

  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.size()); }

  std::int64_t num_bytes() const;

  /// Whether enough was added since the last collection to be worth another.
  bool wants_collection() const { return num_bytes() > collect_above_; }

  /// Counts work; past what is left the store fails.
  void spend(std::int64_t work);

  /// Adds what one more token is granted to what is left, which stays within max_work.
  void grant_token();

  /// Work done so far.
  std::int64_t work() const { return work_; }

  /// Keeps the rows that the given ones need, renames those, and forgets the rest.
  void collect(std::span<RowId* const> roots);

  /// Why a step failed. A failed store answers no more steps that it does not know.
  const Status& status() const { return status_; }

 private:
  static constexpr RowId kUnknown = -3;  // an edge not taken so far
  static constexpr RowId kSelf = -4;     // in a Return: the row that holds it
  static constexpr RowId kRoot = -5;     // in a Return: the end of the text

  struct Wait {
    std::uint32_t nonterminal = 0;
    std::uint32_t place = 0;  ///< before that nonterminal
    Return back;
    auto operator<=>(const Wait&) const = default;
  };

  struct Item {
    std::uint32_t place = 0;
    Return back;
  };

  struct Row {
    std::uint32_t first_scan = 0;
    std::uint32_t num_scans = 0;
    std::uint32_t first_wait = 0;
    std::uint32_t num_waits = 0;
    bool is_complete = false;
    Key key;
  };

  const Row& row_of(RowId row) const { return rows_[static_cast<std::size_t>(row)]; }

  std::size_t edge_of(RowId row, std::uint8_t byte) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(tables_.num_classes) +
           tables_.byte_class[byte];
  }

  RowId find_next(RowId row, std::uint8_t byte, std::size_t edge);
  void begin_row();
  void add_item(std::uint32_t place, Return back);
  void add_scan(std::uint32_t place, std::int32_t state, Return back);
  void close_row();
  void predict(std::uint32_t nonterminal);
  void complete(Return back);
  RowId finish_row();
  Return tail_of(std::uint32_t nonterminal, int depth);
  Return own_tail(std::uint32_t nonterminal, int depth);
  Return settle(Return back);
  void drop_unused_waits();
  Key hash_row() const;
  std::uint64_t hash_return(Return back, std::uint64_t seed) const;
  RowId intern(const Key& key);
  std::vector<RowId> mark(std::span<RowId* const> roots) const;

  const GrammarTables& tables_;
  MatcherLimits limits_;
  Status status_;
  std::vector<Row> rows_;
  std::vector<Scan> scans_;
  std::vector<Wait> waits_;   // of a row: rising
  std::vector<RowId> edges_;  // [num_rows, num_classes]
  std::unordered_multimap<std::uint64_t, RowId> by_hash_;
  RowId start_ = kUnknown;
  std::int64_t collect_above_;
  std::int64_t work_ = 0;
  std::int64_t work_left_;

  // The row under construction.
  struct Draft {
    std::vector<Item> items;
    std::vector<std::uint32_t> item_slots;  // open addressing over items: index + 1, 0 = free
    std::vector<Scan> scans;
    std::vector<Wait> waits;
    std::vector<std::uint32_t> predicted;
    std::vector<std::uint8_t> nonterminal_state;  // of each nonterminal: a kTail value
    std::vector<Return> tails;                    // by nonterminal, valid if kTailKnown
    bool is_complete = false;
  };

  static constexpr std::uint8_t kNotPredicted = 0;
  static constexpr std::uint8_t kPredicted = 1;
  static constexpr std::uint8_t kTailInWork = 2;
  static constexpr std::uint8_t kTailKnown = 3;
  static constexpr std::uint8_t kUsed = 4;
  Draft draft_;
};

}  // namespace plumb
