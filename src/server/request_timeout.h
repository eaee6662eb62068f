// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <variant>

#include "api/error.h"
#include "net/http.h"

namespace plumb {

/// How long the client gives a request by the header x-request-timeout-ms; nothing without it.
std::variant<std::optional<std::chrono::milliseconds>, ApiError> request_timeout(
    const HttpRequest& request);

}  // namespace plumb
