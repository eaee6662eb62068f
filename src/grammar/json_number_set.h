// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "grammar/compile_budget.h"
#include "grammar/number_automaton.h"

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
///
/// The states of the sets count against the budget, and no automaton on the way to one has more
/// states than are left. Once status() is an error, no new set is made: none() stands for it.
/// Thread  one at a time.
class JsonNumberSets {
 public:
  static constexpr int kMinus = NumberState::kMinus;
  static constexpr int kPoint = NumberState::kPoint;

  /// Requires the budget outlives the sets.
  explicit JsonNumberSets(CompileBudget* budget);

  /// kResourceExhausted, kDeadlineExceeded from the budget; kUnsupported: both() of multiples that
  /// only a too large number divides.
  const Status& status() const { return status_; }

  NumberSetId none() const { return none_; }

  NumberSetId all() const { return all_; }

  NumberSetId integers() const { return integers_; }

  /// all() is neutral, also for a number with more digits than those in it.
  NumberSetId both(NumberSetId a, NumberSetId b);
  NumberSetId either(NumberSetId a, NumberSetId b);
  /// all() without the set.
  NumberSetId other(NumberSetId a);

  NumberSetId just(const Decimal& value) { return one_of(std::span(&value, 1)); }

  /// The values; linear in their digits.
  NumberSetId one_of(std::span<const Decimal> values);
  NumberSetId at_most(const Decimal& bound);
  NumberSetId at_least(const Decimal& bound);
  /// Errors  kUnsupported: a divisor of too many states.
  Result<NumberSetId> multiples_of(const Decimal& divisor);

  const NumberAutomaton& states(NumberSetId id) const;
  /// Characters that an output may spend on a number of the set: at most kMaxNumberChars, fewer
  /// where counting them would need too many states.
  std::int64_t max_chars(NumberSetId id) const;
  /// Whether some number of at most max_chars() belongs to the set.
  bool has_short_member(NumberSetId id) const;

 private:
  using Combine = bool (*)(bool, bool);
  using Step = std::function<std::optional<NumberKey>(NumberKey, int symbol)>;

  /// A number modulus / 10^scale, of which a set holds the multiples.
  struct Divisor {
    std::int64_t modulus = 1;
    int scale = 0;
    auto operator<=>(const Divisor&) const = default;
  };

  NumberSetId product(NumberSetId a, NumberSetId b, Combine combine);
  NumberSetId build(NumberKey start, const Step& step,
                    const std::function<bool(NumberKey)>& accepts);
  NumberSetId intern(const NumberAutomaton& states);
  NumberSetId compare(const Decimal& bound, bool keep_less, bool keep_greater);
  NumberSetId multiples_of(Divisor divisor);
  NumberSetId common_multiples(Divisor a, Divisor b);
  NumberSetId fail(Status status);

  CompileBudget* budget_;
  Status status_;
  std::vector<NumberAutomaton> sets_;
  std::map<NumberAutomaton, NumberSetId> ids_;
  std::map<Divisor, NumberSetId> multiples_;
  std::map<NumberSetId, Divisor> divisors_;  // of the sets in multiples_
  NumberSetId none_{};
  NumberSetId all_{};
  NumberSetId integers_{};
};

}  // namespace plumb
