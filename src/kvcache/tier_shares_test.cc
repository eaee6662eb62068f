// SPDX-License-Identifier: Apache-2.0
#include "kvcache/tier_shares.h"

#include <gtest/gtest.h>
#include <limits>

namespace plumb {
namespace {

constexpr TierOwner kA{1};
constexpr TierOwner kB{2};
constexpr TierOwner kC{3};

bool anybody(TierOwner) {
  return true;
}

TEST(TierShares, who_holds_the_most_makes_room) {
  TierShares shares(100);
  EXPECT_EQ(shares.giver(kA, 1, anybody), std::nullopt);  // nobody has anything
  shares.add(kA, 60);
  shares.add(kB, 40);
  EXPECT_EQ(shares.giver(kA, 1, anybody), kA);
  EXPECT_EQ(shares.giver(kB, 1, anybody), kA);
  EXPECT_EQ(shares.giver(kC, 1, anybody), kA);
  EXPECT_EQ(shares.held(kA), 60);
  EXPECT_EQ(shares.num_owners(), 2);
}

TEST(TierShares, of_equals_the_newcomer_gives_its_own) {
  TierShares shares(100);
  shares.add(kA, 50);
  shares.add(kB, 50);
  EXPECT_EQ(shares.giver(kA, 1, anybody), kA);
  EXPECT_EQ(shares.giver(kB, 1, anybody), kB);
  shares.remove(kB, 1);
  EXPECT_EQ(shares.giver(kB, 1, anybody), kB);  // both would hold 50
}

TEST(TierShares, nobody_makes_room_for_one_that_would_hold_more) {
  TierShares shares(100);
  shares.add(kA, 60);
  shares.add(kB, 40);
  const auto all_but_a = [](TierOwner owner) { return owner != kA; };  // whose blocks are in use
  EXPECT_EQ(shares.giver(kA, 1, all_but_a), std::nullopt);
  EXPECT_EQ(shares.giver(kC, 40, all_but_a), kB);
  EXPECT_EQ(shares.giver(kC, 41, all_but_a), std::nullopt);
}

TEST(TierShares, who_was_away_for_sixteen_turnovers_makes_room_first) {
  TierShares shares(100);
  shares.add(kB, 10);
  shares.add(kA, 90);
  for (int i = 0; i < 1510; ++i) {  // 1,600 since B's last use
    shares.remove(kA, 1);
    shares.add(kA, 1);
  }
  EXPECT_EQ(shares.giver(kA, 1, anybody), kA);
  shares.add(kA, 1);
  EXPECT_EQ(shares.giver(kA, 1, anybody), kB);
  shares.use(kB);
  EXPECT_EQ(shares.giver(kA, 1, anybody), kA);
}

TEST(TierShares, the_largest_tier_forgets_nobody_too_early) {
  for (const std::int64_t capacity : {std::int64_t{1} << 59, (std::int64_t{1} << 60) + 5,
                                      std::numeric_limits<std::int64_t>::max()}) {
    TierShares shares(capacity);
    shares.add(kA, 10);
    shares.add(kB, 20);  // after A's last use
    EXPECT_EQ(shares.giver(kB, 1, anybody), kB);
    EXPECT_EQ(shares.giver(kC, 1, anybody), kB);
  }
}

}  // namespace
}  // namespace plumb
