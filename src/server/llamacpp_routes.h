// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "server/body_preparation.h"
#include "server/route_context.h"
#include "server/text_requests.h"

namespace plumb {

/// llama.cpp's native route, where --compat asks for it.
/// Thread: prepare(): any; the rest: construction.
class LlamaCppRoutes {
 public:
  LlamaCppRoutes(const RouteContext& context, const TextRequests& texts)
      : context_(context), texts_(texts) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare(const Json& body, const Asker& asker) const;

  const RouteContext& context_;
  const TextRequests& texts_;
};

}  // namespace plumb
