// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "net/io_context.h"
#include "net/response_writer.h"

namespace plumb {

/// The connection as its writer sees it.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// The writer has left something in the state. Thread: the loop.
  virtual void on_wake() = 0;
};

/// What the writer has produced since the connection last looked.
struct ResponseBatch {
  std::optional<HttpResponse> full;
  std::optional<HttpResponse> stream_head;
  StreamOptions stream_options;
  std::string events;
  bool finished = false;
  bool unanswered = false;  ///< the writer was dropped without an answer
};

/// Bytes that wait for the client or, where the loop has no time, for the loop.
struct BufferLimits {
  std::int64_t soft_bytes = std::int64_t{1} << 20;
  std::int64_t hard_bytes = std::int64_t{8} << 20;
  std::chrono::nanoseconds hard_patience = std::chrono::seconds(2);  ///< above hard_bytes
  std::int64_t most_bytes = std::int64_t{32} << 20;                  ///< never more
};

/// What a ResponseWriter and a connection share: a mailbox from any thread to the loop.
class ResponseState {
 public:
  ResponseState(IoContext& loop, std::weak_ptr<ResponseSink> sink, BufferLimits limits);

  // Writer side, any thread.
  void send(HttpResponse response);
  void start_stream(int status, Headers headers, StreamOptions options);
  WriteState write_event(std::string bytes);
  void finish();
  void abort();
  void on_disconnect(UniqueFunction<void(DisconnectReason)> callback);
  bool is_disconnected() const;
  std::int64_t buffered_bytes() const;
  /// The writer has gone: an unfinished response is ended for it.
  void release();

  // Connection side, the loop.
  /// Moves out what has been produced, of events a chunk at most: to be called until one comes
  /// empty. Later writes wake the loop again.
  ResponseBatch take();
  /// Why the connection is to be cut now, if it is: the writer aborted or overflowed.
  std::optional<DisconnectReason> cut_reason() const;
  void on_sent(std::int64_t num_event_bytes);
  /// True once nothing more will be written.
  bool is_finished() const;
  /// The response was delivered: the state lets go of the connection and of the callback.
  void detach();
  /// The client is gone: as detach(), and the callback runs.
  void disconnect(DisconnectReason reason);

 private:
  enum class Mode : unsigned char { kNone, kFull, kStream };

  void wake_locked() PLUMB_REQUIRES(mutex_);
  bool is_too_slow() PLUMB_REQUIRES(mutex_);

  mutable Mutex mutex_;
  IoContext* loop_ PLUMB_GUARDED_BY(mutex_);  // null once detached: the loop may be gone
  const std::weak_ptr<ResponseSink> sink_;
  const BufferLimits limits_;
  Mode mode_ PLUMB_GUARDED_BY(mutex_) = Mode::kNone;
  ResponseBatch batch_ PLUMB_GUARDED_BY(mutex_);
  std::size_t num_taken_ PLUMB_GUARDED_BY(mutex_) = 0;  // bytes of its events
  std::int64_t buffered_bytes_ PLUMB_GUARDED_BY(mutex_) = 0;
  std::optional<Clock::TimePoint> above_hard_since_ PLUMB_GUARDED_BY(mutex_);
  bool finished_ PLUMB_GUARDED_BY(mutex_) = false;
  std::optional<DisconnectReason> cut_reason_ PLUMB_GUARDED_BY(mutex_);
  bool wake_posted_ PLUMB_GUARDED_BY(mutex_) =
      true;  // the connection looks by itself after the handler was called
  std::optional<DisconnectReason> reason_ PLUMB_GUARDED_BY(mutex_);
  UniqueFunction<void(DisconnectReason)> callback_ PLUMB_GUARDED_BY(mutex_);
};

}  // namespace plumb
