// SPDX-License-Identifier: Apache-2.0
#include "grammar/dfa.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>

#include "base/check.h"

namespace plumb {
namespace {

constexpr int kNumBytes = 256;
constexpr std::int64_t kMaxEdges = 16'000'000;  // of one table, four bytes each

}  // namespace

class Dfa::Builder {
 public:
  Builder(RegexSet* set, CompileBudget* budget) : set_(set), budget_(budget) {}

  Result<Dfa> build(RegexId regex) {
    if (set_->depth(regex) > budget_->limits().max_depth) {
      return Status{Code::kResourceExhausted, "grammar: a pattern nests operators deeper than " +
                                                  std::to_string(budget_->limits().max_depth) +
                                                  " levels"};
    }
    set_->drop_derivatives();
    find_classes(regex);
    PLUMB_RETURN_IF_ERROR(find_states(regex));
    set_->drop_derivatives();
    PLUMB_RETURN_IF_ERROR(budget_->poll_now());
    drop_dead_states();
    PLUMB_RETURN_IF_ERROR(budget_->poll_now());
    join_equal_classes();
    PLUMB_RETURN_IF_ERROR(budget_->poll_now());
    find_only_bytes();
    PLUMB_RETURN_IF_ERROR(find_horizon_classes());
    PLUMB_RETURN_IF_ERROR(budget_->poll_now());
    dfa_.find_digest();
    return std::move(dfa_);
  }

 private:
  // Splits the bytes by every set of the expression; derivatives bring no others but their unions.
  void find_classes(RegexId regex) {
    dfa_.num_classes_ = 1;
    for (const ByteSet& leaf : set_->leaf_sets(regex)) {
      std::array<int, kNumBytes> moved{};  // by old class: the class of its members in the set
      moved.fill(-1);
      std::array<int, kNumBytes> num_outside{};
      for (std::size_t b = 0; b < kNumBytes; ++b) {
        num_outside[dfa_.byte_class_[b]] += leaf.contains(static_cast<std::uint8_t>(b)) ? 0 : 1;
      }
      for (std::size_t b = 0; b < kNumBytes; ++b) {
        std::uint8_t& cls = dfa_.byte_class_[b];
        if (!leaf.contains(static_cast<std::uint8_t>(b)) || num_outside[cls] == 0) {
          continue;
        }
        if (moved[cls] < 0) {
          moved[cls] = dfa_.num_classes_++;
        }
        cls = static_cast<std::uint8_t>(moved[cls]);
        num_outside[cls] = 0;  // a new class lies inside the set
      }
    }
    representatives_.assign(static_cast<std::size_t>(dfa_.num_classes_), 0);
    for (std::size_t b = 0; b < kNumBytes; ++b) {
      representatives_[dfa_.byte_class_[b]] = static_cast<std::uint8_t>(b);
    }
  }

  std::int32_t state_of(RegexId regex) {
    const auto [it, is_new] =
        states_.try_emplace(static_cast<std::uint32_t>(regex), std::ssize(regexes_));
    if (is_new) {
      regexes_.push_back(regex);
    }
    return it->second;
  }

  Status find_states(RegexId regex) {
    state_of(regex);
    PLUMB_RETURN_IF_ERROR(budget_->take_states(1));
    for (std::size_t s = 0; s < regexes_.size(); ++s) {
      const RegexId from = regexes_[s];
      const std::size_t num_before = regexes_.size();
      for (const std::uint8_t byte : representatives_) {
        std::int32_t to = kDead;
        if (set_->first_bytes(from).contains(byte)) {
          PLUMB_RETURN_IF_ERROR(budget_->poll());
          const RegexId derivative = set_->derivative(from, byte);
          PLUMB_RETURN_IF_ERROR(set_->status());
          to = derivative == set_->none() ? kDead : state_of(derivative);
        }
        dfa_.next_.push_back(to);
      }
      dfa_.accepting_.push_back(set_->is_nullable(from) ? 1 : 0);
      if (std::ssize(dfa_.next_) > kMaxEdges) {
        return {Code::kResourceExhausted,
                "grammar: a pattern needs a table of more than " + std::to_string(kMaxEdges) +
                    " entries; lower the counts of repetitions or use smaller classes"};
      }
      PLUMB_RETURN_IF_ERROR(
          budget_->take_states(static_cast<std::int64_t>(regexes_.size() - num_before)));
      PLUMB_RETURN_IF_ERROR(budget_->check_expressions(set_->size()));
    }
    return {};
  }

  std::size_t num_edges() const { return static_cast<std::size_t>(dfa_.num_classes_); }

  // True for the states from which an accepting one can be reached.
  std::vector<bool> live_states() const {
    const std::size_t num = dfa_.accepting_.size();
    std::vector<std::uint32_t> begin(num + 1, 0);
    for (const std::int32_t to : dfa_.next_) {
      if (to != kDead) {
        ++begin[static_cast<std::size_t>(to) + 1];
      }
    }
    for (std::size_t s = 0; s < num; ++s) {
      begin[s + 1] += begin[s];
    }
    std::vector<std::uint32_t> sources(begin[num]);
    std::vector<std::uint32_t> at(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < dfa_.next_.size(); ++i) {
      if (dfa_.next_[i] != kDead) {
        sources[at[static_cast<std::size_t>(dfa_.next_[i])]++] =
            static_cast<std::uint32_t>(i / num_edges());
      }
    }
    std::vector<bool> live(num, false);
    std::vector<std::size_t> todo;
    for (std::size_t s = 0; s < num; ++s) {
      if (dfa_.accepting_[s] != 0) {
        live[s] = true;
        todo.push_back(s);
      }
    }
    while (!todo.empty()) {
      const std::size_t s = todo.back();
      todo.pop_back();
      for (std::uint32_t i = begin[s]; i < begin[s + 1]; ++i) {
        if (!live[sources[i]]) {
          live[sources[i]] = true;
          todo.push_back(sources[i]);
        }
      }
    }
    return live;
  }

  void drop_dead_states() {
    const std::vector<bool> live = live_states();
    std::vector<std::int32_t> renamed(live.size(), kDead);
    std::int32_t num_live = 0;
    for (std::size_t s = 0; s < live.size(); ++s) {
      // Without a live start there is no live state that can be reached.
      if (live[s] && live[0]) {
        renamed[s] = num_live++;
      }
    }
    std::vector<std::int32_t> next;
    std::vector<std::uint8_t> accepting;
    for (std::size_t s = 0; s < live.size(); ++s) {
      if (renamed[s] == kDead) {
        continue;
      }
      accepting.push_back(dfa_.accepting_[s]);
      for (std::size_t c = 0; c < num_edges(); ++c) {
        const std::int32_t to = dfa_.next_[s * num_edges() + c];
        next.push_back(to == kDead ? kDead : renamed[static_cast<std::size_t>(to)]);
      }
    }
    dfa_.next_ = std::move(next);
    dfa_.accepting_ = std::move(accepting);
  }

  // Classes whose columns are equal become one.
  void join_equal_classes() {
    const std::size_t num = dfa_.accepting_.size();
    std::vector<std::vector<std::int32_t>> columns(num_edges(), std::vector<std::int32_t>(num));
    for (std::size_t s = 0; s < num; ++s) {
      for (std::size_t c = 0; c < num_edges(); ++c) {
        columns[c][s] = dfa_.next_[s * num_edges() + c];
      }
    }
    std::vector<std::size_t> kept;
    std::vector<std::uint8_t> renamed(num_edges());
    for (std::size_t c = 0; c < num_edges(); ++c) {
      std::size_t k = 0;
      while (k < kept.size() && columns[kept[k]] != columns[c]) {
        ++k;
      }
      if (k == kept.size()) {
        kept.push_back(c);
      }
      renamed[c] = static_cast<std::uint8_t>(k);
    }
    for (std::uint8_t& cls : dfa_.byte_class_) {
      cls = renamed[cls];
    }
    dfa_.num_classes_ = static_cast<std::int32_t>(kept.size());
    dfa_.next_.clear();
    for (std::size_t s = 0; s < num; ++s) {
      for (const std::size_t c : kept) {
        dfa_.next_.push_back(columns[c][s]);
      }
    }
  }

  void find_only_bytes() {
    std::vector<int> class_size(num_edges(), 0);
    std::vector<int> member(num_edges(), 0);
    for (std::size_t b = 0; b < kNumBytes; ++b) {
      ++class_size[dfa_.byte_class_[b]];
      member[dfa_.byte_class_[b]] = static_cast<int>(b);
    }
    for (std::int32_t s = 0; s < dfa_.num_states(); ++s) {
      int num = 0;
      int byte = kNoByte;
      for (std::size_t c = 0; c < num_edges(); ++c) {
        if (dfa_.next_[static_cast<std::size_t>(s) * num_edges() + c] != kDead) {
          num += class_size[c];
          byte = member[c];
        }
      }
      dfa_.only_byte_.push_back(static_cast<std::int16_t>(num > 1 ? kSeveralBytes : byte));
    }
  }

  // Moore's refinement: after n rounds classes tell apart what texts of n bytes can.
  Status find_horizon_classes() {
    constexpr std::size_t kMaxRefined = 4'000'000;  // edges; beyond, each state stays its own class
    std::vector<std::int32_t>& classes = dfa_.horizon_class_;
    if (dfa_.next_.size() > kMaxRefined) {
      for (std::int32_t s = 0; s < dfa_.num_states(); ++s) {
        classes.push_back(s);
      }
      dfa_.is_horizon_exact_ = true;
      return {};
    }
    classes.assign(dfa_.accepting_.begin(), dfa_.accepting_.end());
    std::int32_t num = -1;
    for (std::uint32_t round = 0; round < kHorizon && !dfa_.is_horizon_exact_; ++round) {
      PLUMB_RETURN_IF_ERROR(budget_->poll_now());
      const std::int32_t num_refined = refine(&classes);
      dfa_.is_horizon_exact_ = num_refined == num;
      num = num_refined;
    }
    return {};
  }

  // One round; gives the number of classes.
  std::int32_t refine(std::vector<std::int32_t>* classes) {
    const auto class_after = [&](std::size_t state, std::size_t c) {
      const std::int32_t to = dfa_.next_[state * num_edges() + c];
      return to == kDead ? kDead : (*classes)[static_cast<std::size_t>(to)];
    };
    const auto is_equal = [&](std::size_t a, std::size_t b) {
      bool equal = (*classes)[a] == (*classes)[b];
      for (std::size_t c = 0; c < num_edges() && equal; ++c) {
        equal = class_after(a, c) == class_after(b, c);
      }
      return equal;
    };
    std::unordered_multimap<std::uint64_t, std::size_t> seen;  // hash to a state of each new class
    std::vector<std::int32_t> refined(classes->size());
    std::int32_t num = 0;
    for (std::size_t s = 0; s < classes->size(); ++s) {
      auto hash = static_cast<std::uint64_t>((*classes)[s]);
      for (std::size_t c = 0; c < num_edges(); ++c) {
        hash = (hash ^ static_cast<std::uint32_t>(class_after(s, c))) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 32;
      }
      const auto [begin, end] = seen.equal_range(hash);
      const auto it =
          std::find_if(begin, end, [&](const auto& entry) { return is_equal(entry.second, s); });
      refined[s] = it == end ? num++ : refined[it->second];
      if (it == end) {
        seen.emplace(hash, s);
      }
    }
    *classes = std::move(refined);
    return num;
  }

  RegexSet* set_;
  CompileBudget* budget_;
  Dfa dfa_;
  std::vector<std::uint8_t> representatives_;  // a byte of each class
  std::unordered_map<std::uint32_t, std::int32_t> states_;
  std::vector<RegexId> regexes_;  // of each state
};

Result<Dfa> Dfa::build(RegexId regex, RegexSet* set, CompileBudget* budget) {
  set->set_budget(budget);
  Result<Dfa> dfa = Builder(set, budget).build(regex);
  set->set_budget(nullptr);
  return dfa;
}

void Dfa::find_digest() {
  Sha256 sha;
  sha.update(std::as_bytes(std::span(byte_class_)));
  sha.update(std::as_bytes(std::span(accepting_)));
  sha.update(std::as_bytes(std::span(next_)));
  digest_ = sha.finish();
}

// States that fared alike still do: the byte changes nothing, and uses up the horizon.
Dfa Dfa::with_loop(std::uint8_t byte) const {
  PLUMB_CHECK(num_classes_ < kNumBytes, "dfa: a byte that texts have");
  Dfa out = *this;
  const auto num_old = static_cast<std::size_t>(num_classes_);
  out.byte_class_[byte] = static_cast<std::uint8_t>(out.num_classes_++);
  out.next_.clear();
  for (std::int32_t s = 0; s < num_states(); ++s) {
    const auto row =
        next_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(s) * num_old);
    out.next_.insert(out.next_.end(), row, row + num_classes_);
    out.next_.push_back(s);
    std::int16_t& only = out.only_byte_[static_cast<std::size_t>(s)];
    only = static_cast<std::int16_t>(only == kNoByte ? byte : kSeveralBytes);
  }
  out.find_digest();
  return out;
}

std::int64_t Dfa::num_bytes() const {
  return static_cast<std::int64_t>(next_.size() * sizeof(next_[0]) + accepting_.size() +
                                   horizon_class_.size() * sizeof(horizon_class_[0]) +
                                   only_byte_.size() * sizeof(only_byte_[0]));
}

}  // namespace plumb
