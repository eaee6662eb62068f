// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "frontend/offline_input.h"
#include "frontend/offline_output.h"
#include "frontend/text_service.h"

namespace plumb {

struct OfflineProgress {
  std::int64_t num_items = 0;          ///< of the input
  std::int64_t num_done = 0;           ///< with a committed record, earlier runs included
  std::int64_t num_failed = 0;         ///< of these, records with an error
  std::int64_t completion_tokens = 0;  ///< of this run
  /// Of this run: what lenient schemas dropped, to the number of items.
  std::map<std::string, std::int64_t> ignored_keywords{};
};

struct OfflineOptions {
  std::int64_t max_in_flight = 128;  ///< items submitted at a time
};

/// Runs every item that has no record yet and writes its record, errors included. Requests that the
/// engine refuses because its queue is full are tried again.
///
/// Returns early, without an error, once `stop` is true; what was committed stays.
/// Thread: the calling one; `on_progress` is called on it.
Result<OfflineProgress> run_offline(TextService& service, const std::vector<OfflineItem>& items,
                                    OfflineOutput& output, const OfflineOptions& options,
                                    const Clock& clock, const std::atomic<bool>& stop,
                                    const std::function<void(const OfflineProgress&)>& on_progress);

}  // namespace plumb
