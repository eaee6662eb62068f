// SPDX-License-Identifier: Apache-2.0
#include "server/event_log.h"

#include <algorithm>
#include <utility>

#include "server/stream_pace.h"

namespace plumb {
namespace {

constexpr std::string_view kEventEnd = "\n\n";

}  // namespace

EventLog::EventLog(std::string events, std::int64_t first, bool is_closed)
    : text_(std::move(events)), first_(first), is_closed_(is_closed) {
  for (std::size_t at = text_.find(kEventEnd); at != std::string::npos;
       at = text_.find(kEventEnd, at + kEventEnd.size())) {
    ends_.push_back(at + kEventEnd.size());
  }
}

void EventLog::append(std::string_view event) {
  text_ += event;
  ends_.push_back(text_.size());
}

std::string_view EventLog::event(std::int64_t number) const {
  const auto i = static_cast<std::size_t>(number - first_);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

EventReader::EventReader(IoContext& loop, Transaction transaction,
                         std::shared_ptr<const EventLog> log, std::int64_t first,
                         std::chrono::nanoseconds heartbeat, Hooks hooks)
    : loop_(loop),
      transaction_(std::move(transaction)),
      log_(std::move(log)),
      next_(first),
      heartbeat_(heartbeat),
      hooks_(std::move(hooks)) {}

EventReader::~EventReader() {
  loop_.cancel(timer_);
  if (!is_done_) {  // the loop has stopped: nobody is to be called
    transaction_.writer.on_disconnect([](DisconnectReason) {});
  }
}

void EventReader::start() {
  Headers headers = transaction_.headers("text/event-stream; charset=utf-8");
  headers.add("cache-control", "no-cache");
  headers.add("x-accel-buffering", "no");
  transaction_.writer.start_stream(200, std::move(headers), {heartbeat_, ":\n\n"});
  transaction_.writer.on_disconnect([this](DisconnectReason) { end(kClientLeft); });
  pump();
}

void EventReader::pump() {
  loop_.cancel(timer_);
  std::string out;
  const std::int64_t room = kMaxUnsentEventBytes - transaction_.writer.buffered_bytes();
  const auto has_next = [this] { return log_ != nullptr && next_ < log_->end(); };
  while (!is_done_ && has_next() && std::ssize(out) < room) {
    out += log_->event(next_++);
  }
  if (!out.empty()) {
    transaction_.writer.write_event(std::move(out));
  }
  if (is_done_) {
    return;
  }
  if (has_next()) {
    timer_ = loop_.run_after(kReaderPause, [this] { pump(); });
  } else if (log_ != nullptr && log_->is_closed()) {
    transaction_.writer.finish();
    end(200);
  } else if (hooks_.more && !std::exchange(is_waiting_, true)) {
    hooks_.more(next_);
  }
}

void EventReader::go_on(std::shared_ptr<const EventLog> log) {
  is_waiting_ = false;
  log_ = std::move(log);
  pump();
}

void EventReader::cut() {
  transaction_.writer.abort();
  end(404);
}

void EventReader::end(int http_status) {
  if (std::exchange(is_done_, true)) {
    return;
  }
  loop_.cancel(timer_);
  transaction_.count(http_status);
  loop_.post(std::move(hooks_.on_done));
}

}  // namespace plumb
