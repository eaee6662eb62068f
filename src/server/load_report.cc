// SPDX-License-Identifier: Apache-2.0
#include "server/load_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "server/server_metrics.h"

namespace plumb {
namespace {

struct SectionName {
  std::string_view name;
  unsigned section;
};

constexpr SectionName kSectionNames[] = {
    {"core", kLoadCore},     {"memory", kLoadMemory}, {"spec", kLoadSpec}, {"lora", kLoadLora},
    {"disagg", kLoadDisagg}, {"queues", kLoadQueues}, {"all", kLoadAll}};

double gibibytes(std::int64_t num_bytes) {
  constexpr double kGibibyte = 0x1p30;
  constexpr double kDigits = 1000;
  return std::round(static_cast<double>(num_bytes) / kGibibyte * kDigits) / kDigits;
}

double part_of(std::int64_t used, std::int64_t all) {
  return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0.0;
}

void add_core(const LoadFacts& facts, JsonObject* out) {
  const EngineStats& stats = facts.stats;
  out->append("num_running_reqs", stats.num_running);
  out->append("num_waiting_reqs", stats.num_waiting);
  out->append("num_used_tokens", stats.num_used_blocks() * stats.block_size);
  out->append("max_total_num_tokens", stats.num_blocks * stats.block_size);
  out->append("token_usage", stats.kv_usage());
  out->append("gen_throughput", facts.gen_throughput);
  out->append("cache_hit_rate", stats.prefix_hit_rate());
  out->append("utilization",
              std::max(part_of(stats.num_running, facts.max_running_requests), stats.kv_usage()));
  out->append("max_running_requests", facts.max_running_requests);
}

Json queues_of(const EngineStats& stats) {
  return JsonObject{
      {"waiting", stats.num_waiting},
      {"preemptions", stats.num_preemptions},
      {"refused_requests", stats.num_refused_requests},
      {"refused_tokens", stats.num_refused_tokens},
      {"predicted_ttft_ms",
       stats.predicted_ttft ? Json(std::int64_t{stats.predicted_ttft->count()}) : Json()}};
}

}  // namespace

double ThroughputMeter::update(std::int64_t num_tokens, Clock::TimePoint now) {
  if (last_ == Clock::TimePoint()) {
    last_ = now;
    last_tokens_ = num_tokens;
    return 0;
  }
  const double elapsed = seconds_since(last_, now);
  if (elapsed >= 1) {
    rate_ = static_cast<double>(num_tokens - last_tokens_) / elapsed;
    last_ = now;
    last_tokens_ = num_tokens;
  }
  return rate_;
}

std::variant<unsigned, ApiError> read_load_sections(std::string_view list) {
  if (list.empty()) {
    return unsigned{kLoadCore};
  }
  unsigned sections = 0;
  for (const std::string_view name : split(list, ',')) {
    const auto* const row =
        std::find_if(std::begin(kSectionNames), std::end(kSectionNames),
                     [name](const SectionName& known) { return known.name == trim(name); });
    if (row == std::end(kSectionNames)) {
      return ApiError::invalid("invalid_value", "include",
                               "'include' names '" + std::string(name.substr(0, 32)) +
                                   "', expected core, memory, spec, lora, disagg, queues or all");
    }
    sections |= row->section;
  }
  return sections;
}

Json load_to_json(const LoadFacts& facts, unsigned sections) {
  JsonObject out{{"dp_rank", 0}};
  if ((sections & kLoadCore) != 0) {
    add_core(facts, &out);
  }
  if ((sections & kLoadMemory) != 0) {
    out.append("memory",
               JsonObject{{"weight_bytes", facts.weight_bytes},
                          {"kv_cache_bytes", facts.kv_cache_bytes},
                          {"token_capacity", facts.stats.num_blocks * facts.stats.block_size}});
  }
  for (const auto& [section, name] : {std::pair(kLoadSpec, "spec"), std::pair(kLoadLora, "lora"),
                                      std::pair(kLoadDisagg, "disagg")}) {
    if ((sections & section) != 0) {
      out.append(name, nullptr);
    }
  }
  if ((sections & kLoadQueues) != 0) {
    out.append("queues", queues_of(facts.stats));
  }
  return out;
}

std::string load_to_prometheus(const Json& load) {
  std::string out;
  const auto add = [&out](const std::string& name, const Json& value) {
    if (value.is_number()) {
      out += "# TYPE plumb_load_" + name + " gauge\nplumb_load_" + name + "{dp_rank=\"0\"} " +
             to_text(value) + "\n";
    }
  };
  for (const JsonMember& member : load.as_object()) {
    if (member.key == "dp_rank") {
      continue;
    }
    add(member.key, member.value);
    if (member.value.is_object()) {
      for (const JsonMember& inner : member.value.as_object()) {
        add(member.key + "_" + inner.key, inner.value);
      }
    }
  }
  return out;
}

Json memory_usage_to_json(const LoadFacts& facts) {
  return JsonObject{{"weight", gibibytes(facts.weight_bytes)},
                    {"kvcache", gibibytes(facts.kv_cache_bytes)},
                    {"graph", 0},
                    {"token_capacity", facts.stats.num_blocks * facts.stats.block_size}};
}

}  // namespace plumb
