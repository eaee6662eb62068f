// SPDX-License-Identifier: Apache-2.0
#include "engine/device_worker.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

// Steps are told apart by their address.
class DeviceWorkerTest : public testing::Test {
 protected:
  static StepJob empty_step() {
    const StepSizes sizes{.num_tokens = 1, .num_seqs = 1, .num_logits = 1, .num_blocks = 1};
    return {StepBatch::create(sizes, 4, nullptr).value(), sizes};
  }

  std::vector<StepJob*> done_;  // by the one that computes
  DeviceWorker worker_{[this](StepJob& job) { done_.push_back(&job); }};
  StepJob first_ = empty_step();
  StepJob second_ = empty_step();
};

TEST_F(DeviceWorkerTest, without_a_thread_a_step_is_computed_when_it_is_taken) {
  worker_.launch(first_);
  worker_.launch(second_);
  EXPECT_EQ(worker_.num_under_way(), 2);
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(&worker_.take(), &first_);
  EXPECT_EQ(done_, std::vector<StepJob*>{&first_});
  worker_.launch(first_);
  EXPECT_EQ(&worker_.take(), &second_);
  EXPECT_EQ(&worker_.take(), &first_);
  EXPECT_EQ(worker_.num_under_way(), 0);
  EXPECT_EQ(done_, (std::vector<StepJob*>{&first_, &second_, &first_}));
}

TEST_F(DeviceWorkerTest, a_thread_computes_steps_in_their_order) {
  worker_.start();
  worker_.launch(first_);
  std::vector<StepJob*> expected;
  for (int i = 0; i < 1000; ++i) {
    worker_.launch(second_);
    ASSERT_EQ(&worker_.take(), &first_);
    worker_.launch(first_);
    ASSERT_EQ(&worker_.take(), &second_);
    expected.insert(expected.end(), {&first_, &second_});
  }
  EXPECT_EQ(&worker_.take(), &first_);
  expected.push_back(&first_);
  EXPECT_EQ(done_, expected);  // nothing is under way any more
}

TEST_F(DeviceWorkerTest, a_thread_that_had_nothing_to_do_ends) {
  worker_.start();
  EXPECT_EQ(worker_.num_under_way(), 0);
}

}  // namespace
}  // namespace plumb
