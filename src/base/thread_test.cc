// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "base/thread_priority.h"

namespace plumb {
namespace {

constexpr auto kForever = std::chrono::steady_clock::time_point::max();

TEST(Thread, bears_its_name_and_is_joined_by_its_destructor) {
  std::array<char, 32> name{};
  std::atomic<bool> done{false};
  {
    const Thread thread("plumb-engine-of-a-long-name", [&] {
      pthread_getname_np(pthread_self(), name.data(), name.size());
      done = true;
    });
  }
  EXPECT_TRUE(done);
  EXPECT_STREQ(name.data(), "plumb-engine-of");
}

TEST(Thread, move_leaves_the_source_empty) {
  Thread a("a", [] {});
  Thread b = std::move(a);
  EXPECT_FALSE(a.joinable());  // NOLINT(bugprone-use-after-move): the state after a move is tested
  EXPECT_TRUE(b.joinable());
  b = Thread("b", [] {});
  b.join();
  EXPECT_FALSE(b.joinable());
}

TEST(BoundedQueue, keeps_order_and_refuses_what_does_not_fit) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)).ok());
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(2)).ok());
  auto third = std::make_unique<int>(3);
  EXPECT_EQ(queue.try_push(std::move(third)).code(), Code::kResourceExhausted);
  EXPECT_NE(third, nullptr) << "a refused item stays with its owner";
  EXPECT_EQ(queue.size(), 2);
  std::unique_ptr<int> out;
  EXPECT_TRUE(queue.try_pop(&out));
  EXPECT_EQ(*out, 1);
  EXPECT_TRUE(queue.try_push(std::move(third)).ok());
  EXPECT_EQ(queue.pop(&out, kForever), Pop::kItem);
  EXPECT_EQ(*out, 2);
  EXPECT_EQ(queue.pop(&out, kForever), Pop::kItem);
  EXPECT_EQ(*out, 3);
  EXPECT_FALSE(queue.try_pop(&out));
}

TEST(BoundedQueue, a_wait_ends_at_its_deadline) {
  BoundedQueue<int> queue(1);
  int out = 0;
  EXPECT_EQ(queue.pop(&out, system_clock().now() + std::chrono::milliseconds(5)), Pop::kTimeout);
  EXPECT_TRUE(queue.try_push(1).ok());
  EXPECT_EQ(queue.push(2, system_clock().now() + std::chrono::milliseconds(5)).code(),
            Code::kDeadlineExceeded);
}

TEST(BoundedQueue, a_closed_queue_drains_and_then_says_so) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(1).ok());
  queue.close();
  EXPECT_EQ(queue.try_push(2).code(), Code::kUnavailable);
  int out = 0;
  EXPECT_EQ(queue.pop(&out, kForever), Pop::kItem);
  EXPECT_EQ(queue.pop(&out, kForever), Pop::kClosed);
  BoundedQueue<int> waited_on(1);
  const Thread thread("closer", [&] { waited_on.close(); });
  EXPECT_EQ(waited_on.pop(&out, kForever), Pop::kClosed);
}

TEST(BoundedQueue, every_item_of_many_producers_arrives_once) {
  constexpr int kProducers = 4;
  constexpr int kItems = 2000;
  BoundedQueue<int> queue(16);
  std::vector<Thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back("producer", [&queue, p] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(queue.push(p * kItems + i, kForever).ok());
      }
    });
  }
  std::vector<int> last(kProducers, -1);
  for (int n = 0; n < kProducers * kItems; ++n) {
    int item = 0;
    ASSERT_EQ(queue.pop(&item, kForever), Pop::kItem);
    int& previous = last[static_cast<std::size_t>(item / kItems)];
    EXPECT_EQ(item % kItems, previous + 1) << "each producer's items keep their order";
    previous = item % kItems;
  }
  EXPECT_EQ(queue.size(), 0);
}

TEST(ThreadPool, runs_every_accepted_task_before_it_dies) {
  std::atomic<int> num_run{0};
  {
    ThreadPool pool("pool", 3, 1000);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(pool.submit([&num_run] { ++num_run; }).ok());
    }
  }
  EXPECT_EQ(num_run, 1000);
}

TEST(ThreadPool, refuses_a_task_when_its_queue_is_full) {
  BoundedQueue<int> started(1);
  BoundedQueue<int> gate(1);
  ThreadPool pool("pool", 1, 1);
  int out = 0;
  ASSERT_TRUE(pool.submit([&] {
                    EXPECT_TRUE(started.try_push(1).ok());
                    int unused = 0;
                    EXPECT_EQ(gate.pop(&unused, kForever), Pop::kItem);
                  })
                  .ok());
  ASSERT_EQ(started.pop(&out, kForever), Pop::kItem);
  EXPECT_TRUE(pool.submit([] {}).ok());
  EXPECT_EQ(pool.submit([] {}).code(), Code::kResourceExhausted);
  EXPECT_TRUE(gate.try_push(1).ok());
}

// A made-up /proc and /sys in a folder that the destructor removes.
class FakeRoot {
 public:
  FakeRoot() {
    std::string path = std::filesystem::temp_directory_path() / "plumb-cores-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }

  ~FakeRoot() { std::filesystem::remove_all(path_); }

  void write(const std::string& path, std::string_view content) const {
    const std::filesystem::path full(path_ + path);
    std::filesystem::create_directories(full.parent_path());
    EXPECT_TRUE(write_file_atomic(full, content).ok());
  }

  int cores() const { return num_usable_cores(path_); }

 private:
  std::string path_;
};

int affinity() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  return CPU_COUNT(&set);
}

TEST(UsableCores, equals_the_affinity_mask_without_a_quota) {
  const FakeRoot root;
  EXPECT_EQ(root.cores(), affinity());
  root.write("/proc/self/cgroup", "0::/app\n");
  root.write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(root.cores(), affinity());
  EXPECT_GE(num_usable_cores(), 1);
  EXPECT_LE(num_usable_cores(), affinity());
}

TEST(UsableCores, follows_the_quota_of_a_group_above) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/pod/app\n");
  root.write("/sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  EXPECT_EQ(root.cores(), 1);
}

TEST(UsableCores, reads_the_mount_itself_inside_a_container) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "0::/\n");
  root.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(root.cores(), 1);
}

TEST(UsableCores, reads_the_quota_of_cgroup_v1) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/docker/x\n");
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "100000\n");
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.cores(), 1);
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(root.cores(), affinity());
}

TEST(UsableCores, ignores_garbage) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "::\n\n0:\nxyz\n0::/a\n");
  root.write("/sys/fs/cgroup/a/cpu.max", "99999999999999999999 0 7\n");
  EXPECT_EQ(root.cores(), affinity());
}

TEST(YieldToOtherThreads, lowers_the_calling_thread_and_no_other) {
  const auto priority = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); };
  const int before = priority();
  int lowered = before;
  Thread thread("lower", [&] {
    yield_to_other_threads();
    yield_to_other_threads();
    lowered = priority();
  });
  thread.join();
  EXPECT_EQ(lowered, std::min(before + 5, 19));
  EXPECT_EQ(priority(), before);
}

}  // namespace
}  // namespace plumb
