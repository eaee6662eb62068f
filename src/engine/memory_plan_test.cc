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

TEST(MemoryPlan, prints_as_a_table_and_as_json) {
  const MemoryPlan plan = plan_memory(needs()).value();
  EXPECT_NE(to_text(plan).find("22208 tokens in 694 blocks of 32"), std::string::npos);
  EXPECT_EQ(to_json(plan).find("num_blocks")->as_int(), 694);
  EXPECT_EQ(to_json(plan).find("free_bytes")->as_int(), 1000 * kMiB);
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
