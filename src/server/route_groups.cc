// SPDX-License-Identifier: Apache-2.0
#include "server/route_groups.h"

#include <utility>

#include "server/models_catalog.h"
#include "server/openapi.h"
#include "server/web_routes.h"

namespace plumb {

RouteGroups::RouteGroups(const RouteContext& context, const Routing& routing, const Traces& traces,
                         JsonArray catalog, ResponseKeeping keeping)
    : context_(context),
      calls_(context_, traces),
      bodies_(context_, [this](const AbortTarget& target) { abort_calls(target); }),
      texts_(context_, calls_),
      completions_(context_, texts_),
      messages_(context_, texts_),
      generate_(context_, texts_, calls_),
      llamacpp_(context_, texts_),
      ollama_model_(context_),
      ollama_(context_, routing, texts_, ollama_model_),
      embedding_calls_(context_),
      embeddings_(context_, embedding_calls_, ollama_model_),
      tokens_(context_),
      parse_(context_),
      models_(context_, std::move(catalog)),
      health_(context_),
      cache_(context_),
      state_(context_, [this] { return kv_events_port(); }),
      control_(context_,
               [this](const AbortTarget& target) {
                 bodies_.abort(target);
                 abort_calls(target);
               }),
      profile_(context_, bodies_),
      memory_(context_, bodies_),
      weights_(context_, bodies_),
      responses_(context_, bodies_, texts_, calls_, std::move(keeping)) {
  add_routes();
}

Result<std::unique_ptr<RouteGroups>> RouteGroups::create(const RouteContext& context,
                                                         const Routing& routing,
                                                         const Traces& traces) {
  PLUMB_ASSIGN(JsonArray catalog, read_models_catalog(context.options.models_catalog));
  PLUMB_ASSIGN(ResponseKeeping keeping,
               ResponseKeeping::open(context.options.responses, context.parts.clock));
  return std::unique_ptr<RouteGroups>(
      new RouteGroups(context, routing, traces, std::move(catalog), std::move(keeping)));
}

// The order is that of the lists in which the routes are shown.
void RouteGroups::add_routes() {
  completions_.add_routes(bodies_);
  messages_.add_routes(bodies_);
  responses_.add_routes();
  embeddings_.add_routes(bodies_);
  tokens_.add_routes(bodies_);
  parse_.add_routes(bodies_);
  models_.add_routes();
  health_.add_routes();
  state_.add_routes();
  cache_.add_routes();
  ollama_.add_routes(bodies_);
  generate_.add_routes(bodies_);
  llamacpp_.add_routes(bodies_);
  control_.add_routes();
  profile_.add_routes();
  memory_.add_routes();
  weights_.add_routes();
  add_web_routes(context_);
  add_openapi_route(context_.router, context_.parts.version, context_.options.root_path);
}

// Those that have been prepared.
void RouteGroups::abort_calls(const AbortTarget& target) {
  calls_.abort(target);
  responses_.abort(target);
  embedding_calls_.abort(target);
}

void RouteGroups::end_on_loop() {
  calls_.end_all();
  health_.end_all();
  responses_.end_all();
  bodies_.abandon_all();
  embedding_calls_.abandon_all();
  cache_.close();
}

void RouteGroups::join() {
  bodies_.join();
  calls_.join();
}

}  // namespace plumb
