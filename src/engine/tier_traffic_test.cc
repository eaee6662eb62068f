// SPDX-License-Identifier: Apache-2.0
#include "engine/tier_traffic.h"

#include <gtest/gtest.h>

#include "kvcache/block_digest.h"
#include "support/fake_clock.h"

namespace plumb {
namespace {

constexpr std::int64_t kBlockBytes = 16;

BlockHash hash_of(int name) {
  const TokenId token = name;
  return block_hash(chained_digest("traffic", std::span(&token, 1)));
}

std::vector<BlockHash> chain_of(int begin, int end) {
  std::vector<BlockHash> chain;
  for (int name = begin; name < end; ++name) {
    chain.push_back(hash_of(name));
  }
  return chain;
}

// The slow tier is memory too, of 100 blocks: block N is filled with N.
class TierTrafficTest : public testing::Test {
 protected:
  explicit TierTrafficTest(std::int64_t num_slots = 10)
      : arena_(static_cast<std::size_t>(num_slots * kBlockBytes)),
        slow_arena_(static_cast<std::size_t>(100 * kBlockBytes)),
        host_(arena_, kBlockBytes) {
    auto slow = std::make_unique<HostTier>(slow_arena_, kBlockBytes);
    slow_ = slow.get();
    auto worker = std::make_unique<TierWorker>(
        [&held = held_]() -> Result<std::unique_ptr<KvTier>> { return std::move(held); }, clock_);
    held_ = std::move(slow);
    traffic_ = std::make_unique<TierTraffic>(host_, std::move(worker), rule_, 4, kBlockBytes);
  }

  static void put(HostTier& tier, int name) {
    const std::vector<std::byte> payload(static_cast<std::size_t>(kBlockBytes),
                                         static_cast<std::byte>(name));
    const TierBlock block{hash_of(name), payload};
    tier.put(std::span(&block, 1));
  }

  void expect_in_host(int name) {
    const HostPin pin = host_.pin(hash_of(name));
    ASSERT_FALSE(pin.empty()) << name;
    EXPECT_EQ(pin.payload()[0], static_cast<std::byte>(name));
  }

  FakeClock clock_;
  LoadRule rule_;
  std::vector<std::byte> arena_;
  std::vector<std::byte> slow_arena_;
  HostTier host_;
  std::unique_ptr<KvTier> held_;
  HostTier* slow_ = nullptr;
  std::unique_ptr<TierTraffic> traffic_;
};

TEST_F(TierTrafficTest, a_fetch_looks_up_then_reads_and_keeps_what_came) {
  for (const int name : {1, 2, 3}) {
    put(*slow_, name);
  }
  const FetchId fetch = traffic_->fetch(chain_of(1, 6));
  EXPECT_FALSE(traffic_->is_done(fetch));
  traffic_->poll();
  EXPECT_FALSE(traffic_->is_done(fetch));
  traffic_->poll();
  EXPECT_TRUE(traffic_->is_done(fetch));
  EXPECT_EQ(traffic_->num_fetched(fetch), 3);
  EXPECT_EQ(host_.num_busy(), 3);
  for (const int name : {1, 2, 3}) {
    expect_in_host(name);
  }
  traffic_->release(fetch);
  EXPECT_EQ(host_.num_busy(), 0);
}

TEST_F(TierTrafficTest, what_the_slow_tier_lacks_is_done_after_the_look_up) {
  const FetchId fetch = traffic_->fetch(chain_of(1, 4));
  traffic_->poll();
  EXPECT_TRUE(traffic_->is_done(fetch));
  EXPECT_EQ(traffic_->num_fetched(fetch), 0);
}

TEST_F(TierTrafficTest, no_more_is_fetched_than_four_fifths_of_the_places) {
  for (int name = 1; name <= 20; ++name) {
    put(*slow_, name);
  }
  const FetchId first = traffic_->fetch(chain_of(1, 21));
  traffic_->poll();
  traffic_->poll();
  EXPECT_EQ(traffic_->num_fetched(first), 8);
  const FetchId second = traffic_->fetch(chain_of(9, 21));
  traffic_->poll();
  EXPECT_TRUE(traffic_->is_done(second));
  EXPECT_EQ(traffic_->num_fetched(second), 0);
}

TEST_F(TierTrafficTest, a_released_fetch_leaves_its_blocks_to_others) {
  put(*slow_, 1);
  const FetchId fetch = traffic_->fetch(chain_of(1, 2));
  traffic_->poll();
  traffic_->release(fetch);
  traffic_->poll();
  EXPECT_EQ(host_.num_busy(), 0);
  expect_in_host(1);
}

TEST_F(TierTrafficTest, blocks_are_written_from_their_places_and_kept_until_then) {
  put(host_, 1);
  put(host_, 2);
  traffic_->write(chain_of(1, 4));  // 3 is not there
  EXPECT_EQ(host_.num_busy(), 2);
  traffic_->poll();
  EXPECT_EQ(host_.num_busy(), 0);
  EXPECT_EQ(slow_->exists(chain_of(1, 4)), 2);
  EXPECT_EQ(traffic_->slow_stats().num_dropped, 1);
}

TEST_F(TierTrafficTest, a_fetch_that_costs_more_than_computing_is_not_begun) {
  rule_.prefill_tokens.observe(1e6, std::chrono::seconds(1));
  put(*slow_, 1);
  const FetchId fetch = traffic_->fetch(chain_of(1, 2));
  traffic_->poll();
  EXPECT_TRUE(traffic_->is_done(fetch));
}

TEST_F(TierTrafficTest, what_is_to_be_written_is_written_at_the_end) {
  put(host_, 1);
  traffic_->write(chain_of(1, 2));
  // Opens at the end too; the tier dies with the worker, so its memory is looked at.
  traffic_.reset();
  EXPECT_EQ(host_.num_busy(), 0);
  EXPECT_EQ(slow_arena_[0], std::byte{1});
}

TEST(TierWorker, a_tier_that_cannot_be_opened_has_no_blocks) {
  const FakeClock clock;
  TierWorker worker(
      []() -> Result<std::unique_ptr<KvTier>> {
        return Status{Code::kUnavailable, "another process uses it"};
      },
      clock);
  TierJob job;
  job.chain = chain_of(1, 3);
  ASSERT_TRUE(worker.submit(std::move(job)).ok());
  worker.run_pending();
  std::vector<TierAnswer> answers;
  worker.take_answers(&answers);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].count, 0);
  EXPECT_FALSE(worker.stats().can_write);
}

TEST(TierWorker, takes_a_bounded_number_of_errands) {
  const FakeClock clock;
  TierWorker worker(
      []() -> Result<std::unique_ptr<KvTier>> {
        return Status{Code::kUnavailable, "none"};
      },
      clock);
  Status status;
  int count = 0;
  for (; status.ok() && count < 10'000; ++count) {
    status = worker.submit(TierJob());
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(count, 4097);
}

}  // namespace
}  // namespace plumb
