// SPDX-License-Identifier: Apache-2.0
#include "server/transaction.h"

#include <algorithm>
#include <utility>

namespace plumb {

void Transaction::add_names(const char* header, const std::vector<std::string>& names,
                            std::string_view plain) {
  constexpr std::size_t kMaxNames = 10;
  constexpr std::size_t kMaxBytes = 64;
  if (names.empty()) {
    return;
  }
  std::string joined;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) {
    joined += i > 0 ? ", " : "";
    for (const char c : names[i].substr(0, kMaxBytes)) {
      const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || plain.find(c) != std::string_view::npos;
      joined += is_kept ? c : '?';
    }
  }
  extra_headers.push_back({header, std::move(joined)});
}

void Transaction::add_ignored_fields(const std::vector<std::string>& paths) {
  add_names("x-plumb-ignored-fields", paths, "_-.[]");
}

Headers Transaction::headers(const char* content_type) const {
  Headers out = id_headers(request_id, dialect);
  out.add("content-type", content_type);
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
  if (access != nullptr) {
    access_log->write(access_line(access_entry(), http_status, received, now));
    access.reset();
  }
}

AccessEntry Transaction::access_entry() const {
  AccessEntry entry = *access;
  entry.request_id = request_id;
  entry.key = principal.name;
  entry.route = route;
  return entry;
}

void Transaction::on_first_token(Clock::TimePoint now) {
  if (trace != nullptr) {
    trace->on_first_token(now);
  }
  if (access != nullptr) {
    access->first_token = now;
  }
}

void Transaction::on_end(const ChoiceEnd& end) {
  if (trace != nullptr) {
    trace->on_end(end);
  }
  if (access != nullptr) {
    access->ends.push_back(end);
    access->ends.back().timings.phases.clear();
  }
}

Headers id_headers(const std::string& request_id, Dialect dialect) {
  Headers out{{"x-request-id", request_id}};
  if (dialect == Dialect::kAnthropic) {
    out.add("request-id", request_id);
  }
  return out;
}

HttpResponse error_response(const ApiError& error, Dialect dialect, Headers headers) {
  if (error.http_status == 401) {
    headers.add("www-authenticate", "Bearer");
  }
  if (error.retry_after_s.has_value()) {
    headers.add("retry-after", std::to_string(*error.retry_after_s));
  }
  if (error.never_retry) {
    headers.add("x-should-retry", "false");
  }
  const std::string id(headers.find("x-request-id").value_or(""));
  return {http_status_of(error, dialect), std::move(headers),
          to_text(plumb::error_body(error, dialect, id))};
}

void Transaction::send_error(const ApiError& error) {
  if (access != nullptr) {
    access->error_code = error.code;
  }
  count(http_status_of(error, dialect));
  writer.send(error_response(error, dialect, headers("application/json")));
}

Json Transaction::error_body(const ApiError& error) const {
  return plumb::error_body(error, dialect, request_id);
}

}  // namespace plumb
