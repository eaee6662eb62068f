// SPDX-License-Identifier: Apache-2.0
#include "net/http_connection.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace plumb {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kZeroChunk = "0\r\n\r\n";
constexpr std::string_view kLineEndZeroChunk = "\r\n0\r\n\r\n";
// A client that was refused while sending gets this long to take note of the answer.
constexpr std::chrono::seconds kLingerTime{2};
// Bytes behind a running request above which the connection is not read on.
constexpr std::size_t kMaxPipelinedBytes = std::size_t{64} * 1024;
constexpr std::size_t kKeptCapacity = 4096;

bool has_no_body(int status) {
  return status / 100 == 1 || status == 204 || status == 304;
}

void release(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) {
    buffer.shrink_to_fit();
  }
}

}  // namespace

void ServerContext::on_closed() {
  // Under the lock, so that who waits for zero may destroy this as soon as it sees it.
  const MutexLock lock(mutex);
  if (num_connections.fetch_sub(1) == 1) {
    all_closed.notify_all();
  }
}

bool ServerContext::wait_closed(Clock::TimePoint deadline) {
  MutexLock lock(mutex);
  while (num_connections > 0) {
    if (!all_closed.wait_until(lock, deadline)) {
      return num_connections == 0;
    }
  }
  return true;
}

const std::string& ServerLoop::date_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(loop.clock().wall_now());
  if (now != date_at || date.empty()) {
    date_at = now;
    date = http_date(now);
  }
  return date;
}

HttpConnection::HttpConnection(ServerLoop& home, std::unique_ptr<ByteStream> stream)
    : home_(home), stream_(std::move(stream)) {}

void HttpConnection::start() {
  // A fresh connection is expected to speak; later it may rest for the idle time.
  set_deadline(options().header_timeout);
  pump();
}

void HttpConnection::start_full() {
  fail(503);
  pump();
}

void HttpConnection::drain() {
  if (phase_ == Phase::kIdle) {
    cut(DisconnectReason::kShutdown);
  } else {
    close_after_ = true;
  }
}

void HttpConnection::cut(DisconnectReason reason) {
  if (phase_ == Phase::kClosed) {
    return;
  }
  phase_ = Phase::kClosed;
  home_.loop.cancel(timer_);
  // Only a reset tells a client of HTTP/1.0 that its body is not complete.
  if (streaming_ && !chunked_) {
    stream_->reset();
  } else {
    stream_->close();
  }
  const std::shared_ptr<HttpConnection> self = shared_from_this();
  const std::shared_ptr<ResponseState> response = std::move(response_);
  ServerContext& context = home_.context;
  home_.connections.erase(this);
  if (response) {
    response->disconnect(reason);
  }
  context.on_closed();  // last: the server may end now
}

void HttpConnection::on_wake() {
  pump();
}

void HttpConnection::pump() {
  if (phase_ == Phase::kClosed) {
    return;
  }
  if (pumping_) {
    again_ = true;
    return;
  }
  pumping_ = true;
  do {
    again_ = false;
    flush();
    if (is_receiving() && !in_.empty()) {
      in_.erase(0, consume(in_));
    }
  } while (again_ && phase_ != Phase::kClosed);
  pumping_ = false;
  if (phase_ != Phase::kClosed) {
    read_more();
    arm_timer();
  }
}

void HttpConnection::read_more() {
  const bool is_full = phase_ == Phase::kAnswering && in_.size() >= kMaxPipelinedBytes;
  if (reading_ || input_ended_ || is_full) {
    return;
  }
  reading_ = true;
  stream_->read([self = shared_from_this()](Result<std::string_view> bytes) {
    self->on_read(std::move(bytes));
  });
}

void HttpConnection::on_read(Result<std::string_view> bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) {
    return;
  }
  if (!bytes.ok()) {
    cut(DisconnectReason::kPeerReset);
    return;
  }
  if (bytes.value().empty()) {
    on_input_end();
  } else {
    on_bytes(bytes.value());
  }
  pump();
}

void HttpConnection::on_bytes(std::string_view bytes) {
  if (phase_ == Phase::kLinger || discard_input_) {
    return;
  }
  // Parsed where they lie if nothing waits in front of them.
  if (is_receiving() && in_.empty()) {
    pumping_ = true;  // what the handler does inside consume() waits for the pump
    bytes.remove_prefix(consume(bytes));
    pumping_ = false;
    again_ = true;
  }
  in_.append(discard_input_ ? std::string_view() : bytes);
}

void HttpConnection::on_input_end() {
  input_ended_ = true;
  if (phase_ != Phase::kAnswering) {
    cut(DisconnectReason::kPeerClosed);
    return;
  }
  // What is complete is still delivered: nobody's work is wasted any more.
  const bool is_abort = options().half_close == HalfClose::kAbort && !response_->is_finished();
  if (is_abort) {
    cut(DisconnectReason::kPeerClosed);
    return;
  }
  stream_->wait_reset([self = shared_from_this()] { self->cut(DisconnectReason::kPeerReset); });
}

// Returns how many bytes it is done with; stops at the end of a request.
std::size_t HttpConnection::consume(std::string_view bytes) {
  std::size_t num_consumed = 0;
  while (is_receiving() && num_consumed < bytes.size()) {
    if (phase_ == Phase::kIdle) {
      begin_request();
    }
    const ParseOutcome outcome = parser_->feed(bytes.substr(num_consumed));
    num_consumed += static_cast<std::size_t>(outcome.num_consumed);
    switch (outcome.step) {
      case ParseStep::kNeedMore:
        after_partial_input();
        return discard_input_ ? bytes.size() : num_consumed;
      case ParseStep::kDone:
        dispatch();
        break;
      case ParseStep::kFailed:
        fail(parser_->error_status());
        return bytes.size();
    }
  }
  return num_consumed;
}

void HttpConnection::begin_request() {
  parser_ = std::make_unique<RequestParser>(options().limits);
  phase_ = Phase::kHead;
  continue_sent_ = false;
  set_deadline(options().header_timeout);
}

void HttpConnection::after_partial_input() {
  if (phase_ != Phase::kHead || !parser_->head_done()) {
    return;
  }
  phase_ = Phase::kBody;
  set_deadline(options().body_timeout);
  HttpRequest head = parser_->head();
  head.peer_address = stream_->peer_address();
  if (std::optional<HttpResponse> refusal = home_.context.handler.refuse(head)) {
    give_up(std::move(*refusal));
    return;
  }
  if (parser_->expects_continue() && !continue_sent_) {
    continue_sent_ = true;
    out_parts_[0] = kContinue;
    num_out_parts_ = 1;
    write_prepared();
  }
}

void HttpConnection::dispatch() {
  http_10_ = parser_->is_http_10();
  close_after_ = !parser_->keep_alive() || home_.context.draining;
  HttpRequest request = parser_->take_request();
  parser_.reset();
  request.peer_address = stream_->peer_address();
  head_only_ = request.head_only;
  phase_ = Phase::kAnswering;
  deadline_ = kNever;
  response_ = std::make_shared<ResponseState>(
      home_.loop, weak_from_this(),
      BufferLimits{options().soft_buffer_bytes, options().hard_buffer_bytes});
  again_ = true;
  home_.context.handler.handle(std::move(request), ResponseWriter(response_));
}

// Answers for the handler.
void HttpConnection::fail(int status) {
  ErrorBody error{"text/plain", std::string(reason_phrase(status)) + "\n"};
  if (options().error_body) {
    const bool is_receiving_request = phase_ == Phase::kHead || phase_ == Phase::kBody;
    const bool has_head = is_receiving_request && parser_ != nullptr && parser_->head_done();
    const std::optional<HttpRequest> head =
        has_head ? std::optional(parser_->head()) : std::nullopt;
    error = options().error_body(status, head ? &*head : nullptr);
  }
  error.headers.add("content-type", std::move(error.content_type));
  give_up({status, std::move(error.headers), std::move(error.body)});
}

// Answers, and gives up on what the client still sends.
void HttpConnection::give_up(HttpResponse response) {
  parser_.reset();
  in_.clear();
  discard_input_ = true;
  close_after_ = true;
  head_only_ = false;
  phase_ = Phase::kAnswering;
  deadline_ = kNever;
  response_ = std::make_shared<ResponseState>(home_.loop, weak_from_this(), BufferLimits{});
  response_->send(std::move(response));
  again_ = true;
}

void HttpConnection::flush() {
  if (phase_ != Phase::kAnswering) {
    return;
  }
  if (const std::optional<DisconnectReason> reason = response_->cut_reason()) {
    cut(*reason);
    return;
  }
  if (writing_) {
    return;
  }
  ResponseBatch batch = response_->take();
  if (batch.unanswered) {
    fail(500);
    batch = response_->take();
  }
  num_out_parts_ = 0;
  if (batch.full) {
    prepare_full(std::move(*batch.full));
  }
  if (batch.stream_head) {
    prepare_stream_head(std::move(*batch.stream_head), batch.stream_options);
  }
  if (streaming_) {
    prepare_events(std::move(batch.events), batch.finished);
  }
  answer_complete_ = answer_complete_ || batch.finished;
  if (num_out_parts_ > 0) {
    write_prepared();
  } else if (answer_complete_) {
    end_answer();
  }
}

void HttpConnection::append_common_headers(Headers headers, std::string* out) {
  const std::optional<std::string_view> connection = headers.find("connection");
  close_after_ = close_after_ || (connection && equals_ignore_case(*connection, "close"));
  for (std::string_view ours : {"connection", "content-length", "transfer-encoding"}) {
    headers.erase(ours);
  }
  for (const HeaderField& field : headers) {
    append_header(out, field.name, field.value);
  }
  if (!headers.contains("date")) {
    append_header(out, "date", home_.date_now());
  }
  if (close_after_) {
    *out += "connection: close\r\n";
  } else if (http_10_) {
    *out += "connection: keep-alive\r\n";
  }
}

void HttpConnection::prepare_full(HttpResponse response) {
  out_head_ = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out_head_ += reason_phrase(response.status);
  out_head_ += kLineEnd;
  append_common_headers(std::move(response.headers), &out_head_);
  if (!has_no_body(response.status)) {
    out_head_ += "content-length: " + std::to_string(response.body.size()) + "\r\n";
  }
  out_head_ += kLineEnd;
  out_parts_[num_out_parts_++] = out_head_;
  if (!head_only_ && !has_no_body(response.status)) {
    out_body_ = std::move(response.body);
    out_parts_[num_out_parts_++] = out_body_;
  }
}

void HttpConnection::prepare_stream_head(HttpResponse head, const StreamOptions& stream) {
  streaming_ = true;
  chunked_ = !http_10_;
  close_after_ = close_after_ || http_10_;  // the end of the connection is the end of the body
  out_head_ = "HTTP/1.1 " + std::to_string(head.status) + " ";
  out_head_ += reason_phrase(head.status);
  out_head_ += kLineEnd;
  append_common_headers(std::move(head.headers), &out_head_);
  if (chunked_) {
    out_head_ += "transfer-encoding: chunked\r\n";
  }
  out_head_ += kLineEnd;
  out_parts_[num_out_parts_++] = out_head_;
  if (!head_only_ && stream.heartbeat_interval.count() > 0 && !stream.heartbeat.empty()) {
    heartbeat_ = stream.heartbeat;
    heartbeat_interval_ = stream.heartbeat_interval;
  }
}

// One chunk per burst; the zero chunk shares the write with the last one.
void HttpConnection::prepare_events(std::string events, bool finished) {
  num_event_bytes_ = static_cast<std::int64_t>(events.size());
  if (head_only_) {
    again_ = again_ || num_event_bytes_ > 0;  // more may have been left behind
    response_->on_sent(std::exchange(num_event_bytes_, 0));
    return;
  }
  out_body_ = std::move(events);
  if (!chunked_) {
    if (!out_body_.empty()) {
      out_parts_[num_out_parts_++] = out_body_;
    }
    return;
  }
  if (!out_body_.empty()) {
    char* end = std::to_chars(out_chunk_.data(), out_chunk_.data() + out_chunk_.size() - 2,
                              out_body_.size(), 16)
                    .ptr;
    *end++ = '\r';
    *end++ = '\n';
    out_parts_[num_out_parts_++] = {out_chunk_.data(), end};
    out_parts_[num_out_parts_++] = out_body_;
    out_parts_[num_out_parts_++] = finished ? kLineEndZeroChunk : kLineEnd;
  } else if (finished) {
    out_parts_[num_out_parts_++] = kZeroChunk;
  }
}

void HttpConnection::write_prepared() {
  writing_ = true;
  if (heartbeat_interval_.count() > 0) {
    heartbeat_at_ = home_.loop.now() + heartbeat_interval_;
  }
  const std::optional<Status> outcome = stream_->write(
      {out_parts_.data(), num_out_parts_}, [self = shared_from_this()](const Status& status) {
        if (self->phase_ != Phase::kClosed) {
          self->on_written(status);
          self->pump();
        }
      });
  if (outcome) {
    on_written(*outcome);
  } else {
    write_deadline_ = home_.loop.now() + options().write_timeout;
  }
}

void HttpConnection::on_written(const Status& status) {
  writing_ = false;
  write_deadline_ = kNever;
  if (!status.ok()) {
    cut(DisconnectReason::kPeerReset);
    return;
  }
  again_ = true;
  if (phase_ != Phase::kAnswering) {
    return;  // that was 100 Continue
  }
  release(out_head_);
  release(out_body_);
  response_->on_sent(std::exchange(num_event_bytes_, 0));
  if (answer_complete_) {
    end_answer();
  }
}

void HttpConnection::end_answer() {
  const std::shared_ptr<ResponseState> response = std::move(response_);
  response->detach();
  answer_complete_ = false;
  streaming_ = false;
  heartbeat_interval_ = std::chrono::nanoseconds(0);
  heartbeat_at_ = kNever;
  if (close_after_ || home_.context.draining) {
    linger();
    return;
  }
  if (input_ended_) {
    cut(DisconnectReason::kPeerClosed);
    return;
  }
  if (in_.empty()) {
    release(in_);
  }
  phase_ = Phase::kIdle;
  set_deadline(options().idle_timeout);
  again_ = true;
}

// Ends the sending side first: closing with unread input would reset the connection and could take
// the answer with it.
void HttpConnection::linger() {
  if (input_ended_) {
    cut(DisconnectReason::kPeerClosed);
    return;
  }
  phase_ = Phase::kLinger;
  set_deadline(kLingerTime);
  release(in_);
  stream_->shutdown_write([self = shared_from_this()] {});
}

void HttpConnection::set_deadline(std::chrono::nanoseconds after) {
  deadline_ = home_.loop.now() + after;
}

// A timer that is due earlier than needed stays: it looks again when it fires.
void HttpConnection::arm_timer() {
  const TimePoint next = std::min({deadline_, write_deadline_, heartbeat_at_});
  if (next == kNever || (timer_.number != 0 && timer_.at <= next)) {
    return;
  }
  home_.loop.cancel(timer_);
  timer_ = home_.loop.run_at(next, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      static_cast<HttpConnection&>(*self).on_timer();
    }
  });
}

void HttpConnection::on_timer() {
  timer_ = TimerId();
  if (phase_ == Phase::kClosed) {
    return;
  }
  const TimePoint now = home_.loop.now();
  if (write_deadline_ <= now) {
    cut(DisconnectReason::kSlowClient);
    return;
  }
  if (heartbeat_at_ <= now) {
    beat(now);
  }
  if (deadline_ <= now) {
    const bool is_late = phase_ == Phase::kHead || phase_ == Phase::kBody;
    if (!is_late || writing_) {
      cut(DisconnectReason::kShutdown);
      return;
    }
    fail(408);
  }
  pump();
}

void HttpConnection::beat(TimePoint now) {
  heartbeat_at_ = now + heartbeat_interval_;
  if (writing_ || phase_ != Phase::kAnswering || !streaming_) {
    return;
  }
  num_out_parts_ = 0;
  prepare_events(heartbeat_, false);
  num_event_bytes_ = 0;  // not the writer's
  write_prepared();
}

}  // namespace plumb
