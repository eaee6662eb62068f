// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/compute_pool.h"

#include <gtest/gtest.h>

namespace plumb::cpu {
namespace {

TEST(ComputePool, visits_every_item_once_for_any_size) {
  for (const int num_threads : {1, 2, 3, 5}) {
    ComputePool pool(num_threads);
    for (const std::int64_t count : {0, 1, 2, 7, 64, 1000}) {
      for (const std::int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        pool.run(count, grain, [&](std::int64_t begin, std::int64_t end, int worker) {
          ASSERT_GE(worker, 0);
          ASSERT_LT(worker, num_threads);
          for (std::int64_t i = begin; i < end; ++i) {
            ++visits[static_cast<std::size_t>(i)];
          }
        });
        for (const std::atomic<int>& n : visits) {
          ASSERT_EQ(n.load(), 1);
        }
      }
    }
  }
}

TEST(ComputePool, makes_the_work_of_a_loop_visible_to_the_next) {
  ComputePool pool(3);
  std::vector<std::int64_t> sums(64, 0);
  for (int round = 1; round <= 20'000; ++round) {
    pool.run(64, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        sums[static_cast<std::size_t>(i)] += round;
      }
    });
  }
  for (const std::int64_t sum : sums) {
    EXPECT_EQ(sum, std::int64_t{20'000} * 20'001 / 2);
  }
}

TEST(ComputePool, takes_more_items_than_pieces_can_be_counted) {
  ComputePool pool(2);
  std::atomic<std::int64_t> sum{0};
  pool.run(3'000'000, 1,
           [&](std::int64_t begin, std::int64_t end, int) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), 3'000'000);
}

}  // namespace
}  // namespace plumb::cpu
