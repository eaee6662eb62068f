// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_facts.h"

#include <algorithm>
#include <gnu/libc-version.h>
#include <set>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/host_memory.h"

namespace plumb {
namespace {

constexpr std::uint64_t kLargeFile = 1 << 24;

std::string content_of(const std::string& path) {
  Result<std::string> content = read_file(path, kLargeFile);
  return content.ok() ? std::move(content).value() : std::string();
}

// The value of the first line "key : value".
std::string value_of(const std::string& content, std::string_view key) {
  for (const std::string_view line : split(content, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return {};
}

std::int64_t number_of(const std::string& content, std::string_view key) {
  const std::string value = value_of(content, key);
  std::int64_t number = 0;
  return parse_int64(value.substr(0, value.find(' ')), &number) ? number : 0;
}

std::vector<std::string> features_of(const std::string& flags) {
  const std::vector<std::string_view> present = split(flags, ' ');
  std::vector<std::string> found;
  for (const char* feature : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq",
                              "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "amx_bf16"}) {
    if (std::find(present.begin(), present.end(), feature) != present.end()) {
      found.emplace_back(feature);
    }
  }
  return found;
}

// "always [madvise] never" -> "madvise".
std::string chosen_word(const std::string& words) {
  const std::size_t begin = words.find('[');
  const std::size_t end = words.find(']');
  return begin < end && end != std::string::npos ? words.substr(begin + 1, end - begin - 1)
                                                 : "unknown";
}

std::vector<std::string> libraries_of(const std::string& maps) {
  std::set<std::string> names;
  for (const std::string_view line : split(maps, '\n')) {
    const std::size_t slash = line.rfind('/');
    if (slash != std::string_view::npos && line.find(".so", slash) != std::string_view::npos) {
      names.emplace(line.substr(slash + 1));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  const std::string cpuinfo = content_of(root + "/proc/cpuinfo");
  const std::string meminfo = content_of(root + "/proc/meminfo");
  facts.cpu = value_of(cpuinfo, "model name");
  facts.online_cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  facts.usable_cores = num_usable_cores(root);
  facts.cpu_features = features_of(value_of(cpuinfo, "flags"));
  facts.memory_bytes = number_of(meminfo, "MemTotal") * 1024;
  facts.available_bytes = available_host_bytes(root);
  facts.free_huge_pages = number_of(meminfo, "HugePages_Free");
  facts.transparent_huge_pages =
      chosen_word(content_of(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  utsname names{};
  if (::uname(&names) == 0) {
    facts.kernel = std::string(names.sysname) + " " + names.release;
  }
  facts.libc = std::string("glibc ") + gnu_get_libc_version();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    facts.max_open_files = static_cast<std::int64_t>(files.rlim_cur);
  }
  facts.libraries = libraries_of(content_of(root + "/proc/self/maps"));
  return facts;
}

Json to_json(const MachineFacts& facts) {
  const auto array = [](const std::vector<std::string>& texts) {
    JsonArray out;
    for (const std::string& text : texts) {
      out.emplace_back(text);
    }
    return out;
  };
  return JsonObject{
      {"cpu", facts.cpu},
      {"online_cores", facts.online_cores},
      {"usable_cores", facts.usable_cores},
      {"cpu_features", array(facts.cpu_features)},
      {"memory_bytes", facts.memory_bytes},
      {"available_bytes", facts.available_bytes ? Json(*facts.available_bytes) : Json()},
      {"transparent_huge_pages", facts.transparent_huge_pages},
      {"free_huge_pages", facts.free_huge_pages},
      {"kernel", facts.kernel},
      {"libc", facts.libc},
      {"max_open_files", facts.max_open_files},
      {"libraries", array(facts.libraries)}};
}

}  // namespace plumb
