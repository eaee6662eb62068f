// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/host_memory.h"

namespace plumb {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

MemoryNeeds needs() {
  MemoryNeeds n;
  n.free_bytes = 1000 * kMiB;
  n.weight_bytes = 100 * kMiB;
  n.workspace_bytes = 50 * kMiB;
  n.block_bytes = kMiB;
  n.block_size = 32;
  n.max_useful_tokens = 1'000'000;
  n.reserve_bytes = 256 * kMiB;
  n.min_context = 512;
  return n;
}

TEST(PlanMemory, the_cache_takes_what_is_free_beside_workspace_and_reserve) {
  const MemoryPlan plan = plan_memory(needs()).value();
  EXPECT_EQ(plan.num_blocks, 1000 - 50 - 256);
  EXPECT_EQ(plan.kv_bytes, plan.num_blocks * kMiB);
  EXPECT_EQ(plan.kv_tokens(), plan.num_blocks * 32);
}

TEST(PlanMemory, mapped_weights_are_not_free_although_the_kernel_says_so) {
  MemoryNeeds n = needs();
  n.mapped_weight_bytes = 100 * kMiB;
  EXPECT_EQ(plan_memory(n).value().num_blocks, 594);
}

TEST(PlanMemory, it_takes_no_more_than_all_sequences_could_fill) {
  MemoryNeeds n = needs();
  n.max_useful_tokens = 3201;
  EXPECT_EQ(plan_memory(n).value().num_blocks, 101);
}

TEST(PlanMemory, a_wanted_size_is_taken_in_whole_blocks) {
  MemoryNeeds n = needs();
  n.kv_cache_bytes = 20 * kMiB + 5;
  n.free_bytes.reset();
  EXPECT_EQ(plan_memory(n).value().num_blocks, 20);
}

TEST(PlanMemory, a_cache_below_one_request_is_refused_with_the_numbers) {
  MemoryNeeds n = needs();
  n.kv_cache_bytes = 15 * kMiB;
  const Status status = plan_memory(n).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("480"), std::string::npos);
  EXPECT_NE(status.message().find("512"), std::string::npos);
  n.kv_cache_bytes = 0;
  n.free_bytes = 100 * kMiB;  // less than the reserve
  EXPECT_EQ(plan_memory(n).status().code(), Code::kResourceExhausted);
  n.free_bytes.reset();
  EXPECT_EQ(plan_memory(n).status().code(), Code::kInvalidArgument);
}

TEST(PlanMemory, a_wanted_size_above_what_is_free_is_refused_with_both) {
  MemoryNeeds n = needs();
  n.mapped_weight_bytes = 100 * kMiB;
  n.kv_cache_bytes = 850 * kMiB;
  EXPECT_EQ(plan_memory(n).value().num_blocks, 850);
  n.kv_cache_bytes += 1;
  const Status status = plan_memory(n).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  for (const char* part : {"--kv-cache-bytes", "1000 MiB", "850 MiB"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

// Five of six bytes of a token are in layers with a window of 16 blocks.
MemoryNeeds windowed_needs() {
  MemoryNeeds n = needs();
  n.window_block_bytes = 5 * kMiB;
  n.window = 512;
  n.num_seqs = 2;
  n.step_tokens = 640;
  return n;
}

TEST(PlanMemory, windows_have_a_pool_for_those_who_run_a_step_and_a_share_of_what_is_cached) {
  const MemoryPlan plan = plan_memory(windowed_needs()).value();
  // 2 * (16 + 2) + 20 blocks of 5 MiB are for running sequences; of the rest each block has a
  // quarter of a window block.
  EXPECT_EQ(plan.num_blocks, (694 - 280) * 4 / 9);
  EXPECT_EQ(plan.num_window_blocks, (694 - plan.num_blocks) / 5);
  EXPECT_EQ(plan.kv_bytes, plan.num_blocks * kMiB + plan.num_window_blocks * 5 * kMiB);
  EXPECT_EQ(plan.kv_tokens(), plan.num_blocks * 32);
  EXPECT_GT(plan.num_blocks, 694 / 6);
  EXPECT_NE(to_text(plan).find("102 blocks for the last 512 tokens"), std::string::npos);
  EXPECT_EQ(to_json(plan).find("num_window_blocks")->as_int(), 102);
  EXPECT_EQ(to_json(plan).find("window")->as_int(), 512);
}

TEST(PlanMemory, a_cache_too_small_for_the_windows_of_all_has_as_many_of_each) {
  MemoryNeeds n = windowed_needs();
  n.num_seqs = 8;
  EXPECT_EQ(plan_memory(n).value().num_blocks, 694 / 6);
  EXPECT_EQ(plan_memory(n).value().num_window_blocks, 694 / 6);
  n.kv_cache_bytes = 15 * 6 * kMiB;
  const Status status = plan_memory(n).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("480 tokens"), std::string::npos) << status.message();
}

TEST(PlanMemory, where_all_layers_have_a_window_its_blocks_are_what_memory_bounds) {
  MemoryNeeds n = windowed_needs();
  n.block_bytes = 0;
  n.window_block_bytes = kMiB;
  const MemoryPlan plan = plan_memory(n).value();
  EXPECT_EQ(plan.num_window_blocks, 694);
  EXPECT_EQ(plan.num_blocks, 1'000'000 / 32);
  EXPECT_EQ(plan.kv_bytes, 694 * kMiB);
  n.kv_cache_bytes = 15 * kMiB;
  EXPECT_EQ(plan_memory(n).status().code(), Code::kResourceExhausted);
}

TEST(PlanMemory, windows_take_what_is_left_when_the_rest_is_as_large_as_is_useful) {
  MemoryNeeds n = windowed_needs();
  n.max_useful_tokens = 150 * 32;
  const MemoryPlan plan = plan_memory(n).value();
  EXPECT_EQ(plan.num_blocks, 150);
  EXPECT_EQ(plan.num_window_blocks, (694 - 150) / 5);
}

TEST(MemoryPlan, prints_as_a_table_and_as_json) {
  const MemoryPlan plan = plan_memory(needs()).value();
  EXPECT_NE(to_text(plan).find("22208 tokens in 694 blocks of 32"), std::string::npos);
  EXPECT_EQ(to_json(plan).find("num_blocks")->as_int(), 694);
  EXPECT_EQ(to_json(plan).find("free_bytes")->as_int(), 1000 * kMiB);
  EXPECT_EQ(to_json(plan).find("window"), nullptr);
}

class HostMemory : public testing::Test {
 protected:
  HostMemory()
      : root_(std::filesystem::path(PLUMB_BINARY_DIR) /
              ("host_memory_test_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
  }

  ~HostMemory() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::filesystem::path root_;
};

TEST_F(HostMemory, is_what_the_kernel_calls_available) {
  EXPECT_EQ(available_host_bytes(root_.string()), std::nullopt);
  put("proc/meminfo", "MemTotal:  9000 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n");
  EXPECT_EQ(available_host_bytes(root_.string()), 2048 * 1024);
  EXPECT_EQ(parse_mem_available("MemAvailable: x kB\n"), std::nullopt);
}

TEST_F(HostMemory, is_cut_by_the_tightest_group_above) {
  put("proc/meminfo", "MemAvailable: 2048 kB\n");
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.current", "5\n");
  put("sys/fs/cgroup/a/memory.max", "1000000\n");
  put("sys/fs/cgroup/a/memory.current", "400000\n");
  put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(available_host_bytes(root_.string()), 700'000);
}

TEST_F(HostMemory, reads_the_older_groups_too) {
  put("proc/meminfo", "MemAvailable: 2048 kB\n");
  put("proc/self/cgroup", "4:memory:/job\n3:cpu:/x\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500000\n");
  put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "600000\n");
  EXPECT_EQ(available_host_bytes(root_.string()), 0);
}

}  // namespace
}  // namespace plumb
