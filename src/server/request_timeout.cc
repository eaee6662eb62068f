// SPDX-License-Identifier: Apache-2.0
#include "server/request_timeout.h"

#include <string>

#include "base/text.h"

namespace plumb {

std::variant<std::optional<std::chrono::milliseconds>, ApiError> request_timeout(
    const HttpRequest& request) {
  constexpr std::int64_t kMaxTimeoutMs = 86'400'000;
  const auto header = request.headers.find("x-request-timeout-ms");
  if (!header.has_value()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  if (!parse_int64(trim(*header), &value) || value < 1 || value > kMaxTimeoutMs) {
    return ApiError::invalid(
        "invalid_value", "x-request-timeout-ms",
        "header 'x-request-timeout-ms' is '" + std::string(header->substr(0, 32)) +
            "', expected an integer from 1 to " + std::to_string(kMaxTimeoutMs));
  }
  return std::chrono::milliseconds(value);
}

}  // namespace plumb
