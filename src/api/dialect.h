// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "api/error.h"
#include "base/json.h"

namespace plumb {

/// Whose API a route speaks: how its errors look.
enum class Dialect : unsigned char {
  kOpenAi,     ///< {"error":{"message","type","param","code"}}; native routes too
  kAnthropic,  ///< {"type":"error","error":{"type","message"},"request_id"}
  kOllama,     ///< {"error":"message"}
};

/// The body of an error.
Json error_body(const ApiError& error, Dialect dialect, std::string_view request_id);

/// The status with which a dialect tells an error, where nothing was sent yet.
int http_status_of(const ApiError& error, Dialect dialect);

}  // namespace plumb
