// SPDX-License-Identifier: Apache-2.0
#include "server/request_trace.h"

#include <algorithm>
#include <utility>

#include "api/ids.h"
#include "server/server_metrics.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxChildren = 1024;
constexpr int kSpanDigits = 16;

}  // namespace

RequestTrace::RequestTrace(TraceContext context, TracedRequest request, Clock::TimePoint received,
                           const Clock& clock)
    : context_(std::move(context)),
      request_(std::move(request)),
      span_id_(random_hex(kSpanDigits)),
      received_(received) {
  const auto wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock.wall_now().time_since_epoch());
  received_unix_ns_ = (wall - (clock.now() - received)).count();
}

std::int64_t RequestTrace::unix_ns(Clock::TimePoint at) const {
  return received_unix_ns_ +
         std::chrono::duration_cast<std::chrono::nanoseconds>(at - received_).count();
}

void RequestTrace::on_first_token(Clock::TimePoint now) {
  first_token_ = now;
}

void RequestTrace::add(const char* name, std::int64_t choice, Clock::TimePoint begin,
                       Clock::TimePoint end, std::int64_t num_tokens) {
  if (children_.size() == kMaxChildren) {
    ++num_omitted_;
    return;
  }
  Span span;
  span.trace_id = context_.trace_id;
  span.span_id = random_hex(kSpanDigits);
  span.parent_span_id = span_id_;
  span.name = name;
  span.start_ns = unix_ns(begin);
  span.end_ns = unix_ns(std::max(begin, end));
  span.attributes.push_back({"plumb.choice", choice});
  if (num_tokens > 0) {
    span.attributes.push_back({"plumb.num_tokens", num_tokens});
  }
  children_.push_back(std::move(span));
}

void RequestTrace::on_end(const ChoiceEnd& end) {
  const Timings& t = end.timings;
  add("queue", end.index, t.submitted, t.scheduled);
  for (const Phase& phase : t.phases) {
    const bool is_prefill = phase.kind == Phase::Kind::kPrefill;
    add(is_prefill ? "prefill" : "retraction", end.index, phase.begin, phase.end, phase.num_tokens);
  }
  add("decode", end.index, t.first_token, t.last_token, end.usage.completion_tokens);
  ends_.push_back(end);
  ends_.back().timings.phases.clear();
}

void RequestTrace::add_usage(Span* root) const {
  const Usage usage = sum_usage(ends_, request_.choices_per_prompt);
  root->attributes.push_back({"gen_ai.usage.prompt_tokens", usage.prompt_tokens});
  root->attributes.push_back({"gen_ai.usage.completion_tokens", usage.completion_tokens});
}

// Of several choices: from the first that was there to the last.
void RequestTrace::add_latencies(Span* root, Clock::TimePoint now) const {
  const auto add = [root](const char* name, Clock::TimePoint begin, Clock::TimePoint end) {
    root->attributes.push_back(
        {std::string("gen_ai.latency.") + name, std::max(0.0, seconds_since(begin, end))});
  };
  if (first_token_.has_value()) {
    add("time_to_first_token", received_, *first_token_);
  }
  if (!ends_.empty()) {
    Timings all = ends_.front().timings;
    for (const ChoiceEnd& end : ends_) {
      all.submitted = std::min(all.submitted, end.timings.submitted);
      all.scheduled = std::min(all.scheduled, end.timings.scheduled);
      all.first_token = std::min(all.first_token, end.timings.first_token);
      all.last_token = std::max(all.last_token, end.timings.last_token);
    }
    add("time_in_queue", all.submitted, all.scheduled);
    add("time_in_model_prefill", all.scheduled, all.first_token);
    add("time_in_model_decode", all.first_token, all.last_token);
    add("time_in_model_inference", all.scheduled, all.last_token);
  }
  add("e2e", received_, now);
}

std::vector<Span> RequestTrace::finish(int http_status, Clock::TimePoint now) {
  Span root;
  root.trace_id = context_.trace_id;
  root.span_id = span_id_;
  root.parent_span_id = context_.parent_span_id;
  root.name = "llm_request";
  root.kind = SpanKind::kServer;
  root.start_ns = received_unix_ns_;
  root.end_ns = unix_ns(now);
  root.attributes = {{"gen_ai.request.id", request_.id},
                     {"gen_ai.request.model", request_.model},
                     {"gen_ai.request.temperature", request_.temperature},
                     {"gen_ai.request.top_p", request_.top_p},
                     {"gen_ai.request.n", request_.n},
                     {"http.response.status_code", std::int64_t{http_status}}};
  if (request_.max_tokens > 0) {
    root.attributes.push_back({"gen_ai.request.max_tokens", request_.max_tokens});
  }
  if (http_status >= 400) {
    root.attributes.push_back({"error.type", std::to_string(http_status)});
    root.is_error = http_status >= 500;
  }
  if (!ends_.empty()) {
    add_usage(&root);
  }
  add_latencies(&root, now);
  if (num_omitted_ > 0) {
    root.attributes.push_back({"plumb.omitted_spans", num_omitted_});
  }
  std::vector<Span> spans;
  spans.push_back(std::move(root));
  std::move(children_.begin(), children_.end(), std::back_inserter(spans));
  return spans;
}

}  // namespace plumb
