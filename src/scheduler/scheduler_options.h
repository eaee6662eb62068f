// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/option_field.h"
#include "base/status.h"
#include "scheduler/plan.h"
#include "scheduler/schedule_policy.h"

namespace plumb {

enum class PriorityOrder : unsigned char { kHighFirst, kLowFirst };

/// What decides whether the cache has room for one more sequence.
enum class AdmissionKind : unsigned char {
  kSimulation,  ///< everybody's expected course, from learned output lengths
  kRatio,       ///< the sum of a fraction of what each may still produce
};

namespace scheduler_choices {

inline constexpr std::array kOrders{
    Choice{"fcfs", ScheduleOrder::kFcfs},
    Choice{"priority", ScheduleOrder::kPriority},
    Choice{"lof", ScheduleOrder::kLof},
    Choice{"priority-lof", ScheduleOrder::kPriorityLof},
    Choice{"random", ScheduleOrder::kRandom},
    Choice{"lpm", ScheduleOrder::kLpm},
    Choice{"dfs-weight", ScheduleOrder::kDfsWeight},
    Choice{"routing-key", ScheduleOrder::kRoutingKey},
    Choice{"hrrn", ScheduleOrder::kHrrn},
    Choice{"shortest-prefill-first", ScheduleOrder::kShortestPrefillFirst}};

inline constexpr std::array kPriorities{Choice{"high-first", PriorityOrder::kHighFirst},
                                        Choice{"low-first", PriorityOrder::kLowFirst}};

inline constexpr std::array kMixings{Choice{"adaptive", Mixing::kAdaptive},
                                     Choice{"decode-first", Mixing::kDecodeFirst},
                                     Choice{"prefill-first", Mixing::kPrefillFirst}};

inline constexpr std::array kAdmissions{Choice{"simulation", AdmissionKind::kSimulation},
                                        Choice{"ratio", AdmissionKind::kRatio}};

}  // namespace scheduler_choices

/// Who is computed when, and who may wait.
struct SchedulerOptions {
  ScheduleOrder schedule_policy = ScheduleOrder::kFcfs;
  PriorityOrder priority_order = PriorityOrder::kHighFirst;
  bool priority_preemption = true;
  std::int64_t priority_preemption_threshold = 10;
  std::chrono::milliseconds priority_aging{0};
  bool tenant_fairness = true;
  std::vector<std::string> tenant_weights;
  Mixing mixing = Mixing::kAdaptive;
  std::chrono::milliseconds itl_target{50};
  AdmissionKind kv_admission = AdmissionKind::kSimulation;
  std::int64_t skip_ahead = 8;
  std::chrono::milliseconds max_ttft{0};

  static constexpr auto fields() {
    using S = SchedulerOptions;
    return std::tuple{
        choice_field(&S::schedule_policy, "schedule-policy", "order of the queue",
                     scheduler_choices::kOrders),
        choice_field(&S::priority_order, "priority-order",
                     "which priority of requests is the more important",
                     scheduler_choices::kPriorities),
        field(&S::priority_preemption, "priority-preemption",
              "policies by priority: waiting requests displace running ones"),
        field(&S::priority_preemption_threshold, "priority-preemption-threshold",
              "a request displaces those whose priority is lower by more than this", 0, 2'000'000),
        field(&S::priority_aging, "priority-aging",
              "policies by priority: waiting so long counts as one step of priority; 0s = never", 0,
              86'400),
        field(&S::tenant_fairness, "tenant-fairness",
              "share service between API keys that wait, before the policy orders their requests"),
        field(&S::tenant_weights, "tenant-weights",
              "NAME=WEIGHT of API keys that get more than a share of 1"),
        choice_field(
            &S::mixing, "mixing",
            "how prompts share steps with answers: as the ITL target allows, in every step, "
            "or before them",
            scheduler_choices::kMixings),
        field(&S::itl_target, "itl-target",
              "adaptive mixing: time between two tokens that prompts may stretch a step to", 0.001,
              60),
        choice_field(
            &S::kv_admission, "kv-admission",
            "when the KV cache has room for one more request: by simulating the end of all "
            "with learned lengths, or by a ratio of what they may produce",
            scheduler_choices::kAdmissions),
        field(
            &S::skip_ahead, "skip-ahead",
            "later requests tried when the first finds no room in the KV cache and is not delayed "
            "by them",
            0, 64),
        field(&S::max_ttft, "max-ttft",
              "refuse requests whose predicted time in the queue is longer; 0s = never")};
  }
};

/// Rules that the range of one option cannot say.
Status validate(const SchedulerOptions& options);

}  // namespace plumb
