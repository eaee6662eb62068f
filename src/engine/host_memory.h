// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumb {

/// Bytes of host memory that this process may still take: what the kernel calls available, cut by
/// the limit of its control group and of every group above (v1 and v2). Unknown = nullopt.
///
/// Requires  root is "" outside tests: the folder in front of /proc and /sys.
std::optional<std::int64_t> available_host_bytes(const std::string& root = "");

/// MemAvailable of the text of /proc/meminfo, in bytes.
std::optional<std::int64_t> parse_mem_available(std::string_view meminfo);

}  // namespace plumb
