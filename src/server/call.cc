// SPDX-License-Identifier: Apache-2.0
#include "server/call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "net/sse.h"

namespace plumb {
namespace {

const char* content_type_of(StreamFraming framing) {
  return framing == StreamFraming::kJsonLines ? "application/x-ndjson"
                                              : "text/event-stream; charset=utf-8";
}

std::string framed(StreamFraming framing, const Json& chunk) {
  std::string out;
  if (framing == StreamFraming::kJsonLines) {
    out = to_text(chunk) + "\n";
  } else {
    const Json* type = framing == StreamFraming::kNamedEvents ? chunk.find("type") : nullptr;
    append_sse(&out, type == nullptr ? "" : type->as_string(), to_text(chunk));
  }
  return out;
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
      last_token_(setup.num_choices) {}

Call::~Call() {
  loop_.cancel(header_timer_);
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
  metrics_.count_aborted(std::ssize(choices_) - static_cast<std::int64_t>(num_ended_));
  transaction_.count(kClientLeft);
  done();
}

void Call::fail(const ApiError& error) {
  if (is_done_) {
    return;
  }
  if (generation_ != nullptr) {
    generation_->cancel();
    metrics_.count_aborted(std::ssize(choices_) - static_cast<std::int64_t>(num_ended_));
  }
  if (is_open_) {
    for (const Json& chunk : format_->fail(error, transaction_.error_body(error))) {
      write(chunk);
    }
    transaction_.writer.finish();
    transaction_.count(error.http_status);
  } else {
    transaction_.send_error(error);
  }
  done();
}

void Call::on_error(Status status) {
  fail(error_of(status));
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
  if (is_open_ || is_done_) {
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
  transaction_.writer.write_event(framed(format_->framing(), chunk));
}

void Call::on_begin(std::int64_t index, const Usage& prompt) {
  if (!is_done_) {
    format_->begin(index, prompt);
  }
}

void Call::on_prompt(std::int64_t index, std::vector<TokenText> tokens) {
  if (is_done_) {
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
  if (is_done_) {
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
  if (transaction_.trace != nullptr) {
    transaction_.trace->on_first_token(now);
  }
}

void Call::write_delta(const ChoiceDelta& delta) {
  Usage& usage = so_far_[static_cast<std::size_t>(delta.index)];
  usage.completion_tokens += static_cast<std::int64_t>(delta.tokens.size());
  write_all(format_->delta(delta), usage);
}

void Call::write_all(std::vector<Json> chunks, const Usage& usage) {
  for (Json& chunk : chunks) {
    if (setup_.continuous_usage) {
      chunk.as_object().set("usage", usage_to_json(usage));
    }
    write(chunk);
  }
}

void Call::on_end(ChoiceEnd end) {
  if (is_done_) {
    return;
  }
  metrics_.count_end(end, seconds_since(transaction_.received, loop_.now()));
  if (transaction_.trace != nullptr) {
    transaction_.trace->on_end(end);
  }
  choices_[static_cast<std::size_t>(end.index)].end = end;
  if (setup_.stream) {
    open_stream();
    write_all(format_->end(end), end.usage);
  } else if (format_->gathers()) {
    format_->end(end);
  }
  if (!is_done_ && ++num_ended_ == choices_.size()) {
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
  if (is_done_) {
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
  for (const Json& chunk : last_) {
    write(chunk);
  }
  if (format_->framing() == StreamFraming::kEvents) {
    std::string done;
    append_sse(&done, "", "[DONE]");
    transaction_.writer.write_event(std::move(done));
  }
  if (!is_done_) {  // a write may find that the client has left
    transaction_.writer.finish();
    transaction_.count(200);
    done();
  }
}

void Call::done() {
  is_done_ = true;
  loop_.post(std::move(on_done_));  // the owner destroys this call, so not from inside it
}

}  // namespace plumb
