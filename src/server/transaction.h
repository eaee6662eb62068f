// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/error.h"
#include "base/clock.h"
#include "base/json.h"
#include "net/http.h"
#include "net/response_writer.h"
#include "server/auth.h"

namespace plumb {

/// One request on its way through the server, with the means to answer it.
/// Thread: the server's loop.
struct Transaction {
  HttpRequest request;
  ResponseWriter writer;
  std::string request_id;
  std::string route;  ///< path of the matched route, for logs and metrics
  Principal principal;
  Clock::TimePoint received;
  std::vector<HeaderField> extra_headers;  ///< added to the answer

  /// Headers that every answer carries.
  Headers headers(const char* content_type) const;
  void send(int http_status, const char* content_type, std::string body);
  void send_json(const Json& body, int http_status = 200);
  void send_error(const ApiError& error);
};

}  // namespace plumb
