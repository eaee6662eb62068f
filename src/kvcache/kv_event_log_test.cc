// SPDX-License-Identifier: Apache-2.0
#include "kvcache/kv_event_log.h"

#include <gtest/gtest.h>

#include "base/thread.h"

namespace plumb {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

std::vector<KvEvent> removed(std::uint8_t mark, std::size_t num_blocks = 1) {
  KvEvent event;
  event.kind = KvEvent::Kind::kRemoved;
  event.blocks.assign(num_blocks, BlockHash{mark});
  return {event};
}

constexpr std::int64_t kPage = 1 << 20;

TEST(KvEventLog, numbers_batches_and_reads_them_back_from_any) {
  KvEventLog log({}, 100);
  EXPECT_EQ(log.next_seq(), 100U);
  const TimePoint at{std::chrono::seconds(7)};
  log.append(removed(1), at);
  log.append({}, at);  // a step without events is none
  log.append(removed(2), at);
  EXPECT_EQ(log.next_seq(), 102U);
  const KvEventPage all = log.read(100, kPage);
  EXPECT_FALSE(all.has_gap);
  ASSERT_EQ(all.batches.size(), 2U);
  EXPECT_EQ(all.batches[0].seq, 100U);
  EXPECT_EQ(all.batches[0].at, at);
  EXPECT_EQ(all.batches[1].seq, 101U);
  EXPECT_EQ(all.batches[1].events[0].blocks[0], BlockHash{2});
  EXPECT_EQ(all.next_seq, 102U);
  EXPECT_EQ(log.read(101, kPage).batches.size(), 1U);
  const KvEventPage none = log.read(102, kPage);
  EXPECT_FALSE(none.has_gap);
  EXPECT_TRUE(none.batches.empty());
  EXPECT_EQ(none.next_seq, 102U);
}

TEST(KvEventLog, the_oldest_batches_go_and_their_reader_is_told) {
  KvEventLog log({.max_batches = 3}, 0);
  for (std::uint8_t i = 0; i < 5; ++i) {
    log.append(removed(i), {});
  }
  const KvEventPage late = log.read(1, kPage);
  EXPECT_TRUE(late.has_gap);
  ASSERT_EQ(late.batches.size(), 3U);
  EXPECT_EQ(late.batches.front().seq, 2U);
  EXPECT_FALSE(log.read(2, kPage).has_gap);
}

TEST(KvEventLog, keeps_ten_thousand_batches_by_default) {
  KvEventLog log({}, 0);
  for (int i = 0; i < 10'001; ++i) {
    log.append(removed(1), {});
  }
  EXPECT_TRUE(log.read(0, 1).has_gap);
  EXPECT_FALSE(log.read(1, 1).has_gap);
}

TEST(KvEventLog, bytes_are_bounded_too_and_the_last_batch_is_kept) {
  KvEventLog log({.max_batches = 100, .max_bytes = 10'000}, 0);
  for (std::uint8_t i = 0; i < 10; ++i) {
    log.append(removed(i, 200), {});  // 3,200 bytes of hashes each
  }
  EXPECT_EQ(log.read(0, kPage).batches.size(), 3U);
  log.append(removed(99, 5'000), {});
  EXPECT_EQ(log.read(10, kPage).batches.size(), 1U);
}

TEST(KvEventLog, a_number_from_the_future_is_a_gap) {
  KvEventLog restarted({}, 1'000);
  restarted.append(removed(1), {});
  const KvEventPage page = restarted.read(5'000, kPage);
  EXPECT_TRUE(page.has_gap);
  EXPECT_EQ(page.batches.size(), 1U);
  EXPECT_EQ(page.next_seq, 1'001U);
}

TEST(KvEventLog, a_page_ends_before_the_batch_that_exceeds_it) {
  KvEventLog log({}, 0);
  for (std::uint8_t i = 0; i < 4; ++i) {
    log.append(removed(i, 200), {});
  }
  const KvEventPage one = log.read(0, 10);
  EXPECT_EQ(one.batches.size(), 1U);
  EXPECT_EQ(one.next_seq, 1U);
  EXPECT_EQ(log.read(1, 8'000).batches.size(), 2U);
}

TEST(KvEventLog, readers_and_the_writer_do_not_disturb_each_other) {
  KvEventLog log({.max_batches = 50}, 0);
  Thread reader("reader", [&log] {
    std::uint64_t next = 0;
    while (next < 2'000) {
      const KvEventPage page = log.read(next, 2'000);
      for (const KvEventBatch& batch : page.batches) {
        EXPECT_GE(batch.seq, next);
        next = batch.seq + 1;
      }
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    log.append(removed(1), {});
  }
  reader.join();
}

}  // namespace
}  // namespace plumb
