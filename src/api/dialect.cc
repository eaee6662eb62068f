// SPDX-License-Identifier: Apache-2.0
#include "api/dialect.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr const char* kOverloaded = "engine_overloaded";
constexpr int kAnthropicOverloaded = 529;

struct AnthropicType {
  const char* code;
  const char* type;
};

// Codes that do not go by their status.
constexpr AnthropicType kTypesByCode[] = {
    {kOverloaded, "overloaded_error"},
    {"service_unavailable", "overloaded_error"},
    {"request_too_large", "request_too_large"},
};

// The list of types is closed: clients know no others.
const char* anthropic_type(const ApiError& error) {
  const auto* const by_code =
      std::find_if(std::begin(kTypesByCode), std::end(kTypesByCode),
                   [&](const AnthropicType& row) { return error.code == row.code; });
  if (by_code != std::end(kTypesByCode)) {
    return by_code->type;
  }
  switch (error.http_status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 409:
      return "conflict_error";
    case 429:
      return "rate_limit_error";
    case 504:
      return "timeout_error";
    default:
      return error.http_status >= 500 ? "api_error" : "invalid_request_error";
  }
}

// Clients look for these words to know that a conversation must be made shorter.
std::string anthropic_message(const ApiError& error) {
  const Json* prompt = error.extra.find("n_prompt_tokens");
  const Json* context = error.extra.find("n_ctx");
  if (error.code != "context_length_exceeded" || prompt == nullptr || context == nullptr) {
    return error.message;
  }
  return "prompt is too long: " + to_text(*prompt) + " tokens > " + to_text(*context) +
         " maximum; " + error.message;
}

Json anthropic_body(const ApiError& error, std::string_view request_id) {
  JsonObject fields{{"type", anthropic_type(error)},
                    {"message", to_valid_utf8(anthropic_message(error))}};
  for (const JsonMember& member : error.extra) {
    fields.append(member.key, member.value);
  }
  return JsonObject{
      {"type", "error"}, {"error", std::move(fields)}, {"request_id", std::string(request_id)}};
}

}  // namespace

Json error_body(const ApiError& error, Dialect dialect, std::string_view request_id) {
  switch (dialect) {
    case Dialect::kAnthropic:
      return anthropic_body(error, request_id);
    case Dialect::kOllama:
      return JsonObject{{"error", to_valid_utf8(error.message)}};
    default:
      return to_json(error);
  }
}

int http_status_of(const ApiError& error, Dialect dialect) {
  return dialect == Dialect::kAnthropic && error.code == kOverloaded ? kAnthropicOverloaded
                                                                     : error.http_status;
}

}  // namespace plumb
