// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/io_context.h"
#include "server/transaction.h"

namespace plumb {

/// The server-sent events of one response in the background, from its first one on.
/// Thread: the server's loop.
class EventLog {
 public:
  EventLog() = default;
  /// The whole log of a response that has ended; event after event, each with its blank line.
  explicit EventLog(std::string events);

  void append(std::string_view event);

  /// Nothing follows.
  void close() { is_closed_ = true; }

  bool is_closed() const { return is_closed_; }

  std::int64_t num_events() const { return std::ssize(ends_); }

  std::string_view event(std::int64_t index) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;  // of each event in the text
  bool is_closed_ = false;
};

/// Sends the events of a log to one client, as fast as that reads and as they come.
/// Ownership: the log is shared with the run that writes it. Thread: the server's loop.
class EventReader {
 public:
  /// From the event with number `first` on. `on_done`: the client has all, or has left; the owner
  /// destroys the reader then, not from inside it.
  EventReader(IoContext& loop, Transaction transaction, std::shared_ptr<const EventLog> log,
              std::int64_t first, std::chrono::nanoseconds heartbeat,
              std::function<void()> on_done);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  void start();

  /// Sends what is new.
  void pump();

 private:
  void end(int http_status);

  IoContext& loop_;
  Transaction transaction_;
  std::shared_ptr<const EventLog> log_;
  std::int64_t next_;
  std::chrono::nanoseconds heartbeat_;
  std::function<void()> on_done_;
  TimerId timer_;  // while the client is behind
  bool is_done_ = false;
};

}  // namespace plumb
