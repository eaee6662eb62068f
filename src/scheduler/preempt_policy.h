// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "scheduler/seq_snapshot.h"

namespace plumb {

/// Which running sequence gives its blocks back when the cache is full. Pure. Thread: engine.
class PreemptPolicy {
 public:
  virtual ~PreemptPolicy() = default;
  /// Index of the victim. Requires running is not empty.
  virtual std::int64_t victim(std::span<const SeqSnapshot> running) const = 0;
};

/// The least important; among equals one not preempted three times already, if there is any; then
/// the one with the least to compute again, then the newest.
std::unique_ptr<PreemptPolicy> make_least_recompute();

}  // namespace plumb
