// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/response_state.h"

namespace plumb {

class HttpConnection;

/// What all connections of one server share.
struct ServerContext {
  HttpServerOptions options;
  HttpHandler& handler;
  std::atomic<std::int64_t> num_connections{0};
  std::atomic<bool> draining{false};
  Mutex mutex;
  CondVar all_closed;

  void on_closed();
  /// False if the deadline passed while connections were open.
  bool wait_closed(Clock::TimePoint deadline);
};

/// The connections of one loop. Thread: the loop.
struct ServerLoop {
  ServerContext& context;
  IoContext& loop;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>> connections;
  std::chrono::sys_seconds date_at{};
  std::string date;

  /// The value of the Date header, made once a second.
  const std::string& date_now();
};

/// One server connection: reads a request, has it answered, writes the answer, and again.
///
/// Every event (bytes, write done, writer's wake, timer) sets state and ends in pump(), the one
/// place that moves things on; it never recurses, so pipelined requests need no stack.
/// Ownership: its pending callbacks and its server loop. Thread: the loop.
class HttpConnection final : public ResponseSink,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ServerLoop& home, std::unique_ptr<ByteStream> stream);

  void start();
  /// Answers 503 at once, for a server that is full.
  void start_full();
  /// Closes now if idle, else after the running answer.
  void drain();
  /// Ends the connection now. The object may be gone afterwards unless the caller holds it.
  void cut(DisconnectReason reason);
  void on_wake() override;

 private:
  enum class Phase : unsigned char { kIdle, kHead, kBody, kAnswering, kLinger, kClosed };
  using TimePoint = Clock::TimePoint;
  static constexpr TimePoint kNever = TimePoint::max();

  const HttpServerOptions& options() const { return home_.context.options; }

  bool is_receiving() const { return phase_ <= Phase::kBody; }

  // Reading.
  void on_read(Result<std::string_view> bytes);
  void on_bytes(std::string_view bytes);
  void on_input_end();
  void read_more();
  std::size_t consume(std::string_view bytes);
  void begin_request();
  void after_partial_input();
  void dispatch();
  void fail(int status);
  void give_up(HttpResponse response);

  // Writing.
  void flush();
  void prepare_full(HttpResponse response);
  void prepare_stream_head(HttpResponse head, const StreamOptions& stream);
  void prepare_events(std::string events, bool finished);
  void append_common_headers(Headers headers, std::string* out);
  void write_prepared();
  void on_written(const Status& status);
  void end_answer();
  void linger();

  // Moving on.
  void pump();
  void set_deadline(std::chrono::nanoseconds after);
  void arm_timer();
  void on_timer();
  void beat(TimePoint now);

  ServerLoop& home_;
  std::unique_ptr<ByteStream> stream_;
  Phase phase_ = Phase::kIdle;
  bool reading_ = false;
  bool writing_ = false;
  bool pumping_ = false;
  bool again_ = false;
  bool input_ended_ = false;
  bool discard_input_ = false;
  bool close_after_ = false;
  bool continue_sent_ = false;

  std::string in_;  // bytes behind the running request
  std::unique_ptr<RequestParser> parser_;

  std::shared_ptr<ResponseState> response_;
  bool head_only_ = false;
  bool http_10_ = false;
  bool chunked_ = false;
  bool streaming_ = false;
  bool answer_complete_ = false;  // everything was given to the stream
  std::string out_head_;
  std::string out_body_;
  std::array<char, 20> out_chunk_{};  // "<hex>\r\n"
  std::array<std::string_view, 5> out_parts_;
  std::size_t num_out_parts_ = 0;
  std::int64_t num_event_bytes_ = 0;
  std::string heartbeat_;
  std::chrono::nanoseconds heartbeat_interval_{0};

  TimePoint deadline_ = kNever;
  TimePoint write_deadline_ = kNever;
  TimePoint heartbeat_at_ = kNever;
  TimerId timer_;
};

}  // namespace plumb
