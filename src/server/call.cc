// SPDX-License-Identifier: Apache-2.0
#include "server/call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "net/sse.h"
#include "server/stream_pace.h"

namespace plumb {
namespace {

const char* content_type_of(StreamFraming framing) {
  return framing == StreamFraming::kJsonLines ? "application/x-ndjson"
                                              : "text/event-stream; charset=utf-8";
}

}  // namespace

Call::Call(IoContext& loop, const ServerOptions& options, ServerMetrics& metrics,
           Transaction transaction, std::unique_ptr<ResponseFormat> format, const Setup& setup,
           std::function<void()> on_done)
    : loop_(loop),
      options_(options),
      metrics_(metrics),
      transaction_(std::move(transaction)),
      format_(std::move(format)),
      setup_(setup),
      on_done_(std::move(on_done)),
      choices_(setup.num_choices),
      so_far_(setup.num_choices),
      last_token_(setup.num_choices),
      is_untold_(setup.num_choices) {}

Call::~Call() {
  loop_.cancel(header_timer_);
  loop_.cancel(pause_timer_);
  if (generation_ != nullptr && !is_done_) {
    generation_->cancel();
  }
}

void Call::start(TextService& service, std::vector<ChoiceRequest> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    so_far_[i].prompt_tokens = static_cast<std::int64_t>(choices[i].request.prompt.size());
    ids_.push_back(choices[i].request.id);
  }
  service_ = &service;
  generation_ = service.new_generation(
      *this, [&loop = loop_](std::function<void()> fn) { loop.post(std::move(fn)); });
  transaction_.writer.on_disconnect([this](DisconnectReason) { on_disconnect(); });
  if (is_done_) {
    return;
  }
  const Status status = generation_->start(std::move(choices));
  if (!status.ok()) {
    generation_.reset();
    fail(error_of(status));
    return;
  }
  if (setup_.stream) {
    header_timer_ = loop_.run_after(options_.header_delay, [this] { open_stream(); });
  }
}

bool Call::has_id(std::string_view id) const {
  return transaction_.request_id == id || std::find(ids_.begin(), ids_.end(), id) != ids_.end();
}

bool Call::is_of(const Principal& principal) const {
  return transaction_.principal.cache_salt == principal.cache_salt;
}

void Call::on_disconnect() {
  if (is_done_) {
    return;
  }
  if (generation_ != nullptr) {
    generation_->cancel();
  }
  if (end_status_ == 0) {
    metrics_.count_aborted(std::ssize(choices_) - static_cast<std::int64_t>(num_ended_));
  }
  transaction_.count(kClientLeft);
  done();
}

void Call::fail(const ApiError& error) {
  if (is_ending()) {
    return;
  }
  if (generation_ != nullptr) {
    generation_->cancel();
    metrics_.count_aborted(std::ssize(choices_) - static_cast<std::int64_t>(num_ended_));
  }
  if (is_open_) {
    end_stream(format_->fail(error, transaction_.error_body(error)), error.http_status);
    return;
  }
  transaction_.send_error(error);
  done();
}

void Call::on_error(Status status) {
  fail(error_of(status));
}

// Only a whole answer can be a response that says itself that it failed: a stream ends with that.
void Call::on_invalid_call(const ApiError& error) {
  if (is_ending()) {
    return;
  }
  const std::optional<Json> answer = setup_.stream ? std::nullopt : format_->failed(error);
  if (!answer.has_value()) {
    fail(error);
    return;
  }
  metrics_.count_aborted(std::ssize(choices_) - static_cast<std::int64_t>(num_ended_));
  transaction_.send_json(*answer);
  done();
}

// A full queue says when to come again.
ApiError Call::error_of(const Status& status) const {
  ApiError error = ApiError::from_status(status);
  if (status.code() == Code::kResourceExhausted) {
    error.retry_after_s = service_->retry_after().count();
  }
  return error;
}

void Call::open_stream() {
  if (is_open_ || is_ending()) {
    return;
  }
  is_open_ = true;
  Headers headers = transaction_.headers(content_type_of(format_->framing()));
  headers.add("cache-control", "no-cache");
  headers.add("x-accel-buffering", "no");
  const std::string heartbeat = format_->heartbeat();
  transaction_.writer.start_stream(
      200, std::move(headers),
      {heartbeat.empty() ? std::chrono::nanoseconds(0) : options_.heartbeat, heartbeat});
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    for (const Json& chunk : format_->start(static_cast<std::int64_t>(i))) {
      write(chunk);
    }
  }
}

void Call::write(const Json& chunk) {
  const bool is_named = format_->framing() == StreamFraming::kNamedEvents;
  const Json* type = is_named ? chunk.find("type") : nullptr;
  write_framed(type == nullptr ? "" : std::string_view(type->as_string()), to_text(chunk));
}

void Call::write_framed(std::string_view type, std::string_view text) {
  std::string out;
  out.reserve(text.size() + type.size() + 32);
  if (format_->framing() == StreamFraming::kJsonLines) {
    out.append(text).append("\n");
  } else {
    append_sse(&out, type, text);
  }
  is_cut_ = transaction_.writer.write_event(std::move(out)) == WriteState::kClosed;
}

void Call::on_begin(std::int64_t index, const Usage& prompt) {
  if (!is_ending()) {
    format_->begin(index, prompt);
  }
}

void Call::on_prompt(std::int64_t index, std::vector<TokenText> tokens) {
  if (is_ending()) {
    return;
  }
  if (!setup_.stream) {
    choices_[static_cast<std::size_t>(index)].prompt = std::move(tokens);
    return;
  }
  open_stream();
  if (const std::optional<Json> chunk = format_->prompt(index, std::move(tokens))) {
    write(*chunk);
  }
}

void Call::on_delta(ChoiceDelta delta) {
  if (is_ending()) {
    return;
  }
  count_tokens(delta);
  if (setup_.stream) {
    open_stream();
    write_delta(delta);
    return;
  }
  if (format_->gathers()) {
    format_->delta(delta);
    return;
  }
  ChoiceRecord& choice = choices_[static_cast<std::size_t>(delta.index)];
  choice.append(std::move(delta));
}

void Call::count_tokens(const ChoiceDelta& delta) {
  if (delta.tokens.empty()) {
    return;
  }
  const Clock::TimePoint now = loop_.now();
  Clock::TimePoint& last = last_token_[static_cast<std::size_t>(delta.index)];
  if (last != Clock::TimePoint()) {  // several that came at once share the time
    const double gap = seconds_since(last, now) / static_cast<double>(delta.tokens.size());
    for (std::size_t i = 0; i < delta.tokens.size(); ++i) {
      metrics_.measures.token_gap.observe(gap);
    }
  }
  last = now;
  if (std::exchange(has_token_, true)) {
    return;
  }
  metrics_.measures.time_to_first_token.observe(seconds_since(transaction_.received, now));
  transaction_.on_first_token(now);
}

void Call::write_delta(const ChoiceDelta& delta) {
  Usage& usage = so_far_[static_cast<std::size_t>(delta.index)];
  usage.completion_tokens += static_cast<std::int64_t>(delta.tokens.size());
  std::vector<Json> chunks = format_->delta(delta);
  if (format_->is_cumulative()) {
    tell_later(delta.index);
    return;
  }
  add_usage(usage, &chunks);
  for (const Json& chunk : chunks) {
    write(chunk);
  }
}

void Call::add_usage(const Usage& usage, std::vector<Json>* chunks) const {
  if (!setup_.continuous_usage) {
    return;
  }
  for (Json& chunk : *chunks) {
    chunk.as_object().set("usage", usage_to_json(usage));
  }
}

// Behind what the loop has to do already, so that deltas which wait there share an event.
void Call::tell_later(std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  if (!is_untold_[i]) {
    is_untold_[i] = true;
    untold_.push_back(index);
  }
  post_turn();
}

// What is posted before done() runs before the owner destroys this call.
void Call::post_turn() {
  if (!std::exchange(has_turn_, true)) {
    loop_.post([this] {
      has_turn_ = false;
      send_held();
    });
  }
}

void Call::tell_newest() {
  const std::int64_t index = untold_.front();
  untold_.pop_front();
  is_untold_[static_cast<std::size_t>(index)] = false;
  const std::string text = format_->newest(index);
  if (!text.empty()) {
    write_framed("", text);
  }
}

bool Call::may_send() const {
  return !is_lost() && transaction_.writer.buffered_bytes() <= kMaxUnsentEventBytes;
}

void Call::hold(std::vector<Json> chunks) {
  std::move(chunks.begin(), chunks.end(), std::back_inserter(held_));
  send_held();
}

void Call::send_held() {
  loop_.cancel(pause_timer_);
  if (!untold_.empty() && may_send()) {
    tell_newest();
    if (!untold_.empty() && may_send()) {
      post_turn();  // others first: an event may be large
      return;
    }
  }
  while (untold_.empty() && !held_.empty() && may_send()) {
    write(held_.front());
    held_.pop_front();
  }
  if (is_lost()) {
    return;
  }
  if (!untold_.empty() || !held_.empty()) {
    pause_timer_ = loop_.run_after(kReaderPause, [this] { send_held(); });
  } else if (end_status_ != 0) {
    if (end_status_ == 200 && format_->framing() == StreamFraming::kEvents) {
      std::string last;
      append_sse(&last, "", "[DONE]");
      transaction_.writer.write_event(std::move(last));
    }
    transaction_.writer.finish();
    transaction_.count(end_status_);
    done();
  }
}

void Call::end_stream(std::vector<Json> chunks, int http_status) {
  end_status_ = http_status;
  hold(std::move(chunks));
}

void Call::on_end(ChoiceEnd end) {
  if (is_ending()) {
    return;
  }
  metrics_.count_end(end, seconds_since(transaction_.received, loop_.now()));
  transaction_.on_end(end);
  choices_[static_cast<std::size_t>(end.index)].end = end;
  if (setup_.stream) {
    open_stream();
    std::vector<Json> chunks = format_->end(end);
    if (format_->is_cumulative()) {
      tell_later(end.index);
    } else {
      add_usage(end.usage, &chunks);
      hold(std::move(chunks));
    }
  } else if (format_->gathers()) {
    format_->end(end);
  }
  if (++num_ended_ == choices_.size()) {
    complete();
  }
}

void Call::complete() {
  std::int64_t most_tokens = 0;
  for (const ChoiceRecord& choice : choices_) {
    most_tokens = std::max(most_tokens, choice.end->usage.completion_tokens);
  }
  metrics_.count_answer(setup_.n, most_tokens, setup_.max_tokens);
  if (setup_.stream) {
    last_ = format_->finish(choices_);
  } else {
    last_.push_back(format_->complete(std::move(choices_)));
  }
  if (setup_.keep) {
    setup_.keep();
  } else {
    deliver({});
  }
}

void Call::deliver(const Status& kept) {
  if (is_ending()) {
    return;
  }
  if (!kept.ok()) {
    fail(error_of(kept));
    return;
  }
  if (!setup_.stream) {
    transaction_.send_json(last_.front());
    done();
    return;
  }
  end_stream(std::move(last_), 200);
}

void Call::done() {
  is_done_ = true;
  loop_.post(std::move(on_done_));  // the owner destroys this call, so not from inside it
}

}  // namespace plumb
