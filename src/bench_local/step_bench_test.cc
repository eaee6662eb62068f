// SPDX-License-Identifier: Apache-2.0
#include "bench_local/step_bench.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "bench_local/step_report.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/synthesize.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/meta/meta_backend.h"
#include "model/families.h"
#include "support/ticking_clock.h"

namespace plumb {
namespace {

using std::chrono::microseconds;

/// A tiny generated model: hidden 64, 2 layers, 4 query and 2 KV heads of 16, intermediate 128,
/// vocabulary 512.
class StepBenchTest : public testing::Test {
 protected:
  void load(const char* architecture, const char* quant) {
    path_ = std::filesystem::path(testing::TempDir()) /
            ("plumb_step_bench_" + std::to_string(::getpid()) + ".gguf");
    SynthesisSpec spec;
    spec.architecture = architecture;
    spec.quant = quant;
    spec.context_len = 256;
    spec.sliding_window = spec.architecture == "gemma3" ? 24 : 0;
    ASSERT_TRUE(synthesize_gguf(spec, path_.string()).ok());
    checkpoint_ = Checkpoint::open(path_.string()).value();
    std::filesystem::remove(path_);
    backend_ = make_cpu_backend({.num_threads = 2}).value();
    model_ = load_model({*checkpoint_, *backend_, {}, DType::kF16, 16}).value();
  }

  Result<StepBenchReport> run(const StepBenchOptions& options) {
    const std::unique_ptr<MetaBackend> meta = make_meta_backend();
    return run_step_bench({*model_, *backend_, backend_->ops(), meta->ops(), clock_}, options,
                          [&](std::int64_t done, std::int64_t total) {
                            EXPECT_EQ(done, ++num_told_);
                            num_to_tell_ = total;
                          });
  }

  std::filesystem::path path_;
  TickingClock clock_{microseconds(1)};
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::int64_t num_told_ = 0;
  std::int64_t num_to_tell_ = 0;
};

std::int64_t flops_of(const StepProfiled& run, const std::string& prefix) {
  std::int64_t sum = 0;
  for (const OpTime& op : run.ops) {
    sum += op.name.starts_with(prefix) ? op.cost.flops : 0;
  }
  return sum;
}

TEST_F(StepBenchTest, a_profile_accounts_for_every_microsecond_of_the_step) {
  load("llama", "F32");
  const StepBenchReport report =
      run({.batch = 3, .depth = 20, .input_len = 40, .rounds = 3, .warmup = 1, .profile = true})
          .value();
  EXPECT_EQ(num_told_, 8);
  EXPECT_EQ(num_to_tell_, 8);
  ASSERT_EQ(report.steps.size(), 2U);
  for (const StepMeasured& step : report.steps) {
    // Begin, logits, end.
    EXPECT_EQ(step.median, microseconds(2)) << step.name;
    ASSERT_TRUE(step.profiled.has_value());
    const StepProfiled& run = *step.profiled;
    const auto num_calls = std::ssize(run.calls);
    EXPECT_EQ(run.wall, microseconds(2 + 2 * num_calls)) << step.name;
    EXPECT_EQ(run.in_ops, microseconds(num_calls));
    EXPECT_EQ(run.beside_model, microseconds(2));  // one op: argmax
    EXPECT_EQ(run.in_ops + run.between_ops + run.beside_model, run.wall);
    std::int64_t calls = 0;
    std::chrono::nanoseconds time{};
    std::set<std::string> names;
    for (const OpTime& op : run.ops) {
      EXPECT_TRUE(names.insert(op.name).second) << op.name;
      calls += op.num_calls;
      time += op.time;
    }
    EXPECT_EQ(calls, num_calls);
    EXPECT_EQ(time, run.in_ops);
    EXPECT_EQ(run.calls.back().op, "argmax");
    EXPECT_EQ(names.count("paged_attention"), 1U);
    EXPECT_EQ(names.count("linear F32 128x64"), 1U);  // q, k and v
    EXPECT_EQ(names.count("linear F32 512x64"), 1U);  // the head
  }
}

// Of a layer: q 64x64, k and v 32x64, o 64x64, gate and up 128x64, down 64x128. Behind the last
// layer's attention only the rows go on whose logits are wanted.
TEST_F(StepBenchTest, the_operations_of_a_step_are_those_of_its_shapes) {
  load("llama", "F32");
  const StepBenchReport report =
      run({.batch = 3, .depth = 20, .input_len = 40, .rounds = 1, .warmup = 0, .profile = true})
          .value();
  const std::int64_t qkv = 64 * 64 + 2 * 32 * 64;
  const std::int64_t rest = 64 * 64 + 3 * 128 * 64;
  const std::int64_t layer = qkv + rest;
  const std::int64_t head = 512 * 64;
  const StepMeasured& decode = report.steps[0];
  EXPECT_EQ(decode.name, "decode");
  EXPECT_EQ(decode.num_rows, 3);
  EXPECT_EQ(decode.num_logits, 3);
  EXPECT_EQ(decode.depth, 20);
  EXPECT_EQ(flops_of(*decode.profiled, "linear"), 2 * 3 * (2 * layer + head));
  EXPECT_EQ(flops_of(*decode.profiled, "paged_attention"), 2 * 4 * (3 * 21) * 4 * 16);
  const StepMeasured& prefill = report.steps[1];
  EXPECT_EQ(prefill.name, "prefill");
  EXPECT_EQ(prefill.num_rows, 40);
  EXPECT_EQ(prefill.num_logits, 1);
  EXPECT_EQ(prefill.depth, 0);
  EXPECT_EQ(flops_of(*prefill.profiled, "linear"), 2 * 40 * (layer + qkv) + 2 * (rest + head));
  EXPECT_EQ(flops_of(*prefill.profiled, "paged_attention"), 2 * 4 * (40 * 41 / 2) * 4 * 16);
}

TEST_F(StepBenchTest, without_a_profile_steps_are_only_timed) {
  load("gemma3", "Q8_0");
  const StepBenchReport report =
      run({.batch = 2, .depth = 50, .input_len = 30, .rounds = 2, .warmup = 0}).value();
  EXPECT_EQ(num_told_, 4);
  for (const StepMeasured& step : report.steps) {
    EXPECT_FALSE(step.profiled.has_value());
    EXPECT_EQ(step.fastest, microseconds(2));
    EXPECT_EQ(step.slowest, microseconds(2));
  }
  EXPECT_TRUE(to_json(report).find("steps")->as_array()[0].find("profile")->is_null());
}

TEST_F(StepBenchTest, more_tokens_than_the_context_are_refused_with_the_limit) {
  load("llama", "Q8_0");
  for (const StepBenchOptions& options :
       {StepBenchOptions{.depth = 256}, StepBenchOptions{.depth = 8, .input_len = 257}}) {
    const Result<StepBenchReport> report = run(options);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
    EXPECT_NE(report.status().message().find("256 tokens"), std::string::npos)
        << report.status().message();
  }
  EXPECT_TRUE(run({.depth = 255, .input_len = 256, .rounds = 1, .warmup = 0}).ok());
}

// 1 ms at 2 GB/s reads 2 MB; 10^6 8-bit products at 1 GOP/s take 2 ms.
TEST(StepReport, the_floor_is_the_longer_of_moving_and_computing) {
  const MachineRates rates{.read_gb = 2, .float_gflop = 4, .int8_gop = 1, .int16_gop = 2};
  OpTime op{.name = "linear", .arithmetic = Arithmetic::kInt8};
  op.cost = {.flops = 0, .bytes_read = 1'500'000, .bytes_written = 500'000};
  EXPECT_DOUBLE_EQ(floor_seconds(op, rates), 1e-3);
  op.cost.flops = 2'000'000;
  EXPECT_DOUBLE_EQ(floor_seconds(op, rates), 2e-3);
  op.arithmetic = Arithmetic::kInt16;
  EXPECT_DOUBLE_EQ(floor_seconds(op, rates), 1e-3);
  op.arithmetic = Arithmetic::kFloat;
  op.cost.flops = 8'000'000;
  EXPECT_DOUBLE_EQ(floor_seconds(op, rates), 2e-3);
}

StepBenchReport small_report() {
  StepMeasured step{.name = "decode", .num_rows = 2, .num_logits = 2, .depth = 7};
  step.median = step.fastest = step.slowest = microseconds(95);
  StepProfiled run;
  run.begin = Clock::TimePoint(microseconds(1000));
  run.computed = run.begin + microseconds(90);
  run.end = run.begin + microseconds(100);
  run.wall = microseconds(100);
  run.in_ops = microseconds(80);
  run.between_ops = microseconds(15);
  run.beside_model = microseconds(5);
  const Cost cost{.flops = 4'000, .bytes_read = 39'000, .bytes_written = 1'000};
  run.ops = {{"linear Q8_0 8x32", Arithmetic::kInt8, 2, cost, microseconds(80)}};
  run.calls = {{"linear", run.begin, run.begin + microseconds(80), cost, DType::kQ8_0, 32, 8}};
  step.profiled = run;
  StepBenchReport report;
  report.steps = {step};
  report.rates = {.read_gb = 1, .float_gflop = 1, .int8_gop = 1, .int16_gop = 1};
  return report;
}

TEST(StepReport, json_tells_rates_and_the_share_of_the_floor) {
  const Json json = to_json(small_report());
  const Json& step = json.find("steps")->as_array()[0];
  EXPECT_EQ(step.find("median_us")->as_double(), 95.0);
  const Json& profile = *step.find("profile");
  EXPECT_EQ(profile.find("wall_us")->as_double(), 100.0);
  EXPECT_EQ(profile.find("ops_us")->as_double(), 80.0);
  EXPECT_EQ(profile.find("between_ops_us")->as_double(), 15.0);
  EXPECT_EQ(profile.find("beside_model_us")->as_double(), 5.0);
  const Json& op = profile.find("ops")->as_array()[0];
  EXPECT_EQ(op.find("calls")->as_int(), 2);
  EXPECT_DOUBLE_EQ(op.find("gb_s")->as_double(), 0.5);
  EXPECT_DOUBLE_EQ(op.find("gflop_s")->as_double(), 0.05);
  EXPECT_DOUBLE_EQ(op.find("floor_us")->as_double(), 40.0);
  EXPECT_DOUBLE_EQ(op.find("floor_share")->as_double(), 0.5);
  EXPECT_EQ(op.find("bound")->as_string(), "memory");
  EXPECT_EQ(op.find("arithmetic")->as_string(), "int8");
}

TEST(StepReport, the_table_names_what_is_no_op) {
  const std::string text = to_text(small_report());
  for (const char* part :
       {"linear Q8_0 8x32", "50 % of memory", "sum of the ops", "forward code between ops",
        "choosing tokens beside ops", "profiling changed the step's time by +5.3 %"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(StepReport, the_trace_has_a_slice_for_each_call_and_part) {
  const Json trace = parse_json(to_trace(small_report())).value();
  std::vector<std::string> slices;
  for (const Json& event : trace.find("traceEvents")->as_array()) {
    if (event.find("ph")->as_string() == "X") {
      slices.push_back(event.find("name")->as_string() + " " +
                       std::to_string(event.find("dur")->as_double()));
    }
  }
  EXPECT_EQ(slices, (std::vector<std::string>{"decode 100.000000", "model 90.000000",
                                              "choose 10.000000", "linear 80.000000"}));
  EXPECT_EQ(trace.find("otherData")->find("num_calls")->as_int(), 1);
}

}  // namespace
}  // namespace plumb
