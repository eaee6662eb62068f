// SPDX-License-Identifier: Apache-2.0
#include "check/op_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace plumb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double error_of(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) {
    return 0.0;
  }
  const double error = std::fabs(got - expected);
  return std::isnan(error) ? kInf : error;
}

double tolerance_of(const CaseTolerance& tolerance, std::size_t i, double expected) {
  double bound = tolerance.absolute;
  if (std::isfinite(expected)) {
    bound += tolerance.relative * std::fabs(expected);
  }
  return tolerance.element.empty() ? bound : bound + tolerance.element[i];
}

/// Error as a share of the tolerance; infinite for any error where none is allowed.
double share_of(double error, double tolerance) {
  if (error == 0.0) {
    return 0.0;
  }
  return tolerance > 0.0 ? error / tolerance : kInf;
}

std::string_view to_text(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::kPassed:
      return "ok";
    case CaseVerdict::kFailed:
      return "FAILED";
    case CaseVerdict::kUnsupported:
      return "unsupported";
  }
  return "";
}

/// "%.3g" of a number.
std::string short_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string precise_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

/// "[3, 17]" of a flat index.
std::string index_text(std::int64_t flat, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = shape[axis];
    text = std::to_string(flat % size) + (text.empty() ? "" : ", ") + text;
    flat /= size;
  }
  return "[" + text + "]";
}

Result<std::vector<CaseOutput>> run_case(const OpCase& op_case, Backend& backend) {
  const std::unique_ptr<Stream> stream = backend.new_stream();
  CaseDevice device(backend, *stream);
  op_case.body(device);
  return device.read();
}

CaseReport check_case(const OpCase& op_case, Backend& backend, Backend& reference, bool compare) {
  CaseReport report{std::string(op_case.op), op_case.name, CaseVerdict::kPassed, {}, {}};
  const auto stop = [&](const Status& status, std::string_view who) {
    report.verdict =
        status.code() == Code::kUnsupported ? CaseVerdict::kUnsupported : CaseVerdict::kFailed;
    report.detail = std::string(who) + ": " + status.message();
    return report;
  };
  const Result<std::vector<CaseOutput>> got = run_case(op_case, backend);
  if (!got.ok()) {
    return stop(got.status(), backend.name());
  }
  if (!compare) {
    return report;
  }
  const Result<std::vector<CaseOutput>> expected = run_case(op_case, reference);
  if (!expected.ok()) {
    return stop({Code::kInternal, expected.status().message()}, reference.name());
  }
  PLUMB_CHECK(got.value().size() == expected.value().size(), op_case.name);
  for (std::size_t i = 0; i < got.value().size(); ++i) {
    report.outputs.push_back(compare_outputs(got.value()[i], expected.value()[i]));
    if (!report.outputs.back().passed) {
      report.verdict = CaseVerdict::kFailed;
    }
  }
  return report;
}

Json to_json(const OutputComparison& output) {
  return JsonObject{{"name", output.name},
                    {"shape", plumb::to_text(output.shape)},
                    {"elements", output.num_elements},
                    {"max_error", output.max_error},
                    {"mean_error", output.mean_error},
                    {"worst_index", output.worst < 0 ? Json() : Json(output.worst)},
                    {"expected", output.expected},
                    {"got", output.got},
                    {"tolerance", output.tolerance},
                    {"mean_tolerance", output.mean_tolerance},
                    {"passed", output.passed}};
}

std::string line_of(const CaseReport& report, const OutputComparison& output) {
  std::string line = report.op + " " + report.name + " " + output.name + " " +
                     plumb::to_text(output.shape) + ": max " + short_text(output.max_error) +
                     ", mean " + short_text(output.mean_error);
  if (output.worst >= 0) {
    line += ", worst at " + index_text(output.worst, output.shape) + ": " +
            precise_text(output.got) + " for " + precise_text(output.expected) + " (+-" +
            short_text(output.tolerance) + ")";
  }
  if (output.mean_tolerance > 0.0 && output.mean_error > output.mean_tolerance) {
    line += ", mean above " + short_text(output.mean_tolerance);
  }
  return line + (output.passed ? " ok" : " FAILED");
}

}  // namespace

OutputComparison compare_outputs(const CaseOutput& got, const CaseOutput& expected) {
  const std::vector<double>& wanted = got.expected.empty() ? expected.values : got.expected;
  PLUMB_CHECK(got.values.size() == wanted.size(),
              "result '" + got.name + "' has " + std::to_string(got.values.size()) +
                  " elements, expected " + std::to_string(wanted.size()));
  OutputComparison c;
  c.name = got.name;
  c.shape = got.shape;
  c.num_elements = static_cast<std::int64_t>(wanted.size());
  c.mean_tolerance = got.tolerance.mean;
  double largest_share = -1.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = error_of(got.values[i], wanted[i]);
    const double tolerance = tolerance_of(got.tolerance, i, wanted[i]);
    const double share = share_of(error, tolerance);
    c.max_error = std::max(c.max_error, error);
    sum += error;
    if (share > largest_share) {
      largest_share = share;
      c.worst = static_cast<std::int64_t>(i);
      c.expected = wanted[i];
      c.got = got.values[i];
      c.tolerance = tolerance;
    }
  }
  c.mean_error = wanted.empty() ? 0.0 : sum / static_cast<double>(wanted.size());
  c.passed = largest_share <= 1.0 && (c.mean_tolerance <= 0.0 || c.mean_error <= c.mean_tolerance);
  return c;
}

std::int64_t OpCheckReport::count(CaseVerdict verdict) const {
  return std::count_if(cases.begin(), cases.end(),
                       [&](const CaseReport& c) { return c.verdict == verdict; });
}

bool OpCheckReport::passed() const {
  return count(CaseVerdict::kPassed) > 0 && count(CaseVerdict::kFailed) == 0;
}

namespace {

// Names what there is: the cases of the op if one was asked for, else the ops.
Status no_case(const OpCheckOptions& options) {
  std::string known;
  for (const std::string_view op : op_names()) {
    known += (known.empty() ? "" : ", ") + std::string(op);
  }
  std::string cases;
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op == options.op) {
      cases += (cases.empty() ? "" : ", ") + op_case.name;
    }
  }
  const std::string wanted = "no case with '" + options.name + "' in its name";
  return {Code::kInvalidArgument, cases.empty()
                                      ? wanted + "; the ops are " + known
                                      : wanted + "; those of " + options.op + " are " + cases};
}

}  // namespace

Result<OpCheckReport> run_op_check(Backend& backend, Backend& reference,
                                   const OpCheckOptions& options) {
  OpCheckReport report{
      std::string(backend.name()), backend.arch(), std::string(reference.name()), {}};
  for (const OpCase& op_case : op_cases()) {
    const bool wanted = (options.op.empty() || options.op == op_case.op) &&
                        op_case.name.find(options.name) != std::string::npos;
    if (wanted) {
      report.cases.push_back(check_case(op_case, backend, reference, options.compare));
    }
  }
  if (report.cases.empty()) {
    return no_case(options);
  }
  return report;
}

std::string to_text(const OpCheckReport& report) {
  std::string text = report.backend + " (" + report.arch + ") against " + report.reference + "\n";
  for (const CaseReport& c : report.cases) {
    for (const OutputComparison& output : c.outputs) {
      text += line_of(c, output) + "\n";
    }
    if (c.outputs.empty()) {
      text += c.op + " " + c.name + ": " + std::string(to_text(c.verdict)) +
              (c.detail.empty() ? "" : ", " + c.detail) + "\n";
    }
  }
  return text + std::to_string(report.count(CaseVerdict::kPassed)) + " passed, " +
         std::to_string(report.count(CaseVerdict::kFailed)) + " failed, " +
         std::to_string(report.count(CaseVerdict::kUnsupported)) + " unsupported\n";
}

Json to_json(const OpCheckReport& report) {
  JsonArray cases;
  for (const CaseReport& c : report.cases) {
    JsonArray outputs;
    for (const OutputComparison& output : c.outputs) {
      outputs.push_back(to_json(output));
    }
    cases.push_back(JsonObject{{"op", c.op},
                               {"case", c.name},
                               {"verdict", to_text(c.verdict)},
                               {"detail", c.detail},
                               {"outputs", std::move(outputs)}});
  }
  return JsonObject{{"backend", report.backend},
                    {"arch", report.arch},
                    {"reference", report.reference},
                    {"passed", report.count(CaseVerdict::kPassed)},
                    {"failed", report.count(CaseVerdict::kFailed)},
                    {"unsupported", report.count(CaseVerdict::kUnsupported)},
                    {"cases", std::move(cases)}};
}

}  // namespace plumb
