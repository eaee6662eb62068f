// SPDX-License-Identifier: Apache-2.0
#include "server/access_log.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "base/timestamp.h"
#include "server/trace_context.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxHeadBytes = 200;  // of what a client says of itself
constexpr int kMilliDigits = 3;

std::string head_text(const HttpRequest& head, std::string_view name) {
  return std::string(head.headers.find(name).value_or("").substr(0, kMaxHeadBytes));
}

double millis(Clock::TimePoint begin, Clock::TimePoint end) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count();
  return static_cast<double>(std::max<std::int64_t>(micros, 0)) / 1e3;
}

void add_text(const char* name, const std::string& text, JsonObject* line) {
  if (!text.empty()) {
    line->append(name, text);
  }
}

// Of several choices: from the first that was there to the last.
void add_phases(const AccessEntry& entry, JsonObject* line) {
  Timings all = entry.ends.front().timings;
  std::int64_t num_preemptions = 0;
  JsonArray reasons;
  for (const ChoiceEnd& end : entry.ends) {
    all.submitted = std::min(all.submitted, end.timings.submitted);
    all.scheduled = std::min(all.scheduled, end.timings.scheduled);
    all.first_token = std::min(all.first_token, end.timings.first_token);
    all.last_token = std::max(all.last_token, end.timings.last_token);
    num_preemptions += end.timings.num_preemptions;
    reasons.emplace_back(end.reason == FinishReason::kAbort ? "abort"
                                                            : finish_reason_text(end.reason));
  }
  const Usage usage = sum_usage(entry.ends, entry.choices_per_prompt);
  line->append("prompt_tokens", usage.prompt_tokens);
  line->append("cached_tokens", usage.cached_tokens);
  line->append("completion_tokens", usage.completion_tokens);
  line->append("finish_reasons", std::move(reasons));
  line->append("preemptions", num_preemptions);
  line->append("queue_ms", millis(all.submitted, all.scheduled));
  line->append("prefill_ms", millis(all.scheduled, all.first_token));
  line->append("decode_ms", millis(all.first_token, all.last_token));
}

}  // namespace

AccessEntry::AccessEntry(const HttpRequest& head, std::chrono::system_clock::time_point now)
    : begun(now),
      client(head.peer_address),
      method(head.method.substr(0, kMaxHeadBytes)),
      route("unknown"),
      user_agent(head_text(head, "user-agent")) {
  if (const auto context = parse_traceparent(head.headers.find("traceparent").value_or(""))) {
    trace_id = context->trace_id;
  }
}

Json access_line(const AccessEntry& entry, std::optional<int> http_status,
                 Clock::TimePoint received, Clock::TimePoint now) {
  JsonObject line{{"time", to_rfc3339(entry.begun, kMilliDigits)},
                  {"request_id", entry.request_id}};
  add_text("trace_id", entry.trace_id, &line);
  add_text("key", entry.key, &line);
  add_text("client", entry.client, &line);
  line.append("method", entry.method);
  line.append("route", entry.route);
  if (http_status.has_value()) {
    line.append("status", std::int64_t{*http_status});
  }
  add_text("response_id", entry.response_id, &line);
  add_text("response_status", entry.response_status, &line);
  add_text("error_code", entry.error_code, &line);
  if (!entry.model.empty()) {
    line.append("model", entry.model);
    line.append("stream", entry.is_stream);
  }
  if (!entry.ends.empty()) {
    add_phases(entry, &line);
  }
  if (entry.first_token.has_value()) {
    line.append("ttft_ms", millis(received, *entry.first_token));
  }
  line.append("total_ms", millis(received, now));
  add_text("user_agent", entry.user_agent, &line);
  return line;
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path) {
  if (path.empty()) {
    return std::unique_ptr<AccessLog>();
  }
  if (path == "-") {
    return std::unique_ptr<AccessLog>(new AccessLog(std::nullopt));
  }
  Result<AppendFile> file = AppendFile::open(path);
  if (!file.ok()) {
    return Status{file.status().code(), "--access-log: " + file.status().message()};
  }
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(file).value()));
}

void AccessLog::write(const Json& line) {
  const std::string text = to_text(line) + "\n";
  if (!file_.has_value()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  const Status status = file_->append(text);
  if (!status.ok() && !is_failing_) {
    log_warning("requests are not written to the access log", {{"why", status.message()}});
  }
  is_failing_ = !status.ok();
}

}  // namespace plumb
