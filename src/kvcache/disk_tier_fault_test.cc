// SPDX-License-Identifier: Apache-2.0
// A disk that fails at each operation in turn: misses, and one log line for each way of failing.
#include <functional>
#include <gtest/gtest.h>

#include "base/log.h"
#include "kvcache/disk_tier.h"
#include "kvcache/tier_test_scene.h"
#include "support/faulty_files.h"
#include "support/mem_files.h"

namespace plumb {
namespace {

const std::vector<int> kFirst{1, 2, 3, 4, 5, 6};
const std::vector<int> kSecond{7, 8, 9, 10, 11, 12};

class DiskTierFaults : public testing::Test {
 protected:
  DiskTierFaults() {
    LogOptions log;
    log.sink = [this](std::string_view line) { lines_.emplace_back(line); };
    init_log(std::move(log));
    options_.folder = "cache";
    options_.max_bytes = 2 * DiskTier::min_bytes(kTestBlockBytes);  // eight segments of a block
    options_.layout.id.fill(3);
    options_.layout.block_bytes = kTestBlockBytes;
  }

  ~DiskTierFaults() override { init_log({}); }

  // Blocks that come back, each asked for alone and as it was put.
  static std::int64_t get(DiskTier& tier, const std::vector<int>& names) {
    std::int64_t sum = 0;
    for (const int name : names) {
      const TestBlocks wanted({name});
      TestBuffers out(1);
      const std::int64_t count = tier.get(wanted.chain, out.spans);
      EXPECT_TRUE(count == 0 || out.bytes[0] == wanted.payloads[0]) << "a wrong block " << name;
      sum += count;
    }
    return sum;
  }

  // Files of a former life, then a life that reads, writes, evicts and forgets. False if the folder
  // could not be opened.
  bool live(FileStore& files) {
    Result<std::unique_ptr<DiskTier>> opened = DiskTier::open(options_, files);
    if (!opened.ok()) {
      return false;
    }
    DiskTier& tier = *opened.value();
    get(tier, kFirst);
    tier.put(TestBlocks(kSecond).to_put);
    get(tier, kSecond);
    get(tier, kFirst);
    get(tier, kSecond);
    tier.clear();
    EXPECT_EQ(get(tier, kFirst) + get(tier, kSecond), 0) << "a block that was forgotten";
    tier.put(TestBlocks(kFirst).to_put);
    get(tier, kFirst);
    return true;
  }

  void prepare() {
    files_.files.clear();
    files_.locked.clear();
    EXPECT_EQ(DiskTier::open(options_, files_).value()->put(TestBlocks(kFirst).to_put), 6);
    lines_.clear();
  }

  void expect_lines_of(const std::function<bool(FaultyFiles&)>& run, FileFault fault,
                       bool is_lasting, std::size_t most_lines) {
    prepare();
    FaultyFiles clean(files_);
    ASSERT_TRUE(run(clean));
    ASSERT_TRUE(lines_.empty());
    std::int64_t num_faults = 0;
    for (std::int64_t at = 0; at < clean.num_operations; ++at) {
      prepare();
      FaultyFiles faulty(files_);
      faulty.fault = fault;
      faulty.fail_at = at;
      faulty.is_lasting = is_lasting;
      faulty.damaged_byte = static_cast<std::size_t>(at);
      const bool was_opened = run(faulty);
      num_faults += faulty.num_faults;
      EXPECT_LE(lines_.size(), most_lines) << "operation " << at;
      EXPECT_TRUE(!was_opened || faulty.num_faults == 0 || !lines_.empty()) << "operation " << at;
      // A later process finds right blocks only, whatever was left behind.
      const auto later = DiskTier::open(options_, files_).value();
      get(*later, kFirst);
      get(*later, kSecond);
      EXPECT_LE(later->stats().num_bytes, options_.max_bytes);
    }
    EXPECT_GT(num_faults, 0);
  }

  MemFiles files_;
  DiskTierOptions options_;
  std::vector<std::string> lines_;
};

TEST_F(DiskTierFaults, an_operation_that_fails_once_is_one_line) {
  for (const FileFault fault :
       {FileFault::kNoSpace, FileFault::kReadOnly, FileFault::kIo, FileFault::kDamage}) {
    expect_lines_of([this](FaultyFiles& files) { return live(files); }, fault, false, 1);
  }
}

TEST_F(DiskTierFaults, a_disk_that_fills_up_or_turns_read_only_is_one_line) {
  for (const FileFault fault : {FileFault::kNoSpace, FileFault::kReadOnly}) {
    expect_lines_of([this](FaultyFiles& files) { return live(files); }, fault, true, 1);
  }
}

TEST_F(DiskTierFaults, a_disk_that_fails_for_good_is_one_line_for_reading_and_one_for_writing) {
  expect_lines_of([this](FaultyFiles& files) { return live(files); }, FileFault::kIo, true, 2);
}

// Of each of the file's parts every byte: header, record header, payload.
TEST_F(DiskTierFaults, a_byte_that_is_read_wrongly_anywhere_is_one_line_and_a_miss) {
  for (std::size_t byte = 0; byte < 64; ++byte) {
    prepare();
    FaultyFiles clean(files_);
    const std::int64_t num_whole = get(*DiskTier::open(options_, clean).value(), kFirst);
    EXPECT_EQ(num_whole, 6);
    for (std::int64_t at = 0; at < clean.num_operations; ++at) {
      prepare();
      FaultyFiles faulty(files_);
      faulty.fault = FileFault::kDamage;
      faulty.fail_at = at;
      faulty.damaged_byte = byte;
      const auto tier = DiskTier::open(options_, faulty).value();
      const std::int64_t num_found = get(*tier, kFirst);
      EXPECT_EQ(num_found < 6, faulty.num_faults == 1);
      EXPECT_EQ(lines_.size(), static_cast<std::size_t>(faulty.num_faults));
    }
  }
}

// One damaged file is one line, however many of its blocks are asked for.
TEST_F(DiskTierFaults, each_damaged_file_is_one_line) {
  prepare();
  for (auto& [path, content] : files_.files) {
    for (std::size_t at = 64; at < content->size(); at += 20) {
      (*content)[at] = static_cast<char>((*content)[at] ^ 1);
    }
  }
  const auto tier = DiskTier::open(options_, files_).value();
  EXPECT_EQ(get(*tier, kFirst) + get(*tier, kFirst), 0);
  EXPECT_GT(files_.files.size(), 1U);
  EXPECT_EQ(lines_.size(), files_.files.size());
}

}  // namespace
}  // namespace plumb
