// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/generation_params.h"
#include "frontend/response_format.h"
#include "server/abort_target.h"
#include "server/background_run.h"
#include "server/call_table.h"
#include "server/event_log.h"
#include "server/response_store.h"
#include "server/response_turn.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// The responses that are being made, to a client or in the background, and the clients that read
/// the events of one.
/// Thread: the server's loop, but for construction and is_live().
class ResponseRuns {
 public:
  /// Without a store (null) nothing runs in the background, nor is kept. All of it outlives the
  /// runs, but the store: it ends first, since its callbacks post to the loop.
  ResponseRuns(const RouteContext& context, CallTable& calls, ResponseStore* store)
      : context_(context), calls_(calls), store_(store) {}

  /// Makes the response of a turn whose prompt is there.
  void launch(const std::shared_ptr<ResponseTurn>& turn, Transaction transaction,
              std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
              std::vector<ChoiceRequest> choices);

  /// Whether it is being made, so that nobody goes on from it yet. Thread: any.
  bool is_live(const std::string& owner, const std::string& id) const {
    return live_.contains(owner, id);
  }

  /// Of a response in the background; null where none runs.
  BackgroundRun* find_run(const std::string& owner, const std::string& id) const;
  /// The response is being deleted: ends what makes it.
  void end(const std::string& owner, const std::string& id);
  /// Answers with the events of a response from a number on. Without a log the store has them.
  void read_events(const std::string& id, Transaction transaction,
                   std::shared_ptr<const EventLog> log, std::int64_t first);

  /// Ends the runs in the background that are meant.
  void abort(const AbortTarget& target);
  /// Ends those that run in the background: the server ends.
  void end_all();

 private:
  void run_in_background(const std::shared_ptr<ResponseTurn>& turn, Transaction transaction,
                         std::unique_ptr<ResponseFormat> format, const GenerationParams& params,
                         std::vector<ChoiceRequest> choices);
  BackgroundRun::Hooks hooks_of(const std::shared_ptr<ResponseTurn>& turn);
  void answer_from_background(const std::string& id, Transaction transaction,
                              const std::string& queued, const Status& kept);
  void fetch_events(const std::string& owner, const std::string& id, std::uint64_t reader,
                    std::int64_t event);
  void pump_readers(const std::string& id);

  const RouteContext& context_;
  CallTable& calls_;
  ResponseStore* const store_;
  LiveResponses live_;
  std::map<std::string, std::uint64_t> response_calls_;         // by response id
  std::map<std::string, std::unique_ptr<BackgroundRun>> runs_;  // by response id
  std::uint64_t next_reader_ = 0;
  std::map<std::string, std::map<std::uint64_t, std::unique_ptr<EventReader>>>
      readers_;  // of responses, by their ids
};

}  // namespace plumb
