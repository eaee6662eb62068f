// SPDX-License-Identifier: Apache-2.0
#include "server/background_run.h"

#include <utility>

#include "net/sse.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxLogBytes = 64 << 20;

std::string framed_event(const Json& event) {
  std::string out;
  append_sse(&out, event.find("type")->as_string(), to_text(event));
  return out;
}

ApiError too_many_events() {
  return ApiError::for_http(500, "the response has more than " + std::to_string(kMaxLogBytes) +
                                     " bytes of events, which is all that is kept");
}

}  // namespace

BackgroundRun::BackgroundRun(IoContext& loop, ServerMetrics& metrics,
                             std::shared_ptr<ResponseTurn> turn,
                             std::unique_ptr<ResponseFormat> format, std::int64_t max_tokens,
                             Hooks hooks)
    : loop_(loop),
      metrics_(metrics),
      turn_(std::move(turn)),
      format_(std::move(format)),
      max_tokens_(max_tokens),
      hooks_(std::move(hooks)),
      received_(loop.now()),
      log_(std::make_shared<EventLog>()) {}

BackgroundRun::~BackgroundRun() {
  if (generation_ != nullptr && !has_ended_) {
    generation_->cancel();
  }
  if (has_ended_) {  // the loop has stopped before the response was kept
    write_line();
  }
}

Status BackgroundRun::start(TextService& service, std::vector<ChoiceRequest> choices) {
  generation_ = service.new_generation(
      *this, [&loop = loop_](std::function<void()> fn) { loop.post(std::move(fn)); });
  Status status = generation_->start(std::move(choices));
  if (!status.ok()) {
    generation_.reset();
    return status;
  }
  append(format_->start(0));
  return status;
}

void BackgroundRun::append(const std::vector<Json>& events) {
  for (const Json& event : events) {
    log_->append(framed_event(event));
  }
  if (!events.empty()) {
    hooks_.on_events();
  }
}

bool BackgroundRun::is_too_long() const {
  return log_->text().size() > kMaxLogBytes;
}

void BackgroundRun::on_prompt(std::int64_t /*index*/, std::vector<TokenText> /*tokens*/) {}

void BackgroundRun::on_delta(ChoiceDelta delta) {
  if (has_ended_) {
    return;
  }
  if (!delta.tokens.empty() && !std::exchange(has_token_, true)) {
    const Clock::TimePoint now = loop_.now();
    metrics_.measures.time_to_first_token.observe(seconds_since(received_, now));
    if (line_ != nullptr) {
      line_->on_first_token(now);
    }
  }
  append(format_->delta(delta));
  if (is_too_long()) {
    fail(too_many_events());
  }
}

void BackgroundRun::on_end(ChoiceEnd end) {
  if (has_ended_) {
    return;
  }
  metrics_.count_end(end, seconds_since(received_, loop_.now()));
  metrics_.count_answer(1, end.usage.completion_tokens, max_tokens_);
  if (line_ != nullptr) {
    line_->on_end(end);
  }
  append(format_->end(end));
  end_with(is_too_long() ? failed_events(too_many_events()) : format_->finish({}));
}

void BackgroundRun::on_error(Status status) {
  fail(ApiError::from_status(status));
}

void BackgroundRun::fail(const ApiError& error) {
  if (has_ended_) {
    return;
  }
  generation_->cancel();
  metrics_.count_aborted(1);
  end_with(failed_events(error));
}

std::vector<Json> BackgroundRun::failed_events(const ApiError& error) {
  if (line_ != nullptr) {
    line_->on_error(error);
  }
  return format_->fail(error, {});
}

void BackgroundRun::cancel() {
  if (has_ended_) {
    return;
  }
  generation_->cancel();
  metrics_.count_aborted(1);
  end_with(turn_->assembler->cancel());
}

// The log grows by its end only once that is kept: who has read it may rely on it.
void BackgroundRun::end_with(const std::vector<Json>& last) {
  has_ended_ = true;
  for (const Json& event : last) {
    last_ += framed_event(event);
  }
  hooks_.keep(turn_->record(false, log_->text() + last_));
}

void BackgroundRun::write_line() {
  if (const auto line = std::exchange(line_, nullptr)) {
    line->write(turn_->assembler->status(), loop_.now());
  }
}

void BackgroundRun::close(const Status& kept) {
  if (!kept.ok()) {
    last_.clear();
    for (const Json& event : failed_events(ApiError::from_status(kept))) {
      last_ += framed_event(event);
    }
  }
  write_line();
  const EventLog last(std::exchange(last_, ""));
  for (std::int64_t i = 0; i < last.end(); ++i) {
    log_->append(last.event(i));
  }
  log_->close();
  hooks_.on_events();
  loop_.post(std::move(hooks_.on_done));  // the owner destroys this run, so not from inside it
}

}  // namespace plumb
