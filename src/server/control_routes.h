// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "api/field_reader.h"
#include "base/clock.h"
#include "base/json.h"
#include "server/abort_target.h"
#include "server/route_context.h"
#include "server/transaction.h"

namespace plumb {

/// What those who run the server may do to it: end requests, hold the engine still, let the server
/// drain, set its log level.
/// Thread: the server's loop, but for construction.
class ControlRoutes {
 public:
  /// `abort` ends requests wherever they are on their way.
  ControlRoutes(const RouteContext& context, std::function<void(const AbortTarget& target)> abort);

  void add_routes();

 private:
  void abort_request(FieldReader& fields, Transaction transaction);
  void start_drain(FieldReader& fields, Transaction transaction);
  void wait_for_drain(Transaction transaction, Clock::TimePoint deadline);
  void pause_generation(FieldReader& fields, Transaction transaction);
  void wait_for_pause(Transaction transaction, Json answer);
  void continue_generation(FieldReader& fields, Transaction transaction);
  void set_internal_state(FieldReader& fields, Transaction transaction);

  const RouteContext& context_;
  const std::function<void(const AbortTarget& target)> abort_;
};

}  // namespace plumb
