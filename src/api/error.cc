// SPDX-License-Identifier: Apache-2.0
#include "api/error.h"

#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

constexpr const char* kInvalidRequest = "invalid_request_error";

ApiError make(int http_status, const char* type, const char* code, std::string message) {
  ApiError error;
  error.http_status = http_status;
  error.type = type;
  error.code = code;
  error.message = std::move(message);
  return error;
}

// "top_k" of "'top_k' is ..."; empty if the message begins in another way.
std::string quoted_field(const std::string& message) {
  const std::size_t end = message.starts_with('\'') ? message.find('\'', 1) : std::string::npos;
  return end == std::string::npos ? "" : message.substr(1, end - 1);
}

}  // namespace

ApiError ApiError::invalid(std::string code, std::string param, std::string message) {
  ApiError error = make(400, kInvalidRequest, "", std::move(message));
  error.code = std::move(code);
  error.param = std::move(param);
  return error;
}

ApiError ApiError::missing(const std::string& param) {
  return invalid("missing_required_parameter", param,
                 "missing required parameter: '" + param + "'");
}

ApiError ApiError::wrong_type(const std::string& param, const std::string& expected) {
  return invalid("invalid_type", param, "invalid type for '" + param + "': expected " + expected);
}

ApiError ApiError::unsupported(const std::string& param, const std::string& why) {
  return invalid("unsupported_parameter", param, "unsupported parameter: '" + param + "': " + why);
}

ApiError ApiError::not_found(const std::string& what) {
  return make(404, kInvalidRequest, "not_found", what);
}

ApiError ApiError::model_not_found(const std::string& model, const std::string& served) {
  ApiError error = make(404, kInvalidRequest, "model_not_found",
                        "the model '" + model.substr(0, 128) + "' does not exist; served is '" +
                            served.substr(0, 128) + "'");
  error.param = "model";
  return error;
}

ApiError ApiError::context_length(const std::string& param, std::int64_t prompt_tokens,
                                  std::int64_t completion_tokens, std::int64_t context_len) {
  const std::string total = std::to_string(prompt_tokens + completion_tokens);
  std::string message = "this model's maximum context length is " + std::to_string(context_len) +
                        " tokens, however you requested " + total + " tokens";
  if (completion_tokens > 0) {
    message += " (" + std::to_string(prompt_tokens) + " in the " + param + ", " +
               std::to_string(completion_tokens) + " in the completion); shorten the " + param +
               " or lower the completion length";
  } else {
    message += " in the " + param +
               (prompt_tokens == context_len ? ", which leaves none for the completion" : "") +
               "; shorten the " + param;
  }
  ApiError error = invalid("context_length_exceeded", param, std::move(message));
  error.extra.set("n_prompt_tokens", prompt_tokens);
  error.extra.set("n_ctx", context_len);
  return error;
}

ApiError ApiError::overloaded(const std::string& message, std::int64_t retry_after_s) {
  ApiError error = make(503, "server_error", "engine_overloaded", message);
  error.retry_after_s = retry_after_s;
  return error;
}

ApiError ApiError::for_http(int http_status, std::string message) {
  switch (http_status) {
    case 401:
      return make(401, "authentication_error", "invalid_api_key", std::move(message));
    case 403:
      return make(403, "permission_error", "forbidden", std::move(message));
    case 404:
      return make(404, kInvalidRequest, "not_found", std::move(message));
    case 405:
      return make(405, kInvalidRequest, "method_not_allowed", std::move(message));
    case 408:
      return make(408, kInvalidRequest, "request_timeout", std::move(message));
    case 409:
      return make(409, kInvalidRequest, "conflict", std::move(message));
    case 413:
      return make(413, kInvalidRequest, "request_too_large", std::move(message));
    case 414:
      return make(414, kInvalidRequest, "uri_too_long", std::move(message));
    case 415:
      return make(415, kInvalidRequest, "unsupported_media_type", std::move(message));
    case 429: {
      ApiError error = make(429, "rate_limit_error", "rate_limit_exceeded", std::move(message));
      error.retry_after_s = 1;
      return error;
    }
    case 431:
      return make(431, kInvalidRequest, "header_too_large", std::move(message));
    case 501: {
      ApiError error =
          make(501, kInvalidRequest, "unsupported_transfer_encoding", std::move(message));
      error.never_retry = true;
      return error;
    }
    case 503: {
      ApiError error = make(503, "server_error", "service_unavailable", std::move(message));
      error.retry_after_s = 1;
      return error;
    }
    default:
      return http_status >= 500
                 ? make(http_status, "server_error", "internal_error", std::move(message))
                 : make(http_status, kInvalidRequest, "invalid_request", std::move(message));
  }
}

ApiError ApiError::from_status(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument:
      return invalid("invalid_value", quoted_field(status.message()), status.message());
    case Code::kUnsupported:
      return invalid("unsupported_parameter", "", status.message());
    case Code::kNotFound:
      return not_found(status.message());
    case Code::kResourceExhausted:
      return overloaded(status.message(), 1);
    case Code::kUnavailable:
      return for_http(503, status.message());
    case Code::kDeadlineExceeded: {
      ApiError error = make(504, "server_error", "timeout", status.message());
      error.never_retry = true;
      return error;
    }
    case Code::kCancelled: {
      ApiError error = make(503, "server_error", "request_aborted", status.message());
      error.never_retry = true;
      return error;
    }
    default:
      return make(500, "server_error", "internal_error", "internal error");
  }
}

Json to_json(const ApiError& error) {
  JsonObject fields{{"message", to_valid_utf8(error.message)},
                    {"type", error.type},
                    {"param", error.param.empty() ? Json() : Json(error.param)},
                    {"code", error.code}};
  for (const JsonMember& member : error.extra) {
    fields.append(member.key, member.value);
  }
  return JsonObject{{"error", std::move(fields)}};
}

}  // namespace plumb
