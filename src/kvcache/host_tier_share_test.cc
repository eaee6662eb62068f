// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "kvcache/host_tier.h"
#include "kvcache/tier_test_scene.h"

namespace plumb {
namespace {

// Memory of 20 blocks. Light ones have names from 1, heavy ones from 1001.
class HostTierShares : public testing::Test {
 protected:
  void put(TierOwner owner, int name) {
    TestBlocks blocks({name});
    blocks.to_put[0].owner = owner;
    tier_.put(blocks.to_put);
    EXPECT_EQ(tier_.check_invariants().message(), "");
  }

  std::int64_t count(int begin, int end) const {
    std::int64_t sum = 0;
    for (int name = begin; name < end; ++name) {
      sum += tier_.contains(test_hash(name)) ? 1 : 0;
    }
    return sum;
  }

  std::vector<std::byte> arena_ = std::vector<std::byte>(20 * kTestBlockBytes);
  HostTier tier_{arena_, kTestBlockBytes};
};

TEST_F(HostTierShares, who_floods_gives_its_own_blocks) {
  for (int i = 0; i < 6; ++i) {
    put(kLight, 1 + i);
  }
  for (int i = 0; i < 100; ++i) {
    put(kHeavy, 1001 + i);
  }
  EXPECT_EQ(count(1, 7), 6);
  EXPECT_EQ(count(1001, 1101), 14);
  EXPECT_EQ(count(1087, 1101), 14);  // the latest
  EXPECT_EQ(tier_.stats().num_evicted, 86);
}

TEST_F(HostTierShares, a_newcomer_gets_an_equal_share_and_no_more) {
  for (int i = 0; i < 20; ++i) {
    put(kHeavy, 1001 + i);
  }
  for (int i = 0; i < 20; ++i) {
    put(kLight, 1 + i);
  }
  EXPECT_EQ(count(1, 21), 10);
  EXPECT_EQ(count(1001, 1021), 10);
}

TEST_F(HostTierShares, places_in_use_count_as_held) {
  for (int i = 0; i < 8; ++i) {
    put(kLight, 1 + i);
  }
  std::vector<HostSlot> filling;
  for (int i = 0; i < 20; ++i) {
    filling.push_back(tier_.reserve(kHeavy));
  }
  const auto num_given = std::count_if(filling.begin(), filling.end(),
                                       [](const HostSlot& slot) { return !slot.empty(); });
  EXPECT_EQ(num_given, 12);
  EXPECT_EQ(count(1, 9), 8);
  EXPECT_EQ(tier_.stats().num_dropped, 8);
  filling.clear();
  EXPECT_EQ(tier_.check_invariants().message(), "");
}

TEST_F(HostTierShares, a_cleared_tier_has_no_owners) {
  put(kLight, 1);
  const HostPin pin = tier_.pin(test_hash(1));
  for (int i = 0; i < 19; ++i) {
    put(kHeavy, 1001 + i);
  }
  tier_.clear();
  EXPECT_EQ(tier_.check_invariants().message(), "");
  for (int i = 0; i < 30; ++i) {
    put(kHeavy, 2001 + i);
  }
  EXPECT_EQ(count(2001, 2031), 19);  // one place is still read
}

TEST_F(HostTierShares, random_owners_lose_no_slot_and_keep_their_shares) {
  std::mt19937 random(3);
  std::vector<HostPin> pins(3);
  for (int i = 0; i < 5'000; ++i) {
    const int owner = 1 + static_cast<int>(random() % 4);
    put(TierOwner{static_cast<std::uint64_t>(owner)},
        owner * 1000 + static_cast<int>(random() % 30));
    pins[random() % 3] = tier_.pin(test_hash(owner * 1000 + static_cast<int>(random() % 30)));
    ASSERT_EQ(tier_.check_invariants().message(), "");
  }
  pins.clear();
  for (int i = 0; i < 200; ++i) {
    put(TierOwner{1}, 1000 + i);
  }
  for (const int owner : {2, 3, 4}) {
    EXPECT_GE(count(owner * 1000, owner * 1000 + 30), 4) << owner;
  }
}

}  // namespace
}  // namespace plumb
