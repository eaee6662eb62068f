// SPDX-License-Identifier: Apache-2.0
#include "engine/host_memory.h"

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::uint64_t kSmallFile = 1 << 16;

std::optional<std::int64_t> read_number(const std::string& path) {
  const Result<std::string> text = read_file(path, kSmallFile);
  std::int64_t number = 0;
  if (!text.ok() || !parse_int64(trim(text.value()), &number)) {
    return std::nullopt;  // "max" is no number: no limit
  }
  return number;
}

// Page cache that the kernel gives back before it refuses memory.
std::int64_t reclaimable(const std::string& stat_path, std::string_view key) {
  const Result<std::string> text = read_file(stat_path, kSmallFile);
  if (text.ok()) {
    for (const std::string_view line : split(text.value(), '\n')) {
      std::int64_t number = 0;
      if (line.substr(0, key.size()) == key &&
          parse_int64(trim(line.substr(key.size())), &number)) {
        return number;
      }
    }
  }
  return 0;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  std::string_view cache_key;
};

constexpr GroupFiles kGroupV2{"/memory.max", "/memory.current", "inactive_file "};
constexpr GroupFiles kGroupV1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                              "total_inactive_file "};

// The tightest room of a group and of those above it, up to the mount.
std::optional<std::int64_t> room_along(const std::string& mount, std::string path,
                                       const GroupFiles& files) {
  std::optional<std::int64_t> least;
  while (true) {
    const std::string group = mount + path;
    const std::optional<std::int64_t> limit = read_number(group + files.limit);
    const std::optional<std::int64_t> usage = read_number(group + files.usage);
    if (limit && usage) {
      const std::int64_t cache = reclaimable(group + "/memory.stat", files.cache_key);
      const std::int64_t room = *limit - *usage + cache;
      least = std::min(least.value_or(room), room);
    }
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) {
      return least;
    }
    path.resize(slash);
  }
}

std::optional<std::int64_t> least_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? std::optional(std::min(*a, *b)) : (a ? a : b);
}

}  // namespace

std::optional<std::int64_t> parse_mem_available(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  for (const std::string_view line : split(meminfo, '\n')) {
    if (line.substr(0, kKey.size()) != kKey) {
      continue;
    }
    std::string_view number = trim(line.substr(kKey.size()));
    number = number.substr(0, number.find(' '));
    std::int64_t kib = 0;
    if (parse_int64(number, &kib) && kib >= 0 && kib < (std::int64_t{1} << 50)) {
      return kib * 1024;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> available_host_bytes(const std::string& root) {
  std::optional<std::int64_t> least;
  const Result<std::string> meminfo = read_file(root + "/proc/meminfo", kSmallFile);
  if (meminfo.ok()) {
    least = parse_mem_available(meminfo.value());
  }
  const Result<std::string> groups = read_file(root + "/proc/self/cgroup", kSmallFile);
  if (groups.ok()) {
    for (const std::string_view line : split(groups.value(), '\n')) {
      // "0::/path" (v2) or "4:memory:/path" (v1)
      const std::vector<std::string_view> parts = split(line, ':');
      if (parts.size() < 3 || parts[2].empty() || parts[2].front() != '/') {
        continue;
      }
      const std::string path(parts[2] == "/" ? std::string_view() : parts[2]);
      if (parts[1].empty()) {
        least = least_of(least, room_along(root + "/sys/fs/cgroup", path, kGroupV2));
      } else if (parts[1] == "memory") {
        least = least_of(least, room_along(root + "/sys/fs/cgroup/memory", path, kGroupV1));
      }
    }
  }
  return least ? std::optional(std::max<std::int64_t>(*least, 0)) : least;
}

}  // namespace plumb
