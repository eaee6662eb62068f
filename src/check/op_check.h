// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "ops/backend.h"
#include "ops/case_device.h"
#include "ops/cases.h"

namespace plumb {

struct OpCheckOptions {
  std::string op;       ///< one op of the list; empty = all
  std::string name;     ///< cases whose name contains this; empty = all
  bool compare = true;  ///< false: run only (a back end that computes nothing)
};

/// How one result of a case compares. The worst element is the one that uses most of its tolerance.
struct OutputComparison {
  std::string name;
  Shape shape;
  std::int64_t num_elements = 0;
  double max_error = 0.0;
  double mean_error = 0.0;
  std::int64_t worst = -1;  ///< flat index in row order; -1 = no elements
  double expected = 0.0;    ///< at the worst element, as the next two
  double got = 0.0;
  double tolerance = 0.0;
  double mean_tolerance = 0.0;  ///< 0 = none
  bool passed = true;
};

enum class CaseVerdict : unsigned char {
  kPassed,
  kFailed,
  kUnsupported,  ///< the back end says so, for example for a weight format
};

struct CaseReport {
  std::string op;
  std::string name;
  CaseVerdict verdict = CaseVerdict::kPassed;
  std::string detail;  ///< why it failed or is unsupported, if not by its numbers
  std::vector<OutputComparison> outputs;
};

struct OpCheckReport {
  std::string backend;
  std::string arch;
  std::string reference;
  std::vector<CaseReport> cases;

  std::int64_t count(CaseVerdict verdict) const;
  /// At least one case ran and none failed.
  bool passed() const;
};

/// Compares element by element; NaN equals NaN, an infinity equals itself.
/// Requires got and expected are the same result of two runs of a case.
OutputComparison compare_outputs(const CaseOutput& got, const CaseOutput& expected);

/// Runs the cases of `options` on both back ends with the same inputs and compares the results.
///
/// Values that a case has worked by hand stand in for the reference's.
/// Errors kInvalidArgument: no case matches the options (the op's cases are listed, or the ops).
Result<OpCheckReport> run_op_check(Backend& backend, Backend& reference,
                                   const OpCheckOptions& options = {});

/// One line a result: max and mean error, worst element with its index; failures marked; a total.
std::string to_text(const OpCheckReport& report);
Json to_json(const OpCheckReport& report);

}  // namespace plumb
