// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "frontend/generation.h"
#include "frontend/text_service.h"
#include "net/io_context.h"
#include "server/transaction.h"

namespace plumb {

/// Answers whether the engine produces tokens: asks for one, and is content with anybody's. A full
/// queue is no reason to refuse, only to wait.
/// Thread: the server's loop. Destroyed by its owner after `on_done`.
class HealthProbe final : public GenerationListener {
 public:
  HealthProbe(IoContext& loop, TextService& service, Transaction transaction,
              std::function<void()> on_done);
  ~HealthProbe() override;

  void start();
  /// Ends it with an error to the client.
  void fail(const ApiError& error);

  void on_prompt(std::int64_t index, std::vector<TokenText> tokens) override;
  void on_delta(ChoiceDelta delta) override;
  void on_end(ChoiceEnd end) override;
  void on_error(Status status) override;

 private:
  void look();
  void succeed();
  void done();

  IoContext& loop_;
  TextService& service_;
  Transaction transaction_;
  std::function<void()> on_done_;
  std::shared_ptr<Generation> generation_;  // shared with the engine's events in flight
  std::int64_t tokens_before_ = 0;
  Clock::TimePoint deadline_;
  TimerId timer_;
  bool is_done_ = false;
};

}  // namespace plumb
