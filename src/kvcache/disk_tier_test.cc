// SPDX-License-Identifier: Apache-2.0
#include "kvcache/disk_tier.h"

#include <gtest/gtest.h>
#include <random>

#include "base/log.h"
#include "kvcache/tier_test_scene.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

constexpr std::int64_t kHeader = TierSegment::kHeaderBytes;
constexpr std::int64_t kRecord = TierSegment::kRecordHeaderBytes + kTestBlockBytes;

class DiskTierTest : public testing::Test {
 protected:
  DiskTierTest() {
    options_.folder = "cache";
    options_.max_bytes = 1 << 20;
    options_.layout.id.fill(3);
    options_.layout.block_bytes = kTestBlockBytes;
    LogOptions log;
    log.sink = [this](std::string_view line) { lines_.emplace_back(line); };
    init_log(std::move(log));
  }

  ~DiskTierTest() override { init_log({}); }

  std::unique_ptr<DiskTier> open() {
    Result<std::unique_ptr<DiskTier>> tier = DiskTier::open(options_, files_);
    EXPECT_TRUE(tier.ok()) << tier.status().message();
    return std::move(tier).value();
  }

  static std::int64_t put(DiskTier& tier, const std::vector<int>& names) {
    return tier.put(TestBlocks(names).to_put);
  }

  // How many of the chain come back; each as it was put.
  static std::int64_t get(DiskTier& tier, const std::vector<int>& names) {
    const TestBlocks wanted(names);
    TestBuffers out(names.size());
    const std::int64_t count = tier.get(wanted.chain, out.spans);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(out.bytes[at], wanted.payloads[at]) << "a wrong block";
    }
    return count;
  }

  std::string& file(const std::string& name) { return *files_.files.at("cache/" + name); }

  MemFiles files_;
  DiskTierOptions options_;
  std::vector<std::string> lines_;
};

TEST_F(DiskTierTest, a_later_process_finds_what_was_put) {
  {
    const auto tier = open();
    EXPECT_EQ(put(*tier, {1, 2, 3}), 3);
    EXPECT_EQ(get(*tier, {1, 2, 3, 4}), 3);
  }
  const auto tier = open();
  EXPECT_EQ(tier->exists(TestBlocks({1, 2, 3, 4}).chain), 3);
  EXPECT_EQ(get(*tier, {2, 3, 9, 1}), 2);
  EXPECT_EQ(tier->stats().num_blocks, 3);
  EXPECT_EQ(tier->stats().num_bytes, kHeader + 3 * kRecord);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(DiskTierTest, a_block_is_written_once) {
  const auto tier = open();
  EXPECT_EQ(put(*tier, {1, 1, 2}), 3);
  EXPECT_EQ(put(*tier, {2, 1}), 2);
  EXPECT_EQ(tier->stats().num_stored, 2);
  EXPECT_EQ(files_.num_bytes(), kHeader + 2 * kRecord);
}

TEST_F(DiskTierTest, a_whole_block_takes_the_place_of_one_that_is_not_in_every_later_life) {
  const std::vector<std::byte> part(static_cast<std::size_t>(kTestBlockBytes), std::byte{9});
  const TierBlock not_whole{.hash = test_hash(1), .payload = part, .is_whole = false};
  const auto beginning_of_1 = [](DiskTier& tier) {
    TestBuffers out(1);
    EXPECT_EQ(tier.get(TestBlocks({1}).chain, out.spans), 1);
    return out.bytes[0][0];
  };
  {
    const auto tier = open();
    EXPECT_EQ(tier->put({&not_whole, 1}), 1);
    EXPECT_EQ(tier->put({&not_whole, 1}), 1);
    EXPECT_EQ(beginning_of_1(*tier), std::byte{9});
    EXPECT_EQ(tier->stats().num_stored, 1);
  }
  {
    const auto tier = open();
    EXPECT_EQ(beginning_of_1(*tier), std::byte{9});
    EXPECT_EQ(put(*tier, {1, 2}), 2);
    EXPECT_EQ(tier->put({&not_whole, 1}), 1);  // does not come back
    EXPECT_EQ(get(*tier, {1, 2}), 2);
    EXPECT_EQ(tier->stats().num_stored, 2);
    EXPECT_EQ(tier->stats().num_blocks, 2);
  }
  // The order in which the files are read does not matter.
  std::swap(files_.files.at("cache/00000001.kvseg"), files_.files.at("cache/00000002.kvseg"));
  const auto tier = open();
  EXPECT_EQ(get(*tier, {1, 2}), 2);
  EXPECT_EQ(tier->stats().num_blocks, 2);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(DiskTierTest, blocks_of_another_layout_are_not_found_and_leave_first) {
  options_.max_bytes = 10 * kRecord;
  put(*open(), {1, 2});
  options_.layout.id.fill(4);
  const auto tier = open();
  EXPECT_EQ(get(*tier, {1}), 0);
  EXPECT_TRUE(lines_.empty());  // another model's file is no damage
  put(*tier, {1, 2, 3, 4, 5});
  EXPECT_FALSE(files_.files.contains("cache/00000001.kvseg"));
  EXPECT_EQ(get(*tier, {1, 2, 3, 4, 5}), 5);
}

TEST_F(DiskTierTest, the_segment_used_longest_ago_makes_room_and_the_limit_holds) {
  options_.max_bytes = DiskTier::min_bytes(kTestBlockBytes) + 4 * kRecord;
  const auto tier = open();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(put(*tier, {i}), 1);
    EXPECT_EQ(get(*tier, {0, i}), 2) << i;  // 0 is used all the time
    EXPECT_LE(files_.num_bytes(), options_.max_bytes);
    EXPECT_EQ(files_.num_bytes(), tier->stats().num_bytes);
  }
  EXPECT_GT(tier->stats().num_evicted, 150);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(DiskTierTest, a_smaller_limit_is_kept_from_the_start) {
  put(*open(), {1, 2, 3, 4, 5, 6});
  options_.segment_bytes = 1;
  put(*open(), {7, 8, 9, 10, 11, 12});
  options_.max_bytes = DiskTier::min_bytes(kTestBlockBytes);
  const auto tier = open();
  EXPECT_LE(files_.num_bytes(), options_.max_bytes);
  EXPECT_EQ(get(*tier, {12}), 1);
}

TEST_F(DiskTierTest, a_limit_below_four_blocks_is_refused_with_the_number) {
  options_.max_bytes = DiskTier::min_bytes(kTestBlockBytes) - 1;
  const Status status = DiskTier::open(options_, files_).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(std::to_string(DiskTier::min_bytes(kTestBlockBytes))),
            std::string::npos);
}

TEST_F(DiskTierTest, a_cleared_tier_has_no_blocks_in_any_later_life) {
  put(*open(), {1, 2});
  {
    const auto tier = open();
    put(*tier, {3});
    tier->clear();
    EXPECT_EQ(get(*tier, {1}) + get(*tier, {3}), 0);
    EXPECT_EQ(put(*tier, {4}), 1);
  }
  const auto tier = open();
  EXPECT_EQ(get(*tier, {1}) + get(*tier, {2}) + get(*tier, {3}), 0);
  EXPECT_EQ(get(*tier, {4}), 1);
}

TEST_F(DiskTierTest, a_folder_has_one_process) {
  const auto tier = open();
  EXPECT_EQ(DiskTier::open(options_, files_).status().code(), Code::kUnavailable);
}

TEST_F(DiskTierTest, foreign_files_are_left_alone) {
  const std::vector<std::string> names{"cache/notes.txt", "cache/1.kvseg", "cache/x0000001.kvseg",
                                       "cache/-0000001.kvseg", "cache/9223372036854775807.kvseg"};
  for (const std::string& name : names) {
    files_.files[name] = std::make_shared<std::string>("mine");
  }
  options_.max_bytes = DiskTier::min_bytes(kTestBlockBytes);
  const auto tier = open();
  for (int i = 0; i < 50; ++i) {
    put(*tier, {i});
  }
  for (const std::string& name : names) {
    EXPECT_EQ(*files_.files.at(name), "mine") << name;
  }
}

// Every bit of a segment, one after the other: a miss or the right block, and one line at most.
TEST_F(DiskTierTest, a_flipped_bit_is_a_miss_and_one_line) {
  put(*open(), {1, 2, 3});
  const std::string whole = file("00000001.kvseg");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string& content = file("00000001.kvseg");
    content = whole;
    content[bit / 8] = static_cast<char>(content[bit / 8] ^ (1 << (bit % 8)));
    lines_.clear();
    const auto tier = open();
    std::int64_t sum = 0;
    for (const int name : {1, 2, 3}) {
      sum += get(*tier, {name});
      sum += get(*tier, {name});
    }
    EXPECT_EQ(sum, static_cast<std::int64_t>(bit) / 8 < kHeader ? 0 : 4) << "bit " << bit;
    EXPECT_EQ(lines_.size(), 1U) << "bit " << bit;
  }
}

TEST_F(DiskTierTest, a_file_cut_at_any_byte_gives_its_whole_blocks) {
  put(*open(), {1, 2, 3});
  const std::string whole = file("00000001.kvseg");
  for (std::size_t len = 0; len <= whole.size(); ++len) {
    file("00000001.kvseg") = whole.substr(0, len);
    lines_.clear();
    const auto tier = open();
    const std::int64_t num_whole =
        std::max<std::int64_t>(static_cast<std::int64_t>(len) - kHeader, 0) / kRecord;
    EXPECT_EQ(get(*tier, {1, 2, 3}), num_whole) << "length " << len;
    EXPECT_LE(lines_.size(), 1U);
  }
}

TEST_F(DiskTierTest, a_file_that_changes_under_the_tier_is_a_miss) {
  for (const bool is_gone : {false, true}) {
    files_.files.clear();
    put(*open(), {1, 2, 3});
    const auto tier = open();
    lines_.clear();
    if (is_gone) {
      files_.files.erase("cache/00000001.kvseg");
    } else {
      file("00000001.kvseg").resize(70);
    }
    EXPECT_EQ(get(*tier, {1}), 0);
    EXPECT_EQ(get(*tier, {2}), 0);
    EXPECT_EQ(get(*tier, {3}), 0);
    EXPECT_EQ(lines_.size(), 1U);
    EXPECT_EQ(put(*tier, {4}), 1);
    EXPECT_EQ(get(*tier, {4}), 1);
  }
}

TEST_F(DiskTierTest, a_disk_that_cannot_be_read_is_a_miss) {
  const auto tier = open();
  put(*tier, {1, 2});
  files_.fail_reads = true;
  EXPECT_EQ(get(*tier, {1}), 0);
  EXPECT_EQ(get(*tier, {2}), 0);
  EXPECT_EQ(lines_.size(), 1U);
}

// For every amount of space: what was acknowledged is there, now and after a restart; the rest is a
// miss, and one line says that nothing more is written.
TEST_F(DiskTierTest, a_full_disk_stops_writing_with_one_line) {
  for (std::int64_t space = 0; space < kHeader + 3 * kRecord; ++space) {
    files_.files.clear();
    files_.space_left = space;
    lines_.clear();
    std::int64_t num_put = 0;
    {
      const auto tier = open();
      num_put = put(*tier, {1, 2, 3});
      EXPECT_LT(num_put, 3);
      EXPECT_EQ(put(*tier, {4}), 0);
      EXPECT_FALSE(tier->stats().can_write);
      EXPECT_EQ(tier->stats().num_errors, 1);
      EXPECT_EQ(tier->stats().num_dropped, 4 - num_put);
      EXPECT_EQ(get(*tier, {1, 2, 3}), num_put);
      EXPECT_EQ(lines_.size(), 1U);
    }
    files_.space_left = 1 << 20;
    const auto tier = open();
    EXPECT_EQ(get(*tier, {1, 2, 3}), num_put);
    EXPECT_EQ(put(*tier, {4}), 1);
    EXPECT_EQ(lines_.size(), 1U) << "space " << space;
  }
}

TEST_F(DiskTierTest, a_folder_that_cannot_be_written_is_read) {
  put(*open(), {1, 2});
  files_.read_only = true;
  const auto tier = open();
  EXPECT_EQ(get(*tier, {1, 2}), 2);
  EXPECT_EQ(put(*tier, {3}), 0);
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_EQ(files_.files.size(), 1U);
}

TEST_F(DiskTierTest, records_swapped_between_places_and_files_are_misses) {
  put(*open(), {1, 2});
  std::string& content = file("00000001.kvseg");
  const auto header = static_cast<std::size_t>(kHeader);
  const auto record = static_cast<std::size_t>(kRecord);
  const std::string first = content.substr(header, record);
  content.replace(header, record, content.substr(header + record, record));
  content.replace(header + record, record, first);
  {
    const auto tier = open();
    EXPECT_EQ(get(*tier, {1}) + get(*tier, {2}), 0);
  }
  // A record of another layout under this one's header.
  files_.files.clear();
  options_.layout.id.fill(9);
  put(*open(), {1});
  const std::string foreign = file("00000001.kvseg").substr(header);
  files_.files.clear();
  options_.layout.id.fill(3);
  put(*open(), {2});
  file("00000001.kvseg").replace(header, record, foreign);
  EXPECT_EQ(get(*open(), {1}), 0);
}

TEST_F(DiskTierTest, random_damage_and_restarts_never_give_a_wrong_block) {
  std::mt19937 random(11);
  options_.max_bytes = 40 * kRecord;
  std::int64_t num_hits = 0;
  for (int life = 0; life < 200; ++life) {
    const auto tier = open();
    for (int i = 0; i < 20; ++i) {
      const int name = static_cast<int>(random() % 60);
      if (random() % 2 == 0) {
        put(*tier, {name, name + 1});
      } else {
        num_hits += get(*tier, {name, name + 1});
      }
    }
    for (auto& [path, content] : files_.files) {
      if (random() % 3 == 0 && !content->empty()) {
        char& byte = (*content)[random() % content->size()];
        byte = static_cast<char>(byte ^ static_cast<char>(1 + random() % 255));
      } else if (random() % 8 == 0) {
        content->resize(random() % (content->size() + 1));
      }
    }
  }
  EXPECT_GT(num_hits, 500);
}

}  // namespace
}  // namespace plumb
