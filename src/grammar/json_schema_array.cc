// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "grammar/json_schema_finite.h"
#include "grammar/json_schema_writer.h"

namespace plumb {

namespace {

using Item = GrammarDraft::Item;
using AtomKind = MemberAtom::Kind;

constexpr std::int64_t kMaxPrefix = 10'000;
constexpr std::int64_t kMaxCountedLength = 1'000;
constexpr std::size_t kMaxCounters = 4;
/// Values of unique items up to which their order is free.
constexpr std::size_t kMaxUnordered = 8;

/// The conditions of one alternative.
struct ArrayPlan {
  std::vector<GoalId> prefix;
  GoalId rest = GoalId::kAny;
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
  std::vector<MemberAtom> counters;  ///< kAtLeast and kAtMost
  std::optional<SchemaId> unique;
};

class ArrayPlanner {
 public:
  ArrayPlanner(JsonSchemaWriter* writer, std::span<const MemberAtom> atoms)
      : writer_(writer), atoms_(atoms) {}

  /// False after an error.
  bool plan(ArrayPlan* plan) {
    std::int64_t length = 0;
    for (const MemberAtom& atom : atoms_) {
      if (atom.kind == AtomKind::kMinSize) {
        plan->min = std::max(plan->min, atom.count);
      } else if (atom.kind == AtomKind::kMaxSize) {
        plan->max = plan->max == kUnbounded ? atom.count : std::min(plan->max, atom.count);
      } else if (atom.kind == AtomKind::kUnique) {
        plan->unique = atom.place;
      } else if (atom.kind == AtomKind::kAtLeast || atom.kind == AtomKind::kAtMost) {
        plan->counters.push_back(atom);
      } else {
        length = std::max(length, atom.from + (atom.kind == AtomKind::kItem ? 1 : 0));
      }
    }
    if (length > kMaxPrefix || !writer_->terms().charge(length)) {
      writer_->terms().fail(Status{
          Code::kUnsupported,
          "schema: more than " + std::to_string(kMaxPrefix) + " items of their own in one array"});
      return false;
    }
    for (std::int64_t i = 0; i < length; ++i) {
      plan->prefix.push_back(goal(i));
    }
    plan->rest = goal(length);
    return true;
  }

 private:
  /// What item i must satisfy; the same for all i past the prefix.
  GoalId goal(std::int64_t i) {
    std::vector<Literal> literals;
    for (const MemberAtom& atom : atoms_) {
      if ((atom.kind == AtomKind::kItem && atom.from == i) ||
          (atom.kind == AtomKind::kRest && atom.from <= i)) {
        literals.push_back(atom.literal);
      }
    }
    return writer_->terms().goal(std::move(literals));
  }

  JsonSchemaWriter* writer_;
  std::span<const MemberAtom> atoms_;
};

/// Arrays whose items need not be counted: the prefix one by one, the rest as one repetition.
class PlainArrayRules {
 public:
  PlainArrayRules(JsonSchemaWriter* writer, const ArrayPlan& plan) : writer_(writer), plan_(plan) {
    if (plan.prefix.empty()) {
      prefix_.push_back(plan.rest);
    } else {
      prefix_ = plan.prefix;
    }
  }

  void write(DraftId lhs) {
    GrammarDraft& draft = writer_->draft();
    if (plan_.min == 0) {
      draft.add_rule(lhs, {GrammarDraft::terminal(writer_->text().empty('[', ']'))});
    }
    if (plan_.max == 0) {
      return;
    }
    DraftId tail = draft.nonterminal("items");
    draft.add_rule(lhs, {GrammarDraft::terminal(writer_->text().open('[')), item(0),
                         GrammarDraft::once(tail)});
    const auto length = static_cast<std::int64_t>(prefix_.size());
    for (std::int64_t i = 1; writer_->terms().charge(1); ++i) {
      if (i == length) {
        write_rest(tail, length);
        return;
      }
      if (i >= plan_.min) {
        draft.add_rule(tail, {close()});
      }
      if (i == plan_.max) {
        return;
      }
      const DraftId next = draft.nonterminal("items");
      draft.add_rule(tail, {comma(), item(i), GrammarDraft::once(next)});
      tail = next;
    }
  }

 private:
  Item item(std::int64_t i) {
    return GrammarDraft::once(writer_->value(prefix_[static_cast<std::size_t>(i)]));
  }

  Item comma() { return GrammarDraft::terminal(writer_->text().comma()); }

  Item close() { return GrammarDraft::terminal(writer_->text().close(']', false)); }

  void write_rest(DraftId tail, std::int64_t length) {
    const DraftId next_item = writer_->draft().nonterminal("item");
    writer_->draft().add_rule(next_item, {comma(), GrammarDraft::once(writer_->value(plan_.rest))});
    const std::int64_t min = std::max<std::int64_t>(plan_.min - length, 0);
    const std::int64_t max = plan_.max == kUnbounded ? kUnbounded : plan_.max - length;
    if (max != kUnbounded && max < min) {
      return;
    }
    writer_->draft().add_rule(tail, {GrammarDraft::repeated(next_item, min, max), close()});
  }

  JsonSchemaWriter* writer_;
  const ArrayPlan& plan_;
  std::vector<GoalId> prefix_;
};

/// Arrays with `contains` or unique items: a state is the length as far as it matters, how many
/// items each counter has seen, and which values are used.
class CountedArrayRules {
 public:
  CountedArrayRules(JsonSchemaWriter* writer, const ArrayPlan& plan)
      : writer_(writer), plan_(plan) {}

  void write(DraftId lhs) {
    if (plan_.unique && !find_values()) {
      writer_->terms().unsupported(
          *plan_.unique, "uniqueItems",
          "can be enforced only where all items have few possible values (enum, const, boolean, "
          "null) or there is at most one");
    }
    cap_ = std::max<std::int64_t>(
        {static_cast<std::int64_t>(plan_.prefix.size()), plan_.min, plan_.max, 1});
    for (const MemberAtom& counter : plan_.counters) {
      cap_ = std::max({cap_, counter.from, counter.count});
    }
    if (cap_ > kMaxCountedLength || plan_.counters.size() > kMaxCounters) {
      writer_->terms().fail(Status{Code::kUnsupported,
                                   "schema: contains and uniqueItems are enforced with bounds up "
                                   "to " +
                                       std::to_string(kMaxCountedLength) + " and up to " +
                                       std::to_string(kMaxCounters) + " counts in one array"});
      return;
    }
    State start;
    start.counts.resize(plan_.counters.size());
    writer_->draft().add_rule(
        lhs, {GrammarDraft::terminal(writer_->text().open('[')), GrammarDraft::once(state(start))});
    while (!todo_.empty() && writer_->terms().charge(1)) {
      const State next = todo_.back();
      todo_.pop_back();
      write_state(next);
    }
  }

 private:
  struct State {
    std::int64_t length = 0;
    std::vector<std::int64_t> counts;
    std::int64_t used = 0;  ///< a bit for each value, or the first that may follow

    bool operator<(const State& other) const {
      return std::tie(length, counts, used) < std::tie(other.length, other.counts, other.used);
    }
  };

  bool find_values() {
    std::vector<GoalId> goals = plan_.prefix;
    if (plan_.max == kUnbounded || plan_.max > static_cast<std::int64_t>(goals.size())) {
      goals.push_back(plan_.rest);
    }
    for (const GoalId goal : goals) {
      if (!writer_->terms().surely_empty(goal) &&
          !add_finite_values(&writer_->terms(), goal, &values_)) {
        values_.clear();
        return false;
      }
    }
    return !values_.empty();
  }

  DraftId state(const State& key) {
    const auto [it, fresh] = states_.try_emplace(key);
    if (fresh) {
      it->second = writer_->draft().nonterminal("items");
      todo_.push_back(key);
    }
    return it->second;
  }

  bool may_end(const State& at) const {
    for (std::size_t i = 0; i < plan_.counters.size(); ++i) {
      if (plan_.counters[i].kind == AtomKind::kAtLeast && at.counts[i] < plan_.counters[i].count) {
        return false;
      }
    }
    return at.length >= plan_.min;
  }

  void write_state(const State& at) {
    const DraftId lhs = states_.at(at);
    if (may_end(at)) {
      writer_->draft().add_rule(
          lhs, {GrammarDraft::terminal(writer_->text().close(']', at.length == 0))});
    }
    if (plan_.max != kUnbounded && at.length == plan_.max) {
      return;
    }
    const bool in_prefix = at.length < static_cast<std::int64_t>(plan_.prefix.size());
    const std::span<const Literal> base = writer_->terms().literals(
        in_prefix ? plan_.prefix[static_cast<std::size_t>(at.length)] : plan_.rest);
    State next = at;
    next.length = std::min(at.length + 1, cap_);
    count_item(lhs, at, 0, {base.begin(), base.end()}, next);
  }

  /// Decides for each counter from `index` on whether it counts the item, then for its value.
  void count_item(DraftId lhs, const State& at, std::size_t index,
                  const std::vector<Literal>& literals, const State& next) {
    if (index == plan_.counters.size()) {
      choose_value(lhs, at, literals, next);
      return;
    }
    const MemberAtom& counter = plan_.counters[index];
    const bool at_most = counter.kind == AtomKind::kAtMost;
    const bool counts = at.length >= counter.from && at.counts[index] < counter.count;
    if (counts) {
      State counted = next;
      ++counted.counts[index];
      std::vector<Literal> with = literals;
      with.push_back(counter.literal);
      count_item(lhs, at, index + 1, with, counted);
    }
    std::vector<Literal> without = literals;
    if (at_most && at.length >= counter.from) {
      without.push_back(negated(counter.literal));
    }
    count_item(lhs, at, index + 1, without, next);
  }

  void choose_value(DraftId lhs, const State& at, const std::vector<Literal>& literals,
                    const State& next) {
    if (values_.empty()) {
      add_item(lhs, at, literals, next);
      return;
    }
    const bool free_order = values_.size() <= kMaxUnordered;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const std::int64_t bit = free_order ? std::int64_t{1} << index : 0;
      if (free_order ? (at.used & bit) != 0 : index < at.used) {
        continue;
      }
      State chosen = next;
      chosen.used = free_order ? at.used | bit : index + 1;
      std::vector<Literal> with = literals;
      with.push_back(writer_->terms().constant(*values_[i]));
      add_item(lhs, at, with, chosen);
    }
  }

  void add_item(DraftId lhs, const State& at, const std::vector<Literal>& literals,
                const State& next) {
    if (!writer_->terms().charge(1)) {
      return;
    }
    const GoalId goal = writer_->terms().goal(literals);
    if (writer_->terms().surely_empty(goal)) {
      return;
    }
    std::vector<Item> rhs;
    if (at.length > 0) {
      rhs.push_back(GrammarDraft::terminal(writer_->text().comma()));
    }
    rhs.push_back(GrammarDraft::once(writer_->value(goal)));
    rhs.push_back(GrammarDraft::once(state(next)));
    writer_->draft().add_rule(lhs, std::move(rhs));
  }

  JsonSchemaWriter* writer_;
  const ArrayPlan& plan_;
  std::int64_t cap_ = 1;
  std::vector<const Json*> values_;
  std::map<State, DraftId> states_;
  std::vector<State> todo_;
};

}  // namespace

void write_json_array(JsonSchemaWriter* writer, DraftId lhs, std::span<const MemberAtom> atoms) {
  ArrayPlan plan;
  if (!ArrayPlanner(writer, atoms).plan(&plan)) {
    return;
  }
  if (plan.max == 0 || plan.max == 1) {
    plan.unique.reset();
  }
  if (plan.counters.empty() && !plan.unique) {
    PlainArrayRules(writer, plan).write(lhs);
  } else {
    CountedArrayRules(writer, plan).write(lhs);
  }
}

}  // namespace plumb
