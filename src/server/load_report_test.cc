// SPDX-License-Identifier: Apache-2.0
#include "server/load_report.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

using std::chrono::milliseconds;

LoadFacts some_load() {
  LoadFacts facts;
  facts.stats.num_running = 3;
  facts.stats.num_waiting = 2;
  facts.stats.block_size = 16;
  facts.stats.num_blocks = 10;
  facts.stats.num_free_blocks = 5;
  facts.stats.num_refused_requests = 4;
  facts.max_running_requests = 4;
  facts.gen_throughput = 12.5;
  facts.weight_bytes = std::int64_t{3} << 29;
  facts.kv_cache_bytes = std::int64_t{1} << 30;
  return facts;
}

unsigned sections(std::string_view list) {
  const auto read = read_load_sections(list);
  return std::holds_alternative<unsigned>(read) ? std::get<unsigned>(read) : 0;
}

TEST(LoadReport, the_core_counts_requests_and_tokens) {
  EXPECT_EQ(to_text(load_to_json(some_load(), kLoadCore)),
            R"({"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":2,"num_used_tokens":80,)"
            R"("max_total_num_tokens":160,"token_usage":0.5,"gen_throughput":12.5,)"
            R"("cache_hit_rate":0.0,"utilization":0.75,"max_running_requests":4})");
}

TEST(LoadReport, sections_that_there_are_not_are_null) {
  EXPECT_EQ(to_text(load_to_json(some_load(), kLoadAll & ~kLoadCore)),
            R"({"dp_rank":0,"memory":{"weight_bytes":1610612736,"kv_cache_bytes":1073741824,)"
            R"("token_capacity":160},"spec":null,"lora":null,"disagg":null,)"
            R"("queues":{"waiting":2,"preemptions":0,"refused_requests":4,"refused_tokens":0,)"
            R"("predicted_ttft_ms":null}})");
}

TEST(LoadReport, sections_are_a_list_of_names) {
  EXPECT_EQ(sections(""), unsigned{kLoadCore});
  EXPECT_EQ(sections("core, queues"), kLoadCore | kLoadQueues);
  EXPECT_EQ(sections("all"), unsigned{kLoadAll});
  const auto bad = read_load_sections("core,moon");
  ASSERT_TRUE(std::holds_alternative<ApiError>(bad));
  EXPECT_EQ(std::get<ApiError>(bad).param, "include");
}

TEST(LoadReport, numbers_are_gauges_in_prometheus_text) {
  const std::string text = load_to_prometheus(load_to_json(some_load(), kLoadAll));
  EXPECT_TRUE(
      text.starts_with("# TYPE plumb_load_num_running_reqs gauge\n"
                       "plumb_load_num_running_reqs{dp_rank=\"0\"} 3\n"))
      << text;
  EXPECT_NE(text.find("plumb_load_queues_refused_requests{dp_rank=\"0\"} 4\n"), std::string::npos);
  EXPECT_EQ(text.find("null"), std::string::npos);
  EXPECT_EQ(text.find("spec"), std::string::npos);
}

TEST(LoadReport, memory_is_told_in_gibibytes) {
  EXPECT_EQ(to_text(memory_usage_to_json(some_load())),
            R"({"weight":1.5,"kvcache":1.0,"graph":0,"token_capacity":160})");
}

TEST(ThroughputMeter, measures_over_a_second_at_least) {
  ThroughputMeter meter;
  const Clock::TimePoint begin{milliseconds(5000)};
  EXPECT_EQ(meter.update(100, begin), 0);
  EXPECT_EQ(meter.update(150, begin + milliseconds(500)), 0);
  EXPECT_EQ(meter.update(300, begin + milliseconds(2000)), 100);
  EXPECT_EQ(meter.update(900, begin + milliseconds(2500)), 100);
  EXPECT_EQ(meter.update(300, begin + milliseconds(4000)), 0);
}

}  // namespace
}  // namespace plumb
