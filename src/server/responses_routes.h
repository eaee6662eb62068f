// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/seal.h"
#include "server/abort_target.h"
#include "server/body_preparation.h"
#include "server/call_table.h"
#include "server/response_keeping.h"
#include "server/response_preparation.h"
#include "server/response_runs.h"
#include "server/route_context.h"
#include "server/text_requests.h"
#include "server/transaction.h"

namespace plumb {

/// The Responses API: makes responses, and shows and deletes those that are kept.
/// Thread: the server's loop, but for construction.
class ResponsesRoutes {
 public:
  ResponsesRoutes(const RouteContext& context, BodyPreparation& bodies, const TextRequests& texts,
                  CallTable& calls, ResponseKeeping keeping);

  void add_routes();

  /// Ends the runs in the background that are meant.
  void abort(const AbortTarget& target) { runs_.abort(target); }

  /// Ends those that run in the background: the server ends.
  void end_all() { runs_.end_all(); }

 private:
  /// What a kept response is read for, on a thread that may wait.
  using ReadStored = std::function<Prepared(StoredResponse)>;
  /// Answers a request about a kept response, or 404.
  void with_response(Transaction transaction, const std::string& id, const ReadStored& read);
  void get_response(Transaction transaction, const std::string& id);
  void stream_response(Transaction transaction, const std::string& id);
  void delete_response(Transaction transaction, const std::string& id);
  void cancel_response(Transaction transaction, const std::string& id);
  void list_input_items(Transaction transaction, const std::string& id);

  const RouteContext& context_;
  BodyPreparation& bodies_;
  const std::unique_ptr<Seal> seal_;
  ResponseRuns runs_;
  ResponsePreparation preparation_;
  // Null without one. The last, so that it ends first and keeps what it has accepted; its callbacks
  // post to the loop.
  std::unique_ptr<ResponseStore> store_;
};

}  // namespace plumb
