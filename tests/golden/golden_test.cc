// SPDX-License-Identifier: Apache-2.0
#include "golden.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <unistd.h>

#include "checkpoint/synthesize.h"

namespace plumb {
namespace {

struct TinyModel {
  const char* name;  ///< of the recorded file
  bool is_exact;     ///< F32 weights: no activation is rounded to 8 bits
};

void PrintTo(const TinyModel& model, std::ostream* os) {
  *os << model.name;
}

constexpr std::array<TinyModel, 8> kTinyModels{{{"tiny-llama-f32", true},
                                                {"tiny-llama-q4_1", false},
                                                {"tiny-qwen2-f32", true},
                                                {"tiny-qwen2-q5_0", false},
                                                {"tiny-qwen3-f32", true},
                                                {"tiny-qwen3-q8_0", false},
                                                {"tiny-gemma3-f32", true},
                                                {"tiny-gemma3-q4_k_m", false}}};

/// How far computed rows are from the recorded ones.
struct Distance {
  double logit = 0;        ///< worst |got - recorded| over the position's largest |logit|
  double mean_logit = 0;   ///< the same, each position's worst column, averaged
  double log_sum_exp = 0;  ///< worst difference: sees the columns that are not recorded
  std::int64_t position = -1;
};

double log_sum_exp(const std::vector<float>& row) {
  const double max = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float value : row) {
    sum += std::exp(static_cast<double>(value) - max);
  }
  return max + std::log(sum);
}

Distance compare(const Golden& golden, const std::vector<std::vector<float>>& rows) {
  const std::vector<double> expected = doubles(golden["logits"]);
  const std::vector<double> max_abs = doubles(golden["max_abs"]);
  const std::vector<double> sums = doubles(golden["log_sum_exp"]);
  const std::vector<TokenId> columns = token_ids(golden["columns"]);
  Distance worst;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    worst.log_sum_exp = std::max(worst.log_sum_exp, std::abs(log_sum_exp(rows[t]) - sums[t]));
    double distance = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double got = rows[t][static_cast<std::size_t>(columns[c])];
      const double error = std::abs(got - expected[t * columns.size() + c]);
      distance = error <= distance ? distance : error;
    }
    distance /= max_abs[t];
    worst.mean_logit += distance / static_cast<double>(rows.size());
    if (!(distance <= worst.logit)) {
      worst.logit = distance;
      worst.position = static_cast<std::int64_t>(t);
    }
  }
  return worst;
}

class TinyGolden : public testing::TestWithParam<std::tuple<TinyModel, const char*>> {
 protected:
  TinyGolden()
      : path_(testing::TempDir() + "plumb_golden_" + std::to_string(::getpid()) + ".gguf") {}

  ~TinyGolden() override { std::filesystem::remove(path_); }

  // False (with a skip or a failure) if the model cannot run here.
  bool load(const Golden& golden, DType kv_dtype) {
    SynthesisSpec spec = *synthesis_preset(golden.text("preset"));
    spec.quant = golden.text("quant");
    const Status written = synthesize_gguf(spec, path_);
    EXPECT_TRUE(written.ok()) << written.message();
    EXPECT_EQ(file_digest(path_), golden.text("sha256"))
        << "the generated checkpoint is another one than when tests/golden/make.py ran";
    return written.ok() && loaded_.load(std::get<1>(GetParam()), path_, kv_dtype);
  }

  bool is_supported() const { return Loaded::make_backend(std::get<1>(GetParam())) != nullptr; }

  std::string path_;
  Loaded loaded_;
};

TEST_P(TinyGolden, logits_are_those_of_the_independent_forward_at_every_position) {
  if (!is_supported()) {
    GTEST_SKIP() << "this processor lacks the instructions";
  }
  const auto& [model, backend] = GetParam();
  const Golden golden(model.name);
  ASSERT_TRUE(golden.ok() && load(golden, DType::kF32));
  // Random weights amplify the rounding of activations to 8 bits, at some positions a lot: of the
  // packed formats on fast back ends the mean tells a wrong kernel (near 1) from rounding.
  const bool is_exact = model.is_exact || std::string(backend) == "ref";
  for (const std::int64_t chunk : {80, 17, 1}) {
    const Distance distance = compare(golden, loaded_.logits(token_ids(golden["ids"]), chunk));
    RecordProperty("max_chunk_" + std::to_string(chunk), std::to_string(distance.logit));
    RecordProperty("mean_chunk_" + std::to_string(chunk), std::to_string(distance.mean_logit));
    EXPECT_LE(distance.logit, is_exact ? 1e-3 : 0.5)
        << "position " << distance.position << ", chunk " << chunk;
    EXPECT_LE(distance.mean_logit, is_exact ? 1e-4 : 0.1) << "chunk " << chunk;
    EXPECT_LE(distance.log_sum_exp, is_exact ? 1e-3 : 0.5) << "chunk " << chunk;
  }
}

TEST_P(TinyGolden, greedy_ids_are_those_of_the_independent_forward) {
  if (!is_supported()) {
    GTEST_SKIP() << "this processor lacks the instructions";
  }
  const auto& [model, backend] = GetParam();
  const Golden golden(model.name);
  ASSERT_TRUE(golden.ok() && load(golden, DType::kF32));
  // Where the recorded lead is smaller than the computing error, either token is right; the
  // recorded one is fed on.
  const bool is_exact = model.is_exact || std::string(backend) == "ref";
  const double clear_lead = is_exact ? 1e-3 : 0.5;
  std::vector<TokenId> ids = token_ids(golden["ids"]);
  const auto prompt_len = static_cast<std::size_t>(golden["prompt_len"].as_int());
  ids.resize(prompt_len);
  const std::vector<TokenId> greedy = token_ids(golden["greedy"]);
  const std::vector<double> leads = doubles(golden["leads"]);
  ids.insert(ids.end(), greedy.begin(), greedy.end() - 1);
  const std::vector<std::vector<float>> rows = loaded_.logits(ids, 1);
  ASSERT_EQ(rows.size(), ids.size());
  std::int64_t num_clear = 0;
  for (std::size_t i = 0; i < greedy.size(); ++i) {
    if (leads[i] > clear_lead) {
      ++num_clear;
      EXPECT_EQ(argmax(rows[prompt_len - 1 + i]), greedy[i]) << "token " << i;
    }
  }
  EXPECT_GE(num_clear, static_cast<std::int64_t>(greedy.size()) / 2);
}

std::string case_name(const testing::TestParamInfo<TinyGolden::ParamType>& info) {
  std::string name = std::string(std::get<0>(info.param).name) + "_on_" + std::get<1>(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, TinyGolden,
                         testing::Combine(testing::ValuesIn(kTinyModels),
                                          testing::Values("ref", "cpu_avx2", "cpu_avx512")),
                         case_name);

}  // namespace
}  // namespace plumb
