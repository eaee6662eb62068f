// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "frontend/response_format.h"
#include "frontend/text_service.h"
#include "net/io_context.h"
#include "server/server_metrics.h"
#include "server/server_options.h"
#include "server/transaction.h"

namespace plumb {

/// One generation on its way to one client: as a stream of events, or collected into one answer.
/// What is made at once at the end of a stream goes out as the client takes it, and so do the
/// events of a cumulative format, of which each replaces those of its choice that still wait.
///
/// Until the first token (or the header delay) nothing is sent, so that a refusal is a real HTTP
/// status. A client that leaves cancels the generation at once. Thread: the server's loop.
/// Destroyed by its owner after `on_done`.
class Call final : public GenerationListener {
 public:
  struct Setup {
    bool stream = false;
    bool continuous_usage = false;
    std::size_t num_choices = 1;
    std::int64_t n = 1;           ///< as the request says
    std::int64_t max_tokens = 0;  ///< as the request says; 0 = nothing
    /// Keeps the answer before its end is sent; deliver() is to follow. Empty: nothing is kept.
    std::function<void()> keep{};
  };

  Call(IoContext& loop, const ServerOptions& options, ServerMetrics& metrics,
       Transaction transaction, std::unique_ptr<ResponseFormat> format, const Setup& setup,
       std::function<void()> on_done);
  ~Call() override;

  /// Submits the choices; a refusal by the engine is answered at once.
  void start(TextService& service, std::vector<ChoiceRequest> choices);
  /// Whether the request, or one of its choices, goes by that id.
  bool has_id(std::string_view id) const;
  /// Whether that key has asked.
  bool is_of(const Principal& principal) const;
  /// Sends the end of the answer, once it is kept, or the error that there was.
  void deliver(const Status& kept);
  /// Ends it with an error to the client (shutdown, abort).
  void fail(const ApiError& error);

  void on_begin(std::int64_t index, const Usage& prompt) override;
  void on_prompt(std::int64_t index, std::vector<TokenText> tokens) override;
  void on_delta(ChoiceDelta delta) override;
  void on_end(ChoiceEnd end) override;
  void on_error(Status status) override;
  void on_invalid_call(const ApiError& error) override;

 private:
  void open_stream();
  void write(const Json& chunk);
  void write_framed(std::string_view type, std::string_view text);
  void write_delta(const ChoiceDelta& delta);
  void tell_later(std::int64_t index);
  void tell_newest();
  void post_turn();
  void add_usage(const Usage& usage, std::vector<Json>* chunks) const;
  void hold(std::vector<Json> chunks);
  void send_held();

  bool is_lost() const { return is_done_ || is_cut_; }

  bool is_ending() const { return is_lost() || end_status_ != 0; }

  bool may_send() const;

  void end_stream(std::vector<Json> chunks, int http_status);
  void count_tokens(const ChoiceDelta& delta);
  void complete();
  void done();
  void on_disconnect();
  ApiError error_of(const Status& status) const;

  IoContext& loop_;
  const ServerOptions& options_;
  ServerMetrics& metrics_;
  Transaction transaction_;
  std::unique_ptr<ResponseFormat> format_;
  Setup setup_;
  std::function<void()> on_done_;
  TextService* service_ = nullptr;          // once started
  std::shared_ptr<Generation> generation_;  // shared with the engine's events in flight
  std::vector<std::string> ids_;            // of the choices
  std::vector<ChoiceRecord> choices_;
  std::vector<Usage> so_far_;                 // of each choice
  std::vector<Clock::TimePoint> last_token_;  // of each choice, as it came here
  std::size_t num_ended_ = 0;
  std::vector<Json> last_;           // what is sent once all have ended
  std::deque<Json> held_;            // of a stream, until the client has read what came before
  int end_status_ = 0;               // of the stream that ends behind what is held; 0: it goes on
  std::deque<std::int64_t> untold_;  // choices of a cumulative stream that have said more
  std::vector<bool> is_untold_;      // of each choice
  bool has_turn_ = false;            // posted, to tell of one of them
  bool is_open_ = false;
  bool is_done_ = false;
  bool is_cut_ = false;  // the writer takes no more; on_disconnect() follows
  bool has_token_ = false;
  TimerId header_timer_;
  TimerId pause_timer_;  // while the client is behind
};

}  // namespace plumb
