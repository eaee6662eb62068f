// SPDX-License-Identifier: Apache-2.0
#include "grammar/string_automata.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"

namespace plumb {
namespace {

using State = RegexSet::AutomatonState;

// Builds the smallest automaton of sorted texts: a state is made when no later text can change it,
// and equal ones are one (Daciuk and others 2000).
class TextsBuilder {
 public:
  explicit TextsBuilder(CompileBudget* budget) : budget_(*budget), path_(1) {}

  Status add(std::string_view text) {
    const auto common = static_cast<std::size_t>(
        std::mismatch(last_.begin(), last_.end(), text.begin(), text.end()).first - last_.begin());
    PLUMB_RETURN_IF_ERROR(freeze(common));
    for (std::size_t i = common; i < text.size(); ++i) {
      path_.emplace_back();
    }
    path_.back().accepting = true;
    last_ = text;
    return {};
  }

  Result<RegexId> finish(RegexSet* set) && {
    PLUMB_RETURN_IF_ERROR(freeze(0));
    const std::uint32_t start = state_of(std::move(path_[0]));
    return set->automaton(std::move(states_), start);
  }

 private:
  // A state whose edges are known but for the one to the next of the path.
  struct Open {
    std::vector<std::pair<std::uint8_t, std::uint32_t>> edges;  // rising bytes
    bool accepting = false;
    auto operator<=>(const Open&) const = default;
  };

  // Makes the states of the path beyond so many bytes.
  Status freeze(std::size_t num_kept) {
    while (path_.size() > num_kept + 1) {
      PLUMB_RETURN_IF_ERROR(budget_.poll());
      const std::uint32_t state = state_of(std::move(path_.back()));
      path_.pop_back();
      path_.back().edges.emplace_back(static_cast<std::uint8_t>(last_[path_.size() - 1]), state);
      if (std::ssize(states_) > budget_.limits().max_states) {
        return {Code::kResourceExhausted, "the texts need more than " +
                                              std::to_string(budget_.limits().max_states) +
                                              " states; send fewer or shorter ones"};
      }
    }
    return {};
  }

  std::uint32_t state_of(Open open) {
    const auto [it, is_new] =
        known_.try_emplace(std::move(open), static_cast<std::uint32_t>(states_.size()));
    if (is_new) {
      State state;
      state.accepting = it->first.accepting;
      for (const auto& [byte, next] : it->first.edges) {
        if (state.next.empty() || state.next.back().first != next) {
          state.next.emplace_back(next, ByteSet());
        }
        state.next.back().second.insert(byte);
      }
      states_.push_back(std::move(state));
    }
    return it->second;
  }

  CompileBudget& budget_;
  std::vector<Open> path_;  // of the last text: path_[i] after i bytes
  std::string_view last_;
  std::map<Open, std::uint32_t> known_;
  std::vector<State> states_;
};

}  // namespace

Result<RegexId> one_of_texts(std::vector<std::string_view> texts, RegexSet* set,
                             CompileBudget* budget) {
  std::sort(texts.begin(), texts.end());
  TextsBuilder builder(budget);
  for (const std::string_view text : texts) {
    PLUMB_RETURN_IF_ERROR(builder.add(text));
  }
  return std::move(builder).finish(set);
}

StringFinder::StringFinder(std::span<const std::string> strings,
                           std::optional<std::uint8_t> ignored)
    : ignored_(ignored), nodes_(1) {
  for (const std::string& text : strings) {
    PLUMB_CHECK(!text.empty(), "string finder: an empty string is everywhere");
    insert(text);
  }
  add_failures();
}

void StringFinder::insert(std::string_view text) {
  std::uint32_t at = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    const auto& children = nodes_[at].children;
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&](const auto& edge) { return edge.first == byte; });
    if (child != children.end()) {
      at = child->second;
      continue;
    }
    const auto added = static_cast<std::uint32_t>(nodes_.size());
    nodes_[at].children.emplace_back(byte, added);
    nodes_.emplace_back();
    at = added;
  }
  nodes_[at].is_end = true;
}

void StringFinder::add_failures() {
  const auto child_of = [&](std::uint32_t node, std::uint8_t byte) -> std::optional<std::uint32_t> {
    for (const auto& [label, child] : nodes_[node].children) {
      if (label == byte) {
        return child;
      }
    }
    return std::nullopt;
  };
  for (const auto& [byte, child] : nodes_[0].children) {
    order_.push_back(child);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint32_t node = order_[i];
    for (const auto& [byte, child] : nodes_[node].children) {
      std::uint32_t fallback = nodes_[node].fallback;
      while (fallback != 0 && !child_of(fallback, byte)) {
        fallback = nodes_[fallback].fallback;
      }
      nodes_[child].fallback = child_of(fallback, byte).value_or(0);
      nodes_[child].is_end = nodes_[child].is_end || nodes_[nodes_[child].fallback].is_end;
      order_.push_back(child);
    }
  }
}

// As states() makes them: those of the fallback, and one for each child.
std::int64_t StringFinder::max_size() const {
  constexpr std::size_t kMostEdges = 256;  // each has a byte of its own
  std::vector<std::size_t> num_edges(nodes_.size());
  std::size_t total = 0;
  const auto count = [&](std::uint32_t node, std::size_t num_before) {
    num_edges[node] = std::min(num_before + nodes_[node].children.size(), kMostEdges);
    total += num_edges[node] + 1;  // the ignored byte
  };
  count(0, 1);
  for (const std::uint32_t node : order_) {
    count(node, num_edges[nodes_[node].fallback]);
  }
  return RegexSet::automaton_size(nodes_.size(), total);
}

std::vector<State> StringFinder::states(bool found) const {
  std::vector<State> out(nodes_.size());
  const auto fill = [&](std::uint32_t node, std::vector<std::pair<std::uint32_t, ByteSet>> next) {
    for (const auto& [byte, child] : nodes_[node].children) {
      for (auto& edge : next) {
        edge.second.erase(byte);
      }
      ByteSet only;
      only.insert(byte);
      next.emplace_back(child, only);
    }
    std::erase_if(next, [](const auto& edge) { return edge.second.empty(); });
    out[node].next = std::move(next);
  };
  fill(0, {{0, ByteSet::all()}});
  for (const std::uint32_t node : order_) {
    fill(node, out[nodes_[node].fallback].next);
  }
  for (std::uint32_t node = 0; node < out.size(); ++node) {
    State& state = out[node];
    state.accepting = nodes_[node].is_end == found;
    if (nodes_[node].is_end) {
      state.next.clear();
    } else if (!found) {
      std::erase_if(state.next, [&](const auto& edge) { return nodes_[edge.first].is_end; });
    }
    if (!ignored_.has_value() || (nodes_[node].is_end && !found)) {
      continue;
    }
    for (auto& edge : state.next) {
      edge.second.erase(*ignored_);
    }
    std::erase_if(state.next, [](const auto& edge) { return edge.second.empty(); });
    ByteSet only;
    only.insert(*ignored_);
    state.next.emplace_back(node, only);
  }
  return out;
}

RegexId StringFinder::without(RegexSet* set) const {
  return set->automaton(states(/*found=*/false), 0);
}

RegexId StringFinder::up_to_first(RegexSet* set) const {
  return set->automaton(states(/*found=*/true), 0);
}

}  // namespace plumb
