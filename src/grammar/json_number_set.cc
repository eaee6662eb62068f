// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_number_set.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace plumb {

namespace {

/// Decimal digits that a double always keeps.
constexpr int kExactDigits = 15;
/// States of an automaton that also counts characters.
constexpr std::int64_t kMaxCountedStates = 50'000;
constexpr std::int64_t kMinChars = 20;
constexpr std::int64_t kMaxDivisorStates = 2'500;
/// Of several divisors together.
constexpr std::int64_t kMaxCommonStates = 25'000;
/// Their scaled moduli fit 64 bits.
constexpr int kMaxCommonScale = 12;

bool is_zero(const Decimal& value) {
  return value.whole == "0" && value.fraction.empty();
}

/// Where a reader of the canonical text is.
enum class Phase : unsigned char { kStart, kSign, kZero, kWhole, kPoint, kFraction };

/// The grammar of the text: where a symbol leads, if it may follow. In kFraction a last digit 0
/// may not end the number, which the callers' accept functions check.
std::optional<Phase> advance(Phase phase, int symbol) {
  switch (phase) {
    case Phase::kStart:
      if (symbol == JsonNumberSets::kMinus) {
        return Phase::kSign;
      }
      [[fallthrough]];
    case Phase::kSign:
      if (symbol == 0) {
        return Phase::kZero;
      }
      return symbol <= 9 ? std::optional(Phase::kWhole) : std::nullopt;
    case Phase::kZero:
      return symbol == JsonNumberSets::kPoint ? std::optional(Phase::kPoint) : std::nullopt;
    case Phase::kWhole:
      if (symbol == JsonNumberSets::kPoint) {
        return Phase::kPoint;
      }
      return symbol <= 9 ? std::optional(Phase::kWhole) : std::nullopt;
    case Phase::kPoint:
    case Phase::kFraction:
      return symbol <= 9 ? std::optional(Phase::kFraction) : std::nullopt;
  }
  return std::nullopt;
}

struct AllKey {
  Phase phase = Phase::kStart;
  bool negative = false;
  bool last_is_zero = false;
  int digits = 0;  ///< of the whole part, at most kExactDigits; then of both parts
};

std::optional<AllKey> step_all(const AllKey& key, int symbol) {
  const std::optional<Phase> phase = advance(key.phase, symbol);
  if (!phase) {
    return std::nullopt;
  }
  AllKey next = key;
  next.phase = *phase;
  if (*phase == Phase::kSign) {
    next.negative = true;
  } else if (*phase == Phase::kWhole) {
    next.digits = std::min(key.digits + 1, kExactDigits);
  } else if (*phase == Phase::kFraction) {
    if (key.digits == kExactDigits) {
      return std::nullopt;
    }
    ++next.digits;
    next.last_is_zero = symbol == 0;
  }
  return next;
}

bool accepts_all(const AllKey& key) {
  if (key.phase == Phase::kZero) {
    return !key.negative;
  }
  return key.phase == Phase::kWhole || (key.phase == Phase::kFraction && !key.last_is_zero);
}

struct CompareKey {
  Phase phase = Phase::kStart;
  bool negative = false;
  int position = 0;  ///< digits read of this part, at most one more than the bound has
  int order = 0;     ///< of what was read against the bound's digits: -1, 0, 1
};

int sign(int difference) {
  return (difference > 0) - (difference < 0);
}

std::optional<CompareKey> step_compare(const Decimal& bound, const CompareKey& key, int symbol) {
  const std::optional<Phase> phase = advance(key.phase, symbol);
  if (!phase) {
    return std::nullopt;
  }
  CompareKey next = key;
  next.phase = *phase;
  const int whole = static_cast<int>(bound.whole.size());
  if (*phase == Phase::kSign) {
    next.negative = true;
  } else if (*phase == Phase::kPoint) {
    next.order = key.position == whole ? key.order : sign(key.position - whole);
    next.position = 0;
  } else {
    const std::string& digits = *phase == Phase::kFraction ? bound.fraction : bound.whole;
    const int length = static_cast<int>(digits.size());
    const int digit =
        key.position < length ? digits[static_cast<std::size_t>(key.position)] - '0' : 0;
    if (key.order == 0 && (*phase == Phase::kFraction || key.position < length)) {
      next.order = sign(symbol - digit);
    }
    next.position = std::min(key.position + 1, length + 1);
  }
  return next;
}

/// The order of the number against the bound: -1, 0, 1.
int final_order(const Decimal& bound, const CompareKey& key) {
  int order = key.order;  // of the magnitudes
  if (key.phase == Phase::kWhole || key.phase == Phase::kZero) {
    const int whole = static_cast<int>(bound.whole.size());
    order = key.position == whole ? key.order : sign(key.position - whole);
    if (order == 0 && !bound.fraction.empty()) {
      order = -1;
    }
  } else if (order == 0 && key.position < static_cast<int>(bound.fraction.size())) {
    order = -1;
  }
  if (key.negative != bound.negative) {
    return key.negative ? -1 : 1;
  }
  return key.negative ? -order : order;
}

struct DivideKey {
  Phase phase = Phase::kStart;
  std::int64_t remainder = 0;
  int fraction_digits = 0;
};

// Keys as one number and back; digits and positions are below 2^8, remainders below 2^40.
NumberKey packed(const AllKey& key) {
  return static_cast<NumberKey>(key.phase) | NumberKey{key.negative} << 8 |
         NumberKey{key.last_is_zero} << 9 | static_cast<NumberKey>(key.digits) << 16;
}

AllKey all_key(NumberKey key) {
  return {static_cast<Phase>(key & 0xFF), (key >> 8 & 1) != 0, (key >> 9 & 1) != 0,
          static_cast<int>(key >> 16)};
}

NumberKey packed(const CompareKey& key) {
  return static_cast<NumberKey>(key.phase) | NumberKey{key.negative} << 8 |
         static_cast<NumberKey>(key.order + 1) << 9 | static_cast<NumberKey>(key.position) << 16;
}

CompareKey compare_key(NumberKey key) {
  return {static_cast<Phase>(key & 0xFF), (key >> 8 & 1) != 0, static_cast<int>(key >> 16),
          static_cast<int>(key >> 9 & 3) - 1};
}

NumberKey packed(const DivideKey& key) {
  return static_cast<NumberKey>(key.phase) | static_cast<NumberKey>(key.fraction_digits) << 8 |
         static_cast<NumberKey>(key.remainder) << 16;
}

DivideKey divide_key(NumberKey key) {
  return {static_cast<Phase>(key & 0xFF), static_cast<std::int64_t>(key >> 16),
          static_cast<int>(key >> 8 & 0xFF)};
}

template <class Key>
std::optional<NumberKey> packed(const std::optional<Key>& key) {
  return key ? std::optional(packed(*key)) : std::nullopt;
}

Status too_long(std::string_view json_number) {
  return Status{Code::kUnsupported, "number " + std::string(json_number.substr(0, 32)) +
                                        " needs more than " + std::to_string(kMaxNumberChars) +
                                        " characters without an exponent"};
}

}  // namespace

std::string Decimal::text() const {
  return (negative ? "-" : "") + whole + (fraction.empty() ? "" : "." + fraction);
}

Result<Decimal> parse_decimal(std::string_view json_number) {
  Decimal value;
  std::string_view rest = json_number;
  if (rest.starts_with('-')) {
    value.negative = true;
    rest.remove_prefix(1);
  }
  std::int64_t exponent = 0;
  if (const std::size_t e = rest.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = rest.substr(e + 1);
    if (digits.starts_with('+')) {
      digits.remove_prefix(1);
    }
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec != std::errc{}) {
      return too_long(json_number);
    }
    rest = rest.substr(0, e);
  }
  const std::size_t point = std::min(rest.find('.'), rest.size());
  std::string digits(rest.substr(0, point));
  digits += rest.substr(std::min(point + 1, rest.size()));
  const std::int64_t shifted = static_cast<std::int64_t>(point) + exponent;
  const auto num_digits = static_cast<std::int64_t>(digits.size());
  if (std::max(shifted, num_digits) - std::min<std::int64_t>(shifted, 0) > kMaxNumberChars) {
    return too_long(json_number);
  }
  if (shifted < 0) {
    digits.insert(0, static_cast<std::size_t>(-shifted), '0');
  } else if (shifted > num_digits) {
    digits.append(static_cast<std::size_t>(shifted - num_digits), '0');
  }
  const auto split = static_cast<std::size_t>(std::max<std::int64_t>(shifted, 0));
  value.whole = digits.substr(0, split);
  value.fraction = digits.substr(split);
  value.whole.erase(0, std::min(value.whole.find_first_not_of('0'), value.whole.size()));
  if (value.whole.empty()) {
    value.whole = "0";
  }
  value.fraction.erase(value.fraction.find_last_not_of('0') + 1);
  value.negative = value.negative && !is_zero(value);
  return value;
}

JsonNumberSets::JsonNumberSets(CompileBudget* budget) : budget_(budget) {
  none_ = intern(NumberAutomaton(2));
  all_ = build(
      packed(AllKey()),
      [](NumberKey key, int symbol) { return packed(step_all(all_key(key), symbol)); },
      [](NumberKey key) { return accepts_all(all_key(key)); });
  integers_ = multiples_of(Divisor());
}

NumberSetId JsonNumberSets::fail(Status status) {
  if (status_.ok()) {
    status_ = std::move(status);
  }
  return none_;
}

NumberSetId JsonNumberSets::intern(const NumberAutomaton& states) {
  Result<NumberAutomaton> smallest = minimised(states, budget_);
  if (!smallest.ok()) {
    // The empty set exists in any case: it is what a failure gives.
    sets_.resize(std::max<std::size_t>(sets_.size(), 1), NumberAutomaton(2));
    return fail(smallest.status());
  }
  const auto [it, fresh] =
      ids_.try_emplace(std::move(smallest).value(), static_cast<NumberSetId>(sets_.size()));
  if (fresh) {
    sets_.push_back(it->first);
    if (Status status = budget_->take_states(std::ssize(it->first)); !status.ok()) {
      return fail(std::move(status));
    }
  }
  return it->second;
}

const NumberAutomaton& JsonNumberSets::states(NumberSetId id) const {
  return sets_[static_cast<std::size_t>(id)];
}

NumberSetId JsonNumberSets::build(NumberKey start, const Step& step,
                                  const std::function<bool(NumberKey)>& accepts) {
  if (!status_.ok()) {
    return none_;
  }
  const Result<NumberAutomaton> states = build_number_automaton(start, step, accepts, budget_);
  return states.ok() ? intern(states.value()) : fail(states.status());
}

NumberSetId JsonNumberSets::product(NumberSetId a, NumberSetId b, Combine combine) {
  constexpr int kShift = 32;
  if (!status_.ok()) {
    return none_;
  }
  const NumberAutomaton& left = states(a);
  const NumberAutomaton& right = states(b);
  const auto left_of = [](NumberKey key) { return static_cast<std::size_t>(key >> kShift); };
  const auto right_of = [](NumberKey key) { return static_cast<std::size_t>(key & UINT32_MAX); };
  return build(
      NumberKey{1} << kShift | 1,
      [&](NumberKey key, int symbol) -> std::optional<NumberKey> {
        const auto column = static_cast<std::size_t>(symbol);
        const std::uint32_t x = left[left_of(key)].next[column];
        const std::uint32_t y = right[right_of(key)].next[column];
        const bool is_dead =  // whatever the other one accepts
            (x == 0 && !combine(false, y != 0)) || (y == 0 && !combine(x != 0, false));
        return is_dead ? std::nullopt : std::optional(NumberKey{x} << kShift | y);
      },
      [&](NumberKey key) {
        return combine(left[left_of(key)].accepting, right[right_of(key)].accepting);
      });
}

NumberSetId JsonNumberSets::both(NumberSetId a, NumberSetId b) {
  if (a == b || a == none_ || b == all_) {
    return a;
  }
  if (b == none_ || a == all_) {
    return b;
  }
  const auto left = divisors_.find(a);
  const auto right = divisors_.find(b);
  const auto is_exact = [&](const auto& it) {
    return it != divisors_.end() && it->second.scale <= kMaxCommonScale;
  };
  if (is_exact(left) && is_exact(right)) {
    return common_multiples(left->second, right->second);
  }
  return product(a, b, [](bool x, bool y) { return x && y; });
}

NumberSetId JsonNumberSets::either(NumberSetId a, NumberSetId b) {
  if (a == b || b == none_) {
    return a;
  }
  if (a == none_) {
    return b;
  }
  return product(a, b, [](bool x, bool y) { return x || y; });
}

NumberSetId JsonNumberSets::other(NumberSetId a) {
  if (a == none_ || a == all_) {
    return a == none_ ? all_ : none_;
  }
  return product(all_, a, [](bool x, bool y) { return x && !y; });
}

NumberSetId JsonNumberSets::one_of(std::span<const Decimal> values) {
  NumberAutomaton trie(2);
  for (const Decimal& value : values) {
    if (status_.ok()) {
      fail(budget_->poll());
    }
    if (status_.ok()) {
      fail(budget_->check_states(std::ssize(trie)));
    }
    if (!status_.ok()) {
      return none_;
    }
    std::size_t state = 1;
    for (const char c : value.text()) {
      const int symbol = c == '-' ? kMinus : c == '.' ? kPoint : c - '0';
      const auto fresh = static_cast<std::uint32_t>(trie.size());
      std::uint32_t& next = trie[state].next[static_cast<std::size_t>(symbol)];
      const bool is_new = next == 0;
      next = is_new ? fresh : next;
      state = next;
      trie.resize(trie.size() + (is_new ? 1 : 0));
    }
    trie[state].accepting = true;
  }
  return status_.ok() ? intern(trie) : none_;
}

NumberSetId JsonNumberSets::compare(const Decimal& bound, bool keep_less, bool keep_greater) {
  const NumberSetId half = build(
      packed(CompareKey()),
      [&](NumberKey key, int symbol) {
        return packed(step_compare(bound, compare_key(key), symbol));
      },
      [&](NumberKey key) {
        const int order = final_order(bound, compare_key(key));
        return order == 0 || (order < 0 ? keep_less : keep_greater);
      });
  return product(all_, half, [](bool x, bool y) { return x && y; });
}

NumberSetId JsonNumberSets::at_most(const Decimal& bound) {
  return compare(bound, true, false);
}

NumberSetId JsonNumberSets::at_least(const Decimal& bound) {
  return compare(bound, false, true);
}

Result<NumberSetId> JsonNumberSets::multiples_of(const Decimal& divisor) {
  const auto scale = static_cast<int>(divisor.fraction.size());
  const std::string digits = divisor.whole + divisor.fraction;
  std::int64_t modulus = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), modulus);
  if (error != std::errc{} || modulus <= 0 || modulus > kMaxDivisorStates / (scale + 1)) {
    return Status{Code::kUnsupported, "multipleOf " + divisor.text() + " needs more than " +
                                          std::to_string(kMaxDivisorStates) +
                                          " states; use a smaller divisor"};
  }
  return multiples_of(Divisor{modulus, scale});
}

NumberSetId JsonNumberSets::multiples_of(Divisor divisor) {
  if (const auto known = multiples_.find(divisor); known != multiples_.end()) {
    return known->second;
  }
  const auto step = [&](const DivideKey& key, int symbol) -> std::optional<DivideKey> {
    const std::optional<Phase> phase = advance(key.phase, symbol);
    if (!phase || (*phase == Phase::kFraction && key.fraction_digits == divisor.scale)) {
      return std::nullopt;
    }
    DivideKey next = key;
    next.phase = *phase;
    if (symbol <= 9) {
      next.remainder = (key.remainder * 10 + symbol) % divisor.modulus;
      next.fraction_digits += *phase == Phase::kFraction ? 1 : 0;
    }
    return next;
  };
  const auto accepts = [&](NumberKey packed_key) {
    const DivideKey key = divide_key(packed_key);
    std::int64_t remainder = key.remainder;
    for (int i = key.fraction_digits; i < divisor.scale; ++i) {
      remainder = remainder * 10 % divisor.modulus;
    }
    return remainder == 0;
  };
  const NumberSetId multiples = build(
      packed(DivideKey()),
      [&](NumberKey key, int symbol) { return packed(step(divide_key(key), symbol)); }, accepts);
  const NumberSetId id = product(all_, multiples, [](bool x, bool y) { return x && y; });
  if (status_.ok()) {
    multiples_.emplace(divisor, id);
    divisors_.emplace(id, divisor);
  }
  return id;
}

// The multiples of both are those of their least common multiple.
NumberSetId JsonNumberSets::common_multiples(Divisor a, Divisor b) {
  Divisor common{1, std::max(a.scale, b.scale)};
  for (Divisor* each : {&a, &b}) {
    for (int i = each->scale; i < common.scale; ++i) {
      each->modulus *= 10;
    }
  }
  const std::int64_t factor = b.modulus / std::gcd(a.modulus, b.modulus);
  const bool fits = a.modulus <= INT64_MAX / factor;
  common.modulus = fits ? a.modulus * factor : INT64_MAX;
  for (; common.scale > 0 && common.modulus % 10 == 0; --common.scale) {
    common.modulus /= 10;
  }
  if (common.modulus > kMaxCommonStates / (common.scale + 1)) {
    return fail(Status{Code::kUnsupported,
                       "the multiples that several multipleOf have in common need more "
                       "than " +
                           std::to_string(kMaxCommonStates) + " states; use smaller divisors"});
  }
  return multiples_of(common);
}

std::int64_t JsonNumberSets::max_chars(NumberSetId id) const {
  const auto num_states = static_cast<std::int64_t>(states(id).size());
  return std::clamp(kMaxCountedStates / num_states, kMinChars, kMaxNumberChars);
}

bool JsonNumberSets::has_short_member(NumberSetId id) const {
  const NumberAutomaton& automaton = states(id);
  std::vector<bool> seen(automaton.size(), false);
  seen[0] = true;
  std::vector<std::uint32_t> reached{1};  // after `length` characters, and not before
  seen[1] = true;
  for (std::int64_t length = 0; length <= max_chars(id) && !reached.empty(); ++length) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t state : reached) {
      if (automaton[state].accepting) {
        return true;
      }
      for (const std::uint32_t target : automaton[state].next) {
        if (!seen[target]) {
          seen[target] = true;
          next.push_back(target);
        }
      }
    }
    reached = std::move(next);
  }
  return false;
}

}  // namespace plumb
