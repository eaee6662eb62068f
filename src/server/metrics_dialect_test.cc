// SPDX-License-Identifier: Apache-2.0
#include "server/metrics_dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/text.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

/// The metrics of a server of which every quantity has been observed once.
class MetricsDialectTest : public testing::Test {
 protected:
  void make(const std::vector<std::string>& names) {
    dialects_ = make_metrics_dialects(names, {metrics_, server_, &steps_, "tiny", 100});
  }

  void update(const EngineStats& stats, const ConstraintStats& constraints = {}) {
    for (const std::unique_ptr<MetricsDialect>& dialect : dialects_) {
      dialect->update(stats, constraints, clock_.now());
    }
  }

  // 5 prompt tokens, 2 of them cached, 9 generated; 1 s in the queue, 2 s prefill, 4 s decode.
  void end_choice() {
    ChoiceEnd end;
    end.reason = FinishReason::kLength;
    end.usage = {5, 9, 2};
    end.timings.submitted = clock_.now();
    end.timings.scheduled = clock_.now() + 1s;
    end.timings.first_token = clock_.now() + 3s;
    end.timings.last_token = clock_.now() + 7s;
    server_.count_end(end, 8);
    server_.count_answer(1, 9, 64);
  }

  static EngineStats busy() {
    EngineStats stats;
    stats.num_running = 3;
    stats.num_waiting = 2;
    stats.block_size = 16;
    stats.num_blocks = 10;
    stats.num_free_blocks = 5;
    stats.num_evictable_blocks = 1;
    stats.num_steps = 8;
    stats.num_step_seqs = 20;
    stats.num_preemptions = 6;
    stats.prompt_tokens = 40;
    stats.cached_tokens = 10;
    stats.prefill_tokens = 33;
    stats.completion_tokens = 70;
    return stats;
  }

  /// The value of a series as it is printed, or "none".
  std::string value(const std::string& series) const {
    const std::string text = metrics_.text();
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with(series + " ")) {
        return std::string(line.substr(series.size() + 1));
      }
    }
    return "none";
  }

  /// The bounds of a histogram's only or first series.
  std::vector<std::string> bounds(const std::string& name) const {
    std::vector<std::string> out;
    const std::string text = metrics_.text();
    for (const std::string_view line : split(text, '\n')) {
      const std::size_t at = line.find("le=\"");
      if (line.starts_with(name + "_bucket{") && at != std::string_view::npos) {
        const std::size_t end = line.find('"', at + 4);
        out.emplace_back(line.substr(at + 4, end - at - 4));
      }
    }
    return out;
  }

  FakeClock clock_;
  Metrics metrics_;
  ServerMetrics server_{metrics_, 100};
  StepMetrics steps_{metrics_};
  std::vector<std::unique_ptr<MetricsDialect>> dialects_;
};

const std::string kVllm = "{engine=\"0\",model_name=\"tiny\"}";
const std::string kEngine =
    "{engine_type=\"unified\",model_name=\"tiny\",moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"}";

TEST_F(MetricsDialectTest, short_answers_are_told_apart_by_the_time_of_http_requests) {
  server_.count_request("/health", 200, 0.0008);
  server_.count_request("/health", 200, 0.02);
  const std::string series = "plumb_http_request_seconds_bucket{route=\"/health\",le=";
  EXPECT_EQ(bounds("plumb_http_request_seconds").front(), "0.001");
  EXPECT_EQ(value(series + "\"0.001\"}"), "1");
  EXPECT_EQ(value(series + "\"0.025\"}"), "2");
}

TEST_F(MetricsDialectTest, vllm_gauges_and_counters_have_the_engines_values) {
  make({"vllm"});
  end_choice();
  server_.count_aborted(2);
  update(busy());
  update(busy());  // reading twice counts nothing twice
  const std::map<std::string, std::string> expected{
      {"num_requests_running", "3"},     {"num_requests_waiting", "2"},
      {"num_preemptions_total", "6"},    {"prompt_tokens_total", "40"},
      {"generation_tokens_total", "70"}, {"prefix_cache_queries_total", "40"},
      {"prefix_cache_hits_total", "10"},
  };
  for (const auto& [name, text] : expected) {
    EXPECT_EQ(value("vllm:" + name + kVllm), text) << name;
  }
  EXPECT_EQ(value("vllm:kv_cache_usage_perc" + kVllm).substr(0, 3), "0.4");
  EXPECT_EQ(value("vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"10\"}"),
            "1");
  const auto success = [&](const std::string& reason) {
    return value("vllm:request_success_total{engine=\"0\",finished_reason=\"" + reason +
                 "\",model_name=\"tiny\"}");
  };
  EXPECT_EQ(success("stop"), "0");
  EXPECT_EQ(success("length"), "1");
  EXPECT_EQ(success("abort"), "2");
}

TEST_F(MetricsDialectTest, vllm_histograms_have_that_servers_bounds_and_the_same_observations) {
  make({"vllm"});
  end_choice();
  server_.measures.time_to_first_token.observe(.03);
  server_.measures.token_gap.observe(.06);
  StepStats step;
  step.num_prefill_tokens = 9;
  steps_.on_step(step);
  const std::map<std::string, std::string> sums{
      {"time_to_first_token_seconds", "0.03"},
      {"inter_token_latency_seconds", "0.06"},
      {"request_time_per_output_token_seconds", "0.5"},
      {"e2e_request_latency_seconds", "8"},
      {"request_queue_time_seconds", "1"},
      {"request_prefill_time_seconds", "2"},
      {"request_decode_time_seconds", "4"},
      {"request_inference_time_seconds", "6"},
      {"request_prompt_tokens", "5"},
      {"request_generation_tokens", "9"},
      {"request_max_num_generation_tokens", "9"},
      {"request_params_n", "1"},
      {"request_params_max_tokens", "64"},
      {"iteration_tokens_total", "9"},
  };
  for (const auto& [name, sum] : sums) {
    EXPECT_EQ(value("vllm:" + name + "_count" + kVllm), "1") << name;
    EXPECT_EQ(value("vllm:" + name + "_sum" + kVllm), sum) << name;
  }
  EXPECT_THAT(bounds("vllm:request_prompt_tokens"),
              ElementsAre("1", "2", "5", "10", "20", "50", "100", "+Inf"));
  EXPECT_EQ(bounds("vllm:time_to_first_token_seconds").size(), 23U);
  EXPECT_EQ(bounds("vllm:e2e_request_latency_seconds").size(), 22U);
  EXPECT_EQ(bounds("vllm:inter_token_latency_seconds").size(), 20U);
}

TEST_F(MetricsDialectTest, sglang_names_have_their_labels_and_values) {
  make({"sglang"});
  end_choice();
  server_.count_aborted(2);
  server_.measures.compile_time.observe(.015);
  ConstraintStats constraints;
  constraints.num_cache_hits = 4;
  constraints.num_timeouts = 1;
  EngineStats stats = busy();
  stats.tiers.is_on = true;
  stats.tiers.host.num_blocks = 3;
  update(stats, constraints);
  const std::map<std::string, std::string> engine{
      {"num_running_reqs", "3"},
      {"num_queue_reqs", "2"},
      {"num_used_tokens", "64"},
      {"max_total_num_tokens", "160"},
      {"cache_hit_rate", "0.25"},
      {"gen_throughput", "0"},
      {"hicache_host_used_tokens", "48"},
      {"num_retracted_requests_total", "6"},
      {"num_grammar_cache_hit_total", "4"},
      {"num_grammar_timeout_total", "1"},
      {"queue_time_seconds_sum", "1"},
      {"grammar_compilation_time_seconds_sum", "0.015"},
  };
  for (const auto& [name, text] : engine) {
    EXPECT_EQ(value("sglang:" + name + kEngine), text) << name;
  }
  const std::map<std::string, std::string> front{
      {"prompt_tokens_total", "5"},        {"generation_tokens_total", "9"},
      {"cached_tokens_total", "2"},        {"num_requests_total", "1"},
      {"num_aborted_requests_total", "2"}, {"e2e_request_latency_seconds_sum", "8"},
  };
  for (const auto& [name, text] : front) {
    EXPECT_EQ(value("sglang:" + name + "{model_name=\"tiny\"}"), text) << name;
  }
  const auto mode = [&](const std::string& name) {
    return value("sglang:realtime_tokens_total{engine_type=\"unified\",mode=\"" + name +
                 "\",model_name=\"tiny\",moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"}");
  };
  EXPECT_EQ(mode("prefill_compute"), "33");
  EXPECT_EQ(mode("prefill_cache"), "10");
  EXPECT_EQ(mode("decode"), "70");
  EXPECT_EQ(bounds("sglang:per_stage_req_latency_seconds").size(), 3U * 31);
  EXPECT_EQ(bounds("sglang:queue_time_seconds").front(), "0");
}

TEST_F(MetricsDialectTest, sglang_rates_are_those_since_the_last_reading) {
  make({"sglang"});
  update(busy());
  clock_.advance(4s);
  EngineStats later = busy();
  later.completion_tokens += 100;
  later.num_preemptions += 3;
  update(later);
  EXPECT_EQ(value("sglang:gen_throughput" + kEngine), "25");
  EXPECT_EQ(value("sglang:num_retracted_reqs" + kEngine), "3");
  clock_.advance(10ms);  // too short to say anything
  update(later);
  EXPECT_EQ(value("sglang:gen_throughput" + kEngine), "25");
}

TEST_F(MetricsDialectTest, llamacpp_names_have_no_labels) {
  make({"llamacpp"});
  end_choice();
  update(busy());
  const std::map<std::string, std::string> expected{
      {"prompt_tokens_total", "3"},     {"prompt_seconds_total", "2"},
      {"tokens_predicted_total", "9"},  {"tokens_predicted_seconds_total", "4"},
      {"n_decode_total", "8"},          {"n_busy_slots_per_decode", "2.5"},
      {"prompt_tokens_seconds", "1.5"}, {"predicted_tokens_seconds", "2.25"},
      {"kv_cache_tokens", "64"},        {"requests_processing", "3"},
      {"requests_deferred", "2"},
  };
  for (const auto& [name, text] : expected) {
    EXPECT_EQ(value("llamacpp:" + name), text) << name;
  }
}

TEST_F(MetricsDialectTest, all_together_say_help_and_type_of_a_name_once) {
  make({"vllm", "sglang", "llamacpp"});
  end_choice();
  update(busy());
  std::set<std::string> seen;
  const std::string text = metrics_.text();
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("# ")) {
      const std::string name(line.substr(0, line.find(' ', 7)));
      EXPECT_TRUE(seen.insert(name).second) << name;
    }
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(MetricsDialects, unknown_and_repeated_names_are_refused_by_name) {
  EXPECT_TRUE(check_metrics_dialects({}).ok());
  EXPECT_TRUE(check_metrics_dialects({"llamacpp", "vllm", "sglang"}).ok());
  EXPECT_EQ(check_metrics_dialects({"vllm", "tgi"}).message(),
            "--metrics-compat: 'tgi' is not known, expected a list of vllm, sglang, llamacpp");
  EXPECT_EQ(check_metrics_dialects({"vllm", "vllm"}).message(),
            "--metrics-compat: 'vllm' is given twice");
}

}  // namespace
}  // namespace plumb
