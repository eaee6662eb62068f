// SPDX-License-Identifier: Apache-2.0
#include "grammar/cfg.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace plumb {

SymbolId Cfg::add_symbol(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return static_cast<SymbolId>(symbols_.size() - 1);
}

SymbolId Cfg::terminal(RegexId regex, bool has_marks) {
  speaks_of_tokens_ = speaks_of_tokens_ || has_marks;
  const std::uint64_t key =
      std::uint64_t{2} * static_cast<std::uint32_t>(regex) + (has_marks ? 1 : 0);
  const auto known = terminals_.find(key);
  if (known != terminals_.end()) {
    return known->second;
  }
  const SymbolId symbol =
      add_symbol({.is_terminal = true, .regex = regex, .has_marks = has_marks, .name = {}});
  terminals_.emplace(key, symbol);
  return symbol;
}

SymbolId Cfg::terminal(std::string_view literal) {
  return terminal(regexes_.literal(literal));
}

SymbolId Cfg::nonterminal(std::string_view name) {
  return add_symbol({.is_terminal = false, .regex = {}, .name = std::string(name)});
}

SymbolId Cfg::absorb(Cfg other) {
  const auto num_symbols = static_cast<std::uint32_t>(symbols_.size());
  const auto num_sets = static_cast<std::uint32_t>(absorbed_.size()) + 1;
  const auto moved = [&](SymbolId symbol) {
    return static_cast<SymbolId>(num_symbols + static_cast<std::uint32_t>(symbol));
  };
  PLUMB_CHECK(!other.speaks_of_tokens_, "cfg: a part that speaks of tokens");
  for (Symbol& symbol : other.symbols_) {
    symbol.set += num_sets;
    symbols_.push_back(std::move(symbol));
  }
  for (Rule& rule : other.rules_) {
    rule.lhs = moved(rule.lhs);
    for (SymbolId& part : rule.rhs) {
      part = moved(part);
    }
    rules_.push_back(std::move(rule));
  }
  absorbed_.push_back(std::move(other.regexes_));
  for (RegexSet& set : other.absorbed_) {
    absorbed_.push_back(std::move(set));
  }
  return moved(other.start_);
}

std::int64_t Cfg::num_expressions() const {
  std::int64_t total = regexes_.size();
  for (const RegexSet& set : absorbed_) {
    total += set.size();
  }
  return total;
}

void Cfg::add_rule(SymbolId lhs, std::vector<SymbolId> rhs) {
  PLUMB_CHECK(!is_terminal(lhs), "cfg: a rule for a terminal");
  rules_.push_back({lhs, std::move(rhs)});
}

SymbolId Cfg::sequence(std::vector<SymbolId> parts) {
  if (parts.size() == 1) {
    return parts[0];
  }
  const SymbolId out = nonterminal("sequence");
  add_rule(out, std::move(parts));
  return out;
}

SymbolId Cfg::any_of(std::span<const SymbolId> alternatives) {
  if (alternatives.size() == 1) {
    return alternatives[0];
  }
  const SymbolId out = nonterminal("alternatives");
  for (const SymbolId alternative : alternatives) {
    add_rule(out, {alternative});
  }
  return out;
}

SymbolId Cfg::optional(SymbolId symbol) {
  const SymbolId out = nonterminal("optional");
  add_rule(out, {});
  add_rule(out, {symbol});
  return out;
}

SymbolId Cfg::any_number(SymbolId symbol) {
  const SymbolId out = nonterminal("repetition");
  add_rule(out, {});
  add_rule(out, {out, symbol});
  return out;
}

// By halves; shared, so that x{1000} and x{500} have parts in common.
SymbolId Cfg::exactly(SymbolId symbol, std::int64_t num) {
  if (num == 1) {
    return symbol;
  }
  const std::pair key{symbol, num};
  const auto known = exact_counts_.find(key);
  if (known != exact_counts_.end()) {
    return known->second;
  }
  const SymbolId half = exactly(symbol, num / 2);
  std::vector<SymbolId> parts{half, half};
  if (num % 2 != 0) {
    parts.push_back(symbol);
  }
  const SymbolId out = sequence(std::move(parts));
  exact_counts_.emplace(key, out);
  return out;
}

// One derivation for each count, or the matcher would carry every way to split it:
//   at_most(n) = at_most(2^k - 1) | x{2^k} at_most(n - 2^k)   with 2^k <= n < 2^(k+1)
//   at_most(2^k - 1) = all sums of the powers below 2^k, largest first
SymbolId Cfg::at_most(SymbolId symbol, std::int64_t num) {
  SymbolId rest = sequence({});
  std::int64_t covered = 0;  // rest = at_most(covered)
  const int num_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(num)));
  std::vector<SymbolId> full{rest};  // full[k] = at_most(2^k - 1)
  for (int k = 0; k < num_bits; ++k) {
    const std::int64_t power = std::int64_t{1} << k;
    const SymbolId block = exactly(symbol, power);
    if ((num & power) != 0) {
      const SymbolId longer = sequence({block, rest});
      rest = any_of(std::array{full.back(), longer});
      covered += power;
    }
    const SymbolId longer = sequence({block, full.back()});
    full.push_back(any_of(std::array{full.back(), longer}));
  }
  PLUMB_CHECK(covered == num, "cfg: counts do not add up");
  return rest;
}

SymbolId Cfg::repeat(SymbolId symbol, std::int64_t min, std::int64_t max) {
  PLUMB_CHECK(min >= 0 && (max == kUnbounded || max >= min), "cfg: bad counts");
  std::vector<SymbolId> parts;
  if (min > 0) {
    parts.push_back(exactly(symbol, min));
  }
  if (max == kUnbounded) {
    parts.push_back(any_number(symbol));
  } else if (max > min) {
    parts.push_back(at_most(symbol, max - min));
  }
  return sequence(std::move(parts));
}

}  // namespace plumb
