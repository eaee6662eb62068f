// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step_time.h"

#include <gtest/gtest.h>
#include <random>

namespace plumb {
namespace {

using namespace std::chrono_literals;

TEST(PrefillAllowance, is_what_the_target_leaves_and_at_most_the_chunk) {
  EXPECT_EQ(prefill_allowance(50ms, 12ms, 4us, 64, 100'000), 9500);
  EXPECT_EQ(prefill_allowance(50ms, 12ms, 4us, 64, 8192), 8192);
  EXPECT_EQ(prefill_allowance(50ms, 60ms, 4us, 64, 8192), 64);  // a block at least
  EXPECT_EQ(prefill_allowance(50ms, 60ms, 4us, 64, 32), 32);
}

TEST(StepTimeModel, learns_the_costs_of_rows_cached_tokens_and_prefill) {
  StepTimeModel model;
  std::mt19937 random(1);
  const auto truth = [](const StepShape& s) {
    return 5ms + s.num_decode_rows * 200us + s.num_cached_tokens * 100ns +
           s.num_prefill_tokens * 80us;
  };
  EXPECT_FALSE(model.knows());
  for (int i = 0; i < 200; ++i) {
    StepShape shape{static_cast<std::int64_t>(random() % 64), 0, 0};
    shape.num_cached_tokens = shape.num_decode_rows * static_cast<std::int64_t>(random() % 2000);
    shape.num_prefill_tokens = i % 3 == 0 ? static_cast<std::int64_t>(random() % 512) : 0;
    model.observe(shape, truth(shape));
  }
  EXPECT_TRUE(model.knows());
  const StepShape shape{40, 30'000, 0};
  EXPECT_NEAR(static_cast<double>(model.predict(shape).count()),
              static_cast<double>(truth(shape).count()),
              0.02 * static_cast<double>(truth(shape).count()));
  EXPECT_NEAR(static_cast<double>(model.each_prefill_token().count()), 80'000, 2000);
}

TEST(StepTimeModel, follows_a_machine_that_gets_slower) {
  StepTimeModel model;
  for (int i = 0; i < 3000; ++i) {
    const StepShape shape{8 + i % 5, 1000 + i % 7, i % 4 == 0 ? 100 : 0};
    const auto each = i < 1000 ? 50us : 150us;
    model.observe(shape, 3ms + shape.num_prefill_tokens * each);
  }
  EXPECT_NEAR(static_cast<double>(model.each_prefill_token().count()), 150'000, 15'000);
}

TEST(StepTimeModel, long_phases_without_prefill_do_not_unsettle_it) {
  StepTimeModel model;
  for (int i = 0; i < 20; ++i) {
    model.observe({4, 400, i % 2 == 0 ? 200 : 0}, i % 2 == 0 ? 24ms : 4ms);
  }
  for (int i = 0; i < 200'000; ++i) {
    model.observe({4, 400, 0}, 4ms);
  }
  model.observe({4, 400, 200}, 25ms);
  const auto with_prefill = model.predict({4, 400, 200});
  EXPECT_GT(with_prefill, 20ms);
  EXPECT_LT(with_prefill, 30ms);
}

}  // namespace
}  // namespace plumb
