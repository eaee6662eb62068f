// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/dialect.h"
#include "api/error.h"
#include "base/clock.h"
#include "base/json.h"
#include "net/http.h"
#include "net/response_writer.h"
#include "server/access_log.h"
#include "server/auth.h"
#include "server/request_trace.h"
#include "server/server_metrics.h"
#include "server/trace_exporter.h"

namespace plumb {

/// For metrics only, of a request whose client left: nobody receives it.
constexpr int kClientLeft = 499;

/// The headers that name a request: clients of Anthropic read `request-id`, others `x-request-id`.
Headers id_headers(const std::string& request_id, Dialect dialect);

/// The answer that carries an error, and what it says besides its body. The headers hold the
/// request's id.
HttpResponse error_response(const ApiError& error, Dialect dialect, Headers headers);

/// One request on its way through the server, with the means to answer it.
/// Thread: the server's loop.
struct Transaction {
  HttpRequest request;
  ResponseWriter writer;
  std::string request_id;
  std::string route;  ///< path of the matched route, for metrics
  Principal principal;
  const Clock& clock;
  ServerMetrics& metrics;
  Clock::TimePoint received = clock.now();
  std::vector<HeaderField> extra_headers{};  ///< added to the answer
  TraceExporter* tracer = nullptr;           ///< takes the trace
  std::unique_ptr<RequestTrace> trace{};     ///< null where none is recorded
  AccessLog* access_log = nullptr;           ///< takes the line
  std::unique_ptr<AccessEntry> access{};     ///< null where none is written
  Dialect dialect = Dialect::kOpenAi;        ///< of its errors

  /// Adds a header of names, the first ten of them: they come from the client, and a header takes
  /// no control characters. Of a name, letters, digits and the characters of `plain` are kept.
  void add_names(const char* header, const std::vector<std::string>& names, std::string_view plain);

  /// Names the fields of a request that nothing looked at.
  void add_ignored_fields(const std::vector<std::string>& paths);

  /// Headers that every answer carries.
  Headers headers(const char* content_type) const;
  void send(int http_status, const char* content_type, std::string body);
  void send_json(const Json& body, int http_status = 200);
  void send_error(const ApiError& error);
  /// The error as the route's dialect tells it.
  Json error_body(const ApiError& error) const;
  /// What its line in the access log says so far. Requires `access`.
  AccessEntry access_entry() const;
  /// What its trace and its line in the access log hear of the answer.
  void on_first_token(Clock::TimePoint now);
  void on_end(const ChoiceEnd& end);
  /// Counts the answer of a transaction that ends otherwise than by send(), ends its trace and
  /// writes its line.
  void count(int http_status);
};

}  // namespace plumb
