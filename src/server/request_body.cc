// SPDX-License-Identifier: Apache-2.0
#include "server/request_body.h"

#include <string_view>
#include <utility>

#include "api/constraint_surrogates.h"
#include "base/text.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxMixedItems = 100'000;
constexpr std::size_t kOperationBytes = 16 << 10;

bool is_json_type(std::string_view content_type) {
  const std::string type = to_lower_ascii(trim(content_type.substr(0, content_type.find(';'))));
  return type.empty() || type == "application/json";
}

}  // namespace

std::optional<ApiError> content_type_error(const HttpRequest& request) {
  const std::string given(request.headers.find("content-type").value_or(""));
  if (is_json_type(given)) {
    return std::nullopt;
  }
  return ApiError::for_http(
      415, "the content type is '" + given.substr(0, 64) +
               "', expected application/json; add -H 'Content-Type: application/json'");
}

std::variant<Json, ApiError> read_json_body(const std::string& body) {
  Result<Json> json = parse_json(body, {.max_mixed_items = kMaxMixedItems});
  if (!json.ok()) {
    return ApiError::invalid("invalid_json", "", json.status().message());
  }
  if (std::optional<ApiError> error = check_constraint_surrogates(body)) {
    return *std::move(error);
  }
  return std::move(json).value();
}

std::variant<Json, ApiError> read_operation_body(const HttpRequest& request) {
  if (std::optional<ApiError> error = content_type_error(request)) {
    return *std::move(error);
  }
  if (request.body.size() > kOperationBytes) {
    return ApiError::for_http(413, "the body has " + std::to_string(request.body.size()) +
                                       " bytes, expected at most " +
                                       std::to_string(kOperationBytes) + " on this route");
  }
  Result<Json> json = parse_json(request.body.empty() ? "{}" : request.body);
  if (!json.ok()) {
    return ApiError::invalid("invalid_json", "", json.status().message());
  }
  if (!json.value().is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  return std::move(json).value();
}

}  // namespace plumb
