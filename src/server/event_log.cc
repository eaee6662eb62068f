// SPDX-License-Identifier: Apache-2.0
#include "server/event_log.h"

#include <algorithm>
#include <utility>

#include "server/stream_pace.h"

namespace plumb {
namespace {

constexpr std::string_view kEventEnd = "\n\n";

}  // namespace

EventLog::EventLog(std::string events) : text_(std::move(events)), is_closed_(true) {
  for (std::size_t at = text_.find(kEventEnd); at != std::string::npos;
       at = text_.find(kEventEnd, at + kEventEnd.size())) {
    ends_.push_back(at + kEventEnd.size());
  }
}

void EventLog::append(std::string_view event) {
  text_ += event;
  ends_.push_back(text_.size());
}

std::string_view EventLog::event(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

EventReader::EventReader(IoContext& loop, Transaction transaction,
                         std::shared_ptr<const EventLog> log, std::int64_t first,
                         std::chrono::nanoseconds heartbeat, std::function<void()> on_done)
    : loop_(loop),
      transaction_(std::move(transaction)),
      log_(std::move(log)),
      next_(first),
      heartbeat_(heartbeat),
      on_done_(std::move(on_done)) {}

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
  while (!is_done_ && next_ < log_->num_events() && std::ssize(out) < room) {
    out += log_->event(next_++);
  }
  if (!out.empty()) {
    transaction_.writer.write_event(std::move(out));
  }
  if (is_done_) {
    return;
  }
  if (next_ < log_->num_events()) {
    timer_ = loop_.run_after(kReaderPause, [this] { pump(); });
  } else if (log_->is_closed()) {
    transaction_.writer.finish();
    end(200);
  }
}

void EventReader::end(int http_status) {
  if (std::exchange(is_done_, true)) {
    return;
  }
  loop_.cancel(timer_);
  transaction_.count(http_status);
  loop_.post(std::move(on_done_));
}

}  // namespace plumb
