// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kvcache/disk_tier.h"
#include "kvcache/tier_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

// A disk of about 100 blocks.
class DiskTierShares : public testing::Test {
 protected:
  DiskTierShares() {
    options_.folder = "cache";
    options_.max_bytes = 100 * TierSegment::record_bytes({.block_bytes = kTestBlockBytes});
    options_.layout.id.fill(3);
    options_.layout.block_bytes = kTestBlockBytes;
    open();
  }

  void open() {
    tier_.reset();
    tier_ = DiskTier::open(options_, files_).value();
  }

  bool put(TierOwner owner, int name) {
    TestBlocks blocks({name});
    blocks.to_put[0].owner = owner;
    const bool is_there = tier_->put(blocks.to_put) == 1;
    EXPECT_LE(files_.num_bytes(), options_.max_bytes);
    EXPECT_EQ(files_.num_bytes(), tier_->stats().num_bytes);
    return is_there;
  }

  std::int64_t count(int begin, int end) const {
    std::int64_t sum = 0;
    for (int name = begin; name < end; ++name) {
      sum += tier_->exists(TestBlocks({name}).chain);
    }
    return sum;
  }

  MemFiles files_;
  DiskTierOptions options_;
  std::unique_ptr<DiskTier> tier_;
};

TEST_F(DiskTierShares, who_floods_gives_its_own_segments) {
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(put(kLight, 1 + i));
  }
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(put(kHeavy, 1001 + i));
  }
  EXPECT_EQ(count(1, 41), 40);
  EXPECT_GE(count(1001, 1501), 40);
  EXPECT_TRUE(count(1500, 1501));
}

TEST_F(DiskTierShares, owners_outlive_the_process) {
  for (int i = 0; i < 40; ++i) {
    put(kLight, 1 + i);
    put(kHeavy, 1001 + i);
  }
  open();
  for (int i = 0; i < 500; ++i) {
    put(kHeavy, 2001 + i);
  }
  open();
  EXPECT_EQ(count(1, 41), 40);
}

TEST_F(DiskTierShares, a_newcomer_gets_about_an_equal_share) {
  for (int i = 0; i < 200; ++i) {
    put(kHeavy, 1001 + i);
  }
  for (int i = 0; i < 200; ++i) {
    put(kLight, 1 + i);
  }
  // A segment is a quarter of a share at most, or of the whole as long as there was one owner.
  EXPECT_NEAR(static_cast<double>(count(1, 201)), 48, 14);
  EXPECT_GE(count(1001, 1201), 24);
}

TEST_F(DiskTierShares, more_owners_than_open_files_are_served) {
  options_.max_bytes *= 40;
  open();
  for (int i = 0; i < 10; ++i) {
    for (int owner = 1; owner <= 80; ++owner) {
      EXPECT_TRUE(put(TierOwner{static_cast<std::uint64_t>(owner)}, owner * 100 + i));
    }
  }
  for (int owner = 1; owner <= 80; ++owner) {
    EXPECT_EQ(count(owner * 100, owner * 100 + 10), 10) << owner;
  }
  open();
  EXPECT_EQ(tier_->stats().num_blocks, 800);
}

TEST_F(DiskTierShares, more_owners_than_blocks_push_out_nobody_with_less) {
  options_.max_bytes = DiskTier::min_bytes(kTestBlockBytes);
  open();
  for (int i = 0; i < 300; ++i) {
    put(TierOwner{static_cast<std::uint64_t>(i % 10)}, i);
  }
  EXPECT_GE(tier_->stats().num_blocks, 1);
}

}  // namespace
}  // namespace plumb
