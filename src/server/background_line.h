// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/choice.h"
#include "api/error.h"
#include "base/clock.h"
#include "server/access_log.h"
#include "server/response_turn.h"
#include "server/transaction.h"

namespace plumb {

/// The line in the access log of a response in the background, which is written when that has
/// ended: the request that began it was answered before, and has a line of its own.
/// Thread: the server's loop, or any once that has stopped.
class BackgroundLine {
 public:
  /// Of a response that a request, which is not answered yet, begins. Null without an access log.
  static std::unique_ptr<BackgroundLine> begin(const Transaction& transaction,
                                               const ResponseTurn& turn, const std::string& model);

  void on_first_token(Clock::TimePoint now) { entry_.first_token = now; }

  void on_end(const ChoiceEnd& end);

  void on_error(const ApiError& error) { entry_.error_code = error.code; }

  /// `status`: of the response. Called once.
  void write(std::string_view status, Clock::TimePoint now);

 private:
  explicit BackgroundLine(const Transaction& transaction)
      : log_(*transaction.access_log),
        entry_(transaction.access_entry()),
        received_(transaction.received) {}

  AccessLog& log_;
  AccessEntry entry_;
  const Clock::TimePoint received_;
};

}  // namespace plumb
