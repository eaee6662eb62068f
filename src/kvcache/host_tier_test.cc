// SPDX-License-Identifier: Apache-2.0
#include "kvcache/host_tier.h"

#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <random>

#include "kvcache/tier_test_scene.h"

namespace plumb {
namespace {

struct Scene {
  explicit Scene(std::int64_t num_slots)
      : arena(static_cast<std::size_t>(num_slots * kTestBlockBytes)),
        tier(arena, kTestBlockBytes) {}

  void put(const std::vector<int>& names) {
    const TestBlocks blocks(names);
    tier.put(blocks.to_put);
  }

  bool has(int name) const { return tier.contains(test_hash(name)); }

  std::vector<std::byte> arena;
  HostTier tier;
};

TEST(HostTier, gives_back_what_was_put_up_to_the_first_it_lacks) {
  Scene scene(8);
  scene.put({1, 2, 4});
  const TestBlocks wanted({1, 2, 3, 4});
  EXPECT_EQ(scene.tier.exists(wanted.chain), 2);
  TestBuffers out(4);
  EXPECT_EQ(scene.tier.get(wanted.chain, out.spans), 2);
  EXPECT_EQ(out.bytes[0], test_payload(1));
  EXPECT_EQ(out.bytes[1], test_payload(2));
  EXPECT_EQ(scene.tier.stats().num_blocks, 3);
  EXPECT_EQ(scene.tier.stats().num_bytes, 3 * kTestBlockBytes);
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
}

TEST(HostTier, the_block_used_longest_ago_makes_room_and_of_a_chain_its_end) {
  Scene scene(4);
  scene.put({1, 2, 3, 4});
  scene.put({5});
  EXPECT_FALSE(scene.has(4));  // the end of the older chain
  EXPECT_TRUE(scene.has(1) && scene.has(2) && scene.has(3) && scene.has(5));
  EXPECT_EQ(scene.tier.stats().num_evicted, 1);
}

// What a block of the tier begins with, and whether it is whole.
std::pair<std::byte, bool> beginning_of(HostTier& tier, int name) {
  const HostPin pin = tier.pin(test_hash(name));
  return pin.empty() ? std::pair(std::byte{0}, false) : std::pair(pin.payload()[0], pin.is_whole());
}

TEST(HostTier, a_whole_block_takes_the_place_of_one_that_is_not) {
  Scene scene(4);
  const std::vector<std::byte> part(static_cast<std::size_t>(kTestBlockBytes), std::byte{9});
  const TierBlock not_whole{.hash = test_hash(1), .payload = part, .is_whole = false};
  const TestBlocks whole({1});
  EXPECT_EQ(scene.tier.put({&not_whole, 1}), 1);
  EXPECT_EQ(beginning_of(scene.tier, 1), std::pair(std::byte{9}, false));
  EXPECT_TRUE(scene.tier.contains(test_hash(1), false));
  EXPECT_FALSE(scene.tier.contains(test_hash(1), true));
  EXPECT_EQ(scene.tier.put(whole.to_put), 1);
  EXPECT_EQ(beginning_of(scene.tier, 1), std::pair(test_payload(1)[0], true));
  EXPECT_EQ(scene.tier.put({&not_whole, 1}), 1);  // does not come back
  EXPECT_EQ(beginning_of(scene.tier, 1), std::pair(test_payload(1)[0], true));
  EXPECT_EQ(scene.tier.stats().num_blocks, 1);
  EXPECT_EQ(scene.tier.stats().num_stored, 2);
  scene.put({2, 3, 4});  // all other places are free
  EXPECT_EQ(scene.tier.stats().num_evicted, 0);
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
}

TEST(HostTier, who_reads_a_block_that_is_not_whole_keeps_it_while_a_whole_one_takes_its_place) {
  Scene scene(2);
  const std::vector<std::byte> part(static_cast<std::size_t>(kTestBlockBytes), std::byte{9});
  const TierBlock not_whole{.hash = test_hash(1), .payload = part, .is_whole = false};
  scene.tier.put({&not_whole, 1});
  {
    const HostPin pin = scene.tier.pin(test_hash(1));
    scene.put({1});
    EXPECT_EQ(pin.payload()[0], std::byte{9});
    EXPECT_EQ(beginning_of(scene.tier, 1), std::pair(test_payload(1)[0], true));
    EXPECT_EQ(scene.tier.num_busy(), 1);
    EXPECT_EQ(scene.tier.check_invariants().message(), "");
  }
  EXPECT_EQ(scene.tier.num_busy(), 0);
  scene.put({2});
  EXPECT_TRUE(scene.has(1) && scene.has(2));
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
}

TEST(HostTier, a_block_used_twice_is_passed_over_once) {
  Scene scene(3);
  scene.put({1});
  { const HostPin pin = scene.tier.pin(test_hash(1)); }
  scene.put({2, 3});  // 1 is the oldest, with two uses; then 3, 2
  scene.put({4});
  EXPECT_TRUE(scene.has(1));
  EXPECT_FALSE(scene.has(3));
  scene.put({5});
  EXPECT_FALSE(scene.has(2));
  scene.put({6});  // the guard was spent: 1 has one use left and is older than 4 and 5
  EXPECT_FALSE(scene.has(1));
}

TEST(HostTier, pinned_and_filling_slots_make_no_room) {
  Scene scene(2);
  scene.put({1});
  HostPin pin = scene.tier.pin(test_hash(1));
  HostSlot slot = scene.tier.reserve();
  EXPECT_FALSE(slot.empty());
  EXPECT_EQ(scene.tier.num_busy(), 2);
  EXPECT_TRUE(scene.tier.reserve().empty());
  EXPECT_EQ(scene.tier.stats().num_dropped, 1);
  EXPECT_EQ(std::memcmp(pin.payload().data(), test_payload(1).data(), kTestBlockBytes), 0);
  pin = HostPin();
  EXPECT_FALSE(scene.tier.reserve().empty());
  EXPECT_FALSE(scene.has(1));
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
}

TEST(HostTier, a_slot_is_found_once_it_is_published_and_given_back_otherwise) {
  Scene scene(2);
  HostSlot slot = scene.tier.reserve();
  std::memcpy(slot.payload().data(), test_payload(7).data(), kTestBlockBytes);
  EXPECT_FALSE(scene.has(7));
  scene.tier.publish(test_hash(7), std::move(slot));
  EXPECT_TRUE(scene.has(7));
  scene.tier.publish(test_hash(7), scene.tier.reserve());  // twice the same
  EXPECT_EQ(scene.tier.num_busy(), 0);
  EXPECT_EQ(scene.tier.stats().num_blocks, 1);
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
}

TEST(HostTier, a_cleared_tier_has_no_blocks_and_all_its_places) {
  Scene scene(3);
  scene.put({1, 2, 3});
  {
    const HostPin pin = scene.tier.pin(test_hash(2));
    scene.tier.clear();
    EXPECT_FALSE(scene.has(1) || scene.has(2) || scene.has(3));
    EXPECT_EQ(std::memcmp(pin.payload().data(), test_payload(2).data(), kTestBlockBytes), 0);
    EXPECT_EQ(scene.tier.check_invariants().message(), "");
  }
  EXPECT_EQ(scene.tier.check_invariants().message(), "");
  scene.put({4, 5, 6});
  EXPECT_TRUE(scene.has(4) && scene.has(5) && scene.has(6));
}

TEST(HostTier, more_than_it_holds_keeps_the_beginning) {
  Scene scene(3);
  const TestBlocks blocks({1, 2, 3, 4, 5});
  EXPECT_EQ(scene.tier.put(blocks.to_put), 3);
  EXPECT_EQ(scene.tier.exists(blocks.chain), 3);
}

TEST(HostTier, random_use_loses_no_slot_and_mixes_no_block) {
  std::mt19937 random(7);
  Scene scene(13);
  std::deque<HostPin> pins;
  std::deque<std::pair<int, HostSlot>> slots;
  for (int i = 0; i < 20'000; ++i) {
    const int name = static_cast<int>(random() % 40);
    switch (random() % 6) {
      case 0:
      case 1:
        scene.put({name, name + 1});
        break;
      case 2: {
        TestBuffers out(1);
        const TestBlocks wanted({name});
        if (scene.tier.get(wanted.chain, out.spans) == 1) {
          ASSERT_EQ(out.bytes[0], test_payload(name));
        }
        break;
      }
      case 3:
        pins.push_back(scene.tier.pin(test_hash(name)));
        break;
      case 4: {
        HostSlot slot = scene.tier.reserve();
        if (!slot.empty()) {
          slots.emplace_back(name, std::move(slot));
        }
        break;
      }
      default:
        if (pins.size() > 4) {
          pins.pop_front();
        }
        if (slots.size() > 4) {
          auto& [slot_name, slot] = slots.front();
          std::memcpy(slot.payload().data(), test_payload(slot_name).data(), kTestBlockBytes);
          scene.tier.publish(test_hash(slot_name), std::move(slot));
          slots.pop_front();
        }
    }
    ASSERT_EQ(scene.tier.check_invariants().message(), "");
  }
  EXPECT_GT(scene.tier.stats().num_evicted, 1000);
}

}  // namespace
}  // namespace plumb
