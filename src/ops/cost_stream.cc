// SPDX-License-Identifier: Apache-2.0
#include "ops/cost_stream.h"

#include <algorithm>

namespace plumb {

void CostStream::add(std::string_view op, const Cost& cost) {
  auto entry = std::find_if(costs_.begin(), costs_.end(),
                            [&](const OpCost& known) { return known.op == op; });
  if (entry == costs_.end()) {
    entry = costs_.insert(entry, OpCost{op, 0, {}});
  }
  entry->num_calls += 1;
  entry->cost += cost;
}

Cost CostStream::total() const {
  Cost sum;
  for (const OpCost& entry : costs_) {
    sum += entry.cost;
  }
  return sum;
}

}  // namespace plumb
