// SPDX-License-Identifier: Apache-2.0
#include "server/trace_exporter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "base/log.h"

namespace plumb {
namespace {

constexpr std::string_view kTracesPath = "/v1/traces";
constexpr std::chrono::nanoseconds kFirstRetryDelay = std::chrono::seconds(1);
constexpr std::int64_t kMaxAnswerBytes = 64 << 10;

Counter dropped(Metrics& metrics, const char* reason) {
  return metrics.counter("plumb_trace_spans_dropped_total", "spans that were not delivered",
                         {{"reason", reason}});
}

// What the protocol says to send again.
bool is_passing(int http_status) {
  return http_status == 429 || http_status == 502 || http_status == 503 || http_status == 504;
}

// Spans that a collector did not want although it took the others.
std::int64_t num_rejected(const std::string& body) {
  const Result<Json> json = parse_json(body);
  const Json* partial = json.ok() ? json.value().find("partialSuccess") : nullptr;
  const Json* count = partial != nullptr ? partial->find("rejectedSpans") : nullptr;
  if (count == nullptr) {
    return 0;
  }
  std::int64_t value = 0;
  if (count->is_string()) {  // a 64-bit integer of the JSON form
    const Result<Json> number = parse_json(count->as_string());
    return number.ok() && number.value().to_int64(&value) ? value : 0;
  }
  return count->to_int64(&value) ? value : 0;
}

}  // namespace

Result<std::string> otlp_traces_url(const std::string& endpoint) {
  if (!parse_url(endpoint) || endpoint.find_first_of("?#") != std::string::npos) {
    return Status{Code::kInvalidArgument,
                  "the collector's URL cannot be used, expected http://HOST:PORT or "
                  "https://HOST:PORT, with a path at most"};
  }
  std::string url = endpoint;
  while (url.ends_with('/')) {
    url.pop_back();
  }
  return url.ends_with(kTracesPath) ? url : url + std::string(kTracesPath);
}

TraceExporter::TraceExporter(TraceExporterOptions options, IoContext& loop, Transport& transport,
                             Metrics& metrics)
    : options_(std::move(options)),
      loop_(loop),
      sent_(metrics.counter("plumb_trace_spans_sent_total", "spans that the collector took")),
      dropped_full_(dropped(metrics, "queue_full")),
      dropped_refused_(dropped(metrics, "refused")),
      dropped_shutdown_(dropped(metrics, "shutdown")),
      client_(loop, transport),
      scope_(loop) {}

void TraceExporter::add(std::vector<Span> spans) {
  bool must_wake = false;
  {
    const MutexLock lock(mutex_);
    const std::size_t before = queue_.size();
    if (before + spans.size() > kMaxQueuedSpans) {
      dropped_full_.add(static_cast<double>(spans.size()));
      return;
    }
    std::move(spans.begin(), spans.end(), std::back_inserter(queue_));
    must_wake = before == 0 || (before < kBatchSpans && queue_.size() >= kBatchSpans);
  }
  if (must_wake) {
    loop_.post([this] { advance(); });
  }
}

void TraceExporter::begin_flush() {
  {
    const MutexLock lock(mutex_);
    is_flushing_ = true;
  }
  loop_.post([this] { advance(); });
}

void TraceExporter::flush(Clock::TimePoint deadline) {
  begin_flush();
  MutexLock lock(mutex_);
  while ((!queue_.empty() || num_in_batch_ > 0) && is_empty_.wait_until(lock, deadline)) {
  }
}

void TraceExporter::stop() {
  scope_.request_stop();
  scope_.join_blocking();
  const MutexLock lock(mutex_);
  dropped_shutdown_.add(static_cast<double>(queue_.size() + num_in_batch_));
  queue_.clear();
  num_in_batch_ = 0;
}

void TraceExporter::take_batch() {
  const MutexLock lock(mutex_);
  if (queue_.size() < kBatchSpans && !is_due_ && !is_flushing_) {
    return;
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchSpans));
  const auto end = queue_.begin() + count;
  batch_.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  num_in_batch_ = batch_.size();
  is_due_ = false;
}

void TraceExporter::arm(Clock::TimePoint at) {
  loop_.cancel(timer_);
  timer_ = loop_.run_at(at, [this] {
    timer_ = {};
    is_due_ = true;
    advance();
  });
}

// Sends the next batch if there is one and it is time, else waits for the time.
void TraceExporter::advance() {
  if (is_sending_ || scope_.stop_token().stop_requested()) {
    return;
  }
  if (batch_.empty()) {
    take_batch();
  }
  bool has_more = false;
  bool is_flushing = false;
  {
    const MutexLock lock(mutex_);
    has_more = !queue_.empty();
    is_flushing = is_flushing_;
    if (batch_.empty() && !has_more) {
      is_empty_.notify_all();
    }
  }
  if (batch_.empty()) {
    if (has_more && timer_ == TimerId()) {
      arm(loop_.now() + options_.interval);
    }
    return;
  }
  if (!is_flushing && loop_.now() < retry_at_) {
    arm(retry_at_);
    return;
  }
  is_sending_ = true;
  scope_.spawn(send_batch());
}

Task<void> TraceExporter::send_batch() {
  ClientRequest request;
  request.method = "POST";
  request.url = options_.url;
  request.headers.add("content-type", "application/json");
  request.body = otlp_json(batch_, options_.resource);
  request.timeout = options_.timeout;
  request.max_response_bytes = kMaxAnswerBytes;
  request.stop = scope_.stop_token();
  const Result<HttpResponse> response = co_await client_.request(std::move(request));
  is_sending_ = false;
  on_sent(response);
  advance();
}

void TraceExporter::on_sent(const Result<HttpResponse>& response) {
  if (!response.ok()) {
    if (response.status().code() != Code::kCancelled) {  // else stop() counts what is left
      on_failed(response.status().message());
    }
    return;
  }
  const HttpResponse& answer = response.value();
  const auto count = static_cast<std::int64_t>(batch_.size());
  if (is_passing(answer.status)) {
    on_failed("HTTP status " + std::to_string(answer.status));
  } else if (answer.status < 200 || answer.status > 299) {
    dropped_refused_.add(static_cast<double>(count));
    report(false, "HTTP status " + std::to_string(answer.status));
    end_batch();
  } else {
    const std::int64_t rejected = std::clamp<std::int64_t>(num_rejected(answer.body), 0, count);
    dropped_refused_.add(static_cast<double>(rejected));
    sent_.add(static_cast<double>(count - rejected));
    report(true, "");
    end_batch();
  }
}

// The batch stays for another attempt, unless there is no time for one.
void TraceExporter::on_failed(const std::string& reason) {
  report(false, reason);
  retry_delay_ = std::clamp(retry_delay_ * 2, kFirstRetryDelay,
                            std::max(kFirstRetryDelay, options_.max_retry_delay));
  retry_at_ = loop_.now() + retry_delay_;
  bool is_flushing = false;
  {
    const MutexLock lock(mutex_);
    is_flushing = is_flushing_;
  }
  if (is_flushing) {
    dropped_shutdown_.add(static_cast<double>(batch_.size()));
    drop_queue(dropped_shutdown_);
    end_batch();
  }
}

void TraceExporter::drop_queue(const Counter& counter) {
  const MutexLock lock(mutex_);
  counter.add(static_cast<double>(queue_.size()));
  queue_.clear();
}

void TraceExporter::end_batch() {
  batch_.clear();
  const MutexLock lock(mutex_);
  num_in_batch_ = 0;
}

// One line when it begins to fail and one when it works again, not one for each batch.
void TraceExporter::report(bool is_well, const std::string& reason) {
  if (is_well) {
    retry_delay_ = std::chrono::nanoseconds(0);
    retry_at_ = {};
  }
  if (is_well == std::exchange(is_well_, is_well)) {
    return;
  }
  if (is_well) {
    log_info("traces are delivered again", {{"collector", options_.url}});
  } else {
    log_warning("traces cannot be delivered; requests go on without them",
                {{"collector", options_.url}, {"reason", reason}});
  }
}

}  // namespace plumb
