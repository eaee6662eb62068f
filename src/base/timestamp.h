// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace plumb {

/// "2026-01-31T12:00:00.123Z": a time in UTC with so many digits of the second's fraction, 0 to 9.
/// Source: RFC 3339.
std::string to_rfc3339(std::chrono::system_clock::time_point at, int fraction_digits);

}  // namespace plumb
