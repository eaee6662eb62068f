// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_number_set.h"

#include <algorithm>
#include <charconv>

namespace plumb {

namespace {

using State = JsonNumberSets::State;

/// Decimal digits that a double always keeps.
constexpr int kExactDigits = 15;
/// States of an automaton that also counts characters.
constexpr std::int64_t kMaxCountedStates = 50'000;
constexpr std::int64_t kMinChars = 20;
constexpr std::int64_t kMaxDivisorStates = 2'500;

bool is_zero(const Decimal& value) {
  return value.whole == "0" && value.fraction.empty();
}

/// Builds an automaton from a transition function over keys; the first key added is the start.
template <class Key>
class Builder {
 public:
  using Step = std::function<std::optional<Key>(const Key&, int symbol)>;

  std::vector<State> build(const Key& start, const Step& step,
                           const std::function<bool(const Key&)>& accepts) {
    states_.resize(1);
    add(start);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Key key = order_[i];
      State state;
      state.accepting = accepts(key);
      for (int symbol = 0; symbol < JsonNumberSets::kSymbols; ++symbol) {
        if (const std::optional<Key> next = step(key, symbol)) {
          state.next[static_cast<std::size_t>(symbol)] = add(*next);
        }
      }
      states_[i + 1] = state;
    }
    return std::move(states_);
  }

 private:
  std::uint32_t add(const Key& key) {
    const auto [it, fresh] = ids_.try_emplace(key, static_cast<std::uint32_t>(order_.size() + 1));
    if (fresh) {
      order_.push_back(key);
      states_.emplace_back();
    }
    return it->second;
  }

  std::map<Key, std::uint32_t> ids_;
  std::vector<Key> order_;
  std::vector<State> states_;
};

/// Moore's partition refinement; the dead state joins every state from which nothing is accepted.
std::vector<State> minimised(const std::vector<State>& states) {
  std::vector<std::uint32_t> group(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    group[i] = states[i].accepting ? 1 : 0;
  }
  std::size_t num_groups = 0;
  while (true) {
    std::map<std::vector<std::uint32_t>, std::uint32_t> signatures;
    std::vector<std::uint32_t> refined(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::vector<std::uint32_t> signature{group[i]};
      for (const std::uint32_t next : states[i].next) {
        signature.push_back(group[next]);
      }
      refined[i] =
          signatures
              .try_emplace(std::move(signature), static_cast<std::uint32_t>(signatures.size()))
              .first->second;
    }
    group = std::move(refined);
    if (signatures.size() == num_groups) {
      break;
    }
    num_groups = signatures.size();
  }
  // Renumber breadth first, so that equal sets have equal states.
  std::vector<std::uint32_t> number(num_groups, 0);
  std::vector<std::size_t> order{0, 1};  // representatives; dead, start
  std::vector<bool> seen(num_groups, false);
  seen[group[0]] = true;
  if (group[1] != group[0]) {
    seen[group[1]] = true;
    number[group[1]] = 1;
  }
  std::vector<State> result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    State state = states[order[i]];
    for (std::uint32_t& next : state.next) {
      const std::uint32_t target = group[next];
      if (!seen[target]) {
        seen[target] = true;
        number[target] = static_cast<std::uint32_t>(order.size());
        order.push_back(next);
      }
      next = number[target];
    }
    result.push_back(state);
  }
  return result;
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

  bool operator<(const AllKey& other) const {
    return std::tie(phase, negative, last_is_zero, digits) <
           std::tie(other.phase, other.negative, other.last_is_zero, other.digits);
  }
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

  bool operator<(const CompareKey& other) const {
    return std::tie(phase, negative, position, order) <
           std::tie(other.phase, other.negative, other.position, other.order);
  }
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

  bool operator<(const DivideKey& other) const {
    return std::tie(phase, remainder, fraction_digits) <
           std::tie(other.phase, other.remainder, other.fraction_digits);
  }
};

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

JsonNumberSets::JsonNumberSets() {
  none_ = intern(std::vector<State>(2));
  all_ = intern(Builder<AllKey>().build({}, step_all, accepts_all));
  std::vector<State> whole = sets_[static_cast<std::size_t>(all_)];
  for (State& state : whole) {
    state.next[kPoint] = 0;
  }
  integers_ = intern(std::move(whole));
}

NumberSetId JsonNumberSets::intern(std::vector<State> states) {
  states = minimised(states);
  if (states.size() < 2) {
    states.resize(2);
  }
  const auto [it, fresh] =
      ids_.try_emplace(std::move(states), static_cast<NumberSetId>(sets_.size()));
  if (fresh) {
    sets_.push_back(it->first);
    num_states_ += static_cast<std::int64_t>(it->first.size());
  }
  return it->second;
}

const std::vector<State>& JsonNumberSets::states(NumberSetId id) const {
  return sets_[static_cast<std::size_t>(id)];
}

NumberSetId JsonNumberSets::product(NumberSetId a, NumberSetId b, Combine combine) {
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  const std::vector<State>& left = states(a);
  const std::vector<State>& right = states(b);
  return intern(Builder<Key>().build(
      {1, 1},
      [&](const Key& key, int symbol) -> std::optional<Key> {
        const auto column = static_cast<std::size_t>(symbol);
        const Key next{left[key.first].next[column], right[key.second].next[column]};
        return next == Key{0, 0} ? std::nullopt : std::optional(next);
      },
      [&](const Key& key) {
        return combine(left[key.first].accepting, right[key.second].accepting);
      }));
}

NumberSetId JsonNumberSets::both(NumberSetId a, NumberSetId b) {
  if (a == b || a == none_ || b == all_) {
    return a;
  }
  if (b == none_ || a == all_) {
    return b;
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

NumberSetId JsonNumberSets::just(const Decimal& value) {
  std::vector<State> states(1);
  for (const char c : value.text()) {
    const int symbol = c == '-' ? kMinus : c == '.' ? kPoint : c - '0';
    states.emplace_back();
    states.back().next[static_cast<std::size_t>(symbol)] =
        static_cast<std::uint32_t>(states.size());
  }
  states.push_back({.next = {}, .accepting = true});
  return intern(std::move(states));
}

NumberSetId JsonNumberSets::compare(const Decimal& bound, bool keep_less, bool keep_greater) {
  const NumberSetId half = intern(Builder<CompareKey>().build(
      {}, [&](const CompareKey& key, int symbol) { return step_compare(bound, key, symbol); },
      [&](const CompareKey& key) {
        const int order = final_order(bound, key);
        return order == 0 || (order < 0 ? keep_less : keep_greater);
      }));
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
  const auto step = [&](const DivideKey& key, int symbol) -> std::optional<DivideKey> {
    const std::optional<Phase> phase = advance(key.phase, symbol);
    if (!phase || (*phase == Phase::kFraction && key.fraction_digits == scale)) {
      return std::nullopt;
    }
    DivideKey next = key;
    next.phase = *phase;
    if (symbol <= 9) {
      next.remainder = (key.remainder * 10 + symbol) % modulus;
      next.fraction_digits += *phase == Phase::kFraction ? 1 : 0;
    }
    return next;
  };
  const auto accepts = [&](const DivideKey& key) {
    std::int64_t remainder = key.remainder;
    for (int i = key.fraction_digits; i < scale; ++i) {
      remainder = remainder * 10 % modulus;
    }
    return remainder == 0;
  };
  return product(all_, intern(Builder<DivideKey>().build({}, step, accepts)),
                 [](bool x, bool y) { return x && y; });
}

std::int64_t JsonNumberSets::max_chars(NumberSetId id) const {
  const auto num_states = static_cast<std::int64_t>(states(id).size());
  return std::clamp(kMaxCountedStates / num_states, kMinChars, kMaxNumberChars);
}

bool JsonNumberSets::has_short_member(NumberSetId id) const {
  const std::vector<State>& automaton = states(id);
  std::vector<bool> reached(automaton.size(), false);
  reached[1] = true;
  for (std::int64_t length = max_chars(id); length > 0; --length) {
    std::vector<bool> next(automaton.size(), false);
    for (std::size_t i = 1; i < automaton.size(); ++i) {
      for (const std::uint32_t target : automaton[i].next) {
        next[target] = next[target] || (reached[i] && target != 0);
      }
    }
    reached = std::move(next);
    for (std::size_t i = 1; i < automaton.size(); ++i) {
      if (reached[i] && automaton[i].accepting) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace plumb
