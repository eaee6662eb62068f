// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"

namespace plumb {

struct Thread::Impl {
  std::thread thread;
};

Thread::Thread(std::string name, std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  name.resize(std::min<std::size_t>(name.size(), 15));
  try {
    impl_->thread = std::thread([name = std::move(name), body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.c_str());
      body();
    });
  } catch (const std::system_error& error) {
    PLUMB_CHECK(false, std::string("cannot create a thread: ") + error.what());
  }
}

Thread::Thread(Thread&& other) noexcept = default;

Thread& Thread::operator=(Thread&& other) noexcept {
  if (this != &other) {
    if (joinable()) {
      join();
    }
    impl_ = std::move(other.impl_);
  }
  return *this;
}

Thread::~Thread() {
  if (joinable()) {
    join();
  }
}

void Thread::join() {
  PLUMB_CHECK(joinable(), "join of a thread that was never started or was joined before");
  impl_->thread.join();
  impl_.reset();
}

namespace {

constexpr int kNoLimit = 1 << 20;
constexpr std::uint64_t kSmallFile = 1 << 16;

int affinity_cores() {
  // The kernel refuses masks smaller than its own; machines above 1024 cores need the larger ones.
  for (int bits = 1024; bits <= (1 << 18); bits *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(bits));
    const std::size_t num_bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    CPU_ZERO_S(num_bytes, set);
    const bool ok = sched_getaffinity(0, num_bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(num_bytes, set) : 0;
    CPU_FREE(set);
    if (ok) {
      return std::max(count, 1);
    }
  }
  return 1;
}

int cores_of_quota(std::int64_t quota_us, std::int64_t period_us) {
  if (quota_us <= 0 || period_us <= 0) {
    return kNoLimit;
  }
  return static_cast<int>(std::clamp<std::int64_t>(quota_us / period_us, 1, kNoLimit));
}

bool read_int(const std::string& path, std::int64_t* out) {
  const Result<std::string> text = read_file(path, kSmallFile);
  return text.ok() && parse_int64(trim(text.value()), out);
}

int cores_of_group_v2(const std::string& folder) {
  const Result<std::string> text = read_file(folder + "/cpu.max", kSmallFile);
  if (!text.ok()) {
    return kNoLimit;
  }
  const std::vector<std::string_view> words = split(trim(text.value()), ' ');
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (words.size() != 2 || !parse_int64(words[0], &quota) || !parse_int64(words[1], &period)) {
    return kNoLimit;  // "max 100000"
  }
  return cores_of_quota(quota, period);
}

int cores_of_group_v1(const std::string& folder) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!read_int(folder + "/cpu.cfs_quota_us", &quota) ||
      !read_int(folder + "/cpu.cfs_period_us", &period)) {
    return kNoLimit;
  }
  return cores_of_quota(quota, period);
}

// The smallest limit of the group and of all groups above it. Inside a container the path may not
// exist below the mount; the mount itself then is the container's group.
int cores_along(const std::string& mount, std::string path,
                int (*cores_of_group)(const std::string&)) {
  int cores = cores_of_group(mount);
  while (path.size() > 1) {
    cores = std::min(cores, cores_of_group(mount + path));
    path.resize(path.rfind('/'));
  }
  return cores;
}

}  // namespace

int num_usable_cores(const std::string& root) {
  int cores = affinity_cores();
  const Result<std::string> groups = read_file(root + "/proc/self/cgroup", kSmallFile);
  if (!groups.ok()) {
    return cores;
  }
  for (const std::string_view line : split(groups.value(), '\n')) {
    // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
    const std::vector<std::string_view> parts = split(line, ':');
    if (parts.size() < 3 || parts[2].empty() || parts[2].front() != '/') {
      continue;
    }
    const std::string path(parts[2]);
    if (parts[1].empty()) {
      cores = std::min(cores, cores_along(root + "/sys/fs/cgroup", path, cores_of_group_v2));
      continue;
    }
    const std::vector<std::string_view> controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end()) {
      const std::string mount = root + "/sys/fs/cgroup/" + std::string(parts[1]);
      cores = std::min(cores, cores_along(mount, path, cores_of_group_v1));
      cores = std::min(cores, cores_along(root + "/sys/fs/cgroup/cpu", path, cores_of_group_v1));
    }
  }
  return cores;
}

}  // namespace plumb
