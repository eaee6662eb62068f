// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/backend.h"

namespace plumb {

/// What one property of one op showed.
struct RowCheckResult {
  std::string op;
  std::string name;             ///< "q4_k", "f16_window"
  std::int64_t num_rows = 0;    ///< rows that were computed again in other company
  std::int64_t num_differ = 0;  ///< rows of which any bit differed
  std::string first = {};       ///< where the first difference is; empty = none
  std::string error = {};       ///< why it could not run; empty = it ran
  bool unsupported = false;     ///< it could not because the back end lacks the op or the format

  bool passed() const { return num_differ == 0 && (error.empty() || unsupported); }
};

/// Computes rows alone, in batches of several sizes and in chunks of several lengths, and compares
/// the bits: the promise that makes greedy output independent of batch, chunk and cache.
///
/// Covers linear (every weight format), rms_norm, add_rms_norm and paged_attention; `op` picks one
/// of them.
std::vector<RowCheckResult> run_row_check(Backend& backend, std::string_view op = {});

std::string to_text(const std::vector<RowCheckResult>& results);

}  // namespace plumb
