// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace plumb {

/// "2025-06-30T12:00:00Z", with an offset "+02:00" or a fraction of a second; nullopt for anything
/// else. Source: RFC 3339.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

}  // namespace plumb
