// SPDX-License-Identifier: Apache-2.0
#include "api/kv_event_json.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(KvEventJson, a_batch_is_time_events_and_rank) {
  KvEventBatch batch;
  batch.seq = 7;
  batch.at += std::chrono::milliseconds(1'500'250);
  KvEvent stored;
  stored.blocks = {BlockHash{0xcf, 0x97}};
  stored.tokens = {1, 2, 3, 4};
  stored.block_size = 4;
  batch.events.push_back(stored);
  stored.parent = BlockHash{0x4e};
  stored.medium = KvMedium::kDisk;
  batch.events.push_back(stored);
  KvEvent removed;
  removed.kind = KvEvent::Kind::kRemoved;
  removed.medium = KvMedium::kCpuPinned;
  removed.blocks = {BlockHash{1}, BlockHash{2}};
  batch.events.push_back(removed);
  KvEvent cleared;
  cleared.kind = KvEvent::Kind::kCleared;
  batch.events.push_back(cleared);
  const std::string zeros(28, '0');
  EXPECT_EQ(to_text(to_json(batch)),
            R"([1500.25,[["BlockStored",["cf97)" + zeros + R"("],null,[1,2,3,4],4,null,"GPU"],)" +
                R"(["BlockStored",["cf97)" + zeros + R"("],"4e00)" + zeros +
                R"(",[1,2,3,4],4,null,"DISK"],["BlockRemoved",["0100)" + zeros + R"(","0200)" +
                zeros + R"("],"CPU_PINNED"],["AllBlocksCleared"]],0])");
}

TEST(KvEventJson, a_lost_reader_is_told_to_forget) {
  EXPECT_EQ(to_text(kv_resync_json({})), R"([0.0,[["AllBlocksCleared"]],0])");
}

}  // namespace
}  // namespace plumb
