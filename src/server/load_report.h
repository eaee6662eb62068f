// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/error.h"
#include "base/clock.h"
#include "base/json.h"
#include "frontend/text_service.h"

namespace plumb {

/// Tokens a second, over stretches of a second at least.
/// Thread: any single one.
class ThroughputMeter {
 public:
  /// The rate at that time, when so many tokens have been produced since the start.
  double update(std::int64_t num_tokens, Clock::TimePoint now);

 private:
  Clock::TimePoint last_;
  std::int64_t last_tokens_ = 0;
  double rate_ = 0;
};

/// What the server has to do, and how much it can.
struct LoadFacts {
  EngineStats stats;
  std::int64_t max_running_requests = 0;
  double gen_throughput = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t kv_cache_bytes = 0;
};

/// Which parts of a report are wanted: bits of LoadSection.
enum LoadSection : unsigned {
  kLoadCore = 1U << 0U,
  kLoadMemory = 1U << 1U,
  kLoadSpec = 1U << 2U,
  kLoadLora = 1U << 3U,
  kLoadDisagg = 1U << 4U,
  kLoadQueues = 1U << 5U,
  kLoadAll = (1U << 6U) - 1,
};

/// The sections that a list such as "core,queues" names; empty = core.
std::variant<unsigned, ApiError> read_load_sections(std::string_view list);

/// The load of the one engine, an element of "loads". What the server does not have is null.
Json load_to_json(const LoadFacts& facts, unsigned sections);

/// The numbers of such an element as Prometheus text.
std::string load_to_prometheus(const Json& load);

/// {"weight","kvcache","graph","token_capacity"}: memory in GiB, and tokens.
Json memory_usage_to_json(const LoadFacts& facts);

}  // namespace plumb
