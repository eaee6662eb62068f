// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "scheduler/schedule_policy.h"

namespace plumb {
namespace {

using Indices = std::vector<std::int64_t>;

// What one step looks at; a longer queue is served by arrival where the order needs look-ups in the
// prefix cache.
constexpr std::int64_t kWindow = 128;

// Indices by ascending key; equals stay in the queue's order.
template <class KeyOf>
Indices sorted_by(std::span<const SeqSnapshot> waiting, const KeyOf& key_of) {
  std::vector<std::pair<decltype(key_of(waiting.front())), std::int64_t>> keyed;
  keyed.reserve(waiting.size());
  for (const SeqSnapshot& seq : waiting) {
    keyed.emplace_back(key_of(seq), std::ssize(keyed));
  }
  std::sort(keyed.begin(), keyed.end());
  Indices indices;
  indices.reserve(keyed.size());
  for (const auto& [key, index] : keyed) {
    indices.push_back(index);
  }
  return indices;
}

class LongestPrefixPolicy final : public SchedulePolicy {
 public:
  Reordering reordering() const override {
    return {.window = kWindow, .only_whole = true, .needs_prefixes = true, .needs_cache = true};
  }

  Indices order(std::span<const SeqSnapshot> waiting,
                std::span<const SeqSnapshot> /*running*/) const override {
    return sorted_by(waiting, [](const SeqSnapshot& seq) { return -seq.num_computed; });
  }
};

// The clock is the tokens that the engine has computed: no clock of the world is needed, and an
// engine that stands still makes nobody older.
class ResponseRatioPolicy final : public SchedulePolicy {
 public:
  Reordering reordering() const override {
    return {.window = kWindow, .only_whole = true, .needs_prefixes = true};
  }

  Indices order(std::span<const SeqSnapshot> waiting,
                std::span<const SeqSnapshot> /*running*/) const override {
    return sorted_by(waiting, [](const SeqSnapshot& seq) {
      const auto cost = static_cast<double>(std::max<std::int64_t>(seq.num_uncached(), 1));
      return -static_cast<double>(seq.tokens_waited) / cost;
    });
  }
};

class ShortestPrefillPolicy final : public SchedulePolicy {
 public:
  Reordering reordering() const override {
    return {.window = kWindow, .only_whole = true, .needs_prefixes = true};
  }

  Indices order(std::span<const SeqSnapshot> waiting,
                std::span<const SeqSnapshot> /*running*/) const override {
    return sorted_by(waiting, [](const SeqSnapshot& seq) { return seq.num_uncached(); });
  }

  // A long prefill under way leaves the shortest of the shorter ones room, up to half of the step.
  std::int64_t hold_back(const SeqSnapshot& active, std::span<const SeqSnapshot> waiting,
                         const Budget& budget) const override {
    std::int64_t shortest = active.num_uncached();
    for (const SeqSnapshot& seq : waiting) {
      shortest = std::min(shortest, seq.num_uncached());
    }
    return shortest < active.num_uncached() ? std::min(shortest, budget.num_tokens / 2) : 0;
  }
};

class RoutingKeyPolicy final : public SchedulePolicy {
 public:
  Reordering reordering() const override { return {.window = kWindow}; }

  Indices order(std::span<const SeqSnapshot> waiting,
                std::span<const SeqSnapshot> running) const override {
    std::unordered_map<std::string_view, std::int64_t> counts;
    for (const SeqSnapshot& seq : running) {
      if (!seq.routing_key.empty()) {
        ++counts[seq.routing_key];
      }
    }
    // Keys become places first, so that the sort compares numbers.
    std::vector<std::pair<std::int64_t, std::string_view>> keys;
    keys.reserve(counts.size());
    for (const auto& [key, count] : counts) {
      keys.emplace_back(-count, key);
    }
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      counts[keys[i].second] = static_cast<std::int64_t>(i);
    }
    const std::int64_t last = std::ssize(keys);
    return sorted_by(waiting, [&counts, last](const SeqSnapshot& seq) {
      const auto place = counts.find(seq.routing_key);
      return place == counts.end() ? last : place->second;
    });
  }
};

// The waiting sequences as they hang on the tree of cached prefixes, branch by branch. A branch is
// a run of indices, sorted by hash chain, that agree in their first `depth` blocks.
class DepthFirst {
 public:
  explicit DepthFirst(std::span<const SeqSnapshot> waiting) : waiting_(waiting) {
    sorted_.resize(waiting.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::stable_sort(sorted_.begin(), sorted_.end(), [this](std::int64_t a, std::int64_t b) {
      const auto& x = hashes(a);
      const auto& y = hashes(b);
      const std::size_t common = common_blocks(a, b);
      return common < x.size() && common < y.size() ? x[common] < y[common] : x.size() > y.size();
    });
    visit({0, std::ssize(sorted_)}, 0);
  }

  Indices take() { return std::move(out_); }

 private:
  struct Branch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::span<const std::uint64_t> hashes(std::int64_t index) const {
    return waiting_[static_cast<std::size_t>(index)].prefix_hashes;
  }

  // Chains agree up to the first difference and nowhere after it.
  std::size_t common_blocks(std::int64_t a, std::int64_t b) const {
    const auto x = hashes(a);
    const auto y = hashes(b);
    std::size_t low = 0;
    std::size_t high = std::min(x.size(), y.size());
    while (low < high) {
      const std::size_t middle = (low + high + 1) / 2;
      if (x[middle - 1] == y[middle - 1]) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  std::int64_t at(std::int64_t place) const { return sorted_[static_cast<std::size_t>(place)]; }

  // All of the branch agree in `depth` blocks. The deepest come first: what hangs on a node itself
  // is listed after the node's children.
  void visit(const Branch& branch, std::size_t depth) {
    std::vector<Branch> children;
    std::int64_t place = branch.begin;
    while (place < branch.end && hashes(at(place)).size() > depth) {
      std::int64_t end = place + 1;
      while (end < branch.end && hashes(at(end)).size() > depth &&
             hashes(at(end))[depth] == hashes(at(place))[depth]) {
        ++end;
      }
      children.push_back({place, end});
      place = end;
    }
    std::stable_sort(children.begin(), children.end(), [](const Branch& a, const Branch& b) {
      return a.end - a.begin > b.end - b.begin;
    });
    for (const Branch& child : children) {
      const std::size_t common = common_blocks(at(child.begin), at(child.end - 1));
      visit(child, std::max(common, depth + 1));
    }
    for (; place < branch.end; ++place) {
      out_.push_back(at(place));
    }
  }

  std::span<const SeqSnapshot> waiting_;
  Indices sorted_;
  Indices out_;
};

class DfsWeightPolicy final : public SchedulePolicy {
 public:
  Reordering reordering() const override {
    return {.window = kWindow,
            .only_whole = true,
            .needs_prefixes = true,
            .needs_cache = true,
            .needs_hashes = true};
  }

  Indices order(std::span<const SeqSnapshot> waiting,
                std::span<const SeqSnapshot> /*running*/) const override {
    return DepthFirst(waiting).take();
  }
};

}  // namespace

std::unique_ptr<SchedulePolicy> make_changing_policy(ScheduleOrder order) {
  switch (order) {
    case ScheduleOrder::kLpm:
      return std::make_unique<LongestPrefixPolicy>();
    case ScheduleOrder::kDfsWeight:
      return std::make_unique<DfsWeightPolicy>();
    case ScheduleOrder::kRoutingKey:
      return std::make_unique<RoutingKeyPolicy>();
    case ScheduleOrder::kHrrn:
      return std::make_unique<ResponseRatioPolicy>();
    case ScheduleOrder::kShortestPrefillFirst:
      return std::make_unique<ShortestPrefillPolicy>();
    default:
      return nullptr;
  }
}

}  // namespace plumb
