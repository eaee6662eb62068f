// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

/// An answer that is an error: HTTP status and the fields of the OpenAI error object.
struct ApiError {
  int http_status = 500;
  std::string message;
  std::string type = "server_error";
  std::string code = "internal_error";
  std::string param;  ///< path of the field, "messages[2].content"; empty = null
  std::optional<std::int64_t> retry_after_s;  ///< header retry-after
  bool never_retry = false;                   ///< header x-should-retry: false
  JsonObject extra;  ///< further members of the error object (n_prompt_tokens, n_ctx, details)

  static ApiError invalid(std::string code, std::string param, std::string message);
  static ApiError missing(const std::string& param);
  /// "the value of `param` must be <expected>"
  static ApiError wrong_type(const std::string& param, const std::string& expected);
  static ApiError unsupported(const std::string& param, const std::string& why);
  static ApiError not_found(const std::string& what);
  /// Names the one that is served.
  static ApiError model_not_found(const std::string& model, const std::string& served);
  /// The prompt (with 0 completion tokens: alone) does not fit. `param`: messages, prompt or input.
  static ApiError context_length(const std::string& param, std::int64_t prompt_tokens,
                                 std::int64_t completion_tokens, std::int64_t context_len);
  static ApiError overloaded(const std::string& message, std::int64_t retry_after_s);
  /// For a transport-level status (400, 404, 405, 408, 413, 414, 415, 431, 503 …).
  static ApiError for_http(int http_status, std::string message);
  /// A status of the engine or of another module; internals are not shown. A message that begins
  /// with a quoted field is about that one.
  static ApiError from_status(const Status& status);
};

/// {"error":{"message":…,"type":…,"param":…|null,"code":…}}
Json to_json(const ApiError& error);

}  // namespace plumb
