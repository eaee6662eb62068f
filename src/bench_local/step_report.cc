// SPDX-License-Identifier: Apache-2.0
#include "bench_local/step_report.h"

#include <algorithm>
#include <cstdio>

#include "base/trace_events.h"

namespace plumb {
namespace {

using std::chrono::nanoseconds;

constexpr int kStepTrack = 1;
constexpr int kOpTrack = 2;

double step_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double step_micros(nanoseconds time) {
  return step_seconds(time) * 1e6;
}

double moved_bytes(const Cost& cost) {
  return static_cast<double>(cost.bytes_read) + static_cast<double>(cost.bytes_written);
}

double peak_of(Arithmetic arithmetic, const MachineRates& rates) {
  switch (arithmetic) {
    case Arithmetic::kInt8:
      return rates.int8_gop;
    case Arithmetic::kInt16:
      return rates.int16_gop;
    case Arithmetic::kFloat:
      break;
  }
  return rates.float_gflop;
}

const char* arithmetic_name(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kInt8:
      return "int8";
    case Arithmetic::kInt16:
      return "int16";
    case Arithmetic::kFloat:
      break;
  }
  return "float32";
}

/// 10^9 units a second; 0 where no time was seen.
double giga_rate(double units, nanoseconds time) {
  return time.count() > 0 ? units / step_seconds(time) * 1e-9 : 0;
}

double share_of(nanoseconds part, nanoseconds whole) {
  return whole.count() > 0 ? 100 * step_seconds(part) / step_seconds(whole) : 0;
}

/// Floor to time, in percent: 100 = as fast as the machine allows.
double floor_percent(const OpTime& op, const MachineRates& rates) {
  return op.time.count() > 0 ? 100 * floor_seconds(op, rates) / step_seconds(op.time) : 0;
}

bool is_bound_by_memory(const OpTime& op, const MachineRates& rates) {
  return floor_seconds(op, rates) <= moved_bytes(op.cost) / (rates.read_gb * 1e9);
}

std::string op_line(const OpTime& op, const StepProfiled& run,
                    const std::optional<MachineRates>& rates) {
  char line[256];
  std::snprintf(line, sizeof line,
                "  %-30s %5lld %10.1f us %5.1f %% %9.2f MB %8.2f GB/s %9.1f GFLOP/s",
                op.name.c_str(), static_cast<long long>(op.num_calls), step_micros(op.time),
                share_of(op.time, run.wall), moved_bytes(op.cost) * 1e-6,
                giga_rate(moved_bytes(op.cost), op.time),
                giga_rate(static_cast<double>(op.cost.flops), op.time));
  std::string text = line;
  if (rates.has_value()) {
    std::snprintf(line, sizeof line, "  %4.0f %% of %s", floor_percent(op, *rates),
                  is_bound_by_memory(op, *rates) ? "memory" : arithmetic_name(op.arithmetic));
    text += line;
  }
  return text + "\n";
}

std::string rest_line(const char* name, nanoseconds time, const StepProfiled& run) {
  char line[128];
  std::snprintf(line, sizeof line, "  %-36s %10.1f us %5.1f %%\n", name, step_micros(time),
                share_of(time, run.wall));
  return line;
}

std::string profile_text(const StepMeasured& step, const StepProfiled& run,
                         const std::optional<MachineRates>& rates) {
  std::string text;
  for (const OpTime& op : run.ops) {
    text += op_line(op, run, rates);
  }
  text += rest_line("sum of the ops", run.in_ops, run);
  text += rest_line("forward code between ops", run.between_ops, run);
  text += rest_line("choosing tokens beside ops", run.beside_model, run);
  text += rest_line("profiled step", run.wall, run);
  char line[128];
  std::snprintf(line, sizeof line, "  profiling changed the step's time by %+.1f %%\n",
                share_of(run.wall, step.median) - 100);
  return text + line;
}

Json op_json(const OpTime& op, const std::optional<MachineRates>& rates) {
  JsonObject json{{"op", op.name},
                  {"calls", op.num_calls},
                  {"time_us", step_micros(op.time)},
                  {"bytes_read", op.cost.bytes_read},
                  {"bytes_written", op.cost.bytes_written},
                  {"operations", op.cost.flops},
                  {"arithmetic", arithmetic_name(op.arithmetic)},
                  {"gb_s", giga_rate(moved_bytes(op.cost), op.time)},
                  {"gflop_s", giga_rate(static_cast<double>(op.cost.flops), op.time)}};
  if (rates.has_value()) {
    json.set("floor_us", floor_seconds(op, *rates) * 1e6);
    json.set("floor_share", floor_percent(op, *rates) / 100);
    json.set("bound", is_bound_by_memory(op, *rates) ? "memory" : "arithmetic");
  }
  return json;
}

Json profile_json(const StepProfiled& run, const std::optional<MachineRates>& rates) {
  JsonArray ops;
  for (const OpTime& op : run.ops) {
    ops.push_back(op_json(op, rates));
  }
  return JsonObject{{"wall_us", step_micros(run.wall)},
                    {"ops_us", step_micros(run.in_ops)},
                    {"between_ops_us", step_micros(run.between_ops)},
                    {"beside_model_us", step_micros(run.beside_model)},
                    {"ops", std::move(ops)}};
}

}  // namespace

double floor_seconds(const OpTime& op, const MachineRates& rates) {
  const double moving = moved_bytes(op.cost) / (rates.read_gb * 1e9);
  const double computing =
      static_cast<double>(op.cost.flops) / (peak_of(op.arithmetic, rates) * 1e9);
  return std::max(moving, computing);
}

std::string to_text(const StepBenchReport& report) {
  std::string text;
  char line[256];
  if (report.rates.has_value()) {
    std::snprintf(line, sizeof line,
                  "measured in this run: %.1f GB/s read, %.0f GFLOP/s float32, %.0f GOP/s int8, "
                  "%.0f GOP/s int16\n",
                  report.rates->read_gb, report.rates->float_gflop, report.rates->int8_gop,
                  report.rates->int16_gop);
    text += line;
  }
  for (const StepMeasured& step : report.steps) {
    std::snprintf(line, sizeof line,
                  "%s of %lld %s behind %lld: %.2f ms (%.2f to %.2f in %lld runs), %.1f tok/s\n",
                  step.name.c_str(), static_cast<long long>(step.num_rows),
                  step.num_rows == 1 ? "token" : "tokens", static_cast<long long>(step.depth),
                  step_micros(step.median) * 1e-3, step_micros(step.fastest) * 1e-3,
                  step_micros(step.slowest) * 1e-3, static_cast<long long>(report.options.rounds),
                  1e9 * giga_rate(static_cast<double>(step.num_rows), step.median));
    text += line;
    if (step.profiled.has_value()) {
      text += profile_text(step, *step.profiled, report.rates);
    }
  }
  return text;
}

Json to_json(const StepBenchReport& report) {
  JsonArray steps;
  for (const StepMeasured& step : report.steps) {
    steps.emplace_back(JsonObject{
        {"step", step.name},
        {"tokens", step.num_rows},
        {"tokens_chosen", step.num_logits},
        {"depth", step.depth},
        {"median_us", step_micros(step.median)},
        {"fastest_us", step_micros(step.fastest)},
        {"slowest_us", step_micros(step.slowest)},
        {"profile",
         step.profiled.has_value() ? profile_json(*step.profiled, report.rates) : Json()}});
  }
  Json rates;
  if (report.rates.has_value()) {
    rates = JsonObject{{"read_gb_s", report.rates->read_gb},
                       {"float32_gflop_s", report.rates->float_gflop},
                       {"int8_gop_s", report.rates->int8_gop},
                       {"int16_gop_s", report.rates->int16_gop}};
  }
  return JsonObject{{"batch", report.options.batch},         {"depth", report.options.depth},
                    {"input_len", report.options.input_len}, {"rounds", report.options.rounds},
                    {"warmup", report.options.warmup},       {"seed", report.options.seed},
                    {"machine", std::move(rates)},           {"steps", std::move(steps)}};
}

std::string to_trace(const StepBenchReport& report) {
  TraceEvents events;
  events.add_track(kStepTrack, "step");
  events.add_track(kOpTrack, "ops");
  std::int64_t num_calls = 0;
  for (const StepMeasured& step : report.steps) {
    if (!step.profiled.has_value()) {
      continue;
    }
    const StepProfiled& run = *step.profiled;
    events.add_slice(step.name, kStepTrack, run.begin, run.wall,
                     {{"tokens", step.num_rows}, {"depth", step.depth}});
    events.add_slice("model", kStepTrack, run.begin, run.computed - run.begin);
    events.add_slice("choose", kStepTrack, run.computed, run.end - run.computed);
    for (const OpCall& call : run.calls) {
      events.add_slice(
          std::string(call.op), kOpTrack, call.begin, call.end - call.begin,
          {{"bytes", call.cost.bytes_read + call.cost.bytes_written},
           {"operations", call.cost.flops},
           {"format", call.n > 0 ? Json(std::string(traits(call.dtype).name)) : Json()},
           {"outputs", call.n},
           {"inputs", call.k}});
      ++num_calls;
    }
  }
  return events.finish({{"num_calls", num_calls}});
}

}  // namespace plumb
