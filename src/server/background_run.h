// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "frontend/response_format.h"
#include "frontend/text_service.h"
#include "net/io_context.h"
#include "server/background_line.h"
#include "server/event_log.h"
#include "server/response_turn.h"
#include "server/server_metrics.h"

namespace plumb {

/// A generation without a client: its response goes into a log of events, which clients may read,
/// and into the store.
///
/// Thread: the server's loop. Destroyed by its owner after `on_done`.
class BackgroundRun final : public GenerationListener {
 public:
  /// What the owner does for it.
  struct Hooks {
    /// Keeps the response with its events; close() is to follow.
    std::function<void(StoredResponse)> keep;
    std::function<void()> on_events;  ///< the log has grown or is closed
    std::function<void()> on_done;    ///< nothing follows
  };

  BackgroundRun(IoContext& loop, ServerMetrics& metrics, std::shared_ptr<ResponseTurn> turn,
                std::unique_ptr<ResponseFormat> format, std::int64_t max_tokens, Hooks hooks);
  ~BackgroundRun() override;

  /// Submits the one choice. Errors: the engine's refusal; then nothing runs and nothing is called.
  Status start(TextService& service, std::vector<ChoiceRequest> choices);

  /// What is written down of it when it has ended; null: nothing.
  void set_line(std::unique_ptr<BackgroundLine> line) { line_ = std::move(line); }

  /// Ends it; once it has come to its end, nothing is done.
  void cancel();
  void fail(const ApiError& error);

  /// The response is kept, or could not be: tells the readers its end.
  void close(const Status& kept);

  /// It has come to its end, and what is in the store counts.
  bool has_ended() const { return has_ended_; }

  const ResponseTurn& turn() const { return *turn_; }

  std::shared_ptr<const EventLog> log() const { return log_; }

  void on_prompt(std::int64_t index, std::vector<TokenText> tokens) override;
  void on_delta(ChoiceDelta delta) override;
  void on_end(ChoiceEnd end) override;
  void on_error(Status status) override;

  void on_invalid_call(const ApiError& error) override { fail(error); }

 private:
  void append(const std::vector<Json>& events);
  bool is_too_long() const;
  void end_with(const std::vector<Json>& last);
  /// Of its failure, which its line in the access log hears of.
  std::vector<Json> failed_events(const ApiError& error);
  void write_line();

  IoContext& loop_;
  ServerMetrics& metrics_;
  std::shared_ptr<ResponseTurn> turn_;
  std::unique_ptr<ResponseFormat> format_;
  std::int64_t max_tokens_;
  Hooks hooks_;
  std::unique_ptr<BackgroundLine> line_;  // until it is written
  Clock::TimePoint received_;
  std::shared_ptr<Generation> generation_;  // shared with the engine's events in flight
  std::shared_ptr<EventLog> log_;           // shared with its readers
  std::string last_;                        // the end of the log, until the response is kept
  bool has_token_ = false;
  bool has_ended_ = false;
};

}  // namespace plumb
