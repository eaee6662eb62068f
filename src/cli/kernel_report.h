// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "cli/serving.h"

namespace plumb {

/// Rows of x that a report predicts for: a decode step, a small batch, a prefill step.
inline constexpr std::array<std::int64_t, 3> kReportedRows{1, 8, 512};

/// What computes the product of a tensor with some rows. Costs are predicted microseconds.
struct KernelUse {
  std::int64_t num_rows = 0;
  std::string kernel;
  double cost = 0;
  std::string next;  ///< the cheapest other one that supports it; empty: there is none
  double next_cost = 0;
};

/// The same under the tier that --cpu-tier does not choose now.
struct OtherTier {
  std::string kernel;
  std::string layout;
  std::array<double, kReportedRows.size()> costs{};
};

/// Tensors that are computed with in the same way.
struct TensorKernels {
  std::string pattern;  ///< the name, "*" in place of the layer
  std::int64_t num_tensors = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::string file_format;          ///< as the checkpoint has it
  std::string format;               ///< as it is computed with
  std::string layout;               ///< in memory
  std::int64_t num_bytes = 0;       ///< in memory, of all
  bool is_looked_up = false;        ///< rows are taken out of it (embedding)
  std::vector<KernelUse> products;  ///< one for each of kReportedRows; empty: it is only looked up
  std::vector<OtherTier> other;     ///< one, or none where there is no other tier
};

/// Which kernels a model's tensors get here and why.
struct KernelReport {
  std::string path;
  std::string backend;   ///< "cpu, avx512-vnni, 2 threads"
  std::string computes;  ///< who computes `linear`: the back end, or as --op says
  std::string tier;      ///< in force; empty with another back end
  std::string tier_reason;
  std::string other_tier;        ///< that --cpu-tier could choose; empty: there is none here
  std::string other_reason;      ///< where there is none
  std::int64_t num_vectors = 0;  ///< tensors that are no matrix: norms, biases
  std::vector<TensorKernels> tensors;
};

/// Reads headers only, and lets the choice be made by what chooses in a running engine.
/// Errors  of the model's loading: no such file, no checkpoint, an unknown family, a format without
///         kernel; with what would help.
Result<KernelReport> report_kernels(const ServingOptions& options);

Json to_json(const KernelReport& report);
std::string to_text(const KernelReport& report);

}  // namespace plumb
