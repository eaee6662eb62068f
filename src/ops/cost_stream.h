// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/cost.h"
#include "tensor/device.h"

namespace plumb {

/// All calls of one op in a dry run.
struct OpCost {
  std::string_view op;
  std::int64_t num_calls = 0;
  Cost cost;
};

/// The stream of a dry run: the ops of the meta back end record their cost here.
/// Thread: one at a time.
class CostStream : public Stream {
 public:
  Status poll() override { return {}; }

  Status synchronize() override { return {}; }

  /// Requires op is a literal (a name of the op list).
  void add(std::string_view op, const Cost& cost);

  /// One entry for each op that was called, in order of first use.
  const std::vector<OpCost>& costs() const { return costs_; }

  Cost total() const;

  void clear() { costs_.clear(); }

 private:
  std::vector<OpCost> costs_;
};

}  // namespace plumb
