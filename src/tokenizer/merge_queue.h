// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace plumb {

/// A priority queue of 64-bit keys, smallest first, that is fast when keys arrive in few rising
/// runs, as they do when a repetitive text is merged: such keys cost O(1), others O(log n).
/// Thread: one.
class MergeQueue {
 public:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;  ///< no key has this value

  /// Empties the queue; the keys to start with go into the list returned, in any order.
  std::vector<std::uint64_t>* restart() {
    for (std::size_t i = 0; i < kNumRuns; ++i) {
      clear_run(i);
    }
    heap_.clear();
    return &runs_[0].keys;
  }

  /// Call once after the list of restart() is filled.
  void start() {
    std::vector<std::uint64_t>& keys = runs_[0].keys;
    if (!std::is_sorted(keys.begin(), keys.end())) {
      std::sort(keys.begin(), keys.end());
    }
    fronts_[0] = keys.empty() ? kEmpty : keys.front();
  }

  void push(std::uint64_t key) {
    std::size_t best = kNumRuns;
    for (std::size_t i = 0; i < kNumRuns; ++i) {
      if (runs_[i].back() <= key && (best == kNumRuns || runs_[i].back() > runs_[best].back())) {
        best = i;
      }
    }
    if (best == kNumRuns) {
      heap_.push_back(key);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      return;
    }
    runs_[best].keys.push_back(key);
    fronts_[best] = std::min(fronts_[best], key);
  }

  /// Removes and returns the smallest key; kEmpty if there is none.
  std::uint64_t pop() {
    const std::size_t best = static_cast<std::size_t>(
        std::min_element(fronts_.begin(), fronts_.end()) - fronts_.begin());
    const std::uint64_t key = fronts_[best];
    if (!heap_.empty() && heap_.front() < key) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const std::uint64_t top = heap_.back();
      heap_.pop_back();
      return top;
    }
    if (key != kEmpty) {
      Run& run = runs_[best];
      if (++run.head == run.keys.size()) {
        clear_run(best);
      } else {
        fronts_[best] = run.keys[run.head];
      }
    }
    return key;
  }

 private:
  static constexpr std::size_t kNumRuns = 8;

  struct Run {
    std::vector<std::uint64_t> keys;  // rising
    std::size_t head = 0;

    std::uint64_t back() const { return keys.empty() ? 0 : keys.back(); }
  };

  void clear_run(std::size_t i) {
    runs_[i].keys.clear();
    runs_[i].head = 0;
    fronts_[i] = kEmpty;
  }

  std::array<Run, kNumRuns> runs_;
  std::array<std::uint64_t, kNumRuns> fronts_{};  // next key of each run
  std::vector<std::uint64_t> heap_;
};

}  // namespace plumb
