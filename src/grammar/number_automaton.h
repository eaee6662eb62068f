// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "grammar/compile_budget.h"

namespace plumb {

/// One state of a deterministic automaton over the characters of JSON numbers. In a vector of them
/// state 0 is dead, state 1 the start.
struct NumberState {
  /// Columns of the transitions: the digits, '-' and '.'.
  static constexpr int kSymbols = 12;
  static constexpr int kMinus = 10;
  static constexpr int kPoint = 11;

  std::array<std::uint32_t, kSymbols> next{};
  bool accepting = false;

  bool operator==(const NumberState&) const = default;

  bool operator<(const NumberState& other) const {
    return std::tie(accepting, next) < std::tie(other.accepting, other.next);
  }
};

using NumberAutomaton = std::vector<NumberState>;

/// What tells the states of an automaton under construction apart.
using NumberKey = std::uint64_t;

/// Builds the part of an automaton that the start reaches. `step` gives where a symbol leads, if
/// anywhere.
///
/// Errors  kResourceExhausted if its states exceed what the budget has left, of which it takes
///         none; kDeadlineExceeded.
Result<NumberAutomaton> build_number_automaton(
    NumberKey start, const std::function<std::optional<NumberKey>(NumberKey, int symbol)>& step,
    const std::function<bool(NumberKey)>& accepts, CompileBudget* budget);

/// The smallest automaton of the same set, its states in an order that is equal for equal sets. The
/// dead state joins every state from which nothing is accepted.
///
/// Errors  kDeadlineExceeded from the budget.
/// Cost    a pass over the states for each round of Moore's partition refinement, which are at most
///         as many as the characters by which two states differ.
Result<NumberAutomaton> minimised(const NumberAutomaton& states, CompileBudget* budget);

}  // namespace plumb
