// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include "backends.h"
#include "check/op_check.h"
#include "check/row_check.h"
#include "kernels/ref/ref_backend.h"
#include "ops/op_table.h"

namespace plumb {
namespace {

std::vector<BackendEntry> all_backends() {
  std::vector<BackendEntry> entries;
  add_ref_entries(&entries);
  add_meta_entries(&entries);
  add_cpu_entries(&entries);
  add_cuda_entries(&entries);
  return entries;
}

BackendEntry backend_named(const std::string& name) {
  for (BackendEntry& entry : all_backends()) {
    if (entry.name == name) {
      return entry;
    }
  }
  return {};
}

std::vector<std::string> backend_names(bool computing_only) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : all_backends()) {
    if (entry.computes || !computing_only) {
      names.push_back(entry.name);
    }
  }
  return names;
}

std::vector<std::string> op_texts() {
  const std::vector<std::string_view> names = op_names();
  return {names.begin(), names.end()};
}

/// The lines of what did not pass, at most ten.
std::string failures(const OpCheckReport& report) {
  OpCheckReport failed{report.backend, report.arch, report.reference, {}};
  for (const CaseReport& c : report.cases) {
    if (c.verdict == CaseVerdict::kFailed && failed.cases.size() < 10) {
      failed.cases.push_back(c);
    }
  }
  return to_text(failed);
}

class OpSweep : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(OpSweep, agrees_with_ref_in_every_case) {
  const BackendEntry entry = backend_named(std::get<0>(GetParam()));
  const std::unique_ptr<Backend> backend = entry.make();
  const std::unique_ptr<Backend> reference = make_ref_backend();
  const Result<OpCheckReport> report = run_op_check(
      *backend, *reference, {.op = std::get<1>(GetParam()), .name = "", .compare = entry.computes});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().passed()) << failures(report.value());
  EXPECT_EQ(report.value().count(CaseVerdict::kUnsupported), 0) << to_text(report.value());
}

INSTANTIATE_TEST_SUITE_P(Op, OpSweep,
                         testing::Combine(testing::ValuesIn(backend_names(false)),
                                          testing::ValuesIn(op_texts())),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" + std::get<1>(param.param);
                         });

class RowIndependence : public testing::TestWithParam<std::string> {};

TEST_P(RowIndependence, a_row_has_the_same_bits_alone_in_any_batch_and_in_any_chunk) {
  const std::unique_ptr<Backend> backend = backend_named(GetParam()).make();
  const std::vector<RowCheckResult> results = run_row_check(*backend);
  for (const RowCheckResult& result : results) {
    EXPECT_TRUE(result.passed()) << to_text({result});
    EXPECT_TRUE(result.error.empty()) << to_text({result});
    EXPECT_GT(result.num_rows, 100) << result.op << " " << result.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Op, RowIndependence, testing::ValuesIn(backend_names(true)),
                         [](const auto& param) { return param.param; });

/// A back end whose ops are those of ref with one of them spoilt.
class SpoiltBackend : public Backend {
 public:
  explicit SpoiltBackend(OpTable ops) : ops_(ops) {}

  std::string_view name() const override { return "spoilt"; }

  std::string arch() const override { return ref_->arch(); }

  Allocator& allocator() override { return ref_->allocator(); }

  std::unique_ptr<Stream> new_stream() override { return ref_->new_stream(); }

  const OpTable& ops() const override { return ops_; }

  Result<Weight> pack(const RawMatrix& raw) override { return ref_->pack(raw); }

  void copy(void* to, const void* from, std::int64_t num_bytes, Stream& stream) override {
    ref_->copy(to, from, num_bytes, stream);
  }

 private:
  std::unique_ptr<Backend> ref_ = make_ref_backend();
  OpTable ops_;
};

Result<OpCheckReport> check_spoilt(const OpTable& ops, const OpCheckOptions& options) {
  SpoiltBackend spoilt(ops);
  const std::unique_ptr<Backend> reference = make_ref_backend();
  return run_op_check(spoilt, *reference, options);
}

TEST(OpSweepItself, sees_one_wrong_element) {
  OpTable ops = make_ref_backend()->ops();
  ops.rms_norm = [](const RmsNorm& args, Stream& stream) {
    make_ref_backend()->ops().rms_norm(args, stream);
    if (args.y.dim(0) == 5) {
      args.y.row<float>(3)[0] *= 1.0001F;
    }
  };
  const Result<OpCheckReport> report = check_spoilt(ops, {.op = "rms_norm", .name = "t5_h33"});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().cases.size(), 1U);
  EXPECT_FALSE(report.value().passed());
  EXPECT_EQ(report.value().cases[0].outputs[0].worst, 3 * 33);
}

TEST(OpSweepItself, sees_a_write_between_rows_behind_the_end_and_to_an_input) {
  OpTable ops = make_ref_backend()->ops();
  ops.glu = [](const Glu& args, Stream& stream) {
    make_ref_backend()->ops().glu(args, stream);
    args.y.row<float>(0)[args.y.dim(1)] = 0.0F;
  };
  const Result<OpCheckReport> gap = check_spoilt(ops, {.op = "glu", .name = "silu_t4_i33"});
  ASSERT_TRUE(gap.ok());
  EXPECT_NE(gap.value().cases[0].detail.find("a gap between rows"), std::string::npos);
  const Result<OpCheckReport> guard = check_spoilt(ops, {.op = "glu", .name = "silu_t1_i33"});
  ASSERT_TRUE(guard.ok());
  EXPECT_NE(guard.value().cases[0].detail.find("a guard"), std::string::npos);
  ops.glu = [](const Glu& args, Stream& stream) {
    make_ref_backend()->ops().glu(args, stream);
    args.up.as<float>()[0] = 7.0F;
  };
  const Result<OpCheckReport> input = check_spoilt(ops, {.op = "glu", .name = "silu_t1_i33"});
  ASSERT_TRUE(input.ok());
  EXPECT_NE(input.value().cases[0].detail.find("an input"), std::string::npos);
}

/// x with 8 bits per block of 32 elements, by `round`.
template <class Round>
std::vector<float> quantised(const Tensor& x, Round round) {
  std::vector<float> values;
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    const auto* row = x.row<float>(m);
    for (std::int64_t begin = 0; begin < x.dim(1); begin += 32) {
      const std::int64_t end = std::min(begin + 32, x.dim(1));
      float largest = 0.0F;
      for (std::int64_t k = begin; k < end; ++k) {
        largest = std::max(largest, std::fabs(row[k]));
      }
      const float step = largest / 127.0F;
      for (std::int64_t k = begin; k < end; ++k) {
        values.push_back(largest > 0.0F ? round(row[k] / step) * step : 0.0F);
      }
    }
  }
  return values;
}

template <class Round>
void linear_of_quantised(const Linear& args, Stream& stream, Round round) {
  std::vector<float> x = quantised(args.x, round);
  Linear changed = args;
  changed.x = Tensor::dense(x.data(), DType::kF32, args.x.shape);
  make_ref_backend()->ops().linear(changed, stream);
}

TEST(OpSweepItself, linear_allows_8_bit_activations_for_block_formats_only) {
  OpTable ops = make_ref_backend()->ops();
  ops.linear = [](const Linear& args, Stream& stream) {
    linear_of_quantised(args, stream, [](float v) { return std::nearbyint(v); });
  };
  for (const char* name : {"q2_", "q3_", "q4_", "q5_", "q6_", "q8_"}) {
    const Result<OpCheckReport> blocks = check_spoilt(ops, {.op = "linear", .name = name});
    ASSERT_TRUE(blocks.ok());
    EXPECT_TRUE(blocks.value().passed()) << failures(blocks.value());
  }
  const Result<OpCheckReport> floats = check_spoilt(ops, {.op = "linear", .name = "bf16_m130"});
  ASSERT_TRUE(floats.ok());
  EXPECT_FALSE(floats.value().passed());
}

TEST(OpSweepItself, linear_sees_activations_that_are_truncated_instead_of_rounded) {
  OpTable ops = make_ref_backend()->ops();
  ops.linear = [](const Linear& args, Stream& stream) {
    linear_of_quantised(args, stream, [](float v) { return std::trunc(v); });
  };
  for (const char* name : {"q4_0_m130", "q4_1_m130", "q8_0_m130", "q6_k_m130", "mxfp4_m130"}) {
    const Result<OpCheckReport> report = check_spoilt(ops, {.op = "linear", .name = name});
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report.value().passed()) << to_text(report.value());
  }
}

TEST(OpSweepItself, an_op_that_writes_nothing_fails) {
  OpTable ops = make_ref_backend()->ops();
  ops.log_sum_exp = [](const LogSumExp&, Stream&) {};
  const Result<OpCheckReport> report = check_spoilt(ops, {.op = "log_sum_exp"});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().count(CaseVerdict::kPassed), 2);  // those of no rows
}

TEST(OpSweepItself, a_missing_op_is_unsupported_and_an_unknown_one_an_error) {
  OpTable ops = make_ref_backend()->ops();
  ops.argmax = nullptr;
  const Result<OpCheckReport> report = check_spoilt(ops, {.op = "argmax", .name = "worked"});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().count(CaseVerdict::kUnsupported), 1);
  EXPECT_FALSE(report.value().passed());
  EXPECT_EQ(check_spoilt(ops, {.op = "gemm"}).status().code(), Code::kInvalidArgument);
}

TEST(RowCheckItself, sees_a_result_that_depends_on_the_batch) {
  OpTable ops = make_ref_backend()->ops();
  ops.rms_norm = [](const RmsNorm& args, Stream& stream) {
    make_ref_backend()->ops().rms_norm(args, stream);
    if (args.y.dim(0) == 17) {
      args.y.row<float>(16)[2] *= 1.0F + 1e-6F;
    }
  };
  SpoiltBackend spoilt(ops);
  std::int64_t num_differ = 0;
  for (const RowCheckResult& result : run_row_check(spoilt, "rms_norm")) {
    num_differ += result.num_differ;
    EXPECT_FALSE(result.passed()) << to_text({result});
  }
  EXPECT_EQ(num_differ, 2);  // once for each of the two widths
}

}  // namespace
}  // namespace plumb
