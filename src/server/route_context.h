// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/error.h"
#include "api/field_reader.h"
#include "api/generation_params.h"
#include "net/io_context.h"
#include "server/auth.h"
#include "server/life_cycle.h"
#include "server/router.h"
#include "server/server_metrics.h"
#include "server/server_options.h"
#include "server/server_parts.h"
#include "server/transaction.h"

namespace plumb {

/// What all groups of routes work with, and the checks that many requests go through. Whatever it
/// refers to outlives the groups.
/// Thread: any, but for `keys` (the loop's) and `router` (while the server is built).
struct RouteContext {
  const ServerOptions& options;
  const ServerParts& parts;
  const ApiLimits& limits;
  const KeySet& keys;  ///< changed on the loop when they are read again
  ServerMetrics& metrics;
  LifeCycle& life;
  Router& router;
  IoContext& loop;

  using Handler = std::function<void(Transaction transaction)>;
  /// A route without a body.
  void get_route(std::string path, RouteClass access, Handler handler,
                 Dialect dialect = Dialect::kOpenAi) const;
  using Operation = std::function<void(FieldReader& fields, Transaction transaction)>;
  /// A route whose small body is read on the loop, also while the server drains.
  void operation_route(std::string path, RouteClass access, Operation handler) const;
  /// Whether an operation may go on with what it has read; otherwise the error is sent. Unknown
  /// fields are named in a header, or an error.
  bool are_fields_fine(FieldReader& fields, Transaction* transaction) const;

  const ServedModel& model() const { return parts.service.model(); }

  const std::string& served_name() const { return model().facts().served_name; }

  /// By the wall clock.
  std::int64_t unix_seconds() const;

  /// Whether a request that names this model, or none, is for the one that is served.
  std::optional<ApiError> check_model(const std::string& name) const;
  /// Whether fields that nobody knows may be passed over.
  std::optional<ApiError> check_fields(const std::vector<std::string>& ignored) const;
  /// Whether the model generates text at all.
  std::optional<ApiError> check_generates() const;
};

/// The answer to what comes, or is still open, while the server ends.
ApiError shutting_down();

}  // namespace plumb
