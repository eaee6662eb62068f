// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "frontend/response_format.h"
#include "server/call_table.h"
#include "server/transaction.h"

namespace plumb {

/// A call whose grammar is compiled on a worker.
/// Thread: the server's loop; the worker looks at the constraint and at `is_unwanted`.
struct WaitingCall {
  Transaction transaction;
  std::unique_ptr<ResponseFormat> format;
  GenerationParams params;
  std::vector<ChoiceRequest> choices;
  Launch launch;             ///< empty: it becomes a call
  bool is_answered = false;  ///< with an error, while it waited
  /// Nobody waits for this grammar any more.
  std::shared_ptr<std::atomic<bool>> is_unwanted = std::make_shared<std::atomic<bool>>(false);

  /// Whether the request, or one of its choices, goes by that id.
  bool has_id(std::string_view id) const;

  /// Ends it with an error, unless that was done already.
  void answer(const ApiError& error);
};

}  // namespace plumb
