// SPDX-License-Identifier: Apache-2.0
#include "server/transaction.h"

#include <utility>

namespace plumb {

Headers Transaction::headers(const char* content_type) const {
  Headers out{{"x-request-id", request_id}, {"content-type", content_type}};
  for (const HeaderField& field : extra_headers) {
    out.add(field.name, field.value);
  }
  return out;
}

void Transaction::send(int http_status, const char* content_type, std::string body) {
  count(http_status);
  writer.send({http_status, headers(content_type), std::move(body)});
}

void Transaction::send_json(const Json& body, int http_status) {
  send(http_status, "application/json", to_text(body));
}

void Transaction::count(int http_status) {
  const Clock::TimePoint now = clock.now();
  metrics.count_request(route, http_status, seconds_since(received, now));
  if (trace != nullptr) {
    tracer->add(trace->finish(http_status, now));
    trace.reset();
  }
}

HttpResponse error_response(const ApiError& error, Headers headers) {
  if (error.http_status == 401) {
    headers.add("www-authenticate", "Bearer");
  }
  if (error.retry_after_s.has_value()) {
    headers.add("retry-after", std::to_string(*error.retry_after_s));
  }
  if (error.never_retry) {
    headers.add("x-should-retry", "false");
  }
  return {error.http_status, std::move(headers), to_text(to_json(error))};
}

void Transaction::send_error(const ApiError& error) {
  count(error.http_status);
  writer.send(error_response(error, headers("application/json")));
}

}  // namespace plumb
