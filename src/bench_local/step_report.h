// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "bench_local/step_bench.h"

namespace plumb {

/// The least time of an op on that machine: the longer of moving its bytes and of its arithmetic.
/// Units  seconds.
double floor_seconds(const OpTime& op, const MachineRates& rates);

/// Tables for people, one a step: ops, what is beside them, their sum.
std::string to_text(const StepBenchReport& report);
Json to_json(const StepBenchReport& report);

/// A time line of the profiled run of each step, for trace viewers. Requires a profile.
std::string to_trace(const StepBenchReport& report);

}  // namespace plumb
