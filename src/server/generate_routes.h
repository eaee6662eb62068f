// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "server/body_preparation.h"
#include "server/call_table.h"
#include "server/route_context.h"
#include "server/text_requests.h"

namespace plumb {

/// The native route: texts or token ids in, texts and token ids out.
/// Thread: prepare_generate(): any; the rest: construction.
class GenerateRoutes {
 public:
  GenerateRoutes(const RouteContext& context, const TextRequests& texts, CallTable& calls)
      : context_(context), texts_(texts), calls_(calls) {}

  void add_routes(BodyPreparation& bodies) const;

 private:
  Prepared prepare_generate(const Json& body, const Asker& asker) const;

  const RouteContext& context_;
  const TextRequests& texts_;
  CallTable& calls_;
};

}  // namespace plumb
