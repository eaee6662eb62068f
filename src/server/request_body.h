// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "api/error.h"
#include "base/json.h"
#include "net/http.h"

namespace plumb {

/// 415 where a request says that its body is something else than JSON.
std::optional<ApiError> content_type_error(const HttpRequest& request);

/// The JSON of a body, without lone surrogates in its constraints. Thread: any.
std::variant<Json, ApiError> read_json_body(const std::string& body);

/// The object in the small body of an operation, which may be left out. Errors: 415, 413, 400.
std::variant<Json, ApiError> read_operation_body(const HttpRequest& request);

}  // namespace plumb
