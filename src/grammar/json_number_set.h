// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plumb {

/// A set of JSON numbers inside one JsonNumberSets.
enum class NumberSetId : std::uint32_t {};

/// A decimal number without exponent: (negative ? -1 : 1) * whole.fraction.
struct Decimal {
  bool negative = false;  ///< false for zero
  std::string whole;      ///< no leading zeros; "0" when below 1
  std::string fraction;   ///< no trailing zeros

  std::string text() const;  ///< the one way in which the grammar writes the number
};

/// Reads the text of a JSON number.
///
/// Errors  kUnsupported: more than kMaxNumberChars characters without an exponent.
Result<Decimal> parse_decimal(std::string_view json_number);

/// Characters of the longest number that a schema may name or an output may contain.
inline constexpr std::int64_t kMaxNumberChars = 64;

/// Sets of JSON numbers as finite automata over the one text that each number has: no exponent, no
/// leading or trailing zeros, no -0. They are closed under intersection, union and complement.
///
/// all() holds the integers and those fractions of at most 15 significant digits, which binary
/// floating point keeps apart and in order: what is inside a bound here is inside it for a
/// validator that computes in doubles.
/// Thread  one at a time.
class JsonNumberSets {
 public:
  /// Columns of a state's transitions: the digits, '-' and '.'.
  static constexpr int kSymbols = 12;
  static constexpr int kMinus = 10;
  static constexpr int kPoint = 11;

  /// State 0 is dead, state 1 the start.
  struct State {
    std::array<std::uint32_t, kSymbols> next{};
    bool accepting = false;

    bool operator<(const State& other) const {
      return std::tie(accepting, next) < std::tie(other.accepting, other.next);
    }
  };

  JsonNumberSets();

  NumberSetId none() const { return none_; }

  NumberSetId all() const { return all_; }

  NumberSetId integers() const { return integers_; }

  /// all() is neutral, also for a number with more digits than those in it.
  NumberSetId both(NumberSetId a, NumberSetId b);
  NumberSetId either(NumberSetId a, NumberSetId b);
  /// all() without the set.
  NumberSetId other(NumberSetId a);

  NumberSetId just(const Decimal& value);
  NumberSetId at_most(const Decimal& bound);
  NumberSetId at_least(const Decimal& bound);
  /// Errors  kUnsupported: a divisor of too many states.
  Result<NumberSetId> multiples_of(const Decimal& divisor);

  const std::vector<State>& states(NumberSetId id) const;
  /// Characters that an output may spend on a number of the set: at most kMaxNumberChars, fewer
  /// where counting them would need too many states.
  std::int64_t max_chars(NumberSetId id) const;
  /// Whether some number of at most max_chars() belongs to the set.
  bool has_short_member(NumberSetId id) const;

  /// States of all sets made so far.
  std::int64_t size() const { return num_states_; }

 private:
  using Combine = bool (*)(bool, bool);

  NumberSetId product(NumberSetId a, NumberSetId b, Combine combine);
  NumberSetId intern(std::vector<State> states);
  NumberSetId compare(const Decimal& bound, bool keep_less, bool keep_greater);

  std::vector<std::vector<State>> sets_;
  std::map<std::vector<State>, NumberSetId> ids_;
  std::int64_t num_states_ = 0;
  NumberSetId none_{};
  NumberSetId all_{};
  NumberSetId integers_{};
};

}  // namespace plumb
