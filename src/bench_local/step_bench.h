// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "model/model.h"
#include "ops/backend.h"
#include "ops/profile_stream.h"

namespace plumb {

/// Two steps of an engine, each computed over and over: one that decodes and one that reads a
/// prompt.
struct StepBenchOptions {
  std::int64_t batch = 1;        ///< rows of the decode step
  std::int64_t depth = 512;      ///< tokens in the cache before each of them
  std::int64_t input_len = 512;  ///< tokens of the prefill step, all new
  std::int64_t rounds = 10;      ///< measured runs of each step
  std::int64_t warmup = 2;       ///< runs before, not counted
  std::uint64_t seed = 1;        ///< of the tokens
  bool profile = false;          ///< also time every op
};

/// What is measured. Ownership: all of it outlives the measurement.
struct StepBenchParts {
  const Model& model;
  Backend& backend;     ///< whose memory the host can read
  const OpTable& ops;   ///< in force
  const OpTable& meta;  ///< of the back end that computes nothing
  const Clock& clock;
};

/// What bounds the arithmetic of an op.
enum class Arithmetic : unsigned char { kFloat, kInt8, kInt16 };

/// The most that this machine does, from a probe. Units: 10^9 a second; a multiply-add counts two.
struct MachineRates {
  double read_gb = 0;
  double float_gflop = 0;
  double int8_gop = 0;
  double int16_gop = 0;
};

/// All calls of one op in a step; products of the same format and shape count as one op.
struct OpTime {
  std::string name;  ///< "paged_attention", "linear Q4_K 576x1536"
  Arithmetic arithmetic = Arithmetic::kFloat;
  std::int64_t num_calls = 0;
  Cost cost;
  std::chrono::nanoseconds time{};
};

/// One profiled run of a step: the one of median time.
struct StepProfiled {
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds in_ops{};        ///< sum over all calls
  std::chrono::nanoseconds between_ops{};   ///< forward code: arranging inputs, workspace
  std::chrono::nanoseconds beside_model{};  ///< choosing tokens, without its ops
  std::vector<OpTime> ops;                  ///< longest first
  std::vector<OpCall> calls;                ///< as they came
  Clock::TimePoint begin;
  Clock::TimePoint computed;  ///< the logits are there
  Clock::TimePoint end;
};

struct StepMeasured {
  std::string name;             ///< "decode", "prefill"
  std::int64_t num_rows = 0;    ///< tokens computed
  std::int64_t num_logits = 0;  ///< tokens chosen
  std::int64_t depth = 0;       ///< tokens in the cache before them
  // Without a profile.
  std::chrono::nanoseconds median{};
  std::chrono::nanoseconds fastest{};
  std::chrono::nanoseconds slowest{};
  std::optional<StepProfiled> profiled;
};

struct StepBenchReport {
  StepBenchOptions options;
  std::vector<StepMeasured> steps;
  std::optional<MachineRates> rates;  ///< for who adds them: what the floors are made from
};

/// Runs with and without a profile take turns. The engine's planning is not part of these steps;
/// what computes them is the engine's own.
/// Errors  kInvalidArgument: more tokens than the model's context; kResourceExhausted: the cache
///         would not fit in memory; what a step fails with.
Result<StepBenchReport> run_step_bench(
    const StepBenchParts& parts, const StepBenchOptions& options,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace plumb
