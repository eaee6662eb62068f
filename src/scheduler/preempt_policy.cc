// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preempt_policy.h"

#include <tuple>

#include "base/check.h"

namespace plumb {
namespace {

constexpr std::int64_t kSparedAfter = 3;

class LeastRecompute final : public PreemptPolicy {
 public:
  std::int64_t victim(std::span<const SeqSnapshot> running) const override {
    PLUMB_CHECK(!running.empty(), "no sequence to preempt");
    std::size_t best = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(running[i]) < rank(running[best])) {
        best = i;
      }
    }
    return static_cast<std::int64_t>(best);
  }

 private:
  static std::tuple<std::int64_t, bool, std::int64_t, std::int64_t> rank(const SeqSnapshot& seq) {
    return {seq.priority, seq.num_preemptions >= kSparedAfter, seq.num_recompute_tokens,
            -static_cast<std::int64_t>(seq.id)};
  }
};

}  // namespace

std::unique_ptr<PreemptPolicy> make_least_recompute() {
  return std::make_unique<LeastRecompute>();
}

}  // namespace plumb
