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

/// The server-sent events of one response in the background, or those behind a number.
/// Thread: the server's loop.
class EventLog {
 public:
  EventLog() = default;
  /// A part of the log of a response that has ended: event after event, each with its blank line.
  /// `first` is the number of the first one; closed: it is the last part.
  explicit EventLog(std::string events, std::int64_t first = 0, bool is_closed = true);

  void append(std::string_view event);

  /// Nothing follows.
  void close() { is_closed_ = true; }

  bool is_closed() const { return is_closed_; }

  std::int64_t first() const { return first_; }

  /// The number behind that of the last one.
  std::int64_t end() const { return first_ + std::ssize(ends_); }

  /// Requires first() <= number < end().
  std::string_view event(std::int64_t number) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;  // of each event in the text
  std::int64_t first_ = 0;
  bool is_closed_ = false;
};

/// Sends the events of a log to one client, as fast as that reads and as they come.
/// Ownership: the log is shared with the run that writes it. Thread: the server's loop.
class EventReader {
 public:
  struct Hooks {
    /// The client has all, or has left; the owner destroys the reader then, not from inside it.
    std::function<void()> on_done;
    /// Asks for the part of the log with that event; go_on() or cut() is to follow. Empty where the
    /// log that is there grows by itself.
    std::function<void(std::int64_t event)> more{};
  };

  /// From the event with number `first` on. Without a log it asks for one.
  EventReader(IoContext& loop, Transaction transaction, std::shared_ptr<const EventLog> log,
              std::int64_t first, std::chrono::nanoseconds heartbeat, Hooks hooks);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  void start();

  /// Sends what is new.
  void pump();

  /// The part that it has asked for.
  void go_on(std::shared_ptr<const EventLog> log);
  /// The rest is not there any more: ends the connection within the stream.
  void cut();

 private:
  void end(int http_status);

  IoContext& loop_;
  Transaction transaction_;
  std::shared_ptr<const EventLog> log_;
  std::int64_t next_;
  std::chrono::nanoseconds heartbeat_;
  Hooks hooks_;
  TimerId timer_;            // while the client is behind
  bool is_waiting_ = false;  // for the part that it has asked for
  bool is_done_ = false;
};

}  // namespace plumb
