// SPDX-License-Identifier: Apache-2.0
#include "grammar/number_automaton.h"

#include <bit>
#include <unordered_map>
#include <utility>

namespace plumb {
namespace {

class Builder {
 public:
  std::uint32_t add(NumberKey key) {
    const auto [it, fresh] = ids_.try_emplace(key, static_cast<std::uint32_t>(keys_.size() + 1));
    if (fresh) {
      keys_.push_back(key);
      states_.emplace_back();
    }
    return it->second;
  }

  NumberAutomaton states_{1};
  std::vector<NumberKey> keys_;

 private:
  std::unordered_map<NumberKey, std::uint32_t> ids_;
};

// The classes of the states, refined until no two of a class differ.
class Refinement {
 public:
  Refinement(const NumberAutomaton& states, CompileBudget* budget)
      : states_(states), budget_(*budget), slots_(std::bit_ceil(2 * states.size() + 2)) {
    for (const NumberState& state : states) {
      class_of_.push_back(state.accepting ? 1 : 0);
    }
  }

  Status run() {
    std::size_t num_before = 0;
    while (num_classes_ != num_before || num_before == 0) {
      num_before = num_classes_;
      PLUMB_RETURN_IF_ERROR(refine());
    }
    return {};
  }

  std::size_t num_classes() const { return num_classes_; }

  std::uint32_t class_of(std::size_t state) const { return class_of_[state]; }

 private:
  std::uint64_t hash(std::size_t state) const {
    std::uint64_t hash = class_of_[state];
    for (const std::uint32_t next : states_[state].next) {
      hash = (hash ^ class_of_[next]) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
    return hash;
  }

  bool is_alike(std::size_t a, std::size_t b) const {
    bool alike = class_of_[a] == class_of_[b];
    for (std::size_t symbol = 0; symbol < NumberState::kSymbols && alike; ++symbol) {
      alike = class_of_[states_[a].next[symbol]] == class_of_[states_[b].next[symbol]];
    }
    return alike;
  }

  Status refine() {
    slots_.assign(slots_.size(), 0);
    std::vector<std::uint32_t> refined(states_.size());
    num_classes_ = 0;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      std::size_t slot = static_cast<std::size_t>(hash(state)) & (slots_.size() - 1);
      while (slots_[slot] != 0 && !is_alike(slots_[slot] - 1, state)) {
        slot = (slot + 1) & (slots_.size() - 1);
      }
      if (slots_[slot] == 0) {
        slots_[slot] = static_cast<std::uint32_t>(state + 1);
        refined[state] = static_cast<std::uint32_t>(num_classes_++);
      } else {
        refined[state] = refined[slots_[slot] - 1];
      }
    }
    class_of_ = std::move(refined);
    return {};
  }

  const NumberAutomaton& states_;
  CompileBudget& budget_;
  std::vector<std::uint32_t> class_of_;
  std::vector<std::uint32_t> slots_;  // open addressing: the first state of a class + 1, 0 = free
  std::size_t num_classes_ = 0;
};

}  // namespace

Result<NumberAutomaton> build_number_automaton(
    NumberKey start, const std::function<std::optional<NumberKey>(NumberKey, int symbol)>& step,
    const std::function<bool(NumberKey)>& accepts, CompileBudget* budget) {
  Builder builder;
  builder.add(start);
  for (std::size_t i = 0; i < builder.keys_.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(budget->poll());
    PLUMB_RETURN_IF_ERROR(budget->check_states(std::ssize(builder.states_)));
    const NumberKey key = builder.keys_[i];
    NumberState state;
    state.accepting = accepts(key);
    for (int symbol = 0; symbol < NumberState::kSymbols; ++symbol) {
      if (const std::optional<NumberKey> next = step(key, symbol)) {
        state.next[static_cast<std::size_t>(symbol)] = builder.add(*next);
      }
    }
    builder.states_[i + 1] = state;
  }
  return std::move(builder.states_);
}

Result<NumberAutomaton> minimised(const NumberAutomaton& states, CompileBudget* budget) {
  Refinement classes(states, budget);
  PLUMB_RETURN_IF_ERROR(classes.run());
  // Breadth first, so that equal sets have equal states.
  std::vector<std::uint32_t> number(classes.num_classes(), 0);
  std::vector<std::size_t> order{0, 1};  // representatives; dead, start
  std::vector<bool> seen(classes.num_classes(), false);
  seen[classes.class_of(0)] = true;
  if (classes.class_of(1) != classes.class_of(0)) {
    seen[classes.class_of(1)] = true;
    number[classes.class_of(1)] = 1;
  }
  NumberAutomaton result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(budget->poll());
    NumberState state = states[order[i]];
    for (std::uint32_t& next : state.next) {
      const std::uint32_t target = classes.class_of(next);
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

}  // namespace plumb
