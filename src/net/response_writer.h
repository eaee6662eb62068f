// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "net/http.h"
#include "net/unique_function.h"

namespace plumb {

class ResponseState;

/// Why a response can no longer be delivered.
enum class DisconnectReason : unsigned char {
  kPeerClosed,  ///< the client closed the connection or its sending side
  kPeerReset,   ///< reset, or a write failed
  kSlowClient,  ///< the client read so slowly that too much waited for it
  kShutdown,    ///< this server ended the connection
};

/// What became of an event.
enum class WriteState : unsigned char {
  kOk,
  kCongested,  ///< accepted, but more than the soft limit waits: merge or pause
  kClosed,     ///< dropped: the response was ended, aborted or cut
};

struct StreamOptions {
  std::chrono::nanoseconds heartbeat_interval{
      0};  ///< silence after which heartbeat goes; 0 = never
  std::string heartbeat = ":\n\n";
};

/// The one answer to one request.
///
/// Either send(), or start_stream(), then write_event()… and finish() or abort(). Events written in
/// a burst leave in one chunk and one system call, those of more than 1 MiB in several. When the
/// client is gone, every call is dropped without effect. Destroyed unfinished, it answers 500 if
/// nothing was sent and else cuts the connection, so that no request stays unanswered. Thread: any;
/// one caller at a time. The disconnect callback runs on the connection's loop. Cost: write_event
/// takes one lock, appends, and wakes the loop once per burst.
class ResponseWriter {
 public:
  explicit ResponseWriter(std::shared_ptr<ResponseState> state);
  ~ResponseWriter();
  ResponseWriter(ResponseWriter&&) noexcept;
  ResponseWriter& operator=(ResponseWriter&&) noexcept;

  /// Sends a complete response. content-length and date are added; "connection: close" among the
  /// headers closes the connection afterwards.
  void send(HttpResponse response);

  /// Sends the head of a chunked response.
  void start_stream(int status, Headers headers, StreamOptions options = {});

  /// Appends bytes (an encoded event) to the stream. A client is cut as slow when more than the
  /// hard limit waits for longer than its patience, or more than the most: but for an event that
  /// finds no more than the soft limit waiting, which may have any size.
  WriteState write_event(std::string bytes);

  /// Ends the stream in order: the zero chunk leaves together with the last event.
  void finish();

  /// Cuts the connection without a zero chunk; what was not sent yet is lost.
  void abort();

  /// Calls back once when the client is gone before the response was complete; at once, on this
  /// thread, if it is gone already. Never called after the response was delivered, nor after this
  /// writer was destroyed.
  void on_disconnect(UniqueFunction<void(DisconnectReason)> callback);

  bool is_disconnected() const;

  /// Bytes accepted but not yet handed to the network.
  std::int64_t buffered_bytes() const;

 private:
  std::shared_ptr<ResponseState> state_;  // shared with the connection, which may end first
};

}  // namespace plumb
