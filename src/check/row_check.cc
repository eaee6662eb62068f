// SPDX-License-Identifier: Apache-2.0
#include "check/row_check.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "base/text.h"
#include "ops/case_attention.h"
#include "ops/case_device.h"
#include "ops/cases.h"

namespace plumb {
namespace {

/// The rows [begin, begin + count) of a fixed set of inputs, computed in one call.
struct RowRange {
  std::int64_t begin;
  std::int64_t count;
};

/// Rows of results, [rows, width] in row order.
struct RowValues {
  std::int64_t num_rows = 0;
  std::vector<double> values;

  std::int64_t width() const {
    return num_rows > 0 ? static_cast<std::int64_t>(values.size()) / num_rows : 0;
  }
};

using RowFunction = std::function<void(CaseDevice& device, RowRange range)>;

/// Runs `body` and returns the rows of its first result.
Result<RowValues> compute(Backend& backend, std::int64_t num_rows,
                          const std::function<void(CaseDevice&)>& body) {
  const std::unique_ptr<Stream> stream = backend.new_stream();
  CaseDevice device(backend, *stream);
  body(device);
  PLUMB_ASSIGN(std::vector<CaseOutput> outputs, device.read());
  PLUMB_CHECK(!outputs.empty(), "a row check has a result");
  return RowValues{num_rows, std::move(outputs[0].values)};
}

/// Adds the comparison of `part` with the rows of `whole` from `begin` on.
void compare_rows(const RowValues& whole, const RowValues& part, std::int64_t begin,
                  std::string_view company, RowCheckResult* result) {
  const std::int64_t width = whole.width();
  for (std::int64_t r = 0; r < part.num_rows; ++r) {
    const double* expected = whole.values.data() + (begin + r) * width;
    const double* got = part.values.data() + r * width;
    result->num_rows += 1;
    if (std::memcmp(expected, got, static_cast<std::size_t>(width) * sizeof(double)) == 0) {
      continue;
    }
    result->num_differ += 1;
    if (result->first.empty()) {
      std::int64_t i = 0;
      while (std::memcmp(expected + i, got + i, sizeof(double)) == 0) {
        ++i;
      }
      result->first = "row " + std::to_string(begin + r) + " element " + std::to_string(i) + ", " +
                      std::string(company);
    }
  }
}

void record_error(const Status& status, RowCheckResult* result) {
  result->unsupported = status.code() == Code::kUnsupported;
  result->error = status.message();
}

/// All rows at once against ranges of every kind.
void check_ranges(Backend& backend, std::int64_t num_rows, const RowFunction& body,
                  RowCheckResult* result) {
  const Result<RowValues> whole = compute(backend, num_rows, [&](CaseDevice& device) {
    body(device, {0, num_rows});
  });
  if (!whole.ok()) {
    record_error(whole.status(), result);
    return;
  }
  CaseRng rng(static_cast<std::uint64_t>(num_rows));
  std::vector<RowRange> ranges{{0, num_rows}, {0, 1}, {num_rows - 1, 1}, {1, 2}, {0, 3}};
  for (const std::int64_t count : {1, 4, 5, 8, 16, 17, 33, 64, 100}) {
    ranges.push_back({rng.below(num_rows - count + 1), count});
  }
  for (const RowRange range : ranges) {
    const Result<RowValues> part =
        compute(backend, range.count, [&](CaseDevice& device) { body(device, range); });
    if (!part.ok()) {
      record_error(part.status(), result);
      return;
    }
    compare_rows(whole.value(), part.value(), range.begin,
                 "in a batch of " + std::to_string(range.count), result);
  }
}

constexpr std::int64_t kNumRows = 130;

std::vector<float> rows_of(const std::vector<float>& x, std::int64_t width, RowRange range) {
  return {x.begin() + range.begin * width, x.begin() + (range.begin + range.count) * width};
}

RowCheckResult check_linear(Backend& backend, DType format) {
  constexpr std::int64_t kInputs = 768;
  constexpr std::int64_t kOutputs = 83;
  RowCheckResult result{.op = "linear", .name = to_lower_ascii(to_text(format))};
  const std::vector<float> x = CaseRng(11).normals(kNumRows * kInputs);
  check_ranges(
      backend, kNumRows,
      [&](CaseDevice& device, RowRange range) {
        CaseRng rng(12);
        LinearOutput output;
        output.weight =
            device.weight(format, kOutputs, kInputs, random_weight(format, kOutputs, kInputs, rng));
        output.y = device.blank(DType::kF32, {range.count, kOutputs});
        const Linear args{device.floats({range.count, kInputs}, rows_of(x, kInputs, range)),
                          {&output, 1},
                          device.scratch(linear_scratch_bytes(range.count, kInputs))};
        device.run(device.ops().linear, args);
        device.result("y", output.y);
      },
      &result);
  return result;
}

RowCheckResult check_rms_norm(Backend& backend, std::int64_t width) {
  RowCheckResult result{.op = "rms_norm", .name = "h" + std::to_string(width)};
  const std::vector<float> x = CaseRng(13).normals(kNumRows * width);
  const std::vector<float> weight = CaseRng(14).normals(width);
  check_ranges(
      backend, kNumRows,
      [&](CaseDevice& device, RowRange range) {
        const RmsNorm args{device.floats({range.count, width}, rows_of(x, width, range)),
                           device.floats({width}, weight),
                           device.blank(DType::kF32, {range.count, width})};
        device.run(device.ops().rms_norm, args);
        device.result("y", args.y);
      },
      &result);
  return result;
}

RowCheckResult check_add_rms_norm(Backend& backend, std::int64_t width) {
  RowCheckResult result{.op = "add_rms_norm", .name = "h" + std::to_string(width)};
  const std::vector<float> x = CaseRng(15).normals(kNumRows * width);
  const std::vector<float> residual = CaseRng(16).normals(kNumRows * width);
  const std::vector<float> weight = CaseRng(17).normals(width);
  check_ranges(
      backend, kNumRows,
      [&](CaseDevice& device, RowRange range) {
        const AddRmsNorm args{device.floats({range.count, width}, rows_of(x, width, range)),
                              device.floats({range.count, width}, rows_of(residual, width, range)),
                              device.floats({width}, weight),
                              device.blank(DType::kF32, {range.count, width})};
        device.run(device.ops().add_rms_norm, args);
        device.result("y", args.y);
        device.result("residual", args.residual);
      },
      &result);
  return result;
}

constexpr std::uint64_t kSequence = 77;  // seed of the sequence whose rows are compared

Result<RowValues> attend(Backend& backend, const AttentionShape& shape) {
  std::int64_t num_rows = 0;
  for (const CaseSequence& sequence : shape.sequences) {
    num_rows += sequence.num_rows;
  }
  return compute(backend, num_rows, [&](CaseDevice& device) {
    const PagedAttention args = make_attention(shape, device);
    device.run(device.ops().paged_attention, args);
    device.result("y", args.y);
  });
}

/// The rows of sequence kSequence that end at `end`, alone or between other sequences.
AttentionShape in_company(AttentionShape shape, std::int64_t num_rows, std::int64_t end, bool alone,
                          CaseRng& rng, std::int64_t* first_row) {
  shape.sequences = {{kSequence, num_rows, end}};
  *first_row = 0;
  if (!alone) {
    const std::int64_t before = rng.below(20) + 1;
    shape.sequences.insert(shape.sequences.begin(), {500, before, before + rng.below(300)});
    shape.sequences.push_back({501, 0, 30});
    shape.sequences.push_back({502, 1, 1 + rng.below(700)});
    *first_row = before;
  }
  return shape;
}

/// Rows [first, context) of a sequence in one call, then cut into chunks at random points, alone
/// and in company.
RowCheckResult check_attention(Backend& backend, AttentionShape shape, std::int64_t first,
                               std::int64_t context) {
  RowCheckResult result{.op = "paged_attention", .name = shape.name};
  shape.sequences = {{kSequence, context - first, context}};
  const Result<RowValues> whole = attend(backend, shape);
  if (!whole.ok()) {
    record_error(whole.status(), &result);
    return result;
  }
  for (const std::int64_t longest : {1, 2, 7, 40, 200}) {
    CaseRng rng(static_cast<std::uint64_t>(longest));
    // Single rows are sampled; longer chunks cover everything.
    std::int64_t end = first;
    for (int i = 0; end < context && i < 40; ++i) {
      const std::int64_t begin = longest > 2 ? end : std::min(context - 1, end + rng.below(40));
      end = std::min(context, begin + 1 + rng.below(longest));
      std::int64_t first_row = 0;
      const AttentionShape batch = in_company(shape, end - begin, end, i % 2 == 0, rng, &first_row);
      Result<RowValues> all = attend(backend, batch);
      if (!all.ok()) {
        record_error(all.status(), &result);
        return result;
      }
      const std::int64_t width = all.value().width();
      const auto from = all.value().values.begin() + first_row * width;
      const RowValues part{end - begin, {from, from + (end - begin) * width}};
      compare_rows(
          whole.value(), part, begin - first,
          "in a chunk of " + std::to_string(end - begin) + (i % 2 == 0 ? " alone" : " in a batch"),
          &result);
    }
  }
  return result;
}

void add_attention_checks(Backend& backend, std::vector<RowCheckResult>* results) {
  AttentionShape shape;
  shape.num_q_heads = 3;
  shape.name = "f16_prefill";
  results->push_back(check_attention(backend, shape, 0, 300));
  shape.name = "f16_long";
  results->push_back(check_attention(backend, shape, 980, 1100));
  shape.name = "f16_across_512";
  results->push_back(check_attention(backend, shape, 450, 570));
  shape.cache = DType::kF32;
  shape.num_q_heads = 4;
  shape.num_kv_heads = 2;
  shape.head_dim = 80;
  shape.block_size = 16;
  shape.name = "f32_d80_g2";
  results->push_back(check_attention(backend, shape, 100, 250));
  shape.window = 70;
  shape.name = "f32_window";
  results->push_back(check_attention(backend, shape, 0, 200));
  shape.cache = DType::kF16;
  shape.window = 600;
  shape.name = "f16_long_window";
  results->push_back(check_attention(backend, shape, 1180, 1240));
  shape.window = 0;
  shape.sinks = true;
  shape.softcap = 30.0F;
  shape.name = "f16_sinks_softcap";
  results->push_back(check_attention(backend, shape, 480, 540));
}

}  // namespace

std::vector<RowCheckResult> run_row_check(Backend& backend, std::string_view op) {
  const auto wanted = [&](std::string_view name) { return op.empty() || op == name; };
  std::vector<RowCheckResult> results;
  for (const DType format : weight_formats()) {
    if (wanted("linear")) {
      results.push_back(check_linear(backend, format));
    }
  }
  for (const std::int64_t width : {33, 576}) {
    if (wanted("rms_norm")) {
      results.push_back(check_rms_norm(backend, width));
    }
    if (wanted("add_rms_norm")) {
      results.push_back(check_add_rms_norm(backend, width));
    }
  }
  if (wanted("paged_attention")) {
    add_attention_checks(backend, &results);
  }
  return results;
}

std::string to_text(const std::vector<RowCheckResult>& results) {
  std::string text;
  for (const RowCheckResult& r : results) {
    text += r.op + " " + r.name + ": " + std::to_string(r.num_rows) + " rows again, " +
            std::to_string(r.num_differ) + " differ";
    text += r.first.empty() ? "" : " (" + r.first + ")";
    text += r.error.empty() ? "" : " (" + r.error + ")";
    text += r.passed() ? " ok\n" : " FAILED\n";
  }
  return text;
}

}  // namespace plumb
