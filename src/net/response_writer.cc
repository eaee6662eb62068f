// SPDX-License-Identifier: Apache-2.0
#include "net/response_writer.h"

#include <utility>

#include "base/check.h"
#include "net/response_state.h"

namespace plumb {

namespace {

constexpr std::size_t kMaxChunkBytes = 1 << 20;

}  // namespace

ResponseState::ResponseState(IoContext& loop, std::weak_ptr<ResponseSink> sink, BufferLimits limits)
    : loop_(&loop), sink_(std::move(sink)), limits_(limits) {}

// Posting under the lock is what makes it safe: detach() waits, so the loop is still there.
void ResponseState::wake_locked() {
  if (loop_ == nullptr || wake_posted_) {
    return;
  }
  wake_posted_ = true;
  loop_->post([weak = sink_] {
    if (const std::shared_ptr<ResponseSink> sink = weak.lock()) {
      sink->on_wake();
    }
  });
}

void ResponseState::send(HttpResponse response) {
  const MutexLock lock(mutex_);
  PLUMB_CHECK(mode_ == Mode::kNone, "a request is answered once");
  mode_ = Mode::kFull;
  finished_ = true;
  batch_.full = std::move(response);
  batch_.finished = true;
  wake_locked();
}

void ResponseState::start_stream(int status, Headers headers, StreamOptions options) {
  const MutexLock lock(mutex_);
  PLUMB_CHECK(mode_ == Mode::kNone, "a request is answered once");
  mode_ = Mode::kStream;
  batch_.stream_head = HttpResponse{status, std::move(headers), {}};
  batch_.stream_options = std::move(options);
  wake_locked();
}

// A burst that the loop had no time to send is not the client's fault: it has a while to be read.
bool ResponseState::is_too_slow() {
  if (buffered_bytes_ <= limits_.hard_bytes) {
    return false;
  }
  const Clock::TimePoint now = loop_->now();
  if (!above_hard_since_) {
    above_hard_since_ = now;
  }
  return buffered_bytes_ > limits_.most_bytes || now - *above_hard_since_ >= limits_.hard_patience;
}

WriteState ResponseState::write_event(std::string bytes) {
  const MutexLock lock(mutex_);
  PLUMB_CHECK(mode_ == Mode::kStream, "events follow start_stream()");
  if (loop_ == nullptr || finished_ || cut_reason_) {
    return WriteState::kClosed;
  }
  // Who has read what came before is not slow, however large this event is.
  const bool keeps_up = buffered_bytes_ <= limits_.soft_bytes;
  buffered_bytes_ += static_cast<std::int64_t>(bytes.size());
  if (is_too_slow() && !keeps_up) {
    cut_reason_ = DisconnectReason::kSlowClient;
    wake_posted_ = false;  // a write that is stuck does not look by itself
    wake_locked();
    return WriteState::kClosed;
  }
  if (batch_.events.empty()) {
    batch_.events = std::move(bytes);
  } else {
    batch_.events += bytes;
  }
  wake_locked();
  return buffered_bytes_ > limits_.soft_bytes ? WriteState::kCongested : WriteState::kOk;
}

void ResponseState::finish() {
  const MutexLock lock(mutex_);
  PLUMB_CHECK(mode_ == Mode::kStream, "finish() ends a stream");
  if (cut_reason_) {
    return;
  }
  finished_ = true;
  batch_.finished = true;
  wake_locked();
}

void ResponseState::abort() {
  UniqueFunction<void(DisconnectReason)> callback;  // the one who aborts needs no word of it
  const MutexLock lock(mutex_);
  if (finished_ || cut_reason_) {
    return;
  }
  cut_reason_ = DisconnectReason::kShutdown;
  wake_posted_ = false;
  callback = std::move(callback_);
  wake_locked();
}

void ResponseState::on_disconnect(UniqueFunction<void(DisconnectReason)> callback) {
  std::optional<DisconnectReason> reason;
  {
    const MutexLock lock(mutex_);
    if (loop_ != nullptr) {
      callback_ = std::move(callback);
      return;
    }
    reason = reason_;
  }
  if (reason) {
    callback(*reason);
  }
}

bool ResponseState::is_disconnected() const {
  const MutexLock lock(mutex_);
  return reason_.has_value();
}

std::int64_t ResponseState::buffered_bytes() const {
  const MutexLock lock(mutex_);
  return buffered_bytes_;
}

// Who was to hear of a disconnect may be gone with the writer, also where bytes are still unsent.
void ResponseState::release() {
  UniqueFunction<void(DisconnectReason)> callback;  // destroyed outside the lock
  {
    const MutexLock lock(mutex_);
    callback = std::move(callback_);
    callback_ = nullptr;
    if (mode_ == Mode::kNone && !cut_reason_) {
      mode_ = Mode::kFull;
      finished_ = true;
      batch_.unanswered = true;
      batch_.finished = true;
      wake_locked();
      return;
    }
  }
  abort();
}

ResponseBatch ResponseState::take() {
  const MutexLock lock(mutex_);
  wake_posted_ = false;
  ResponseBatch batch;
  if (batch_.events.size() - num_taken_ > kMaxChunkBytes) {
    batch.stream_head = std::move(batch_.stream_head);
    batch.stream_options = std::move(batch_.stream_options);
    batch.events = batch_.events.substr(num_taken_, kMaxChunkBytes);
    batch_.stream_head.reset();
    num_taken_ += kMaxChunkBytes;
    if (num_taken_ > batch_.events.size() / 2) {  // seldom enough, and before it grows
      batch_.events.erase(0, std::exchange(num_taken_, 0));
    }
  } else {
    batch = std::exchange(batch_, ResponseBatch());
    batch.events.erase(0, std::exchange(num_taken_, 0));
  }
  return batch;
}

std::optional<DisconnectReason> ResponseState::cut_reason() const {
  const MutexLock lock(mutex_);
  return cut_reason_;
}

void ResponseState::on_sent(std::int64_t num_event_bytes) {
  const MutexLock lock(mutex_);
  buffered_bytes_ -= num_event_bytes;
  if (buffered_bytes_ <= limits_.hard_bytes) {
    above_hard_since_.reset();
  }
}

bool ResponseState::is_finished() const {
  const MutexLock lock(mutex_);
  return finished_;
}

void ResponseState::detach() {
  UniqueFunction<void(DisconnectReason)> callback;  // destroyed outside the lock
  const MutexLock lock(mutex_);
  loop_ = nullptr;
  callback = std::move(callback_);
}

void ResponseState::disconnect(DisconnectReason reason) {
  UniqueFunction<void(DisconnectReason)> callback;
  {
    const MutexLock lock(mutex_);
    loop_ = nullptr;
    reason_ = reason;
    batch_ = ResponseBatch();
    num_taken_ = 0;
    buffered_bytes_ = 0;
    callback = std::move(callback_);
    callback_ = nullptr;
  }
  if (callback) {
    callback(reason);
  }
}

ResponseWriter::ResponseWriter(std::shared_ptr<ResponseState> state) : state_(std::move(state)) {}

ResponseWriter::~ResponseWriter() {
  if (state_) {
    state_->release();
  }
}

ResponseWriter::ResponseWriter(ResponseWriter&&) noexcept = default;

ResponseWriter& ResponseWriter::operator=(ResponseWriter&& other) noexcept {
  if (this != &other) {
    if (state_) {
      state_->release();
    }
    state_ = std::move(other.state_);
  }
  return *this;
}

void ResponseWriter::send(HttpResponse response) {
  state_->send(std::move(response));
}

void ResponseWriter::start_stream(int status, Headers headers, StreamOptions options) {
  state_->start_stream(status, std::move(headers), std::move(options));
}

WriteState ResponseWriter::write_event(std::string bytes) {
  return state_->write_event(std::move(bytes));
}

void ResponseWriter::finish() {
  state_->finish();
}

void ResponseWriter::abort() {
  state_->abort();
}

void ResponseWriter::on_disconnect(UniqueFunction<void(DisconnectReason)> callback) {
  state_->on_disconnect(std::move(callback));
}

bool ResponseWriter::is_disconnected() const {
  return state_->is_disconnected();
}

std::int64_t ResponseWriter::buffered_bytes() const {
  return state_->buffered_bytes();
}

}  // namespace plumb
