// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/regex_set.h"

namespace plumb {

/// One of the texts.
///
/// Cost    linear in their bytes, equal tails once.
/// Errors  kResourceExhausted, kDeadlineExceeded from the budget.
Result<RegexId> one_of_texts(std::vector<std::string_view> texts, RegexSet* set,
                             CompileBudget* budget);

/// Looks for any of some strings in a text. A byte that is ignored may stand anywhere, inside the
/// strings too.
/// Source  Aho and Corasick 1975.
class StringFinder {
 public:
  /// Requires no string is empty.
  explicit StringFinder(std::span<const std::string> strings,
                        std::optional<std::uint8_t> ignored = std::nullopt);

  /// What each of the automata adds to the size of a set at most. Cost: linear, in memory too.
  std::int64_t max_size() const;

  /// Every byte string in which none of the strings occurs.
  RegexId without(RegexSet* set) const;

  /// Every byte string that ends with the first occurrence of any of the strings.
  RegexId up_to_first(RegexSet* set) const;

 private:
  using State = RegexSet::AutomatonState;

  void insert(std::string_view text);
  void add_failures();

  // Where nothing was found yet a state accepts if `found` is false, and goes on; else the others
  // do.
  std::vector<State> states(bool found) const;

  struct Node {
    std::vector<std::pair<std::uint8_t, std::uint32_t>> children;
    std::uint32_t fallback = 0;  ///< the longest proper suffix that is a node
    bool is_end = false;         ///< a string ends here
  };

  std::optional<std::uint8_t> ignored_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> order_;  // breadth first, without the root
};

}  // namespace plumb
