// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "api/field_reader.h"
#include "api/ollama_request.h"
#include "api/ollama_response.h"
#include "base/json.h"
#include "server/body_preparation.h"
#include "server/ollama_model.h"
#include "server/route_context.h"
#include "server/routing.h"
#include "server/text_requests.h"
#include "server/transaction.h"

namespace plumb {

/// Ollama's API over the one model that is served.
/// Thread: prepare_*(): any; the rest the server's loop, but for construction.
class OllamaRoutes {
 public:
  OllamaRoutes(const RouteContext& context, const Routing& routing, const TextRequests& texts,
               OllamaModel& model)
      : context_(context), routing_(routing), texts_(texts), model_(model) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare_ollama(OllamaRequest request, OllamaRoute route, const Asker& asker) const;
  Prepared prepare_ollama_chat(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_generate(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_show(const Json& body, const Asker& asker) const;
  Prepared prepare_ollama_pull(const Json& body, const Asker& asker) const;
  Prepared prepare_named(const Json& body,
                         const std::function<RouteContext::Handler(FieldReader&)>& read) const;
  Prepared answer_load(const OllamaRequest& request, OllamaRoute route) const;
  void ollama_tags(Transaction transaction) const;
  void ollama_ps(Transaction transaction) const;
  void ollama_version(Transaction transaction) const;

  const RouteContext& context_;
  const Routing& routing_;
  const TextRequests& texts_;
  OllamaModel& model_;
};

}  // namespace plumb
