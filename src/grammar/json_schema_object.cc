// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "grammar/json_schema_writer.h"

namespace plumb {

namespace {

using Item = GrammarDraft::Item;
using AtomKind = MemberAtom::Kind;

constexpr std::size_t kMaxKeyGroups = 256;
constexpr std::size_t kMaxAnyOrder = 8;
constexpr std::int64_t kMaxMemberCount = 1'000;
/// Further distinct names that minProperties may ask for beyond the named members.
constexpr std::int64_t kMaxDistinct = 16;
/// Members without a fixed name that must be there: there is a state for each set of them.
constexpr std::size_t kMaxWitnesses = 16;

struct Member {
  std::string name;
  GoalId value{};
  bool required = false;
};

/// Members whose names are no fixed ones.
struct KeyGroup {
  RegexId keys{};
  GoalId value{};
};

/// The conditions of one alternative, sorted by name.
struct ObjectPlan {
  std::vector<Member> members;
  std::vector<KeyGroup> extras;  ///< disjoint; any number of each
  std::vector<KeyGroup>
      witnesses;  ///< disjoint; one of each, at the end, where nothing overrides it
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
};

/// Sorts conditions into plans: more than one where a kSome condition has several ways to hold.
class ObjectPlanner {
 public:
  ObjectPlanner(JsonSchemaWriter* writer, std::span<const MemberAtom> atoms)
      : writer_(writer), atoms_(atoms) {}

  std::vector<ObjectPlan> plans() {
    ObjectPlan plan;
    for (const MemberAtom& atom : atoms_) {
      if (atom.kind == AtomKind::kMinSize) {
        plan.min = std::max(plan.min, atom.count);
      } else if (atom.kind == AtomKind::kMaxSize) {
        plan.max = plan.max == kUnbounded ? atom.count : std::min(plan.max, atom.count);
      } else if (!atom.is_named && atom.kind == AtomKind::kSome) {
        open_.push_back(&atom);
      }
    }
    add_members(&plan);
    add_extras(&plan);
    choose(std::move(plan), 0);
    return std::move(plans_);
  }

 private:
  RegexSet& regexes() { return writer_->terms().regexes(); }

  GoalId with(GoalId goal, Literal literal) {
    const std::span<const Literal> known = writer_->terms().literals(goal);
    std::vector<Literal> literals(known.begin(), known.end());
    literals.push_back(literal);
    return writer_->terms().goal(std::move(literals));
  }

  void add_members(ObjectPlan* plan) {
    std::map<std::string_view, std::size_t> index;
    for (const MemberAtom& atom : atoms_) {
      if (atom.is_named && index.try_emplace(atom.name, plan->members.size()).second) {
        plan->members.push_back({atom.name, GoalId::kAny, false});
      }
      if (atom.is_named && atom.kind == AtomKind::kSome) {
        plan->members[index[atom.name]].required = true;
      }
    }
    const JsonObjectDomain::NamedConditions conditions(&writer_->objects(), atoms_);
    for (Member& member : plan->members) {
      member.value = writer_->terms().goal(conditions.on(member.name));
    }
    writer_->terms().charge(static_cast<std::int64_t>(plan->members.size()));
  }

  /// Divides the names that are left by the conditions that apply to them.
  void add_extras(ObjectPlan* plan) {
    std::vector<std::string> names;
    for (const Member& member : plan->members) {
      names.push_back(member.name);
    }
    std::vector<KeyGroup> groups{{writer_->objects().other_keys(names, {}), GoalId::kAny}};
    for (const MemberAtom& atom : atoms_) {
      if (atom.is_named || atom.kind != AtomKind::kEvery) {
        continue;
      }
      std::vector<KeyGroup> divided;
      for (const KeyGroup& group : groups) {
        add_group(&divided, regexes().all_of(std::array{group.keys, atom.keys}),
                  with(group.value, atom.literal));
        add_group(&divided, writer_->strings().without(group.keys, atom.keys), group.value);
      }
      groups = std::move(divided);
      if (groups.size() > kMaxKeyGroups) {
        writer_->terms().fail(Status{Code::kResourceExhausted,
                                     "schema: patterns of member names overlap in more than " +
                                         std::to_string(kMaxKeyGroups) + " ways"});
        return;
      }
    }
    plan->extras = std::move(groups);
  }

  void add_group(std::vector<KeyGroup>* groups, RegexId keys, GoalId value) {
    if (!writer_->strings().is_none(keys) && !writer_->terms().surely_empty(value)) {
      groups->push_back({keys, value});
    }
  }

  /// Tries every way to fulfil the open conditions from `index` on.
  void choose(ObjectPlan plan, std::size_t index) {
    if (!writer_->terms().charge(1)) {
      return;
    }
    if (index == open_.size()) {
      plans_.push_back(std::move(plan));
      return;
    }
    const MemberAtom& open = *open_[index];
    for (std::size_t i = 0; i < plan.members.size(); ++i) {
      if (writer_->objects().covers(open, plan.members[i].name)) {
        ObjectPlan next = plan;
        next.members[i].required = true;
        next.members[i].value = with(next.members[i].value, open.literal);
        choose(std::move(next), index + 1);
      }
    }
    for (const KeyGroup& group : plan.extras) {
      const RegexId keys = regexes().all_of(std::array{group.keys, open.keys});
      if (!writer_->strings().is_none(keys)) {
        add_witness(plan, {keys, with(group.value, open.literal)}, index);
      }
    }
  }

  /// The new witness is one of the earlier ones or has a name that no earlier one can have.
  void add_witness(const ObjectPlan& plan, const KeyGroup& witness, std::size_t index) {
    bool is_apart = true;
    for (std::size_t i = 0; i < plan.witnesses.size(); ++i) {
      const RegexId shared = regexes().all_of(std::array{plan.witnesses[i].keys, witness.keys});
      if (writer_->strings().is_none(shared)) {
        continue;
      }
      is_apart = false;
      ObjectPlan next = plan;
      next.witnesses[i].keys = shared;
      for (const Literal literal : writer_->terms().literals(witness.value)) {
        next.witnesses[i].value = with(next.witnesses[i].value, literal);
      }
      choose(std::move(next), index + 1);
    }
    if (is_apart && plan.witnesses.size() == kMaxWitnesses) {
      writer_->terms().fail(
          Status{Code::kResourceExhausted, "schema: more than " + std::to_string(kMaxWitnesses) +
                                               " members must be there whose names are given by a "
                                               "pattern only; name them or drop some conditions"});
    } else if (is_apart) {
      ObjectPlan next = plan;
      next.witnesses.push_back(witness);
      choose(std::move(next), index + 1);
    }
  }

  JsonSchemaWriter* writer_;
  std::span<const MemberAtom> atoms_;
  std::vector<const MemberAtom*> open_;
  std::vector<ObjectPlan> plans_;
};

/// First bytes by which names are told apart when several further ones are needed.
std::vector<ByteSet> name_classes() {
  std::vector<ByteSet> classes;
  ByteSet used;
  for (const char c : std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                       "abcdefghijklmnopqrstuvwxyz")) {
    const auto byte = static_cast<std::uint8_t>(c);
    classes.push_back(ByteSet::range(byte, byte));
    used |= classes.back();
  }
  ByteSet others;
  for (int byte = 0; byte < 256; ++byte) {
    if (!used.contains(static_cast<std::uint8_t>(byte))) {
      others.insert(static_cast<std::uint8_t>(byte));
    }
  }
  classes.push_back(others);
  return classes;
}

/// Writes the rules of one plan. A state is how far the members are and how many were written, as
/// far as that matters.
class ObjectRules {
 public:
  ObjectRules(JsonSchemaWriter* writer, const ObjectPlan& plan) : writer_(writer), plan_(plan) {
    const auto num_required = std::count_if(plan.members.begin(), plan.members.end(),
                                            [](const Member& member) { return member.required; });
    min_ = plan.min <= num_required ? 0 : plan.min;
    const auto most = static_cast<std::int64_t>(plan.members.size());
    max_ =
        plan.extras.empty() && plan.witnesses.empty() && plan.max >= most ? kUnbounded : plan.max;
    cap_ = std::max<std::int64_t>({min_, max_, 1});
    any_order_ = writer->terms().options().any_order && plan.members.size() <= kMaxAnyOrder;
  }

  void write(DraftId lhs) {
    if (cap_ > kMaxMemberCount) {
      writer_->terms().fail(Status{
          Code::kUnsupported, "schema: minProperties or maxProperties of " + std::to_string(cap_) +
                                  " exceeds the limit of " + std::to_string(kMaxMemberCount)});
      return;
    }
    if (min_ - static_cast<std::int64_t>(plan_.members.size()) > kMaxDistinct &&
        !plan_.extras.empty()) {
      writer_->terms().fail(
          Status{Code::kUnsupported, "schema: minProperties of " + std::to_string(min_) +
                                         " asks for more than " + std::to_string(kMaxDistinct) +
                                         " members that the schema does not name"});
      return;
    }
    add(lhs, {GrammarDraft::terminal(text().open('{'))}, members(0, 0));
  }

 private:
  using Key = std::tuple<int, std::int64_t, std::int64_t, std::int64_t>;

  enum : int { kMembers, kLoop, kWitness, kChain, kExtra };

  const JsonText& text() const { return writer_->text(); }

  void add(DraftId lhs, std::vector<Item> rhs, DraftId next) {
    rhs.push_back(GrammarDraft::once(next));
    writer_->terms().charge(1);
    writer_->draft().add_rule(lhs, std::move(rhs));
  }

  /// The nonterminal of a state; true in *fresh if its rules are not written yet.
  DraftId state(const Key& key, bool* fresh) {
    const auto [it, is_new] = states_.try_emplace(key);
    if (is_new) {
      it->second = writer_->draft().nonterminal("object");
    }
    *fresh = is_new && writer_->terms().charge(1);
    return it->second;
  }

  bool may_add(std::int64_t count) const { return max_ == kUnbounded || count < max_; }

  std::int64_t after(std::int64_t count) const { return std::min(count + 1, cap_); }

  /// `done`: how many members were decided, or which were written if in any order.
  DraftId members(std::int64_t done, std::int64_t count) {
    bool fresh = false;
    const DraftId lhs = state({kMembers, done, count, 0}, &fresh);
    if (!fresh) {
      return lhs;
    }
    if (any_order_) {
      members_in_any_order(lhs, done, count);
      return lhs;
    }
    // In a loop over members that may be left out, so that long lists do not nest calls deeply.
    work_.push_back({lhs, done, count});
    if (!working_) {
      working_ = true;
      while (!work_.empty()) {
        const Pending next = work_.back();
        work_.pop_back();
        next_member(next);
      }
      working_ = false;
    }
    return lhs;
  }

  struct Pending {
    DraftId lhs{};
    std::int64_t done = 0;
    std::int64_t count = 0;
  };

  void next_member(const Pending& at) {
    if (at.done == static_cast<std::int64_t>(plan_.members.size())) {
      write_extras(at.lhs, at.count);
      return;
    }
    const Member& member = plan_.members[static_cast<std::size_t>(at.done)];
    write_member(at.lhs, member, at.done + 1, at.count);
    if (!member.required) {
      add(at.lhs, {}, members(at.done + 1, at.count));
    }
  }

  void write_member(DraftId lhs, const Member& member, std::int64_t done, std::int64_t count) {
    if (may_add(count)) {
      add(lhs,
          {GrammarDraft::terminal(text().key(std::string_view(member.name), count == 0)),
           GrammarDraft::once(writer_->value(member.value))},
          members(done, after(count)));
    }
  }

  void members_in_any_order(DraftId lhs, std::int64_t written, std::int64_t count) {
    bool complete = true;
    for (std::size_t i = 0; i < plan_.members.size(); ++i) {
      const std::int64_t bit = std::int64_t{1} << i;
      if ((written & bit) == 0) {
        write_member(lhs, plan_.members[i], written | bit, count);
        complete = complete && !plan_.members[i].required;
      }
    }
    if (complete) {
      write_extras(lhs, count);
    }
  }

  void write_extras(DraftId lhs, std::int64_t count) {
    const auto num_witnesses = static_cast<std::int64_t>(plan_.witnesses.size());
    const std::int64_t needed = min_ - count;
    if (num_witnesses > 0) {
      if (needed <= num_witnesses) {
        add(lhs, {}, loop(count));
      }
    } else if (needed <= 0) {
      add(lhs, {}, loop(count));
    } else if (needed == 1) {
      if (may_add(count)) {
        add(lhs, {GrammarDraft::once(extra(count == 0))}, loop(after(count)));
      }
    } else if (needed <= kMaxDistinct) {
      add(lhs, {}, chain(count, needed, 0));
    }
  }

  /// Any further members, then the witnesses and the end.
  DraftId loop(std::int64_t count) {
    bool fresh = false;
    const DraftId lhs = state({kLoop, count, 0, 0}, &fresh);
    if (!fresh) {
      return lhs;
    }
    if (plan_.witnesses.empty()) {
      writer_->draft().add_rule(lhs, {GrammarDraft::terminal(text().close('}', count == 0))});
    } else {
      add(lhs, {}, witnesses(count, (std::int64_t{1} << plan_.witnesses.size()) - 1));
    }
    if (!plan_.extras.empty() && may_add(count)) {
      add(lhs, {GrammarDraft::once(extra(count == 0))}, loop(after(count)));
    }
    return lhs;
  }

  DraftId witnesses(std::int64_t count, std::int64_t open) {
    bool fresh = false;
    const DraftId lhs = state({kWitness, count, open, 0}, &fresh);
    if (!fresh) {
      return lhs;
    }
    if (open == 0) {
      writer_->draft().add_rule(lhs, {GrammarDraft::terminal(text().close('}', false))});
    }
    for (std::size_t i = 0; i < plan_.witnesses.size(); ++i) {
      const std::int64_t bit = std::int64_t{1} << i;
      if ((open & bit) != 0 && may_add(count)) {
        const KeyGroup& witness = plan_.witnesses[i];
        add(lhs,
            {GrammarDraft::terminal(text().key(witness.keys, count == 0)),
             GrammarDraft::once(writer_->value(witness.value))},
            witnesses(after(count), open & ~bit));
      }
    }
    return lhs;
  }

  DraftId extra(bool is_first) {
    bool fresh = false;
    const DraftId lhs = state({kExtra, is_first ? 1 : 0, 0, 0}, &fresh);
    for (std::size_t i = 0; fresh && i < plan_.extras.size(); ++i) {
      const KeyGroup& group = plan_.extras[i];
      writer_->draft().add_rule(lhs, {GrammarDraft::terminal(text().key(group.keys, is_first)),
                                      GrammarDraft::once(writer_->value(group.value))});
    }
    return lhs;
  }

  /// `needed` members with names that surely differ: their first bytes ascend.
  DraftId chain(std::int64_t count, std::int64_t needed, std::size_t first_class) {
    if (needed == 0) {
      return loop(count);
    }
    bool fresh = false;
    const DraftId lhs =
        state({kChain, count, needed, static_cast<std::int64_t>(first_class)}, &fresh);
    if (!fresh || !may_add(count)) {
      return lhs;
    }
    for (std::size_t c = first_class; c < class_keys().size(); ++c) {
      for (const KeyGroup& group : class_keys()[c]) {
        add(lhs,
            {GrammarDraft::terminal(text().key(group.keys, count == 0)),
             GrammarDraft::once(writer_->value(group.value))},
            chain(after(count), needed - 1, c + 1));
      }
    }
    return lhs;
  }

  const std::vector<std::vector<KeyGroup>>& class_keys() {
    RegexSet& regexes = writer_->terms().regexes();
    if (class_keys_.empty()) {
      for (const ByteSet& bytes : name_classes()) {
        std::vector<KeyGroup>& groups = class_keys_.emplace_back();
        const RegexId starts =
            regexes.concat(std::array{regexes.byte_set(bytes), regexes.everything()});
        for (const KeyGroup& group : plan_.extras) {
          const RegexId keys = regexes.all_of(std::array{group.keys, starts});
          if (!writer_->strings().is_none(keys)) {
            groups.push_back({keys, group.value});
          }
        }
      }
    }
    return class_keys_;
  }

  JsonSchemaWriter* writer_;
  const ObjectPlan& plan_;
  std::int64_t min_ = 0;
  std::int64_t max_ = kUnbounded;
  std::int64_t cap_ = 1;
  bool any_order_ = false;
  bool working_ = false;
  std::vector<Pending> work_;
  std::map<Key, DraftId> states_;
  std::vector<std::vector<KeyGroup>> class_keys_;
};

}  // namespace

void write_json_object(JsonSchemaWriter* writer, DraftId lhs, std::span<const MemberAtom> atoms) {
  for (const ObjectPlan& plan : ObjectPlanner(writer, atoms).plans()) {
    if (!writer->terms().failed()) {
      ObjectRules(writer, plan).write(lhs);
    }
  }
}

}  // namespace plumb
