// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/error.h"
#include "api/generation_params.h"
#include "base/status.h"
#include "net/http_server.h"
#include "net/io_context.h"
#include "net/transport.h"
#include "server/access_log.h"
#include "server/auth.h"
#include "server/life_cycle.h"
#include "server/router.h"
#include "server/routing.h"
#include "server/server_metrics.h"
#include "server/server_options.h"
#include "server/server_parts.h"
#include "server/traces.h"

namespace plumb {

class RouteGroups;

/// The HTTP server: listens, knows the keys, leads each request to its route, and ends in order.
/// What the routes do is the groups' (RouteGroups).
///
/// One loop thread owns connections and calls; large bodies are prepared on a worker, those that
/// may name stored responses on threads that may wait. Thread: create(), drain(), reload_keys(),
/// destructor: any but the loop's.
class Server final : public HttpHandler {
 public:
  /// What create() would say about keys, certificates and addresses, before there is anything to
  /// serve.
  static Status check(const ServerOptions& options);
  /// The keys that the options name. Errors as create().
  static Result<KeySet> read_keys(const ServerOptions& options);
  /// Errors kInvalidArgument: key files, a public address without keys; kUnavailable: port taken.
  static Result<std::unique_ptr<Server>> create(const ServerOptions& options,
                                                const ServerParts& parts);
  ~Server() override;

  int port() const { return http_->port(); }

  /// Of the publisher of cache events; -1 without one.
  int kv_events_port() const;

  /// "http://127.0.0.1:8000"
  std::string url() const;
  /// Refuses new work (503, also on /ready), lets running calls and bodies in preparation end for
  /// at most the drain time-out, then closes the port and ends what is left.
  void drain();

  /// Reads the key files again; running requests go on. On an error the old keys stay.
  Status reload_keys();

  void handle(HttpRequest request, ResponseWriter writer) override;
  /// Who may not use a route hears it before the body is read.
  std::optional<HttpResponse> refuse(const HttpRequest& head) override;

 private:
  Server(const ServerOptions& options, const ServerParts& parts);
  Status start();
  Status listen();
  void end_on_loop();
  std::optional<ApiError> access_error(const HttpRequest& request, const Route& route,
                                       Principal* principal);

  /// Writes the line of a request that no handler sees.
  void note_refusal(const HttpRequest& head, const std::string& id, const Route* route,
                    const ApiError& error);

  const ServerOptions options_;
  const ServerParts parts_;
  ApiLimits limits_;
  ServerMetrics metrics_;
  LifeCycle life_;
  std::unique_ptr<AccessLog> access_log_;  // loop thread, once it runs; null without one
  KeySet keys_;                            // loop thread, once it runs
  FailureLimiter failures_;                // loop thread
  Router router_;
  const Routing routing_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_;
  Traces traces_;
  std::unique_ptr<RouteGroups> groups_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace plumb
