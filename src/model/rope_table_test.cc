// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

// Expected frequencies were computed in double by the formulas that the published checkpoints were
// trained with (the Python package transformers, modeling_rope_utils).
void expect_table(const Result<RopeTable>& got, const std::vector<double>& inv_freq,
                  double magnitude) {
  ASSERT_TRUE(got.ok()) << got.status().message();
  ASSERT_EQ(got.value().inv_freq.size(), inv_freq.size());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    EXPECT_NEAR(got.value().inv_freq[i], inv_freq[i], 3e-7 * inv_freq[i]) << "pair " << i;
  }
  EXPECT_NEAR(got.value().magnitude, magnitude, 1e-6);
}

RopeConfig rope(double theta, std::int64_t rotary_dim, RopeScaling scaling, double factor,
                std::int64_t original_context_len) {
  RopeConfig c;
  c.theta = theta;
  c.rotary_dim = rotary_dim;
  c.scaling = scaling;
  c.factor = factor;
  c.original_context_len = original_context_len;
  return c;
}

const std::vector<double> kPlain{1,    0.316227766,   0.1,   0.0316227766,
                                 0.01, 0.00316227766, 0.001, 0.000316227766};

TEST(RopeTable, without_scaling_pairs_turn_by_powers_of_the_base) {
  expect_table(make_rope_table(rope(1e4, 16, RopeScaling::kNone, 1, 2048), 2048, {}), kPlain, 1);
}

TEST(RopeTable, linear_scaling_slows_every_pair) {
  std::vector<double> expected = kPlain;
  for (double& freq : expected) {
    freq /= 8;
  }
  expect_table(make_rope_table(rope(1e4, 16, RopeScaling::kLinear, 8, 2048), 16384, {}), expected,
               1);
}

TEST(RopeTable, llama3_scaling_blends_between_short_and_long_waves) {
  expect_table(make_rope_table(rope(5e5, 32, RopeScaling::kLlama3, 8, 8192), 131072, {}),
               {1, 0.440366603, 0.193922745, 0.0853971003, 0.0376060309, 0.0165604401,
                0.00729266474, 0.00321144599, 0.000524846161, 7.78465527e-05, 3.4281022e-05,
                1.50962172e-05, 6.64786987e-06, 2.92749987e-06, 1.28917317e-06, 5.6770881e-07},
               1);
}

TEST(RopeTable, yarn_blends_by_turns_and_raises_the_magnitude) {
  const RopeConfig config = rope(1e6, 32, RopeScaling::kYarn, 4, 32768);
  expect_table(make_rope_table(config, 131072, {}),
               {1, 0.421696503, 0.177827941, 0.0749894209, 0.0316227766, 0.0133352143,
                0.00477990126, 0.00165996159, 0.00055, 0.000168678601, 4.44569853e-05,
                1.87473552e-05, 7.90569415e-06, 3.33380358e-06, 1.40585331e-06, 5.92843426e-07},
               1.138629436);
  RopeConfig given = config;
  given.attention_factor = 1.5;
  EXPECT_FLOAT_EQ(make_rope_table(given, 131072, {}).value().magnitude, 1.5F);
}

TEST(RopeTable, longrope_takes_the_list_that_fits_the_context) {
  RopeConfig config = rope(1e4, 8, RopeScaling::kLongRope, 1, 4096);
  config.long_factors = {1, 1.25, 2.5, 4};
  config.short_factors = {1, 1.05, 1.1, 1.2};
  expect_table(make_rope_table(config, 131072, {}), {1, 0.08, 0.004, 0.00025}, 1.190238071);
  expect_table(make_rope_table(config, 4096, {}), {1, 0.0952380952, 0.00909090909, 0.000833333333},
               1);
}

TEST(RopeTable, divisors_of_the_checkpoint_slow_their_pairs) {
  std::vector<double> expected = kPlain;
  expected[2] /= 4;
  expect_table(
      make_rope_table(rope(1e4, 16, RopeScaling::kNone, 1, 2048), 2048, {1, 1, 4, 1, 1, 1, 1, 1}),
      expected, 1);
}

TEST(RopeTable, lists_of_another_length_and_bad_divisors_are_errors) {
  const RopeConfig plain = rope(1e4, 8, RopeScaling::kNone, 1, 2048);
  EXPECT_EQ(make_rope_table(plain, 2048, {1, 1}).status().message(),
            "rope: 2 frequency divisors, expected 4");
  EXPECT_EQ(make_rope_table(plain, 2048, {1, 1, 0, 1}).status().message(),
            "rope: frequency divisor 2 is not positive");
  RopeConfig config = rope(1e4, 8, RopeScaling::kLongRope, 1, 4096);
  config.long_factors = {1};
  EXPECT_EQ(make_rope_table(config, 131072, {}).status().message(),
            "rope: 1 long or short factors, expected 4");
}

}  // namespace
}  // namespace plumb
