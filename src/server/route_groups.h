// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/json.h"
#include "base/status.h"
#include "net/transport.h"
#include "server/abort_target.h"
#include "server/body_preparation.h"
#include "server/cache_routes.h"
#include "server/call_table.h"
#include "server/completion_routes.h"
#include "server/control_routes.h"
#include "server/embedding_calls.h"
#include "server/embedding_routes.h"
#include "server/generate_routes.h"
#include "server/health_routes.h"
#include "server/llamacpp_routes.h"
#include "server/memory_routes.h"
#include "server/messages_routes.h"
#include "server/model_routes.h"
#include "server/ollama_model.h"
#include "server/ollama_routes.h"
#include "server/parse_routes.h"
#include "server/profile_routes.h"
#include "server/response_keeping.h"
#include "server/responses_routes.h"
#include "server/route_context.h"
#include "server/routing.h"
#include "server/state_routes.h"
#include "server/text_requests.h"
#include "server/token_routes.h"
#include "server/traces.h"
#include "server/weights_routes.h"

namespace plumb {

/// All groups of routes, and what they share: the preparation of bodies and the calls in flight.
///
/// A group owns what belongs to its routes alone. Those that hold work which is open are told of
/// the server's end by end_on_loop().
/// Thread: as said at each function.
class RouteGroups {
 public:
  /// Adds the routes of all groups to the context's router. Whatever is referred to outlives the
  /// groups; the loop has stopped when they are destroyed. Errors: --models-catalog,
  /// --reasoning-key-file, --response-store.
  static Result<std::unique_ptr<RouteGroups>> create(const RouteContext& context,
                                                     const Routing& routing, const Traces& traces);
  RouteGroups(const RouteGroups&) = delete;
  RouteGroups& operator=(const RouteGroups&) = delete;

  /// Opens the ports that are a group's own, before the server listens. Errors: a port is taken.
  Status listen(Transport& transport) { return cache_.listen(transport); }

  /// Of the publisher of cache events; -1 without one.
  int kv_events_port() const { return cache_.port(); }

  /// Ends the calls, bodies in preparation and streams that are left. Thread: the server's loop.
  void end_on_loop();
  /// Ends the workers, once they have done what they have accepted. Thread: any but the loop's,
  /// after the last request has come.
  void join();

 private:
  RouteGroups(const RouteContext& context, const Routing& routing, const Traces& traces,
              JsonArray catalog, ResponseKeeping keeping);
  void add_routes();
  void abort_calls(const AbortTarget& target);

  // In the order in which they refer to each other.
  const RouteContext context_;
  CallTable calls_;
  BodyPreparation bodies_;
  TextRequests texts_;
  CompletionRoutes completions_;
  MessagesRoutes messages_;
  GenerateRoutes generate_;
  LlamaCppRoutes llamacpp_;
  OllamaModel ollama_model_;
  OllamaRoutes ollama_;
  EmbeddingCalls embedding_calls_;
  EmbeddingRoutes embeddings_;
  TokenRoutes tokens_;
  ParseRoutes parse_;
  ModelRoutes models_;
  HealthRoutes health_;
  CacheRoutes cache_;
  StateRoutes state_;
  ControlRoutes control_;
  ProfileRoutes profile_;
  MemoryRoutes memory_;
  WeightsRoutes weights_;
  ResponsesRoutes responses_;  // the last: its store ends before what its callbacks look at
};

}  // namespace plumb
